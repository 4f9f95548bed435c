package memfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"coderunner/internal/machine/abi"
)

var bg = context.Background()

// sample is a file system with a little of everything that can be read.
func sample(t testing.TB) *FS {
	t.Helper()
	fsys := New(Options{})
	must(t, fsys.MkdirAll("/a/b/c", 0o755))
	must(t, fsys.MkdirAll("/tmp", 0o1777))
	must(t, fsys.WriteFile("/a/hello", []byte("hello, world\n"), 0o644))
	must(t, fsys.WriteFile("/a/b/large", bytes.Repeat([]byte("0123456789"), 20_000), 0o644))
	must(t, fsys.WriteFile("/a/b/empty", nil, 0o600))
	ok(t, fsys.Symlink("b/large", nil, "/a/link"))
	ok(t, fsys.Link(nil, "/a/hello", nil, "/a/b/hello", false))
	return fsys
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func ok(t testing.TB, e abi.Errno) {
	t.Helper()
	if e != abi.OK {
		t.Fatal(e)
	}
}

// want reports an outcome that is not the wanted one.
func want(t testing.TB, what string, got, want abi.Errno) {
	t.Helper()
	if got != want {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func open(t testing.TB, fsys *FS, path string, flags uint32) *File {
	t.Helper()
	f, e := fsys.Open(bg, nil, path, flags, 0o644)
	if e != abi.OK {
		t.Fatalf("Open(%q): %v", path, e)
	}
	return f
}

func lookup(t testing.TB, fsys *FS, path string) *Node {
	t.Helper()
	n, e := fsys.Lookup(nil, path, false)
	if e != abi.OK {
		t.Fatalf("Lookup(%q): %v", path, e)
	}
	return n
}

func TestGoFS(t *testing.T) {
	fsys := sample(t)
	must(t, fsys.MkdirAll("/mnt", 0o755))
	must(t, fsys.MountInto("/mnt", fstest.MapFS{
		"x/y.txt": {Data: []byte("y")},
		"z":       {Data: []byte("zz"), Mode: 0o755},
	}))
	if err := fstest.TestFS(fsys.FS(), "a/hello", "a/b/large", "a/link", "a/b/c", "mnt/x/y.txt", "mnt/z"); err != nil {
		t.Fatal(err)
	}
	if _, err := fsys.FS().Open("missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open(missing): %v", err)
	}
	if _, err := fs.ReadFile(fsys.FS(), "a"); err == nil {
		t.Error("a directory was read as a file")
	}
	for name, want := range map[string]string{"a/link": "b/large", "a/hello": "", "a/none": "", "../x": ""} {
		got, err := fs.ReadLink(fsys.FS(), name)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("ReadLink(%s) = %q, %v", name, got, err)
		}
	}
	info, err := fs.Lstat(fsys.FS(), "a/link")
	if err != nil || info.Mode() != fs.ModeSymlink|0o777 || info.Sys().(abi.Stat).Nlink != 1 {
		t.Errorf("Lstat = %v, %v", info, err)
	}
	list, err := fs.ReadDir(fsys.FS(), "a")
	must(t, err)
	ok(t, fsys.Rename(nil, "/a/hello", nil, "/a/b/empty", 0))
	ok(t, fsys.Unlink(nil, "/a/link"))
	for _, e := range list {
		if _, err := e.Info(); (err == nil) != (e.Name() != "link") {
			t.Errorf("Info of %s = %v", e.Name(), err)
		}
	}
	ok(t, fsys.Mknod(nil, "/fifo", abi.S_IFIFO|0o644))
	if _, err := fsys.FS().Open("fifo"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("Open(fifo): %v", err)
	}
}

// TestErrnos has a line for each way in which an operation on names fails. The
// model test has found their like on Linux; here they are by name.
func TestErrnos(t *testing.T) {
	long := strings.Repeat("n", 256)
	for _, c := range []struct {
		what string
		do   func(*FS) abi.Errno
		want abi.Errno
	}{
		{"lookup empty", look(""), abi.ENOENT},
		{"lookup missing", look("/no"), abi.ENOENT},
		{"lookup below missing", look("/no/x"), abi.ENOENT},
		{"lookup below file", look("/a/hello/x"), abi.ENOTDIR},
		{"lookup file with slash", look("/a/hello/"), abi.ENOTDIR},
		{"lookup long name", look("/" + long), abi.ENAMETOOLONG},
		{"lookup longest name", look("/" + long[1:]), abi.ENOENT},
		{"lookup long path", look(strings.Repeat("/.", 2048)), abi.ENAMETOOLONG},
		{"lookup longest path", look("/" + strings.Repeat("/.", 2047)), abi.OK},
		{"lookup NUL", look("/a\x00b"), abi.EINVAL},
		{"lookup above root", look("/../../a"), abi.OK},
		{"lookup relative without dir", look("a"), abi.ENOENT},
		{"mkdir there", func(f *FS) abi.Errno { return f.Mkdir(nil, "/a", 0o755) }, abi.EEXIST},
		{"mkdir slash", func(f *FS) abi.Errno { return f.Mkdir(nil, "/new/", 0o755) }, abi.OK},
		{"mknod slash", func(f *FS) abi.Errno { return f.Mknod(nil, "/new/", 0o644) }, abi.ENOENT},
		{"mknod device", func(f *FS) abi.Errno { return f.Mknod(nil, "/new", abi.S_IFCHR|0o644) }, abi.EPERM},
		{"symlink to nothing", func(f *FS) abi.Errno { return f.Symlink("", nil, "/new") }, abi.ENOENT},
		{"symlink long", func(f *FS) abi.Errno { return f.Symlink(strings.Repeat("x", 4096), nil, "/new") }, abi.ENAMETOOLONG},
		{"link directory", func(f *FS) abi.Errno { return f.Link(nil, "/a/b", nil, "/new", false) }, abi.EPERM},
		{"link there", func(f *FS) abi.Errno { return f.Link(nil, "/a/hello", nil, "/tmp", false) }, abi.EEXIST},
		{"unlink directory", func(f *FS) abi.Errno { return f.Unlink(nil, "/a/b") }, abi.EISDIR},
		{"unlink dot", func(f *FS) abi.Errno { return f.Unlink(nil, "/a/.") }, abi.EISDIR},
		{"rmdir file", func(f *FS) abi.Errno { return f.Rmdir(nil, "/a/hello") }, abi.ENOTDIR},
		{"rmdir full", func(f *FS) abi.Errno { return f.Rmdir(nil, "/a") }, abi.ENOTEMPTY},
		{"rmdir dot", func(f *FS) abi.Errno { return f.Rmdir(nil, "/a/b/c/.") }, abi.EINVAL},
		{"rmdir dotdot", func(f *FS) abi.Errno { return f.Rmdir(nil, "/a/b/c/..") }, abi.ENOTEMPTY},
		{"rmdir root", func(f *FS) abi.Errno { return f.Rmdir(nil, "/") }, abi.EBUSY},
		{"rename into itself", move("/a", "/a/b/x", 0), abi.EINVAL},
		{"rename onto above", move("/a/b/c", "/a", 0), abi.ENOTEMPTY},
		{"rename dir onto file", move("/a/b/c", "/a/hello", 0), abi.ENOTDIR},
		{"rename file onto dir", move("/a/hello", "/tmp", 0), abi.EISDIR},
		{"rename dir onto full", move("/tmp", "/a/b", 0), abi.ENOTEMPTY},
		{"rename dir onto empty", move("/tmp", "/a/b/c", 0), abi.OK},
		{"rename same inode", move("/a/hello", "/a/b/hello", 0), abi.OK},
		{"rename noreplace", move("/a/hello", "/a/b/empty", abi.RENAME_NOREPLACE), abi.EEXIST},
		{"rename exchange", move("/a/hello", "/a/b/empty", abi.RENAME_EXCHANGE), abi.EINVAL},
		{"rename root", move("/", "/x", 0), abi.EBUSY},
		{"open missing", opens("/no", abi.O_RDONLY), abi.ENOENT},
		{"open exclusive", opens("/a/hello", abi.O_CREAT|abi.O_EXCL), abi.EEXIST},
		{"open directory for writing", opens("/a", abi.O_WRONLY), abi.EISDIR},
		{"open file as directory", opens("/a/hello", abi.O_DIRECTORY), abi.ENOTDIR},
		{"open link itself", opens("/a/link", abi.O_NOFOLLOW), abi.ELOOP},
		{"open path of link", opens("/a/link", abi.O_NOFOLLOW|abi.O_PATH), abi.OK},
		{"open mode 3", opens("/a/hello", 3), abi.EINVAL},
		{"open tmpfile read-only", opens("/tmp", abi.O_TMPFILE), abi.EINVAL},
		{"open tmpfile in a file", opens("/a/hello", abi.O_TMPFILE|abi.O_RDWR), abi.ENOTDIR},
		{"open tmpfile nowhere", opens("/no", abi.O_TMPFILE|abi.O_RDWR), abi.ENOENT},
		{"open half a tmpfile", opens("/tmp", abi.O_TMPFILE&^abi.O_DIRECTORY|abi.O_RDWR), abi.EINVAL},
		{"open creating a directory", opens("/new", abi.O_CREAT|abi.O_DIRECTORY), abi.EINVAL},
		{"open creating with slash", opens("/new/", abi.O_CREAT), abi.EISDIR},
		{"open creating dot", opens("/a/.", abi.O_CREAT), abi.EISDIR},
		{"open tmpfile", opens("/tmp", abi.O_TMPFILE|abi.O_RDWR), abi.OK},
		{"chmod link", func(f *FS) abi.Errno { n, _ := f.Lookup(nil, "/a/link", false); return f.Chmod(n, 0) }, abi.EOPNOTSUPP},
		{"times", func(f *FS) abi.Errno { return f.SetTimes(f.Root(), abi.Timespec{Nsec: 1e9}, abi.Timespec{}) }, abi.EINVAL},
		{"truncate too far", func(f *FS) abi.Errno { n, _ := f.Lookup(nil, "/a/hello", false); return f.Truncate(n, 1<<60) }, abi.EFBIG},
		{"access bits", func(f *FS) abi.Errno { return f.Access(f.Root(), 8) }, abi.EINVAL},
	} {
		want(t, c.what, c.do(sample(t)), c.want)
	}
}

func look(path string) func(*FS) abi.Errno {
	return func(f *FS) abi.Errno { _, e := f.Lookup(nil, path, true); return e }
}

func move(from, to string, flags uint32) func(*FS) abi.Errno {
	return func(f *FS) abi.Errno { return f.Rename(nil, from, nil, to, flags) }
}

func opens(path string, flags uint32) func(*FS) abi.Errno {
	return func(f *FS) abi.Errno { _, e := f.Open(bg, nil, path, flags, 0o644); return e }
}

func TestPermissions(t *testing.T) {
	fsys := sample(t)
	hello := lookup(t, fsys, "/a/hello")
	ok(t, fsys.Chmod(hello, 0o444))
	want(t, "open read-only file for writing", opens("/a/hello", abi.O_RDWR)(fsys), abi.EACCES)
	want(t, "truncating open", opens("/a/hello", abi.O_TRUNC)(fsys), abi.EACCES)
	want(t, "truncate", fsys.Truncate(hello, 0), abi.EACCES)
	want(t, "access W", fsys.Access(hello, abi.W_OK), abi.EACCES)
	want(t, "access R", fsys.Access(hello, abi.R_OK), abi.OK)
	want(t, "access X", fsys.Access(hello, abi.X_OK), abi.EACCES)
	want(t, "unlink of a read-only file", fsys.Unlink(nil, "/a/hello"), abi.OK)

	ok(t, fsys.Chmod(lookup(t, fsys, "/a"), 0o600))
	want(t, "lookup without x", look("/a/b")(fsys), abi.EACCES)
	ok(t, fsys.Chmod(lookup(t, fsys, "/a"), 0o500))
	want(t, "create without w", fsys.Mkdir(nil, "/a/new", 0o755), abi.EACCES)
	must(t, fsys.WriteFile("/a/new", []byte("by the host"), 0))
	if data, err := fsys.ReadFile("/a/new"); err != nil || string(data) != "by the host" {
		t.Errorf("the host's ReadFile = %q, %v", data, err)
	}

	ok(t, fsys.Chown(fsys.Root(), 7, ^uint32(0)))
	if st := fsys.Stat(fsys.Root()); st.UID != 7 || st.GID != 0 {
		t.Errorf("owner = %d:%d, want 7:0", st.UID, st.GID)
	}
	want(t, "owner bits after chown", fsys.Access(fsys.Root(), abi.W_OK), abi.OK)
}

func TestSymlinkDepth(t *testing.T) {
	fsys := New(Options{})
	must(t, fsys.WriteFile("/0", []byte("end"), 0o644))
	for i := 1; i <= maxLinks+1; i++ {
		ok(t, fsys.Symlink(fmt.Sprint(i-1), nil, fmt.Sprint("/", i)))
	}
	want(t, "40 links", look(fmt.Sprint("/", maxLinks))(fsys), abi.OK)
	want(t, "41 links", look(fmt.Sprint("/", maxLinks+1))(fsys), abi.ELOOP)
	ok(t, fsys.Symlink("self", nil, "/self"))
	want(t, "self", look("/self")(fsys), abi.ELOOP)
}

func TestPathOf(t *testing.T) {
	fsys := sample(t)
	c := lookup(t, fsys, "/a/b/c")
	path := func(want string, wantErr abi.Errno) {
		t.Helper()
		if got, e := fsys.PathOf(c); got != want || e != wantErr {
			t.Errorf("PathOf = %q, %v; want %q, %v", got, e, want, wantErr)
		}
	}
	path("/a/b/c", abi.OK)
	ok(t, fsys.Rename(nil, "/a/b", nil, "/tmp/q", 0))
	path("/tmp/q/c", abi.OK)
	ok(t, fsys.Rmdir(c, "../c"))
	path("", abi.ENOENT)
	want(t, "create in a removed directory", fsys.Mkdir(c, "x", 0o755), abi.ENOENT)
	if n, e := fsys.Lookup(c, "..", true); e != abi.OK || n != lookup(t, fsys, "/tmp/q") {
		t.Errorf(".. of a removed directory = %p, %v", n, e)
	}
	if got, e := fsys.PathOf(fsys.Root()); got != "/" || e != abi.OK {
		t.Errorf("PathOf(root) = %q, %v", got, e)
	}
	if _, e := fsys.PathOf(lookup(t, fsys, "/a/hello")); e != abi.ENOTDIR {
		t.Errorf("PathOf(file) = %v", e)
	}
	deep := fsys.Root()
	for range 20 {
		name := strings.Repeat("d", 250)
		ok(t, fsys.Mkdir(deep, name, 0o755))
		deep, _ = fsys.Lookup(deep, name, false)
	}
	if _, e := fsys.PathOf(deep); e != abi.ENAMETOOLONG {
		t.Errorf("PathOf(deep) = %v", e)
	}
}

func TestTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := New(Options{})
		must(t, fsys.WriteFile("/f", []byte("x"), 0o644))
		n := lookup(t, fsys, "/f")
		far := abi.Timespec{Sec: 1 << 40}
		time.Sleep(time.Second + 1999)
		ok(t, fsys.SetTimes(n, far, abi.Timespec{Nsec: abi.UTIME_OMIT}))
		before := fsys.Stat(n)
		if before.Atime != far || before.Ctime == before.Mtime || before.Ctime.Nsec != 1000 {
			t.Errorf("times = %+v", before)
		}
		time.Sleep(time.Second)
		f := open(t, fsys, "/f", abi.O_WRONLY|abi.O_APPEND)
		f.Write(bg, []byte("y"))
		after := fsys.Stat(n)
		if !before.Mtime.Before(after.Mtime) || after.Mtime != after.Ctime || after.Atime != far {
			t.Errorf("times after a write = %+v", after)
		}
		time.Sleep(time.Second)
		ok(t, fsys.SetTimes(n, abi.Timespec{Nsec: abi.UTIME_NOW}, abi.Timespec{Sec: 5}))
		if st := fsys.Stat(n); st.Atime != st.Ctime || st.Mtime.Sec != 5 {
			t.Errorf("times = %+v", st)
		}
	})
}

func second[A any](_ A, e abi.Errno) abi.Errno { return e }

func TestMkdirAll(t *testing.T) {
	fsys := sample(t)
	must(t, fsys.MkdirAll("/", 0o755))
	must(t, fsys.MkdirAll("/a/b/x/y/", 0o755))
	if err := fsys.MkdirAll("/a/hello/x", 0o755); !errors.Is(err, abi.ENOTDIR) {
		t.Errorf("below a file: %v", err)
	}
	if err := fsys.MkdirAll("rel", 0o755); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("relative: %v", err)
	}
}
