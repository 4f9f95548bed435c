package rewrite

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"coderunner/pyodide/codestore"
	"coderunner/pyodide/wasmbin"
)

// laidOut instantiates a module with its machine code laid out anew, as the
// product does, every function of it. The caller calls close.
func laidOut(t *testing.T, wasm []byte) (m api.Module, close func()) {
	t.Helper()
	ctx, dir := context.Background(), t.TempDir()
	l, err := codestore.NewLoader(ctx)
	if err != nil {
		t.Fatal(err)
	}
	close = func() {
		if err := l.Close(ctx); err != nil {
			t.Error(err)
		}
		os.RemoveAll(dir)
	}
	parsed, err := wasmbin.Parse(wasm)
	if err != nil {
		t.Fatal(err)
	}
	if err := codestore.Build(ctx, dir, codestore.Source{Whole: wasm, Stub: parsed.Stub(nil)}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, codestore.StubFile))
	if err != nil {
		t.Fatal(err)
	}
	stub, err := codestore.ReadStub(b)
	if err != nil {
		t.Fatal(err)
	}
	if !stub.Layout.Whole() {
		t.Errorf("%+v", stub.Layout)
	}
	code, err := l.Load(ctx, stub, filepath.Join(dir, codestore.CodeFile))
	if err != nil {
		t.Fatal(err)
	}
	if m, err = l.Runtime().InstantiateModule(ctx, code, wazero.NewModuleConfig()); err != nil {
		t.Fatal(err)
	}
	return m, close
}
