package memfs

import (
	"fmt"
	"testing"

	"coderunner/internal/machine/abi"
)

func TestUnlinkedFileLivesOn(t *testing.T) {
	fsys := sample(t)
	before, nodes := fsys.Usage()
	f := open(t, fsys, "/a/b/large", abi.O_RDWR)
	ok(t, fsys.Unlink(nil, "/a/b/large"))
	if st := f.Stat(); st.Nlink != 0 || st.Size != 200_000 {
		t.Errorf("nlink, size = %d, %d; want 0, 200000", st.Nlink, st.Size)
	}
	p := make([]byte, 5)
	if n, e := f.Pread(bg, p, 199_995); n != 5 || e != abi.OK || string(p) != "56789" {
		t.Errorf("Pread = %d, %v, %q", n, e, p)
	}
	g := f.Ref()
	ok(t, f.Close())
	if n, e := g.Read(bg, p); n != 5 || e != abi.OK {
		t.Errorf("Read after the other close = %d, %v", n, e)
	}
	ok(t, g.Close())
	want(t, "one close too many", g.Close(), abi.EBADF)
	after, left := fsys.Usage()
	if before-after < 200_000 || left != nodes-1 {
		t.Errorf("usage went from %d, %d to %d, %d", before, nodes, after, left)
	}
	if e := fsys.Truncate(f.Node(), 100); e != abi.ENOENT {
		t.Errorf("truncate of a file that is gone = %v", e)
	}
}

func TestReadDirCookies(t *testing.T) {
	fsys := New(Options{})
	for i := range 100 {
		must(t, fsys.WriteFile(fmt.Sprintf("/f%02d", i), nil, 0o644))
	}
	d := open(t, fsys, "/", abi.O_RDONLY|abi.O_DIRECTORY)
	seen := map[string]int{}
	var cookie int64
	list := func(n int) {
		ok(t, d.ReadDir(func(e abi.Dirent) bool {
			if n == 0 {
				return false
			}
			n--
			seen[e.Name]++
			cookie = e.Off
			return true
		}))
	}
	list(52) // ".", "..", f00 to f49
	if seen["f49"] != 1 || seen["f50"] != 0 {
		t.Fatalf("52 entries were %v", seen)
	}
	for i := range 90 { // compacts the directory
		if i != 60 {
			ok(t, fsys.Unlink(nil, fmt.Sprintf("/f%02d", i)))
		}
	}
	must(t, fsys.WriteFile("/new", nil, 0o644))
	if _, e := d.SeekTo(cookie, abi.SEEK_SET); e != abi.OK {
		t.Fatal(e)
	}
	list(-1)
	for _, name := range []string{"f60", "f90", "f99", "new", ".", ".."} {
		if seen[name] != 1 {
			t.Errorf("%s was seen %d times", name, seen[name])
		}
	}
	if seen["f70"] != 0 {
		t.Error("f70 was listed after it was removed")
	}
	if _, e := d.SeekTo(0, abi.SEEK_SET); e != abi.OK {
		t.Fatal(e)
	}
	clear(seen)
	list(-1)
	if len(seen) != 14 {
		t.Errorf("%d entries from the start, want 14", len(seen))
	}
}

func TestFlags(t *testing.T) {
	fsys := sample(t)
	f := open(t, fsys, "/a/hello", abi.O_RDWR|abi.O_CREAT|abi.O_CLOEXEC)
	f.SetFlags(abi.O_APPEND | abi.O_CREAT | abi.O_WRONLY)
	if got := f.Flags(); got != abi.O_RDWR|abi.O_APPEND {
		t.Errorf("Flags = %#o", got)
	}
	f.Write(bg, []byte("!"))
	if data, _ := fsys.ReadFile("/a/hello"); string(data) != "hello, world\n!" {
		t.Errorf("appended file = %q", data)
	}
	p := open(t, fsys, "/a/hello", abi.O_PATH)
	for what, e := range map[string]abi.Errno{
		"read": second(p.Read(bg, nil)), "write": second(p.Write(bg, nil)), "seek": second(p.SeekTo(0, 0)),
		"truncate": p.Truncate(0), "sync": p.Sync(), "readdir": p.ReadDir(nil),
	} {
		want(t, what+" with O_PATH", e, abi.EBADF)
	}
}

func TestTmpfile(t *testing.T) {
	fsys := sample(t)
	bytes, nodes := fsys.Usage()
	f := open(t, fsys, "/tmp", abi.O_TMPFILE|abi.O_RDWR)
	f.Write(bg, []byte("nameless"))
	if st := f.Stat(); st.Nlink != 0 || st.Size != 8 {
		t.Errorf("stat = %+v", st)
	}
	if got := names(t, fsys, "/tmp"); got != "" {
		t.Errorf("/tmp has %s", got)
	}
	ok(t, f.Close())
	if b, n := fsys.Usage(); b != bytes || n != nodes {
		t.Errorf("%d bytes and %d names are left", b-bytes, n-nodes)
	}
}

func TestWrongKind(t *testing.T) {
	fsys := sample(t)
	dir := open(t, fsys, "/a", abi.O_RDONLY)
	file := open(t, fsys, "/a/hello", abi.O_RDONLY)
	buf := make([]byte, 1)
	for _, c := range []struct {
		what      string
		got, want abi.Errno
	}{
		{"read a directory", second(dir.Read(bg, buf)), abi.EISDIR},
		{"pread a directory", second(dir.Pread(bg, buf, 0)), abi.EISDIR},
		{"write a directory", second(dir.Write(bg, buf)), abi.EBADF},
		{"seek a directory to its end", second(dir.SeekTo(0, abi.SEEK_END)), abi.EINVAL},
		{"truncate a directory", dir.Truncate(0), abi.EINVAL},
		{"list a file", file.ReadDir(nil), abi.ENOTDIR},
		{"write a file opened for reading", second(file.Write(bg, buf)), abi.EBADF},
		{"pwrite a file opened for reading", second(file.Pwrite(bg, buf, 0)), abi.EBADF},
		{"truncate a file opened for reading", file.Truncate(0), abi.EINVAL},
		{"allocate a file opened for reading", file.Allocate(0, 1), abi.EBADF},
		{"read at -1", second(file.Pread(bg, buf, -1)), abi.EINVAL},
		{"seek to -1", second(file.SeekTo(-1, abi.SEEK_SET)), abi.EINVAL},
		{"seek too far", second(file.SeekTo(1<<62, abi.SEEK_SET)), abi.EINVAL},
		{"seek over the top", second(file.SeekTo(1<<63-1, abi.SEEK_END)), abi.EINVAL},
		{"seek from nowhere", second(file.SeekTo(0, 9)), abi.EINVAL},
		{"sync", file.Sync(), abi.OK},
		{"readlink of a file", second(fsys.Readlink(file.Node())), abi.EINVAL},
	} {
		want(t, c.what, c.got, c.want)
	}
	if ev := file.Ready(); ev != always {
		t.Errorf("Ready of a file = %#x", ev)
	}
	file.Watch(nil)()
}
