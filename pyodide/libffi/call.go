package libffi

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/tetratelabs/wazero/api"

	"coderunner/pyodide/hostfn"
	"coderunner/pyodide/wasmbin"
)

// Call is ffi_call_js: it calls the function in slot fn with the arguments that
// avalue points to, and stores the result. An error that is not a [hostfn.Trap] means
// that nothing was called.
func (f *FFI) Call(ctx context.Context, cif, fn, rvalue, avalue uint32) error {
	s, err := readSignature(f.c.Mem, cif)
	if err != nil {
		return fmt.Errorf("call a C function: %w", err)
	}
	t, ok := f.c.TypeAt(fn)
	if !ok {
		return fmt.Errorf("call a C function: there is none at %#x", fn)
	}
	if !callable(t) {
		return fmt.Errorf("call a C function: it has a type that C has not")
	}
	if n, ok := f.c.Named(fn); ok && !s.variadic() && n < len(s.args) {
		// ctypes takes a function for one of so many arguments as it is given,
		// which is the same on other machines.
		s.fixed, s.wasm = n, wasmbin.FuncType{}
		s.lower()
	}
	top := uint32(f.c.Stack.Get())
	a := arguments{mem: f.c.Mem, sp: top}
	if err := a.fill(s, rvalue, avalue); err != nil {
		return fmt.Errorf("call a C function: %w", err)
	}
	stack, err := a.adapt(s.wasm, t)
	if err != nil {
		return fmt.Errorf("call a C function: %w", err)
	}
	caller, err := f.c.Caller(ctx, t)
	if err != nil {
		return fmt.Errorf("call a C function: %w", err)
	}
	f.c.Stack.Set(uint64(a.sp &^ 15))
	stack = append(stack, uint64(fn))
	if err := caller.CallWithStack(ctx, stack); err != nil {
		return hostfn.Trap{Err: err}
	}
	f.c.Stack.Set(uint64(top))
	if s.byAddress() || s.result.id == typeVoid {
		return nil
	}
	var v uint64
	if len(t.Results) > 0 {
		if v, err = convert(stack[0], t.Results[0], s.wasm.Results[0]); err != nil {
			return fmt.Errorf("result of a C function: %w", err)
		}
	}
	if !storeResult(f.c.Mem, s.result.id, rvalue, v) {
		return fmt.Errorf("result of a C function: %w", errBadAddress)
	}
	return nil
}

// callable reports whether a function deals in numbers only, and has one result at
// most.
func callable(t wasmbin.FuncType) bool {
	for _, v := range append(append([]wasmbin.ValType{}, t.Params...), t.Results...) {
		switch v {
		case wasmbin.I32, wasmbin.I64, wasmbin.F32, wasmbin.F64:
		default:
			return false
		}
	}
	return len(t.Results) <= 1
}

func storeResult(m hostfn.Mem, id uint16, at uint32, v uint64) bool {
	switch id {
	case typeDouble, typeUint64, typeSint64:
		return m.PutUint64(at, v)
	case typeUint8, typeSint8:
		return m.Put(at, []byte{byte(v)})
	case typeUint16, typeSint16:
		return m.Put(at, []byte{byte(v), byte(v >> 8)})
	}
	return m.PutUint32(at, uint32(v))
}

// arguments are those of one call, and the guest's stack that they take.
type arguments struct {
	mem    hostfn.Mem
	values []uint64
	sp     uint32
}

func (a *arguments) push(v uint64) { a.values = append(a.values, v) }

// room takes n bytes of the guest's stack.
func (a *arguments) room(n, align uint32) (uint32, error) {
	if n > a.sp {
		return 0, errors.New("the stack is full")
	}
	a.sp = (a.sp - n) &^ (align - 1)
	return a.sp, nil
}

// copy puts n bytes of the guest's on its stack.
func (a *arguments) copy(from, n, align uint32) (uint32, error) {
	to, err := a.room(n, align)
	if err != nil {
		return 0, err
	}
	b, ok := a.mem.Bytes(from, n)
	if !ok || !a.mem.Put(to, b) {
		return 0, errBadAddress
	}
	return to, nil
}

// fill reads the arguments.
func (a *arguments) fill(s *signature, rvalue, avalue uint32) error {
	if s.byAddress() {
		a.push(uint64(rvalue))
	}
	at := make([]uint32, len(s.args))
	for i := range at {
		p, ok := a.mem.Uint32(avalue + 4*uint32(i))
		if !ok {
			return errBadAddress
		}
		at[i] = p
	}
	for i, p := range s.args[:s.fixed] {
		if err := a.fixed(p, at[i]); err != nil {
			return err
		}
	}
	if s.variadic() {
		return a.variadic(s.args[s.fixed:], at[s.fixed:])
	}
	return nil
}

func (a *arguments) fixed(p param, at uint32) error {
	if p.id == typeStruct {
		to, err := a.copy(at, p.size, p.align)
		a.push(uint64(to))
		return err
	}
	n := width(p)
	b, ok := a.mem.Bytes(at, n)
	if !ok {
		return errBadAddress
	}
	var v uint64
	for i := range min(n, 8) {
		v |= uint64(b[i]) << (8 * i)
	}
	switch p.id {
	case typeSint8:
		v = uint64(uint32(int8(v)))
	case typeSint16:
		v = uint64(uint32(int16(v)))
	}
	a.push(v)
	if p.id == typeLongDouble {
		v, _ = a.mem.Uint64(at + 8)
		a.push(v)
	}
	return nil
}

// width is the number of bytes that an argument takes.
func width(p param) uint32 {
	switch p.id {
	case typeUint8, typeSint8:
		return 1
	case typeUint16, typeSint16:
		return 2
	case typeDouble, typeUint64, typeSint64:
		return 8
	case typeLongDouble:
		return 16
	}
	return 4
}

// variadic puts arguments one after the other on the stack, structures by
// their address.
func (a *arguments) variadic(args []param, at []uint32) error {
	type structure struct {
		param
		from, pointer uint32
	}
	var structs []structure
	for i := len(args) - 1; i >= 0; i-- {
		p := args[i]
		if p.id == typeStruct {
			to, err := a.room(4, 4)
			if err != nil {
				return err
			}
			structs = append(structs, structure{p, at[i], to})
			continue
		}
		if _, err := a.copy(at[i], width(p), min(width(p), 8)); err != nil {
			return err
		}
	}
	a.push(uint64(a.sp))
	for _, s := range structs {
		to, err := a.copy(s.from, s.size, s.align)
		if err != nil {
			return err
		}
		if !a.mem.PutUint32(s.pointer, to) {
			return errBadAddress
		}
	}
	return nil
}

// adapt makes arguments of type s fit a function of type t, as JavaScript does:
// what is too much is dropped, what is missing is undefined.
func (a *arguments) adapt(s, t wasmbin.FuncType) ([]uint64, error) {
	out := make([]uint64, len(t.Params), max(len(t.Params)+1, len(t.Results)))
	for i, want := range t.Params {
		switch {
		case i < len(s.Params):
			v, err := convert(a.values[i], s.Params[i], want)
			if err != nil {
				return nil, fmt.Errorf("argument %d: %w", i+1, err)
			}
			out[i] = v
		case want == wasmbin.F64:
			out[i] = api.EncodeF64(math.NaN())
		case want == wasmbin.F32:
			out[i] = api.EncodeF32(float32(math.NaN()))
		}
	}
	return out, nil
}

// convert makes a value of one type one of another.
func convert(v uint64, from, to wasmbin.ValType) (uint64, error) {
	if from == to {
		return v, nil
	}
	var x float64
	switch from {
	case wasmbin.I64:
		if to == wasmbin.I32 { // a 64-bit result that is not declared (time)
			return uint64(uint32(v)), nil
		}
		return 0, fmt.Errorf("%v given, %v wanted", from, to)
	case wasmbin.I32:
		if to == wasmbin.I64 {
			return uint64(int32(v)), nil
		}
		x = float64(int32(v))
	case wasmbin.F32:
		x = float64(api.DecodeF32(v))
	case wasmbin.F64:
		x = api.DecodeF64(v)
	}
	switch to {
	case wasmbin.I32:
		return uint64(toInt32(x)), nil
	case wasmbin.F32:
		return api.EncodeF32(float32(x)), nil
	case wasmbin.F64:
		return api.EncodeF64(x), nil
	}
	return 0, fmt.Errorf("%v given, %v wanted", from, to)
}

// toInt32 is JavaScript's conversion: modulo 2^32, and 0 for what is not a number.
func toInt32(x float64) uint32 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	x = math.Mod(math.Trunc(x), 1<<32)
	if x < 0 {
		x += 1 << 32
	}
	return uint32(x)
}
