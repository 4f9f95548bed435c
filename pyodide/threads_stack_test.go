package pyodide

import (
	"context"
	"testing"

	"github.com/tetratelabs/wazero"

	"coderunner/pyodide/wasmbin"
)

// TestNativeStack fails when wazero keeps native stacks elsewhere than where
// nativeStack looks.
func TestNativeStack(t *testing.T) {
	var b wasmbin.Builder
	i32 := []wasmbin.ValType{wasmbin.I32}
	// f(n) = n ? f(n-1) + 1 : 0
	b.Func(wasmbin.FuncType{Params: i32, Results: i32}, nil, []byte{wasmbin.OpLocalGet, 0, 0x04, 0x7f,
		wasmbin.OpLocalGet, 0, wasmbin.OpI32Const, 1, wasmbin.OpI32Sub, wasmbin.OpCall, 0, wasmbin.OpI32Const, 1, wasmbin.OpI32Add,
		wasmbin.OpElse, wasmbin.OpI32Const, 0, wasmbin.OpEnd})
	b.Export("f", wasmbin.KindFunc, 0)
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler())
	defer r.Close(ctx)
	m, err := r.Instantiate(ctx, b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	f := m.ExportedFunction("f")
	before := nativeStack(f)
	if _, err := f.Call(ctx, 100_000); err != nil {
		t.Fatal(err)
	}
	if after := nativeStack(f); before <= 0 || before > threadCost || after < 16*100_000 {
		t.Errorf("the native stack had %d bytes, and %d after 100,000 nested calls", before, after)
	}
}
