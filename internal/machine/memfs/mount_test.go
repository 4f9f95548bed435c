package memfs

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"coderunner/internal/machine/abi"
)

// names lists a directory without "." and "..".
func names(t testing.TB, fsys *FS, path string) string {
	t.Helper()
	d := open(t, fsys, path, abi.O_RDONLY|abi.O_DIRECTORY)
	defer d.Close()
	var list []string
	ok(t, d.ReadDir(func(e abi.Dirent) bool {
		if e.Off > cookieDotDot {
			list = append(list, e.Name)
		}
		return true
	}))
	return strings.Join(list, " ")
}

func read(t testing.TB, fsys *FS, path string) string {
	t.Helper()
	data, err := fsys.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestMountIsReadOnly(t *testing.T) {
	fsys := New(Options{})
	must(t, fsys.MkdirAll("/mnt", 0o755))
	must(t, fsys.WriteFile("/f", []byte("f"), 0o644))
	must(t, fsys.MountInto("/mnt", fstest.MapFS{
		"d/x": {Data: []byte("data"), Mode: 0o600, ModTime: time.Unix(5, 6789)},
		"run": {Data: []byte("#!"), Mode: 0o755},
	}))
	bytes, nodes := fsys.Usage()
	x := lookup(t, fsys, "/mnt/d/x")
	for what, e := range map[string]abi.Errno{
		"create":      opens("/mnt/d/new", abi.O_CREAT)(fsys),
		"write":       opens("/mnt/d/x", abi.O_WRONLY)(fsys),
		"truncate":    opens("/mnt/d/x", abi.O_TRUNC)(fsys),
		"mkdir":       fsys.Mkdir(nil, "/mnt/d/new", 0o755),
		"symlink":     fsys.Symlink("x", nil, "/mnt/d/new"),
		"unlink":      fsys.Unlink(nil, "/mnt/d/x"),
		"unlink none": fsys.Unlink(nil, "/mnt/d/none"),
		"rmdir":       fsys.Rmdir(nil, "/mnt/d"),
		"rename":      fsys.Rename(nil, "/mnt/d/x", nil, "/mnt/d/y", 0),
		"chmod":       fsys.Chmod(x, 0o777),
		"chown":       fsys.Chown(x, 1, 1),
		"times":       fsys.SetTimes(x, abi.Timespec{}, abi.Timespec{}),
		"size":        fsys.Truncate(x, 0),
		"access":      fsys.Access(x, abi.W_OK),
		"tmpfile":     opens("/mnt/d", abi.O_TMPFILE|abi.O_RDWR)(fsys),
	} {
		want(t, what, e, abi.EROFS)
	}
	want(t, "rename out", fsys.Rename(nil, "/mnt/d/x", nil, "/y", 0), abi.EXDEV)
	want(t, "rename in", fsys.Rename(nil, "/f", nil, "/mnt/d/y", 0), abi.EXDEV)
	want(t, "link out", fsys.Link(nil, "/mnt/d/x", nil, "/y", false), abi.EXDEV)
	want(t, "open with O_CREAT of what is there", opens("/mnt/d/x", abi.O_CREAT)(fsys), abi.OK)
	st := fsys.Stat(x)
	if st.Mode != abi.S_IFREG|0o444 || st.Size != 4 || st.Mtime != (abi.Timespec{Sec: 5, Nsec: 6000}) {
		t.Errorf("stat = %+v", st)
	}
	want(t, "access x of a script", fsys.Access(lookup(t, fsys, "/mnt/run"), abi.X_OK), abi.OK)
	if again := fsys.Stat(lookup(t, fsys, "/mnt/d/../d/x")); again.Ino != st.Ino {
		t.Errorf("inode numbers %d and %d of one file", st.Ino, again.Ino)
	}
	if b, n := fsys.Usage(); b != bytes || n != nodes {
		t.Errorf("the mount is charged %d bytes and %d names", b-bytes, n-nodes)
	}
	if path, e := fsys.PathOf(lookup(t, fsys, "/mnt/d")); path != "/mnt/d" || e != abi.OK {
		t.Errorf("PathOf = %q, %v", path, e)
	}
}

func TestMountErrors(t *testing.T) {
	fsys := sample(t)
	for _, c := range []struct {
		path string
		src  fs.FS
		want abi.Errno
	}{
		{"/none", fstest.MapFS{}, abi.ENOENT},
		{"/a/hello", fstest.MapFS{}, abi.ENOTDIR},
		{"/tmp", nil, abi.EINVAL},
	} {
		if err := fsys.MountInto(c.path, c.src); !errors.Is(err, c.want) {
			t.Errorf("MountInto(%q) = %v, want %v", c.path, err, c.want)
		}
	}
}

func TestMountInto(t *testing.T) {
	fsys := New(Options{})
	const site = "/lib/site-packages"
	must(t, fsys.MkdirAll(site+"/own", 0o755))
	must(t, fsys.WriteFile(site+"/own/mine.py", []byte("mine"), 0o644))
	must(t, fsys.WriteFile(site+"/clash.py", []byte("mine"), 0o644))
	mtime := fsys.Stat(lookup(t, fsys, site)).Mtime
	must(t, fsys.MountInto(site, fstest.MapFS{
		"google/auth/a.py":  {Data: []byte("a")},
		"google/same.py":    {Data: []byte("first")},
		"clash.py":          {Data: []byte("not seen")},
		"own/theirs.py":     {Data: []byte("theirs")},
		"one.dist-info/REC": {Data: []byte("1")},
	}))
	if got := names(t, fsys, site); got != "own clash.py google one.dist-info" {
		t.Errorf("after one mount: %s", got)
	}
	if got := names(t, fsys, site+"/google"); got != "auth same.py" {
		t.Errorf("google after one mount: %s", got)
	}
	// The second arrives when the first has been looked into.
	must(t, fsys.MountInto(site, fstest.MapFS{
		"google/auth/b.py":  {Data: []byte("b")},
		"google/cloud/c.py": {Data: []byte("c")},
		"google/same.py":    {Data: []byte("second")},
		"one.dist-info":     {Data: []byte("a file where the first has a directory")},
		"two.dist-info/REC": {Data: []byte("2")},
	}))
	for path, want := range map[string]string{
		"": "own clash.py google one.dist-info two.dist-info", "/own": "mine.py theirs.py",
		"/google": "auth same.py cloud", "/google/auth": "a.py b.py", "/one.dist-info": "REC",
	} {
		if got := names(t, fsys, site+path); got != want {
			t.Errorf("%s = %s, want %s", path, got, want)
		}
	}
	for path, want := range map[string]string{"/google/same.py": "first", "/clash.py": "mine", "/own/theirs.py": "theirs"} {
		if got := read(t, fsys, site+path); got != want {
			t.Errorf("%s = %q, want %q", path, got, want)
		}
	}
	if !mtime.Before(fsys.Stat(lookup(t, fsys, site)).Mtime) {
		t.Error("the directory's time does not show the mount")
	}
	want(t, "create beside", opens(site+"/new.py", abi.O_CREAT|abi.O_WRONLY)(fsys), abi.OK)
	want(t, "create beside, in a merged directory", opens(site+"/own/new.py", abi.O_CREAT|abi.O_WRONLY)(fsys), abi.OK)
	want(t, "create in a mounted directory", opens(site+"/google/new.py", abi.O_CREAT|abi.O_WRONLY)(fsys), abi.EROFS)
	want(t, "unlink of a mounted file", fsys.Unlink(nil, site+"/own/theirs.py"), abi.EROFS)
	want(t, "rename over a mounted file", fsys.Rename(nil, site+"/new.py", nil, site+"/own/theirs.py", 0), abi.EROFS)
	want(t, "rename of a mounted directory", fsys.Rename(nil, site+"/google", nil, site+"/g", 0), abi.EROFS)
	want(t, "unlink of what is ours", fsys.Unlink(nil, site+"/own/mine.py"), abi.OK)
	must(t, fstest.TestFS(fsys.FS(), "lib/site-packages/google/auth/b.py"))
}

// counting counts what is asked of a file system.
type counting struct {
	fs.FS
	opened map[string]int
}

func (c counting) Open(name string) (fs.File, error) {
	c.opened[name]++
	return c.FS.Open(name)
}

func TestMountIsLazy(t *testing.T) {
	src := counting{fstest.MapFS{"d/e/f": {Data: []byte("f")}, "x/y": {}}, map[string]int{}}
	fsys := New(Options{})
	must(t, fsys.MkdirAll("/mnt", 0o755))
	must(t, fsys.MountInto("/mnt", src))
	if len(src.opened) != 0 {
		t.Errorf("mounting opened %v", src.opened)
	}
	for range 3 {
		want(t, "lookup", look("/mnt/d/e")(fsys), abi.OK)
	}
	if got := fmt.Sprint(src.opened); got != "map[.:1 d:1]" {
		t.Errorf("looking into /mnt/d opened %s", got)
	}
	for range 2 {
		if got := read(t, fsys, "/mnt/d/e/f"); got != "f" {
			t.Errorf("read %q", got)
		}
	}
	if src.opened["d/e"] != 1 || src.opened["d/e/f"] != 2 || src.opened["x"] != 0 {
		t.Errorf("reading opened %v", src.opened)
	}
}

func TestMountDirFS(t *testing.T) {
	dir := t.TempDir()
	large := strings.Repeat("0123456789", 50_000)
	must(t, os.MkdirAll(filepath.Join(dir, "pkg/sub"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "pkg/large"), []byte(large), 0o644))
	must(t, os.Symlink("large", filepath.Join(dir, "pkg/link")))
	must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "pkg/out")))
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	for what, src := range map[string]fs.FS{"os.DirFS": os.DirFS(dir), "os.Root": root.FS()} {
		fsys := New(Options{})
		must(t, fsys.MkdirAll("/mnt", 0o755))
		must(t, fsys.MountInto("/mnt", src))
		if got := names(t, fsys, "/mnt/pkg"); got != "large sub" {
			t.Errorf("%s: /mnt/pkg has %s", what, got)
		}
		want(t, what+" symlink", look("/mnt/pkg/out")(fsys), abi.ENOENT)
		if got := read(t, fsys, "/mnt/pkg/large"); got != large {
			t.Errorf("%s: read %d bytes", what, len(got))
		}
	}
}

// streamFS hides everything but fs.File from what it opens.
type streamFS struct{ fs.FS }

func (s streamFS) Open(name string) (fs.File, error) {
	f, err := s.FS.Open(name)
	if _, dir := f.(fs.ReadDirFile); err != nil || dir {
		if info, e := f.Stat(); err != nil || e == nil && info.IsDir() {
			return f, err
		}
	}
	return struct{ fs.File }{f}, err
}

// seekFS leaves io.Seeker.
type seekFS struct{ fs.FS }

func (s seekFS) Open(name string) (fs.File, error) {
	f, err := s.FS.Open(name)
	if seeker, ok := f.(io.Seeker); ok {
		return struct {
			fs.File
			io.Seeker
		}{f, seeker}, err
	}
	return f, err
}

// TestMountRandomAccess reads at random positions of files that offer ReadAt,
// and of ones that can only be read from start to end.
func TestMountRandomAccess(t *testing.T) {
	data := make([]byte, 100_000)
	for i := range data {
		data[i] = byte(i * i >> 3)
	}
	var zipped bytes.Buffer
	w := zip.NewWriter(&zipped)
	entry, err := w.Create("dir/f")
	must(t, err)
	entry.Write(data)
	must(t, w.Close())
	archive, err := zip.NewReader(bytes.NewReader(zipped.Bytes()), int64(zipped.Len()))
	must(t, err)
	mapped := fstest.MapFS{"dir/f": {Data: data}}
	for what, src := range map[string]fs.FS{"zip": archive, "map": mapped, "stream": streamFS{mapped}, "seek": seekFS{mapped}} {
		fsys := New(Options{})
		must(t, fsys.MkdirAll("/mnt", 0o755))
		must(t, fsys.MountInto("/mnt", src))
		f := open(t, fsys, "/mnt/dir/f", abi.O_RDONLY)
		for _, off := range []int{0, 50_000, 10, 99_990, 0, 99_999, 100_000, 200_000, 5} {
			p := make([]byte, 1000)
			n, e := f.Pread(bg, p, int64(off))
			if e != abi.OK || !bytes.Equal(p[:n], data[min(off, len(data)):min(off+1000, len(data))]) {
				t.Errorf("%s: Pread at %d = %d, %v, or other bytes", what, off, n, e)
			}
		}
		if end, e := f.SeekTo(-5, abi.SEEK_END); end != 99_995 || e != abi.OK {
			t.Errorf("%s: SeekTo = %d, %v", what, end, e)
		}
		if n, e := f.Read(bg, make([]byte, 10)); n != 5 || e != abi.OK {
			t.Errorf("%s: Read at the end = %d, %v", what, n, e)
		}
		ok(t, f.Close())
	}
}

// broken fails in the ways a source can.
type broken struct{ fs.FS }

func (b broken) Open(name string) (fs.File, error) {
	switch name {
	case "d":
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("disk on fire")}
	case "gone":
		return nil, fs.ErrNotExist
	case "secret":
		return nil, fs.ErrPermission
	case "bad":
		f, err := b.FS.Open(name)
		return struct{ fs.File }{badFile{f}}, err
	}
	return b.FS.Open(name)
}

type badFile struct{ fs.File }

func (badFile) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestMountBroken(t *testing.T) {
	fsys := New(Options{})
	must(t, fsys.MkdirAll("/mnt", 0o755))
	must(t, fsys.MountInto("/mnt", broken{fstest.MapFS{"d/x": {}, "gone": {}, "secret": {}, "bad": {Data: []byte("b")}}}))
	want(t, "directory that cannot be listed", look("/mnt/d/x")(fsys), abi.EIO)
	want(t, "and again", look("/mnt/d/x")(fsys), abi.EIO)
	want(t, "file that is gone", opens("/mnt/gone", 0)(fsys), abi.ENOENT)
	want(t, "file that the host may not read", opens("/mnt/secret", 0)(fsys), abi.EACCES)
	want(t, "file that cannot be read", opens("/mnt/bad", 0)(fsys), abi.EIO)
	if n := lookup(t, fsys, "/mnt/gone"); n.opens != 0 {
		t.Errorf("a failed open left a count of %d", n.opens)
	}
}

func TestMountFile(t *testing.T) {
	fsys := New(Options{})
	must(t, fsys.MountFile("/zip", []byte("data")))
	if b, err := fsys.ReadFile("/zip"); err != nil || string(b) != "data" {
		t.Errorf("read %q, %v", b, err)
	}
	for what, e := range map[string]abi.Errno{
		"write":  opens("/zip", abi.O_WRONLY)(fsys),
		"unlink": fsys.Unlink(nil, "/zip"),
		"chmod":  fsys.Chmod(lookup(t, fsys, "/zip"), 0o666),
	} {
		want(t, what, e, abi.EROFS)
	}
	if err := fsys.MountFile("/zip", nil); !errors.Is(err, abi.EEXIST) {
		t.Errorf("the same name twice: %v", err)
	}
}

func TestMountBudget(t *testing.T) {
	fsys := New(Options{MaxMounted: 3})
	must(t, fsys.MkdirAll("/mnt", 0o755))
	must(t, fsys.MountInto("/mnt", fstest.MapFS{"a": {}, "d/1": {}, "d/2": {}}))
	want(t, "two nodes of three", look("/mnt/a")(fsys), abi.OK)
	want(t, "four nodes of three", look("/mnt/d/1")(fsys), abi.ENOMEM)
	want(t, "what was there before", look("/mnt/a")(fsys), abi.OK)
}

// TestMountNames gives entries names that no guest could have made.
func TestMountNames(t *testing.T) {
	fsys := New(Options{})
	must(t, fsys.MkdirAll("/mnt", 0o755))
	var list []fs.DirEntry
	for _, name := range []string{"", ".", "..", "a/b", "a\x00b", strings.Repeat("n", 256), "good"} {
		list = append(list, fs.FileInfoToDirEntry(viewInfo{name, abi.Stat{Mode: abi.S_IFREG}}))
	}
	for _, mode := range []uint32{abi.S_IFLNK, abi.S_IFCHR, abi.S_IFIFO, abi.S_IFSOCK} {
		list = append(list, fs.FileInfoToDirEntry(viewInfo{fmt.Sprint(mode), abi.Stat{Mode: mode}}))
	}
	must(t, fsys.MountInto("/mnt", listFS(list)))
	if got := names(t, fsys, "/mnt"); got != "good" {
		t.Errorf("/mnt has %q", got)
	}
}

// listFS is a file system of one directory with whatever entries.
type listFS []fs.DirEntry

func (l listFS) Open(name string) (fs.File, error) { return nil, fs.ErrNotExist }

func (l listFS) ReadDir(name string) ([]fs.DirEntry, error) { return l, nil }
