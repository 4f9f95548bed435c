package codestore

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// testFiles keeps everything in a directory, checks nothing, and builds each
// file in a directory that goes away, as package cache does.
type testFiles struct{ dir string }

func (s testFiles) File(ctx context.Context, kind, key string, build func(context.Context, io.Writer) error) (string, error) {
	path := filepath.Join(s.dir, kind+Digest([]byte(key)))
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

// TestStored wants a module to be built once, and again when the store has lost
// a part of it; and the whole one to be compiled when the code is not taken.
func TestStored(t *testing.T) {
	ctx := context.Background()
	e := newEngine(t)
	s := testFiles{t.TempDir()}
	source := answering(t, 42)
	builds, wholes := 0, 0
	build := func(ctx context.Context, dir string) error {
		builds++
		return Build(ctx, dir, source)
	}
	whole := func() ([]byte, error) { wholes++; return source.Whole, nil }
	for i, c := range []struct {
		lose           string
		builds, wholes int
	}{
		{"", 1, 0}, {"", 1, 0}, {"code", 2, 0}, {"stub", 3, 0}, {"link", 3, 1},
	} {
		stub, code, err := e.Get(ctx, s, Kinds{"stub", "code"}, "key", build)
		if err != nil {
			t.Fatalf("row %d: %v", i, err)
		}
		if lost := map[string]string{"code": code, "stub": stub}[c.lose]; lost != "" {
			if err := os.Remove(lost); err != nil {
				t.Fatal(err)
			}
			if stub, code, err = e.Get(ctx, s, Kinds{"stub", "code"}, "key", build); err != nil {
				t.Fatalf("row %d: %v", i, err)
			}
		}
		b, err := os.ReadFile(stub)
		if err != nil {
			t.Fatal(err)
		}
		opened, err := ReadStub(b)
		if err != nil {
			t.Fatal(err)
		}
		if c.lose == "link" {
			code += "gone"
		}
		compiled, err := e.LoadOr(ctx, opened, code, whole)
		if err != nil {
			t.Fatalf("row %d: %v", i, err)
		}
		if got, err := e.call(compiled); err != nil || got != 42 {
			t.Errorf("row %d: %v, %v", i, got, err)
		}
		if n := len(compiled.ExportedFunctions()); n > 0 && packs && wholes == 0 {
			t.Errorf("row %d: wazero looks through %d exports for each function when the first trap is reported", i, n)
		}
		if builds != c.builds || wholes != c.wholes {
			t.Errorf("row %d: %d builds and %d compilations, want %d and %d", i, builds, wholes, c.builds, c.wholes)
		}
		compiled.Close(ctx)
	}
}
