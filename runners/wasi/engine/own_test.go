package engine_test

import (
	"context"
	"errors"
	"testing"

	"coderunner/cache"
	"coderunner/internal/fetch"
	"coderunner/pyodide/wasmbin"
	"coderunner/runners"
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
		_, err := e.Use(context.WithValue(t.Context(), run{}, i), wasm, runners.SHA256(wasm))
		if (err == nil) != want {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if len(asked) != 2 || asked[0] != 0 || asked[1] != 1 {
		t.Errorf("asked for the runs %v", asked)
	}
}

// TestKept has a module compiled once for two processes that share a cache, and again for one
// that may not keep anything.
func TestKept(t *testing.T) {
	var b wasmbin.Builder
	b.Export("memory", wasmbin.KindMemory, b.Define(wasmbin.KindMemory, wasmbin.SecMemory, []byte{0, 1}))
	b.Export("_start", wasmbin.KindFunc, b.Func(wasmbin.FuncType{}, nil, nil))
	wasm := wasmbin.AppendSection(b.Bytes(), wasmbin.SecCustom, wasmbin.AppendName(nil, "padding"), make([]byte, 8<<10))
	c, err := cache.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	compiled := 0
	config := engine.Config{
		Files: c, Compile: func(ctx context.Context, dir string, _ int64) error { compiled++; return engine.Build(ctx, dir) },
		Fetch: func(context.Context, fetch.NPMPackage, fetch.ProgressFunc) (string, error) {
			return "", errors.New("none")
		},
	}
	for _, want := range []int{1, 1, 2} {
		if want == 2 {
			config.Fetch = nil
		}
		e := engine.New(config)
		if _, err := e.Use(t.Context(), wasm, runners.SHA256(wasm)); err != nil || compiled != want {
			t.Errorf("%v, compiled %d times, want %d", err, compiled, want)
		}
		if _, err := e.Use(t.Context(), []byte("\x00asm\x01\x00\x00\x00\xff"), "bad"); engine.IsBad(err) == "" {
			t.Errorf("a damaged module: %v", err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
