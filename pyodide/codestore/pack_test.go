package codestore

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
)

// Where code cannot be mapped, wazero reads what it has written itself.
func TestUnpack(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	wrote, err := compileInto(ctx, filepath.Join(dir, "of-whole"), answering(t, 42).Whole)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(wrote)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "packed")
	if err := pack(wrote, to); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(to)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := readPacked(f)
	if err != nil || p == nil || p.begin%packedAlign != 0 {
		t.Fatalf("%+v, %v", p, err)
	}
	back := filepath.Join(dir, "unpacked")
	if err := p.unpack(f, back); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(back); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v; want the %d bytes that were packed", len(got), err, len(want))
	}
}

func TestLoadUnmapped(t *testing.T) {
	dir := built(t, 42)
	b, err := os.ReadFile(filepath.Join(dir, StubFile))
	if err != nil {
		t.Fatal(err)
	}
	s, err := ReadStub(b)
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(t)
	c, err := e.Loader.load(t.Context(), s, filepath.Join(dir, CodeFile), false)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := e.call(c); err != nil || got != 42 {
		t.Errorf("%d, %v", got, err)
	}
}

// FuzzReadPacked wants what a damaged file claims to be bounded by what it is.
func FuzzReadPacked(f *testing.F) {
	dir := f.TempDir()
	if err := Build(context.Background(), dir, answering(f, 42)); err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, CodeFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole[:200])
	f.Add(whole)
	f.Fuzz(func(t *testing.T, b []byte) {
		name := filepath.Join(t.TempDir(), "code")
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		p, err := readPacked(file)
		if err != nil || p == nil {
			return
		}
		if p.begin < 0 || p.size <= 0 || p.begin+int64(p.size) != int64(len(b)) || len(p.head)+len(p.tail) > len(b) {
			t.Fatalf("%d bytes: %+v", len(b), p)
		}
		_ = p.check(b[p.begin:])
	})
}
