package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"coderunner/cache"
	"coderunner/internal/fetch"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/pyodide/wasmbin"
)

// TestSpare has one instance after another of a module that has begun. However one ends, the
// next finds what the module has begun with; a larger memory is nobody's spare.
func TestSpare(t *testing.T) {
	var b wasmbin.Builder
	const load, store, add, mul, i32 = 0x28, 0x36, 0x6a, 0x6c, wasmbin.OpI32Const
	const get, set, grow, drop = 0x23, 0x24, 0x40, 0x1a
	b.Export("memory", wasmbin.KindMemory, b.Define(wasmbin.KindMemory, wasmbin.SecMemory, []byte{0, 1}))
	b.GlobalI32(true, 1)
	for name, body := range map[string][]byte{
		"boot": {i32, 0, i32, 5, store, 2, 0, i32, 7, set, 0},
		"last": {i32, 0, i32, 0, load, 2, 0, i32, 1, add, store, 2, 0, get, 0, i32, 1, add, set, 0},
		"trap": {0},
		"spin": {wasmbin.OpLoop, 0x40, wasmbin.OpBr, 0, wasmbin.OpEnd},
		"grow": {i32, 1, grow, 0, drop},
	} {
		b.Export(name, wasmbin.KindFunc, b.Func(wasmbin.FuncType{}, nil, body))
	}
	b.Export("value", wasmbin.KindFunc, b.Func(wasmbin.FuncType{Results: []wasmbin.ValType{wasmbin.I32}}, nil, []byte{i32, 0, load, 2, 0, i32, 10, mul, get, 0, add}))
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "module.wasm"), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := cache.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e := New(Config{Files: c, Fetch: func(context.Context, fetch.NPMPackage, fetch.ProgressFunc) (string, error) { return dir, nil }})
	defer func() {
		if err := errors.Join(e.Close(), c.Close()); err != nil {
			t.Error(err)
		}
	}()
	code, err := e.Open(t.Context(), &Module{Name: "m", File: "module.wasm", Package: func() fetch.NPMPackage { return fetch.NPMPackage{Name: "m", Integrity: "m"} }}, nil)
	if err != nil {
		t.Fatal(err)
	}
	fsys := memfs.New(memfs.Options{MaxBytes: 64 << 20})
	k, err := kernel.New(kernel.Options{FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	p, err := k.Main(kernel.Exec{Args: []string{"m"}})
	if err != nil {
		t.Fatal(err)
	}
	room := fsys.Room()
	var before any
	for i, end := range []struct {
		call   string
		reused bool // the instance is of the one before
	}{{"last", false}, {"last", false}, {"last", true}, {"trap", true}, {"spin", true}, {"grow", true}, {"last", false}, {"last", true}} {
		ctx, cancel := context.WithCancel(t.Context())
		in, _, err := Begin(ctx, p, code, func(in *Instance) ([]byte, error) {
			_, err := in.Call("boot")
			return nil, err
		})
		if err != nil {
			t.Fatal(err)
		}
		if reused := before == any(in.mod); reused != end.reused {
			t.Errorf("%d: reused %v", i, reused)
		}
		before = in.mod
		if v, err := in.Call("value"); v != 57 || err != nil {
			t.Errorf("%d begins with %d, %v", i, v, err)
		}
		if _, err := in.Call("last"); err != nil {
			t.Error(err)
		}
		if end.call == "spin" {
			go cancel()
		}
		if _, err = in.Call(end.call); (err != nil) != (end.call == "trap" || end.call == "spin") {
			t.Errorf("%s: %v", end.call, err)
		}
		in.Close()
		cancel()
		if fsys.Room() != room {
			t.Errorf("%d: %d bytes are taken", i, room-fsys.Room())
		}
	}
}
