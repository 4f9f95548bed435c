package clang

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"coderunner/internal/machine/memfs"
	"coderunner/runners/wasi/guest"
)

// unlisted is a directory that a confined process may open files in only.
type unlisted struct{ fstest.MapFS }

func (unlisted) ReadDir(string) ([]fs.DirEntry, error) { return nil, fs.ErrPermission }

// TestVariant has flags that a precompiled header goes with, and others.
func TestVariant(t *testing.T) {
	for flags, want := range map[string]string{
		"": "-std=gnu++17 -O0", "-c -O2 -Wall -std=c++20": "-std=c++20 -O2", "-O -Iinclude": "-std=gnu++17 -O1",
		"-E": "", "-g -c": "", "-DN=1": "", "-std=c++11": "", "-I": "", "-MMD": "",
	} {
		if got := strings.Join(variant(strings.Fields(flags)), " "); got != want {
			t.Errorf("%q: %q, want %q", flags, got, want)
		}
	}
}

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
