package memfs

import (
	"slices"
	"testing"

	"coderunner/internal/machine/abi"
)

func TestMisses(t *testing.T) {
	fsys := New(Options{})
	if err := fsys.MkdirAll("/home/sub", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := fsys.Symlink("/home/sub", nil, "/link").Err(); err != nil {
		t.Fatal(err)
	}
	lookup := func(path string) {
		t.Helper()
		if _, e := fsys.Lookup(nil, path, true); e != abi.ENOENT {
			t.Fatalf("Lookup(%q) = %v", path, e)
		}
	}
	open := func(path string, flags uint32, want abi.Errno) {
		t.Helper()
		f, e := fsys.Open(t.Context(), nil, path, flags, 0o644)
		if e != want {
			t.Fatalf("Open(%q) = %v, want %v", path, e, want)
		}
		if f != nil {
			f.Close()
		}
	}
	lookup("/home/before")
	if got := fsys.Misses(); got != nil {
		t.Errorf("unwatched: %q", got)
	}
	if err := fsys.WatchMisses("/home"); err != nil {
		t.Fatal(err)
	}
	lookup("/home/asked")
	lookup("/link/x/../y")
	lookup("/home/../home/sub/z")
	lookup("/etc")
	lookup("/home/made")
	open("/home/made", abi.O_WRONLY|abi.O_CREAT, abi.OK)
	open("/home/new", abi.O_WRONLY|abi.O_CREAT|abi.O_TRUNC, abi.OK)
	open("/home/db", abi.O_RDWR|abi.O_CREAT, abi.OK)
	open("/home/temporary", abi.O_RDWR|abi.O_CREAT|abi.O_EXCL, abi.OK)
	open("/home/read", abi.O_RDONLY, abi.ENOENT)
	open("/home/none/out", abi.O_WRONLY|abi.O_CREAT, abi.ENOENT)
	if e := fsys.Unlink(nil, "/home/old"); e != abi.ENOENT {
		t.Fatal(e)
	}
	if _, err := fsys.FS().Open("home/host"); err == nil {
		t.Fatal("opened")
	}
	if got, want := fsys.Misses(), []string{"asked", "db", "none/out", "read", "sub/y", "sub/z"}; !slices.Equal(got, want) {
		t.Errorf("Misses() = %q, want %q", got, want)
	}
}
