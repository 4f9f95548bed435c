package clang

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"coderunner/internal/machine/memfs"
	"coderunner/runners/wasi/guest"
)

// unlisted is a directory that a confined process may open files in only.
type unlisted struct{ fstest.MapFS }

func (unlisted) ReadDir(string) ([]fs.DirEntry, error) { return nil, fs.ErrPermission }

// TestEntry has the precompiled header of a worker, which cannot list the cache's directories.
func TestEntry(t *testing.T) {
	fsys := memfs.New(memfs.Options{MaxBytes: 1 << 20})
	src := unlisted{fstest.MapFS{"data": {Data: []byte("header")}}}
	if err := guest.Mount(fsys, "/pch", "data", entry{src}); err != nil {
		t.Fatal(err)
	}
	if b, err := fsys.ReadFile("/pch/data"); err != nil || string(b) != "header" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := (entry{fstest.MapFS{}}).ReadDir("."); err == nil {
		t.Error("a file that is not there is listed")
	}
}
