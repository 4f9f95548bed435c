package memfs

import (
	"context"
	"fmt"
	"testing"
	"testing/fstest"

	"coderunner/internal/machine/abi"
)

// TestRemovedDirectories: whoever holds a removed directory holds those above
// it, and they count until it lets go.
func TestRemovedDirectories(t *testing.T) {
	const depth = 50
	fsys := New(Options{MaxNodes: 1000})
	var held []*File
	for round := range 1000 / depth {
		dir := fsys.Root()
		var path []*Node
		for i := range depth {
			if e := fsys.Mkdir(dir, fmt.Sprint("d", i), 0o755); e != abi.OK {
				t.Fatalf("round %d: mkdir: %v", round, e)
			}
			path = append(path, dir)
			dir, _ = fsys.Lookup(dir, fmt.Sprint("d", i), true)
		}
		f, e := fsys.Open(context.Background(), dir, ".", abi.O_RDONLY, 0)
		if e != abi.OK {
			t.Fatal(e)
		}
		held = append(held, f)
		for i := depth - 1; i >= 0; i-- {
			if e := fsys.Rmdir(path[i], fmt.Sprint("d", i)); e != abi.OK {
				t.Fatal(e)
			}
		}
	}
	if e := fsys.Mkdir(nil, "/more", 0o755); e != abi.ENOSPC {
		t.Errorf("with %d removed directories held: %v, want ENOSPC", 1000, e)
	}
	for _, f := range held {
		f.Close()
	}
	if _, nodes := fsys.Usage(); nodes != 0 {
		t.Errorf("%d names are charged after all", nodes)
	}
}

// TestReserve: what others hold leaves less for files and names.
func TestReserve(t *testing.T) {
	fsys := New(Options{MaxBytes: 1 << 20, NamesCount: true})
	if err := fsys.WriteFile("/a", make([]byte, 600<<10), 0o644); err != nil {
		t.Fatal(err)
	}
	if !fsys.Reserve(300 << 10) {
		t.Fatal("300 KiB cannot be reserved")
	}
	if err := fsys.WriteFile("/b", make([]byte, 200<<10), 0o644); err == nil {
		t.Error("200 KiB fit where 124 are left")
	}
	if fsys.Reserve(200 << 10) {
		t.Error("200 KiB can be reserved")
	}
	fsys.Reserve(fsys.bytes.left())
	if e := fsys.Mkdir(nil, "/d", 0o755); e != abi.ENOSPC {
		t.Errorf("a name where nothing is left: %v", e)
	}
	fsys.Unreserve(100 << 10)
	if e := fsys.Mkdir(nil, "/d", 0o755); e != abi.OK {
		t.Errorf("a name: %v", e)
	}
}

// TestReadSparse: the host does not read a terabyte of nothing.
func TestReadSparse(t *testing.T) {
	fsys := New(Options{MaxBytes: 1 << 20})
	f, e := fsys.Open(context.Background(), nil, "/sparse", abi.O_RDWR|abi.O_CREAT, 0o644)
	if e != abi.OK {
		t.Fatal(e)
	}
	defer f.Close()
	if e := f.Truncate(1 << 40); e != abi.OK {
		t.Fatal(e)
	}
	if b, err := fsys.ReadFile("/sparse"); err == nil {
		t.Errorf("%d bytes were read", len(b))
	}
}

// TestOpenHostFiles: a guest cannot use up the host's descriptors.
func TestOpenHostFiles(t *testing.T) {
	fsys := New(Options{})
	if err := fsys.MkdirAll("/m", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := fsys.MountInto("/m", fstest.MapFS{"f": {Data: []byte("text"), Mode: 0o444}}); err != nil {
		t.Fatal(err)
	}
	var open []*File
	var e abi.Errno
	for range maxHandles + 1 {
		var f *File
		if f, e = fsys.Open(context.Background(), nil, "/m/f", abi.O_RDONLY, 0); e != abi.OK {
			break
		}
		open = append(open, f)
	}
	if e != abi.EMFILE || len(open) != maxHandles {
		t.Errorf("%d open files, then %v; want %d and EMFILE", len(open), e, maxHandles)
	}
	for _, f := range open {
		f.Close()
	}
	if used := fsys.handles.used.Load(); used != 0 {
		t.Errorf("%d are in use after all were closed", used)
	}
}
