package engine_test

import (
	"context"
	"errors"
	"testing"

	"coderunner/pyodide/wasmbin"
	"coderunner/runners/wasi/engine"
)

// TestCompiledElsewhere has a module compiled by who the configuration names, for the run that
// brings it, and again where that failed.
func TestCompiledElsewhere(t *testing.T) {
	var b wasmbin.Builder
	memory := b.Define(wasmbin.KindMemory, wasmbin.SecMemory, []byte{0, 1})
	b.Export("memory", wasmbin.KindMemory, memory)
	b.Export("_start", wasmbin.KindFunc, b.Func(wasmbin.FuncType{}, nil, nil))
	wasm := wasmbin.AppendSection(b.Bytes(), wasmbin.SecCustom, wasmbin.AppendName(nil, "padding"), make([]byte, 8<<10))

	type run struct{}
	var asked []any
	e := engine.New(engine.Config{Compile: func(ctx context.Context, dir string, _ int64) error {
		if asked = append(asked, ctx.Value(run{})); len(asked) == 1 {
			return errors.New("the run has ended")
		}
		return engine.Build(ctx, dir)
	}})
	defer e.Close()
	for i, want := range []bool{false, true, true} {
		_, err := e.Use(context.WithValue(t.Context(), run{}, i), wasm)
		if (err == nil) != want {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if len(asked) != 2 || asked[0] != 0 || asked[1] != 1 {
		t.Errorf("asked for the runs %v", asked)
	}
}
