//go:build amd64

package relayout_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"coderunner/internal/fetch"
	"coderunner/internal/versions"
	"coderunner/pyodide/codestore"
	"coderunner/pyodide/pyodidetest"
	"coderunner/pyodide/relayout"
	"coderunner/pyodide/rewrite"
	"coderunner/pyodide/wasmbin"
)

// TestCPython lays out CPython's module, every function of it, and validates each.
func TestCPython(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles CPython")
	}
	fetcher := fetch.New(pyodidetest.Cache(t), fetch.Options{})
	defer fetcher.Close()
	dir, err := fetcher.NPM(context.Background(), versions.Pyodide(os.Getenv("NPM_CONFIG_REGISTRY")), nil)
	if err != nil {
		t.Skip(err)
	}
	source, err := os.ReadFile(filepath.Join(dir, versions.PyodideWasm))
	if err != nil {
		t.Fatal(err)
	}
	wasm, _, err := rewrite.Module(source, rewrite.Options{Trampoline: true, Lean: true, Threads: true, Skip: rewrite.PassRounds | rewrite.PassStrides})
	if err != nil {
		t.Fatal(err)
	}
	m, err := wasmbin.Parse(wasm)
	if err != nil {
		t.Fatal(err)
	}
	functions, exits := relayout.Validate(t, "CPython", relayout.Compiled(t, wasm), codestore.Shapes(m))
	if functions < 10_000 || exits < 200_000 {
		t.Errorf("%d functions, %d exits", functions, exits)
	}
}
