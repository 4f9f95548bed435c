package libffi

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"coderunner/pyodide/hostfn"
	"coderunner/pyodide/wasmbin"
)

// TestRoundTrip calls closures by ffi_call, and wants their handler to see what
// was passed and the caller to get what it answers.
func TestRoundTrip(t *testing.T) {
	f32 := func(v float32) []byte { return words(math.Float32bits(v)) }
	f64 := func(v float64) []byte { b := math.Float64bits(v); return words(uint32(b), uint32(b>>32)) }
	type value struct {
		id   uint16
		data []byte
	}
	for _, c := range []struct {
		name     string
		args     []value
		variadic int
		result   value
	}{
		{"nothing", nil, 0, value{typeVoid, nil}},
		{"no arguments", nil, 0, value{typeSint32, words(42)}},
		{"int", []value{{typeSint32, words(7)}}, 0, value{typeSint32, words(42)}},
		{"small", []value{{typeUint8, []byte{200}}, {typeSint8, []byte{0x80}}, {typeUint16, []byte{1, 2}}, {typeSint16, []byte{0, 0x80}}}, 0, value{typeUint8, []byte{9}}},
		{"wide", []value{{typeSint64, words(1, 2)}, {typeUint64, words(3, 4)}}, 0, value{typeSint64, words(5, 6)}},
		{"floats", []value{{typeFloat, f32(1.5)}, {typeDouble, f64(-2.25)}}, 0, value{typeDouble, f64(1e300)}},
		{"float result", []value{{typePointer, words(64)}}, 0, value{typeFloat, f32(0.5)}},
		{"long double", []value{{typeLongDouble, words(1, 2, 3, 4)}, {typeInt, words(5)}}, 0, value{typeLongDouble, words(6, 7, 8, 9)}},
		{"struct", []value{{typeStruct, words(1, 2, 3)}, {typeInt, words(4)}}, 0, value{typeStruct, words(5, 6, 7)}},
		{"variadic", []value{{typePointer, words(8)}, {typeSint32, words(1)}, {typePointer, words(2)}}, 2, value{typeSint32, words(3)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			var types []uint32
			makeType := func(v value) uint32 {
				if v.id == typeStruct {
					i := w.ffiType(typeSint32, 4, 4)
					return w.ffiType(typeStruct, 12, 4, i, i, i)
				}
				return w.ffiType(v.id, uint32(len(v.data)), 4)
			}
			avalue := []uint32{}
			for _, a := range c.args {
				types = append(types, makeType(a))
				avalue = append(avalue, w.alloc(a.data))
			}
			cif := w.cif(len(c.args)-c.variadic, makeType(c.result), types...)
			code := w.alloc(words(0))
			p, err := w.Alloc(w.ctx, 40, code)
			if err != nil {
				t.Fatal(err)
			}
			slot, _ := w.c.Mem.Uint32(code)
			if status, err := w.Prepare(w.ctx, p, cif, handler, 77, slot); status != statusOK || err != nil {
				t.Fatalf("Prepare = %d, %v", status, err)
			}
			called := false
			w.handled = func(gotCIF, result, args, data uint32) {
				called = true
				if gotCIF != cif || data != 77 {
					t.Errorf("the handler got cif %#x and data %d, want %#x and 77", gotCIF, data, cif)
				}
				if sp := w.c.Stack.Get(); sp%16 != 0 || sp >= stackTop {
					t.Errorf("stack pointer %d in the handler", sp)
				}
				for i, a := range c.args {
					at, _ := w.c.Mem.Uint32(args + 4*uint32(i))
					if b, _ := w.c.Mem.Bytes(at, uint32(len(a.data))); !bytes.Equal(b, a.data) {
						t.Errorf("argument %d is % x, want % x", i, b, a.data)
					}
				}
				w.c.Mem.Put(result, c.result.data)
			}
			rvalue := w.alloc(bytes.Repeat([]byte{'?'}, 24))
			if err := w.Call(w.ctx, cif, slot, rvalue, w.alloc(words(avalue...))); err != nil {
				t.Fatal(err)
			}
			if !called {
				t.Error("the closure's handler was not called")
			}
			want := append(bytes.Clone(c.result.data), bytes.Repeat([]byte{'?'}, 24-len(c.result.data))...)
			if b, _ := w.c.Mem.Bytes(rvalue, 24); !bytes.Equal(b, want) {
				t.Errorf("result % x, want % x", b, want)
			}
			if sp := w.c.Stack.Get(); sp != stackTop {
				t.Errorf("stack pointer %d afterwards, want %d", sp, stackTop)
			}
			if err := w.Release(w.ctx, p); err != nil || len(w.freed) != 1 || w.freed[0] != slot {
				t.Errorf("Release: %v, freed slots %v", err, w.freed)
			}
			// The next of the same kind needs no new instance.
			p, _ = w.Alloc(w.ctx, 40, code)
			slot, _ = w.c.Mem.Uint32(code)
			w.c.Generate = nil
			if status, err := w.Prepare(w.ctx, p, cif, handler, 77, slot); status != statusOK || err != nil {
				t.Errorf("Prepare again = %d, %v", status, err)
			}
		})
	}
}

// TestOtherTypes calls a function of another type than was declared.
func TestOtherTypes(t *testing.T) {
	w := newWorld(t)
	i, f, j := w.ffiType(typeSint32, 4, 4), w.ffiType(typeDouble, 8, 8), w.ffiType(typeSint64, 8, 8)
	void := w.ffiType(typeVoid, 0, 1)
	code := w.alloc(words(0))
	p, _ := w.Alloc(w.ctx, 40, code)
	slot, _ := w.c.Mem.Uint32(code)
	if s, err := w.Prepare(w.ctx, p, w.cif(2, i, i, f), handler, 0, slot); s != 0 || err != nil {
		t.Fatal(s, err)
	}
	var seen [2]uint64
	w.handled = func(_, result, args, _ uint32) {
		for n := range seen {
			at, _ := w.c.Mem.Uint32(args + 4*uint32(n))
			seen[n], _ = w.c.Mem.Uint64(at)
		}
		w.c.Mem.PutUint32(result, 8)
	}
	arg := w.alloc(words(0xfffffffe, 0))
	for _, c := range []struct {
		cif  uint32
		want string
	}{
		{w.cif(0, void), ""},
		{w.cif(1, f, i), ""},
		{w.cif(1, i, j), ""},
		{w.cif(3, i, i, i, i), ""},
		{w.cif(2, i, i, j), "argument 2: i64 given, f64 wanted"},
		{w.cif(1, w.ffiType(typeComplex, 16, 8), i), "complex"},
		{w.cif(1, i, w.ffiType(99, 4, 4)), "unknown type 99"},
	} {
		err := w.Call(w.ctx, c.cif, slot, w.alloc(make([]byte, 16)), w.alloc(words(arg, arg, arg)))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("Call: %v, want %q", err, c.want)
		}
	}
	if v := math.Float64frombits(seen[1]); uint32(seen[0]) != 0xfffffffe || v != -2 {
		t.Errorf("the function saw %#x and %v, want -2 twice", uint32(seen[0]), v)
	}
	if err := w.Call(w.ctx, w.cif(0, void), 0, 0, 0); err == nil || hostfn.Trapped(err) {
		t.Errorf("call of slot 0: %v", err)
	}
	w.types[10] = wasmbin.FuncType{Params: []wasmbin.ValType{wasmbin.V128}}
	w.types[11] = wasmbin.FuncType{Results: []wasmbin.ValType{wasmbin.I32, wasmbin.I32}}
	for _, slot := range []uint32{10, 11} {
		if err := w.Call(w.ctx, w.cif(0, void), slot, 0, 0); err == nil || hostfn.Trapped(err) {
			t.Errorf("call of a function of type %v: %v", w.types[slot], err)
		}
	}
	w.types[9] = wasmbin.FuncType{} // nothing is there
	if err := w.Call(w.ctx, w.cif(0, void), 9, 0, 0); !hostfn.Trapped(err) {
		t.Errorf("a trap: %v", err)
	}
}

func TestBadClosures(t *testing.T) {
	w := newWorld(t)
	i := w.ffiType(typeSint32, 4, 4)
	code := w.alloc(words(0))
	p, _ := w.Alloc(w.ctx, 40, code)
	slot, _ := w.c.Mem.Uint32(code)
	for name, c := range map[string][2]uint32{
		"another slot":   {p, slot + 1},
		"main's slot":    {w.alloc(words(handler)), handler},
		"not in memory":  {1 << 31, slot},
		"no such memory": {w.alloc(words(999)), 999},
	} {
		if s, err := w.Prepare(w.ctx, c[0], w.cif(1, i, i), handler, 0, c[1]); s != statusBadTypedef || err != nil {
			t.Errorf("%s: %d, %v", name, s, err)
		}
	}
	if s, err := w.Prepare(w.ctx, p, w.cif(1, i, 1<<31), handler, 0, slot); s != statusBadTypedef || err != nil {
		t.Errorf("bad signature: %d, %v", s, err)
	}
	// Freed twice, and freed without having been made.
	for _, q := range []uint32{p, p, w.alloc(words(handler)), 1 << 31} {
		if err := w.Release(w.ctx, q); err != nil {
			t.Error(err)
		}
	}
	if len(w.freed) != 1 {
		t.Errorf("freed slots %v, want one", w.freed)
	}
}
