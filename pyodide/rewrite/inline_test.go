package rewrite

import (
	"context"
	"fmt"
	"testing"

	"github.com/tetratelabs/wazero"

	"coderunner/pyodide/wasmbin"
)

// TestInline replaces calls of functions of many shapes: parameters in order,
// locals that begin as zero each time, all ways out.
func TestInline(t *testing.T) {
	const i64Add, i64Wrap = wasmbin.OpI64Add, 0xa7
	two := wasmbin.FuncType{Params: i32s(2), Results: i32s(1)}
	sub := asm(nil).get(0).get(1).op(wasmbin.OpI32Sub)
	for name, c := range map[string]struct {
		t      wasmbin.FuncType
		locals []wasmbin.ValType
		code   asm
		copied bool
	}{
		"plain": {two, nil, sub, true},
		"counter": {two, i32s(1), // the local is zero at first
			asm(nil).get(2).get(0).op(wasmbin.OpI32Add).set(2).get(2).get(1).op(wasmbin.OpI32Mul), true},
		"return":          {two, nil, asm(nil).get(0).void(wasmbin.OpIf).op(sub...).op(wasmbin.OpReturn).end().get(1), true},
		"branch":          {two, nil, asm(nil).void(wasmbin.OpBlock).get(1).get(0).op(wasmbin.OpBrIf, 1, wasmbin.OpDrop).end().get(0), true},
		"table":           {two, nil, asm(nil).void(wasmbin.OpBlock).get(1).get(0).op(wasmbin.OpBrTable, 1, 1, 1).end().get(0), true},
		"end unreachable": {two, nil, asm(nil).get(0).get(1).op(wasmbin.OpI32Sub, wasmbin.OpReturn), true},
		"types": {two, []wasmbin.ValType{wasmbin.I64, wasmbin.F64, wasmbin.I32, wasmbin.F32, wasmbin.I64},
			asm(nil).get(0).op(0xac).set(2).get(1).op(0xac).set(6).get(6).get(2).op(i64Add, i64Wrap).get(4).op(wasmbin.OpI32Add), true},
		"loop":  {two, nil, asm(nil).void(wasmbin.OpLoop).end().op(sub...), false},
		"calls": {two, nil, asm(nil).get(0).get(1).idx(wasmbin.OpCall, 0), false},
		"long":  {two, nil, asm(nil).op(make([]byte, maxLeaf)...).op(sub...), false},
	} {
		for i := range c.code { // what is long is nops
			if name == "long" && i < maxLeaf {
				c.code[i] = wasmbin.OpNop
			}
		}
		t.Run(name, func(t *testing.T) {
			var b wasmbin.Builder
			b.Func(two, nil, asm(nil).get(0).get(1).void(wasmbin.OpLoop).end().op(wasmbin.OpI32Sub))
			f := b.Func(c.t, c.locals, c.code)
			// The caller calls in a loop, with its own locals around.
			call := asm(nil).get(0).get(2).idx(wasmbin.OpCall, f)
			code := asm(nil).void(wasmbin.OpLoop).op(call...).get(1).get(0).idx(wasmbin.OpCall, f).
				op(wasmbin.OpI32Mul).get(3).op(wasmbin.OpI32Add).set(3).
				get(2).i32(1).op(wasmbin.OpI32Add, wasmbin.OpLocalTee, 2).i32(3).op(wasmbin.OpI32LtS, wasmbin.OpBrIf, 0).end().get(3)
			b.Export("main", wasmbin.KindFunc, b.Func(two, i32s(2), code))
			in := b.Bytes()
			out, info, err := Module(in, Options{Skip: ^PassInline})
			if err != nil {
				t.Fatal(err)
			}
			if want := map[bool]int{true: 2}[c.copied]; info.Stats.Inlined != want {
				t.Errorf("%d calls replaced, want %d", info.Stats.Inlined, want)
			}
			compareMain(t, in, out)
		})
	}
}

// compareMain compares main of two modules, (i32, i32) -> i32.
func compareMain(t *testing.T, a, b []byte) {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(plainFeatures))
	defer r.Close(ctx)
	var got [2][]string
	for i, wasm := range [][]byte{a, b} {
		m, err := r.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithName(fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []int32{-7, 0, 1, 12} {
			for _, y := range []int32{-1, 0, 5} {
				got[i] = append(got[i], fmt.Sprint(x, y, run(t, m, "main", uint64(uint32(x)), uint64(uint32(y)))))
			}
		}
	}
	for i := range got[0] {
		if got[0][i] != got[1][i] {
			t.Errorf("x, y, main: %s, want %s", got[1][i], got[0][i])
		}
	}
}
