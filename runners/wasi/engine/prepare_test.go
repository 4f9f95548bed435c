package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"coderunner/cache"
	"coderunner/internal/fetch"
	"coderunner/pyodide"
	"coderunner/pyodide/wasmbin"
)

// TestPrepare has a module compiled for others: by the configuration's process, and here where
// that has not enough memory. Nothing is opened, and who opens it then compiles nothing, and has nothing made
// for each of its functions.
func TestPrepare(t *testing.T) {
	var b wasmbin.Builder
	b.ImportFunc("wasi_snapshot_preview1", "proc_exit", wasmbin.FuncType{Params: []wasmbin.ValType{wasmbin.I32}})
	b.Export("memory", wasmbin.KindMemory, b.Define(wasmbin.KindMemory, wasmbin.SecMemory, []byte{0, 1}))
	b.Export("_start", wasmbin.KindFunc, b.Func(wasmbin.FuncType{}, nil, nil))
	const functions, bytes = 10_000, 200
	for range functions {
		b.Func(wasmbin.FuncType{}, nil, nil)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "module.wasm"), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, failure := range map[string]error{"elsewhere": nil, "here": fmt.Errorf("%w: of memory", pyodide.ErrBudget)} {
		t.Run(name, func(t *testing.T) {
			c, err := cache.Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			m := &Module{Name: name, File: "module.wasm", Package: func() fetch.NPMPackage { return fetch.NPMPackage{Name: name, Integrity: name} }}
			compiled := 0
			server := New(Config{
				Files: c, Fetch: func(context.Context, fetch.NPMPackage, fetch.ProgressFunc) (string, error) { return dir, nil },
				Compile: func(ctx context.Context, dir string, _ int64) error {
					if compiled++; failure != nil {
						return failure
					}
					return Build(ctx, dir)
				},
			})
			for range 2 {
				if err := server.Prepare(t.Context(), m, nil); err != nil {
					t.Fatal(err)
				}
			}
			if o := server.modules[name]; compiled != 1 || o == nil || o.code != nil {
				t.Errorf("compiled %d times, %+v", compiled, o)
			}
			worker := New(Config{Files: c}) // which cannot fetch, and so not compile
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := worker.Open(t.Context(), m, nil); err != nil {
				t.Error(err)
			}
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > functions*bytes {
				t.Errorf("opening a module of %d functions took %d bytes", functions, n)
			}
			if err := errors.Join(worker.Close(), server.Close(), c.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}
