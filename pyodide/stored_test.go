package pyodide

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero"

	"coderunner/pyodide/codestore"
	"coderunner/pyodide/wasmbin"
)

// testStore keeps everything in a directory, checks nothing, and builds each
// file in a directory that goes away, as package cache does.
type testStore struct{ dir string }

func (s testStore) File(ctx context.Context, kind, key string, build func(context.Context, io.Writer) error) (string, error) {
	path := filepath.Join(s.dir, kind+digest([]byte(key)))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	dir, err := os.MkdirTemp(s.dir, "new")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	f, err := os.Create(filepath.Join(dir, "file"))
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := build(ctx, f); err != nil {
		return "", err
	}
	return path, os.Rename(f.Name(), path)
}

func (s testStore) Dir(context.Context, string, string, func(context.Context, string) error) (string, error) {
	return "", errors.ErrUnsupported
}

// TestStored wants a module to be built once, and again when the store has lost
// a part of it; and the whole one to be compiled when the code is not taken.
func TestStored(t *testing.T) {
	ctx := context.Background()
	l, err := codestore.NewLoader()
	if err != nil {
		t.Fatal(err)
	}
	s := testStore{t.TempDir()}
	r := &modules{config: Config{Store: s}, code: l, wz: wazero.NewRuntimeWithConfig(ctx, codestore.Config().WithCompilationCache(l.Cache()))}
	defer l.Close(ctx)
	defer r.wz.Close(ctx)
	var b wasmbin.Builder
	b.Export("answer", wasmbin.KindFunc, b.Func(wasmbin.FuncType{Results: []wasmbin.ValType{wasmbin.I32}}, nil, wasmbin.AppendI32Const(nil, 42)))
	m, err := wasmbin.Parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	builds, wholes := 0, 0
	build := func(ctx context.Context, dir string) error {
		builds++
		return codestore.Build(ctx, dir, codestore.Source{Whole: b.Bytes(), Stub: m.Stub(nil)})
	}
	whole := func() ([]byte, error) { wholes++; return b.Bytes(), nil }
	for i, c := range []struct {
		lose           string
		builds, wholes int
	}{
		{"", 1, 0}, {"", 1, 0}, {"code", 2, 0}, {"stub", 3, 0}, {"link", 3, 1},
	} {
		stub, code, err := r.stored(ctx, mainKinds, "key", "test", build)
		if err != nil {
			t.Fatalf("row %d: %v", i, err)
		}
		if lost := map[string]string{"code": code, "stub": stub}[c.lose]; lost != "" {
			if err := os.Remove(lost); err != nil {
				t.Fatal(err)
			}
			if stub, code, err = r.stored(ctx, mainKinds, "key", "test", build); err != nil {
				t.Fatalf("row %d: %v", i, err)
			}
		}
		opened, unmap, err := openStub(stub)
		if err != nil {
			t.Fatal(err)
		}
		defer unmap()
		if c.lose == "link" {
			code += "gone"
		}
		compiled, err := r.load(ctx, opened, code, whole)
		if err != nil {
			t.Fatalf("row %d: %v", i, err)
		}
		mod, err := r.instantiateAnonymous(ctx, compiled)
		if err != nil {
			t.Fatal(err)
		}
		if res, err := mod.ExportedFunction("answer").Call(ctx); err != nil || res[0] != 42 {
			t.Errorf("row %d: %v, %v", i, res, err)
		}
		if builds != c.builds || wholes != c.wholes {
			t.Errorf("row %d: %d builds and %d compilations, want %d and %d", i, builds, wholes, c.builds, c.wholes)
		}
		compiled.Close(ctx)
	}
}
