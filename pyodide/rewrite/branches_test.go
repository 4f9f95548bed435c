package rewrite

import (
	"context"
	"fmt"
	"testing"

	"github.com/tetratelabs/wazero"

	"coderunner/pyodide/wasmbin"
)

// TestComparisons branches on each integer comparison, forward and back, with
// the pass and without.
func TestComparisons(t *testing.T) {
	var b wasmbin.Builder
	var names []string
	for op := wasmbin.OpI32Eqz; op <= wasmbin.OpI64GeU; op++ {
		a := asm(nil)
		for p := range 2 {
			if p == 1 && (op == wasmbin.OpI32Eqz || op == wasmbin.OpI64Eqz) {
				break
			}
			if a = a.get(byte(p)); op >= wasmbin.OpI64Eqz {
				a = a.op(opI64ExtendI32S)
			}
		}
		test := append(a, byte(op), wasmbin.OpBrIf, 0)
		forward := asm(nil).void(wasmbin.OpBlock).op(test...).i32(0).op(wasmbin.OpReturn).end().i32(1)
		// Three rounds at most: the branch back is counted in local 2.
		back := asm(nil).void(wasmbin.OpLoop).get(2).i32(1).op(wasmbin.OpI32Add, wasmbin.OpLocalTee, 2).
			i32(3).op(wasmbin.OpI32GtU).void(wasmbin.OpIf).get(2).op(wasmbin.OpReturn).end().op(test...).end().get(2)
		for i, code := range []asm{forward, back} {
			f := b.Func(wasmbin.FuncType{Params: i32s(2), Results: i32s(1)}, i32s(1), code)
			name := fmt.Sprintf("%#x %d", op, i)
			b.Export(name, wasmbin.KindFunc, f)
			names = append(names, name)
		}
	}
	in := b.Bytes()
	out, info, err := Module(in, Options{Fuel: -1})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := info.Stats.Branches, len(names); got != want {
		t.Errorf("%d branches rewritten, want %d", got, want)
	}
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(plainFeatures))
	defer r.Close(ctx)
	plain, err := r.InstantiateWithConfig(ctx, in, wazero.NewModuleConfig().WithName("plain"))
	if err != nil {
		t.Fatal(err)
	}
	lowered, err := r.InstantiateWithConfig(ctx, out, wazero.NewModuleConfig().WithName("lowered"))
	if err != nil {
		t.Fatal(err)
	}
	values := []int32{-1 << 31, -1, 0, 1, 1<<31 - 1}
	for _, name := range names {
		for _, x := range values {
			for _, y := range values {
				want := run(t, plain, name, uint64(uint32(x)), uint64(uint32(y)))
				if got := run(t, lowered, name, uint64(uint32(x)), uint64(uint32(y))); got != want {
					t.Errorf("%s of %d, %d: %d, want %d", name, x, y, got, want)
				}
			}
		}
	}
}

const opI64ExtendI32S = 0xac
