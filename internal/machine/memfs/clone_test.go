package memfs

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"coderunner/internal/machine/abi"
)

// template is a file system to clone.
func template(t testing.TB) *FS {
	fsys := New(Options{MaxBytes: 1 << 20, NamesCount: true})
	must(t, fsys.MkdirAll("/home/user", 0o755))
	must(t, fsys.MkdirAll("/gone/too", 0o700))
	must(t, fsys.MkdirAll("/lib/packages", 0o755))
	must(t, fsys.MountFile("/lib/archive.zip", []byte("PK")))
	must(t, fsys.MountInto("/lib/packages", fstest.MapFS{"a/b.py": {Data: []byte("b")}}))
	must(t, pathError("symlink", "/l", fsys.Symlink("home/user", nil, "/l")))
	must(t, fsys.MakeDevices())
	return fsys
}

// tree lists all that a file system has.
func tree(t testing.TB, fsys *FS) string {
	var b strings.Builder
	must(t, fs.WalkDir(fsys.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		fmt.Fprintf(&b, "%s %v %d\n", path, info.Mode(), info.Size())
		return err
	}))
	return b.String()
}

// TestClone changes clones in all ways: neither their origin nor other clones see it.
func TestClone(t *testing.T) {
	origin := template(t)
	want := tree(t, template(t))
	begun := time.Now().Add(-time.Second)
	var wg sync.WaitGroup
	for range 8 { // at once, for the race detector
		wg.Go(func() {
			fsys := origin.Clone(1 << 20)
			if got := tree(t, fsys); got != want {
				t.Errorf("a clone has\n%swant\n%s", got, want)
			}
			must(t, fsys.WriteFile("/l/new", []byte("new"), 0o644))
			must(t, fsys.MountInto("/lib", fstest.MapFS{"more.py": {}}))
			ok(t, fsys.Rename(nil, "/gone", nil, "/dev/moved", 0))
			ok(t, fsys.Unlink(nil, "/dev/null"))
			if got := names(t, fsys, "/lib") + ", " + names(t, fsys, "/dev/moved"); got != "packages archive.zip more.py, too" {
				t.Errorf("a changed clone has %s", got)
			}
		})
	}
	wg.Wait()
	fsys := origin.Clone(1 << 20)
	if got := tree(t, fsys); got != want {
		t.Errorf("after changes of other clones a clone has\n%swant\n%s", got, want)
	}
	ok(t, fsys.Rmdir(nil, "/gone/too"))
	ok(t, fsys.Rmdir(nil, "/gone"))
	_, before := origin.Usage()
	if _, n := fsys.Usage(); n != before-2 {
		t.Errorf("%d names without two of %d", n, before)
	}
	n, e := fsys.Lookup(nil, "/home/user", true)
	ok(t, e)
	if st := fsys.Stat(n); st.Mtime.Time().Before(begun) {
		t.Errorf("a directory of a clone is from %v", st.Mtime.Time())
	}
}

// TestCloneUnseen asks a clone for what needs no look into its directories.
func TestCloneUnseen(t *testing.T) {
	origin := template(t)
	want, err := origin.State("")
	must(t, err)
	got, err := origin.Clone(1 << 20).State("")
	must(t, err)
	if len(got) != len(want) {
		t.Errorf("the state of a clone is %v, want %v", got, want)
	}
	fsys := origin.Clone(1 << 20)
	if got, err := fsys.StateOfClone(""); len(got) > 0 || err != nil {
		t.Errorf("the state of a clone that nobody looked into is %v, %v", got, err)
	}
	n, e := fsys.Lookup(nil, "/home/user", true)
	ok(t, e)
	must(t, fsys.WriteFile("/home/user/new", nil, 0o644))
	got, err = fsys.StateOfClone("")
	must(t, err)
	if !slices.ContainsFunc(got, func(s Saved) bool { return s.Path == "/home/user/new" }) {
		t.Errorf("the state of a clone with a new file is %v", got)
	}
	if got := fsys.NameOf(n); got != "/home/user" {
		t.Errorf("NameOf = %q", got)
	}
	if e := fsys.Rmdir(nil, "/gone"); e != abi.ENOTEMPTY {
		t.Errorf("Rmdir of a directory that was not looked into = %v, want ENOTEMPTY", e)
	}
	if got, want := tree(t, origin.Clone(1<<20).Clone(1<<20)), tree(t, origin); got != want {
		t.Errorf("a clone of a clone has\n%swant\n%s", got, want)
	}
}
