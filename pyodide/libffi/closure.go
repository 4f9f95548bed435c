package libffi

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero/api"

	"coderunner/pyodide/hostfn"
	"coderunner/pyodide/wasmbin"
)

// Results of ffi_prep_closure_loc.
const (
	statusOK         = 0
	statusBadTypedef = 1
)

// maxKinds bounds the types of closures: wazero never forgets a function type.
// maxClosures bounds those that are allocated, prepared or not: each has a slot
// and an entry in tables of the host.
const (
	maxKinds    = 512
	maxClosures = 1 << 16
)

// Alloc is ffi_closure_alloc_js: it allocates a closure, and stores the
// slot that it will have at code; 0 when there is no room.
func (f *FFI) Alloc(ctx context.Context, size, code uint32) (uint32, error) {
	const least = 16
	p, err := f.c.Malloc(ctx, max(size, least))
	if err != nil || p == 0 {
		return 0, err
	}
	if len(f.taken)+len(f.closures) >= maxClosures {
		return 0, f.c.Free(ctx, p)
	}
	slot, err := f.c.TakeSlot(ctx)
	if err != nil {
		return 0, errors.Join(err, f.c.Free(ctx, p))
	}
	if !f.c.Mem.PutUint32(p, slot) || !f.c.Mem.PutUint32(code, slot) {
		return 0, errors.Join(errBadAddress, f.c.FreeSlot(ctx, slot), f.c.Free(ctx, p))
	}
	f.taken[slot] = true
	return p, nil
}

// Release is ffi_closure_free_js.
func (f *FFI) Release(ctx context.Context, p uint32) error {
	slot, ok := f.c.Mem.Uint32(p)
	if !ok {
		return nil
	}
	if c := f.closures[slot]; c != nil {
		delete(f.closures, slot)
		f.spare[c.key] = append(f.spare[c.key], c)
		f.taken[slot] = true
	}
	if f.taken[slot] {
		delete(f.taken, slot)
		if err := f.c.FreeSlot(ctx, slot); err != nil {
			return err
		}
	}
	return f.c.Free(ctx, p)
}

// Prepare is ffi_prep_closure_loc_js: it makes the function in slot code call
// fun(cif, result, arguments, data). It returns libffi's status.
func (f *FFI) Prepare(ctx context.Context, p, cif, fun, data, code uint32) (int32, error) {
	m := f.c.Mem
	slot, ok := m.Uint32(p)
	if !ok || slot != code || !f.taken[slot] && f.closures[slot] == nil {
		return statusBadTypedef, nil
	}
	s, err := readSignature(m, cif)
	if err != nil {
		return statusBadTypedef, nil
	}
	wasm := closureModule(s)
	c, err := f.instance(ctx, wasm, s.wasm)
	if err != nil {
		return statusBadTypedef, nil
	}
	if !m.PutUint32(p+4, cif) || !m.PutUint32(p+8, fun) || !m.PutUint32(p+12, data) {
		return statusBadTypedef, nil
	}
	return statusOK, f.install(ctx, c, p, slot)
}

// install puts the function of the closure at address p into its slot.
func (f *FFI) install(ctx context.Context, c *closure, p, slot uint32) error {
	c.mod.ExportedGlobal("closure").(api.MutableGlobal).Set(uint64(p))
	if _, err := c.mod.ExportedFunction("install").Call(ctx, uint64(slot)); err != nil {
		return hostfn.Trap{Err: err}
	}
	if old := f.closures[slot]; old != nil {
		f.spare[old.key] = append(f.spare[old.key], old)
	}
	delete(f.taken, slot)
	f.closures[slot] = c
	return f.c.SetType(ctx, slot, c.typ)
}

// instance returns an instance of a closure module, a spare one if there is.
func (f *FFI) instance(ctx context.Context, wasm []byte, t wasmbin.FuncType) (*closure, error) {
	key := string(wasm)
	if n := len(f.spare[key]); n > 0 {
		c := f.spare[key][n-1]
		f.spare[key] = f.spare[key][:n-1]
		return c, nil
	}
	if _, known := f.spare[key]; !known && len(f.spare) >= maxKinds {
		return nil, errors.New("too many types of closures")
	}
	mod, err := f.c.Generate(ctx, wasm)
	if err != nil {
		return nil, fmt.Errorf("make a closure: %w", err)
	}
	f.spare[key] = f.spare[key][:0]
	return &closure{mod: mod, key: key, typ: t}, nil
}

// closureModule generates the function of closures with one signature. It is a
// function of wasm alone: for a closure at address C (a global that is set
// later) and a frame F on the guest's stack
//
//	F +0   result         16 bytes
//	  +16  arguments      their addresses
//	  …    values
//
// it stores its parameters as values, calls table[C.fun](C.cif, F, F+16,
// C.user_data) and loads the result. install(slot) puts it into the table.
func closureModule(s *signature) []byte {
	var b wasmbin.Builder
	b.ImportTable("main", "__indirect_function_table", wasmbin.Table{Type: wasmbin.FuncRef})
	b.ImportMemory("main", "memory", wasmbin.Limits{})
	sp := b.ImportGlobal("main", "__stack_pointer", wasmbin.I32, true)
	self := b.GlobalI32(true, 0)
	b.Export("closure", wasmbin.KindGlobal, self)

	c := closureCode{sp: sp, self: self, frame: uint32(len(s.wasm.Params)), top: uint32(len(s.wasm.Params)) + 1}
	handler := b.Type(wasmbin.FuncType{Params: []wasmbin.ValType{wasmbin.I32, wasmbin.I32, wasmbin.I32, wasmbin.I32}})
	fn := b.Func(s.wasm, []wasmbin.ValType{wasmbin.I32, wasmbin.I32}, c.body(s, handler))

	install := []byte{wasmbin.OpLocalGet, 0, wasmbin.OpRefFunc}
	install = append(wasmbin.AppendU32(install, fn), wasmbin.OpTableSet, 0)
	b.Export("install", wasmbin.KindFunc, b.Func(wasmbin.FuncType{Params: []wasmbin.ValType{wasmbin.I32}}, nil, install))
	b.Declare(fn)
	return b.Bytes()
}

// closureCode assembles the function.
type closureCode struct {
	b          []byte
	sp, self   uint32 // globals
	frame, top uint32 // locals
}

const frameArgs = 16 // where addresses of arguments are in the frame

func (c *closureCode) op(op byte, index uint32) { c.b = wasmbin.AppendOp(c.b, op, index) }
func (c *closureCode) i32(v uint32)             { c.b = wasmbin.AppendI32Const(c.b, int32(v)) }

// mem adds a load or store with an offset.
func (c *closureCode) mem(op byte, offset uint32) {
	c.b = wasmbin.AppendU32(append(c.b, op, 0), offset)
}

// point stores the address of an argument's value.
func (c *closureCode) point(arg int, value func()) {
	c.op(wasmbin.OpLocalGet, c.frame)
	value()
	c.mem(wasmbin.OpI32Store, frameArgs+4*uint32(arg))
}

func (c *closureCode) body(s *signature, handler uint32) []byte {
	size := uint32(frameArgs + 4*len(s.args))
	offsets := make([]uint32, s.fixed)
	for i, a := range s.args[:s.fixed] {
		size = (size + 7) &^ 7
		offsets[i] = size
		size += max(8, width(a))
	}
	c.op(wasmbin.OpGlobalGet, c.sp)
	c.op(wasmbin.OpLocalTee, c.top)
	c.i32(size)
	c.b = append(c.b, wasmbin.OpI32Sub)
	c.i32(^uint32(15))
	c.b = append(c.b, opI32And)
	c.op(wasmbin.OpLocalTee, c.frame)
	c.op(wasmbin.OpGlobalSet, c.sp)
	c.storeArgs(s, offsets)
	if len(s.wasm.Results) > 0 { // the handler stores nothing when it fails
		c.op(wasmbin.OpLocalGet, c.frame)
		c.b = append(c.b, wasmbin.OpI64Const, 0)
		c.mem(opI64Store, 0)
	}

	c.op(wasmbin.OpGlobalGet, c.self)
	c.mem(wasmbin.OpI32Load, 4)
	if s.byAddress() {
		c.op(wasmbin.OpLocalGet, 0)
	} else {
		c.op(wasmbin.OpLocalGet, c.frame)
	}
	c.op(wasmbin.OpLocalGet, c.frame)
	c.i32(frameArgs)
	c.b = append(c.b, wasmbin.OpI32Add)
	c.op(wasmbin.OpGlobalGet, c.self)
	c.mem(wasmbin.OpI32Load, 12)
	c.op(wasmbin.OpGlobalGet, c.self)
	c.mem(wasmbin.OpI32Load, 8)
	c.b = append(wasmbin.AppendOp(c.b, wasmbin.OpCallIndirect, handler), 0)

	c.op(wasmbin.OpLocalGet, c.top)
	c.op(wasmbin.OpGlobalSet, c.sp)
	if len(s.wasm.Results) > 0 {
		c.op(wasmbin.OpLocalGet, c.frame)
		c.mem(loads[s.wasm.Results[0]], 0)
	}
	return c.b
}

// Opcodes that wasmbin has no names for.
const (
	opI64Load  = 0x29
	opF32Load  = 0x2a
	opF64Load  = 0x2b
	opI64Store = 0x37
	opF32Store = 0x38
	opF64Store = 0x39
	opI32And   = 0x71
)

var (
	loads = map[wasmbin.ValType]byte{wasmbin.I32: wasmbin.OpI32Load, wasmbin.I64: opI64Load,
		wasmbin.F32: opF32Load, wasmbin.F64: opF64Load}
	stores = map[wasmbin.ValType]byte{wasmbin.I32: wasmbin.OpI32Store, wasmbin.I64: opI64Store,
		wasmbin.F32: opF32Store, wasmbin.F64: opF64Store}
)

// storeArgs writes values and their addresses into the frame. A structure is
// the caller's copy already.
func (c *closureCode) storeArgs(s *signature, offsets []uint32) {
	p := uint32(0)
	if s.byAddress() {
		p = 1
	}
	for i, a := range s.args[:s.fixed] {
		if a.id == typeStruct {
			c.point(i, func() { c.op(wasmbin.OpLocalGet, p) })
			p++
			continue
		}
		t := valType(a.id)
		c.op(wasmbin.OpLocalGet, c.frame)
		c.op(wasmbin.OpLocalGet, p)
		c.mem(stores[t], offsets[i])
		p++
		if a.id == typeLongDouble {
			c.op(wasmbin.OpLocalGet, c.frame)
			c.op(wasmbin.OpLocalGet, p)
			c.mem(stores[t], offsets[i]+8)
			p++
		}
		c.point(i, func() {
			c.op(wasmbin.OpLocalGet, c.frame)
			c.i32(offsets[i])
			c.b = append(c.b, wasmbin.OpI32Add)
		})
	}
	c.variadicArgs(s, p)
}

// variadicArgs points at the arguments behind the address in parameter p,
// which upstream takes to be four bytes apart.
func (c *closureCode) variadicArgs(s *signature, p uint32) {
	for i, a := range s.args[s.fixed:] {
		c.point(s.fixed+i, func() {
			c.op(wasmbin.OpLocalGet, p)
			if a.id == typeStruct {
				c.mem(wasmbin.OpI32Load, 4*uint32(i))
				return
			}
			c.i32(4 * uint32(i))
			c.b = append(c.b, wasmbin.OpI32Add)
		})
	}
}
