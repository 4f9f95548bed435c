package memfs

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"coderunner/internal/machine/abi"
)

func TestState(t *testing.T) {
	fsys := New(Options{})
	for _, err := range []error{
		fsys.MkdirAll("/home/user/deep", 0o755),
		fsys.WriteFile("/home/user/deep/a", []byte("text"), 0o640),
		fsys.MountInto("/home", fstest.MapFS{"mounted": {Data: []byte("not ours")}}),
		fsys.Symlink("deep/a", nil, "/home/user/link").Err(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	saved, err := fsys.State("")
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, s := range saved {
		paths = append(paths, s.Path)
	}
	if diff := cmp.Diff([]string{"/home", "/home/user", "/home/user/deep", "/home/user/deep/a", "/home/user/link"}, paths); diff != "" {
		t.Error(diff)
	}
	other := New(Options{})
	if err := other.Restore(saved); err != nil {
		t.Fatal(err)
	}
	if err := other.Restore(saved); err != nil {
		t.Errorf("over the same: %v", err)
	}
	again, err := other.State("")
	if diff := cmp.Diff(saved, again); diff != "" || err != nil {
		t.Error(diff, err)
	}
	n, errno := other.Lookup(nil, "/home/user/link", true)
	if errno != abi.OK || other.NameOf(n) != "/home/user/deep/a" {
		t.Errorf("%v is called %q", errno, other.NameOf(n))
	}
	if e := fsys.Mknod(nil, "/home/q", abi.S_IFIFO|0o600); e != abi.OK {
		t.Fatal(e)
	}
	if _, err := fsys.State(""); err == nil {
		t.Error("a FIFO was saved")
	}
	if e := fsys.Unlink(nil, "/home/q"); e != abi.OK {
		t.Fatal(e)
	}
	if e := fsys.Mknod(nil, "/home/s", abi.S_IFSOCK|0o600); e != abi.OK {
		t.Fatal(e)
	}
	if _, err := fsys.State(""); err == nil {
		t.Error("a socket was saved")
	}
	if err := other.Restore([]Saved{{Path: "/home/user/link", Mode: abi.S_IFLNK | 0o777, Target: "elsewhere"}}); err == nil {
		t.Error("a link was restored over another")
	}
	if err := other.Restore([]Saved{{Path: "/x", Mode: abi.S_IFIFO}}); err == nil {
		t.Error("a FIFO was restored")
	}
}
