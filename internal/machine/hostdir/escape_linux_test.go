package hostdir

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// yard is a directory that is shown, in another that is not.
type yard struct {
	t             *testing.T
	top, in       string
	fsys          *memfs.FS
	before        string // what there is outside of the directory
	outsideFolder string
}

func newYard(t *testing.T, rules Rules) *yard {
	t.Helper()
	y := &yard{t: t, top: t.TempDir()}
	y.in, y.outsideFolder = filepath.Join(y.top, "in"), filepath.Join(y.top, "out")
	for _, dir := range []string{"in/d/e", "in/secret", "out/e"} {
		y.must(os.MkdirAll(filepath.Join(y.top, dir), 0o755))
	}
	for name, text := range map[string]string{"in/d/f": "inside", "in/d/e/f": "inside", "in/secret/f": "outside", "out/f": "outside", "out/e/f": "outside"} {
		y.must(os.WriteFile(filepath.Join(y.top, name), []byte(text), 0o644))
	}
	y.fsys = mounted(t, y.in, rules)
	y.before = tree(t, y.outsideFolder)
	return y
}

func (y *yard) must(err error) {
	y.t.Helper()
	if err != nil {
		y.t.Fatal(err)
	}
}

// meanwhile exchanges two names below the top over and over while f runs.
func (y *yard) meanwhile(a, b string, f func()) {
	y.t.Helper()
	stop, stopped := make(chan struct{}), make(chan error)
	go func() {
		var err error
		for err == nil {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
				err = unix.Renameat2(unix.AT_FDCWD, filepath.Join(y.top, a), unix.AT_FDCWD, filepath.Join(y.top, b), unix.RENAME_EXCHANGE)
			}
		}
		<-stop
		stopped <- err
	}()
	f()
	close(stop)
	if err := <-stopped; err != nil {
		y.t.Skip("names cannot be exchanged here: ", err)
	}
}

// attack does what a guest can do with names of a directory, and fails the test
// when it sees something from outside. It says how often it read something.
func (y *yard) attack(dir string) (reads int) {
	y.t.Helper()
	at := shown + "/" + dir
	if f, e := y.fsys.Open(context.Background(), nil, at+"/f", abi.O_RDWR, 0); e == abi.OK {
		b := make([]byte, 100)
		n, _ := f.Pread(context.Background(), b, 0)
		if strings.Contains(string(b[:n]), "outside") {
			y.t.Fatalf("%s/f: %q", dir, b[:n])
		}
		reads++
		f.Close()
	}
	if f, e := y.fsys.Open(context.Background(), nil, at+"/made", abi.O_WRONLY|abi.O_CREAT, 0o600); e == abi.OK {
		f.Write(context.Background(), []byte("x"))
		f.Close()
	}
	y.fsys.Mkdir(nil, at+"/dir", 0o700)
	y.fsys.Rename(nil, at+"/made", nil, at+"/moved", 0)
	if n, e := y.fsys.Lookup(nil, at+"/f", true); e == abi.OK {
		y.fsys.Chmod(n, 0o600)
		y.fsys.SetTimes(n, abi.Timespec{Sec: 1}, abi.Timespec{Sec: 1})
		y.fsys.Chmod(n, 0o644)
	}
	y.fsys.Unlink(nil, at+"/moved")
	y.fsys.Rmdir(nil, at+"/dir")
	return reads
}

func (y *yard) unharmed() {
	y.t.Helper()
	if after := tree(y.t, y.outsideFolder); after != y.before {
		y.t.Errorf("outside of the directory there is now\n%s\nwas\n%s", after, y.before)
	}
}

// rounds is how often a race is run.
func rounds(t *testing.T) int {
	if testing.Short() {
		return 100
	}
	return 200
}

func TestLinksLeadNowhere(t *testing.T) {
	y := newYard(t, Rules{})
	for link, target := range map[string]string{"abs": y.outsideFolder, "rel": "../out", "deep": "d/../../out", "root": "/", "magic": "/proc/self/root", "cwd": "/proc/self/cwd"} {
		y.must(os.Symlink(target, filepath.Join(y.in, link)))
		if y.attack(link) > 0 {
			t.Errorf("%s leads somewhere", link)
		}
		if n, e := y.fsys.Lookup(nil, shown+"/"+link, false); e != abi.OK || n.Type() != abi.S_IFLNK {
			t.Errorf("%s itself: %v", link, e)
		}
	}
	for _, dir := range []string{"..", "../out", "d/../../out", "../../.." + y.outsideFolder} {
		if y.attack(dir) > 0 {
			t.Errorf("%s leads somewhere", dir)
		}
	}
	f := New(openRoot(t, y.in), Rules{Read: everything, Write: everything, Holds: nothing})
	for _, name := range []string{"..", "../out/f", "d/../../out/f", "abs/f", "rel/f", y.outsideFolder + "/f", "d//f", ""} {
		if _, e := f.Lstat(name); e == abi.OK {
			t.Errorf("Lstat(%q) finds something", name)
		}
		if file, e := f.Open(name, abi.O_RDONLY, 0); e == abi.OK {
			file.Close()
			t.Errorf("Open(%q) opens something", name)
		}
	}
	y.unharmed()
}

func openRoot(t *testing.T, dir string) *os.Root {
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// TestSwappedLinks puts a link to another directory in a directory's place, and takes
// it away again, while the guest works there.
func TestSwappedLinks(t *testing.T) {
	for what, target := range map[string]string{"absolute": "", "relative": "../out", "denied": "secret"} {
		t.Run(what, func(t *testing.T) {
			y := newYard(t, Rules{Read: func(name string) bool { return name != "secret" && !strings.HasPrefix(name, "secret/") }})
			if target == "" {
				target = y.outsideFolder
			}
			y.must(os.Symlink(target, filepath.Join(y.in, "link")))
			y.meanwhile("in/d", "in/link", func() {
				for range rounds(t) {
					y.attack("d")
					y.attack("d/e")
				}
			})
			y.unharmed()
			if b, err := os.ReadDir(filepath.Join(y.in, "secret")); err != nil || len(b) != 1 {
				t.Errorf("the denied directory: %v, %v", b, err)
			}
		})
	}
}

// TestMovedFolder takes the directory that the guest works in out of the one that
// is shown: what is left of an operation may end there, as it does when a
// process has the directory open; the way up does not lead out.
func TestMovedFolder(t *testing.T) {
	y := newYard(t, Rules{})
	y.must(os.Mkdir(filepath.Join(y.top, "away"), 0o755))
	y.meanwhile("in/d", "away", func() {
		for range rounds(t) {
			y.attack("d/e/../../../out")
			y.attack("d/e/../..")
			y.attack("d/..")
		}
	})
	y.unharmed()
}

// TestSwappedPipe puts a pipe in a file's and in a directory's place: nothing may
// wait for it.
func TestSwappedPipe(t *testing.T) {
	y := newYard(t, Rules{})
	y.must(syscall.Mkfifo(filepath.Join(y.in, "pipe"), 0o600))
	for _, victim := range []string{"in/d", "in/d/f"} {
		y.meanwhile(victim, "in/pipe", func() {
			for range rounds(t) {
				y.attack("d")
				if f, e := y.fsys.Open(context.Background(), nil, shown+"/pipe", abi.O_RDONLY, 0); e == abi.OK {
					f.Close()
				}
			}
		})
	}
}

// TestKernelViews: a directory that holds a proc file system does not show it.
func TestKernelViews(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip(err)
	}
	rules := Rules{Read: everything, Write: everything, Holds: nothing}
	root := New(openRoot(t, "/"), rules)
	for _, name := range []string{"proc/self/environ", "proc/1/environ", "proc/version", "sys/kernel/uevent_seqnum"} {
		if file, e := root.Open(name, abi.O_RDONLY, 0); e == abi.OK {
			file.Close()
			t.Errorf("%s can be opened", name)
		}
	}
	proc := New(openRoot(t, "/proc"), rules)
	if file, e := proc.Open("version", abi.O_RDONLY, 0); e == abi.OK {
		file.Close()
		t.Error("/proc shows its files")
	}
}

// TestDeniedByIdentity meets what is denied by another name.
func TestDeniedByIdentity(t *testing.T) {
	y := newYard(t, Rules{})
	f := New(openRoot(t, y.in), Rules{Read: everything, Write: everything, Holds: nothing,
		DenyRead: []string{filepath.Join(y.top, "in", "secret")}, DenyWrite: []string{filepath.Join(y.top, "in", "d", "f")}})
	y.must(os.Rename(filepath.Join(y.in, "secret"), filepath.Join(y.in, "other")))
	if _, e := f.Lstat("other/f"); e != abi.ENOENT {
		t.Errorf("a denied directory that was renamed: %v", e)
	}
	if e := f.Rename("other", "shown"); e == abi.OK {
		t.Error("a denied directory can be renamed")
	}
	y.must(os.Link(filepath.Join(y.in, "d", "f"), filepath.Join(y.in, "hard")))
	if _, e := f.Open("hard", abi.O_WRONLY, 0); e != abi.EROFS {
		t.Errorf("another name of a file that must not be written: %v", e)
	}
	if file, e := f.Open("hard", abi.O_RDONLY|abi.O_TRUNC, 0); e == abi.OK {
		file.Close()
		t.Error("it can be emptied")
	}
	list, e := f.List(".")
	if e != abi.OK {
		t.Fatal(e)
	}
	defer list.Close()
	entries, _ := list.Next()
	for _, d := range entries {
		if d.Name == "other" {
			t.Error("a denied directory is listed")
		}
	}
}

// TestSwappedInBetween changes what is there at the worst moment: after it was
// looked at, before it is opened. The races above seldom meet it.
func TestSwappedInBetween(t *testing.T) {
	const file = "d/f"
	for what, swap := range map[string]func(y *yard){
		"a directory for a link to a denied one": func(y *yard) { y.exchange("in/d", "in/tosecret") },
		"a directory for a link outside":         func(y *yard) { y.exchange("in/d", "in/toout") },
		"a directory for another":                func(y *yard) { y.exchange("in/d", "in/secret") },
		"a directory for a pipe":                 func(y *yard) { y.exchange("in/d", "in/pipe") },
		"a file for a link":                      func(y *yard) { y.exchange("in/d/f", "in/tofile") },
		"a file for another":                     func(y *yard) { y.exchange("in/d/f", "in/secret/f") },
		"a file for a pipe":                      func(y *yard) { y.exchange("in/d/f", "in/pipe") },
	} {
		for _, mode := range []uint32{abi.O_RDONLY, abi.O_WRONLY, abi.O_RDWR | abi.O_TRUNC, abi.O_RDONLY | abi.O_TRUNC} {
			for moment := range 2 {
				if moment == 0 && strings.HasPrefix(what, "a file") {
					continue // nobody has looked at it yet
				}
				y := newYard(t, Rules{})
				for link, target := range map[string]string{"tosecret": "secret", "toout": "../out", "tofile": "../secret/f"} {
					y.must(os.Symlink(target, filepath.Join(y.in, link)))
				}
				y.must(syscall.Mkfifo(filepath.Join(y.in, "pipe"), 0o600))
				f := New(openRoot(t, y.in), Rules{Read: everything, Write: everything, Holds: nothing})
				n := 0
				f.seen = func() {
					if n == moment {
						swap(y)
					}
					n++
				}
				got, e := f.Open(file, mode, 0)
				if e == abi.OK {
					b := make([]byte, 100)
					k, _ := got.ReadAt(b, 0)
					st, _ := got.Stat()
					// A directory that was taken away when it was open already still is
					// the one that was allowed.
					if text := string(b[:k]); strings.Contains(text, "outside") || n <= moment || st.Mode&abi.S_IFMT != abi.S_IFREG {
						t.Errorf("%s, mode %#x, moment %d: opened, %q", what, mode, moment, text)
					}
					got.Close()
				}
				f.seen = nil
				if !strings.Contains(tree(t, y.in), fmt.Sprintf("%d %x", len("outside"), "outside")) {
					t.Errorf("%s, mode %#x, moment %d: the denied file has changed", what, mode, moment)
				}
				y.unharmed()
			}
		}
	}
}

func (y *yard) exchange(a, b string) {
	y.t.Helper()
	err := unix.Renameat2(unix.AT_FDCWD, filepath.Join(y.top, a), unix.AT_FDCWD, filepath.Join(y.top, b), unix.RENAME_EXCHANGE)
	if err != nil {
		y.t.Skip("names cannot be exchanged here: ", err)
	}
}
