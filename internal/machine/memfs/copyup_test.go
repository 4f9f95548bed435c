package memfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"coderunner/internal/machine/abi"
)

// opening notes what is asked of a file system.
type opening struct {
	fs.FS
	opened []string
}

func (c *opening) Open(name string) (fs.File, error) {
	c.opened = append(c.opened, name)
	return c.FS.Open(name)
}

// changes lists the files that FS.Changes has of a directory.
func changes(t *testing.T, fsys *FS, dir string) string {
	t.Helper()
	list, err := fsys.Changes(dir)
	must(t, err)
	var names []string
	must(t, fs.WalkDir(list, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	}))
	return strings.Join(names, " ")
}

func TestMountCopy(t *testing.T) {
	src := &opening{FS: fstest.MapFS{
		"a.txt":     {Data: []byte("aaaa")},
		"d/x":       {Data: []byte("x")},
		"d/e/y":     {Data: []byte("y")},
		"other/z":   {Data: []byte("z")},
		"unused/zz": {Data: []byte("zz")},
	}}
	fsys := New(Options{})
	must(t, fsys.MkdirAll("/home", 0o755))
	must(t, fsys.MountCopy("/home", src))
	if len(src.opened) > 0 {
		t.Errorf("mounting opens %q", src.opened)
	}
	bytes, nodes := fsys.Usage()
	if got := read(t, fsys, "/home/a.txt") + read(t, fsys, "/home/d/e/y"); got != "aaaay" {
		t.Errorf("read %q", got)
	}
	if got := changes(t, fsys, "/home"); got != "" {
		t.Errorf("after reading, changed: %s", got)
	}
	if b, n := fsys.Usage(); b != bytes || n != nodes {
		t.Errorf("reading is charged %d bytes, %d names", b-bytes, n-nodes)
	}

	reader := open(t, fsys, "/home/a.txt", abi.O_RDONLY)
	defer reader.Close()
	f := open(t, fsys, "/home/a.txt", abi.O_WRONLY|abi.O_APPEND)
	_, e := f.Write(t.Context(), []byte("b"))
	ok(t, e)
	f.Close()
	buf := make([]byte, 9)
	if n, _ := reader.Read(t.Context(), buf); string(buf[:n]) != "aaaab" {
		t.Errorf("one who had it open reads %q", buf[:n])
	}
	ok(t, fsys.Rename(nil, "/home/other", nil, "/home/moved", 0))
	ok(t, fsys.Unlink(nil, "/home/d/x"))
	must(t, fsys.WriteFile("/home/d/new", nil, 0o644))
	if got, want := changes(t, fsys, "/home"), "a.txt d/new moved/z"; got != want {
		t.Errorf("changed: %s, want %s", got, want)
	}
	if got, want := names(t, fsys, "/home/d"), "e new"; got != want {
		t.Errorf("names %s, want %s", got, want)
	}
	if slices.ContainsFunc(src.opened, func(name string) bool { return strings.HasPrefix(name, "unused") }) {
		t.Errorf("opened %q", src.opened)
	}
}

// TestCopyBudget has a copy take memory when it is changed, and no more than there is.
func TestCopyBudget(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "big"), make([]byte, 1<<20), 0o644))
	fsys := New(Options{MaxBytes: 1 << 19})
	must(t, fsys.MountCopy("/", os.DirFS(dir)))
	f := open(t, fsys, "/big", abi.O_RDWR)
	defer f.Close()
	if _, e := f.Pwrite(t.Context(), []byte("x"), 0); e != abi.ENOSPC {
		t.Errorf("a change that does not fit: %v", e)
	}
	if b, _ := fsys.Usage(); b != 0 || fsys.Stat(f.Node()).Size != 1<<20 {
		t.Errorf("left %d bytes, size %d", b, fsys.Stat(f.Node()).Size)
	}
	ok(t, f.Truncate(100))
	if got := read(t, fsys, "/big"); len(got) != 100 {
		t.Errorf("cut to %d bytes", len(got))
	}
}

func TestMissing(t *testing.T) {
	fsys := New(Options{})
	must(t, fsys.MkdirAll("/home/user", 0o755))
	home := lookup(t, fsys, "/home/user")
	var got []string
	fsys.Missing(func(path string, opens bool) {
		if opens {
			path += " opened"
		}
		got = append(got, path)
	})
	for _, name := range []string{"../data/x.csv", "/data/y", "z"} {
		if _, e := fsys.Open(t.Context(), home, name, abi.O_RDONLY, 0); e != abi.ENOENT {
			t.Errorf("open %s: %v", name, e)
		}
	}
	if _, e := fsys.Lookup(home, "../data", true); e != abi.ENOENT {
		t.Error(e)
	}
	open(t, fsys, "/home/user/made", abi.O_CREAT|abi.O_WRONLY).Close()
	if _, err := fsys.ReadFile("/none"); !errors.Is(err, abi.ENOENT) { // the host's
		t.Error(err)
	}
	want := []string{"/home/data/x.csv opened", "/data/y opened", "/home/user/z opened", "/home/data"}
	if !slices.Equal(got, want) {
		t.Errorf("missing %q, want %q", got, want)
	}
}
