//go:build linux

package memfs

import (
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/modeltest"
)

// The model test runs the same operations on an FS and on a directory of the
// host's file system and compares what each answers. An operation is decoded
// from bytes, so that the fuzzer can make them up as well.

// modelDepth is how far the working directory lies below both roots: further than
// any path can climb (one ".." for each of maxLinks symlinks, and two of its
// own), so that no operation leaves the test's directory.
const modelDepth = maxLinks + 8

type model struct {
	modeltest.Choices
	t     *testing.T
	fsys  *FS
	base  string // the host's directory that is fsys's root
	work  string // the working directory below either
	files [3]struct {
		fd   int
		file *File
	}
	log []string
}

// unprivileged calls f as a user whom permission bits bind, and who owns dir.
// Linux checks a thread's own fsuid, so that root can be somebody else for a
// while.
func unprivileged(t *testing.T, dir string, f func()) {
	if os.Getuid() != 0 {
		f()
		return
	}
	const nobody = 65534
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // t.TempDir makes it private
		t.Fatal(err)
	}
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Skip("cannot become an unprivileged user: ", err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	syscall.Setfsuid(nobody)
	defer syscall.Setfsuid(0)
	probe := filepath.Join(dir, "probe")
	if err := syscall.Mkdir(probe, 0); err != nil {
		t.Skip("cannot work as an unprivileged user: ", err)
	}
	if err := syscall.Mkdir(filepath.Join(probe, "x"), 0); err != syscall.EACCES {
		t.Skip("permission bits do not bind: ", err)
	}
	syscall.Rmdir(probe)
	f()
}

func TestModel(t *testing.T) { modeltest.Each(t, 30, 1200, 7, runModel) }

// TestCopyModel is TestModel over a tree that MountCopy shows.
func TestCopyModel(t *testing.T) { modeltest.Each(t, 20, 800, 8, runCopyModel) }

func FuzzCopyModel(f *testing.F) {
	f.Add(modeltest.Random(300, 1, 3))
	f.Fuzz(func(t *testing.T, in []byte) { runCopyModel(t, in[:min(len(in), 2000)]) })
}

func runCopyModel(t *testing.T, in []byte) {
	defer syscall.Umask(syscall.Umask(0o022)) // whatever it is where the tests run
	src := t.TempDir()
	plantTree(t, src, modelDepth)
	before := describe(t, src)
	runModelOn(t, in, src)
	if after := describe(t, src); after != before {
		t.Errorf("the tree that is shown has changed:\n%s\nwas\n%s", after, before)
	}
}

// plantTree fills dir with what the names of the model can name, three deep.
func plantTree(t *testing.T, dir string, seed int) {
	make := func(at, what string, err error) {
		if err != nil {
			t.Fatal(what, at, err)
		}
	}
	for i, name := range modelNames[:3] {
		at := filepath.Join(dir, name)
		data := []byte(strings.Repeat(fmt.Sprint(name, seed, " "), (i+seed%3)*(chunkSize/5)))
		switch (i + seed) % 3 {
		case 0:
			make(at, "write", os.WriteFile(at, data, 0o644))
		case 1:
			make(at, "mkdir", os.Mkdir(at, 0o755))
			if seed > modelDepth-3 {
				plantTree(t, at, seed-1)
			}
		case 2:
			make(at, "link", os.Symlink([]string{"a", "b/c", "../b", "d"}[seed%4], at))
		}
	}
}

// describe lists what is below dir.
func describe(t *testing.T, dir string) string {
	var b strings.Builder
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		data, _ := os.ReadFile(name)
		fmt.Fprintln(&b, name, info.Mode(), info.ModTime(), crc32.ChecksumIEEE(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func FuzzModel(f *testing.F) {
	f.Add([]byte("mkdir a; rename a a/b; symlink a b; open b/c"))
	f.Add(modeltest.Random(300, 1, 2))
	f.Fuzz(func(t *testing.T, in []byte) { runModel(t, in[:min(len(in), 2000)]) })
}

func runModel(t *testing.T, in []byte) { runModelOn(t, in, "") }

// runModelOn runs the model in directories that have the tree at src, if it is not "".
func runModelOn(t *testing.T, in []byte, src string) {
	defer syscall.Umask(syscall.Umask(0)) // an FS leaves it to its callers
	base := t.TempDir()
	unprivileged(t, base, func() {
		m := &model{t: t, fsys: New(Options{}), base: base, Choices: modeltest.Of(in), work: strings.Repeat("/x", modelDepth)}
		if err := os.MkdirAll(base+m.work, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := m.fsys.MkdirAll(m.work, 0o755); err != nil {
			t.Fatal(err)
		}
		if src != "" {
			was := syscall.Umask(0o022)
			err := os.CopyFS(base+m.work, os.DirFS(src))
			if syscall.Umask(was); err != nil {
				t.Fatal(err)
			}
			if err := m.fsys.MountCopy(m.work, os.DirFS(src)); err != nil {
				t.Fatal(err)
			}
		}
		for m.Left() && !t.Failed() {
			m.step()
		}
		for i := range m.files {
			m.close(i)
		}
		openUp(base)
		if t.Failed() {
			t.Log(strings.Join(m.log, "\n"))
		}
	})
}

// openUp makes everything below dir removable again.
func openUp(dir string) {
	os.Chmod(dir, 0o700)
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		if e.IsDir() {
			openUp(filepath.Join(dir, e.Name()))
		}
	}
}

var modelNames = []string{"a", "b", "c", "d"}

// path makes up a path of at most ups "..", relative to the working directory.
func (m *model) path(ups int) string {
	b := m.Byte()
	var s []string
	for range []int{1, 1, 2, 2, 2, 3, 3, 4}[b&7] {
		switch c := m.Byte() % 16; {
		case c == 0:
			s = append(s, ".")
		case c == 1 && ups > 0:
			ups--
			s = append(s, "..")
		default:
			s = append(s, modelNames[c%4])
		}
	}
	p := strings.Join(s, "/")
	if b>>3 == 0 {
		p += "/"
	}
	return p
}

func (m *model) perm() uint32 {
	return modeltest.Pick(m, uint32(0o755), 0o755, 0o755, 0o700, 0o644, 0o644, 0o644, 0o400, 0o555, 0o300, 0o500, 0)
}

// both compares an outcome.
func (m *model) both(what string, got abi.Errno, want error) bool {
	m.log = append(m.log, fmt.Sprintf("%-50s %v", what, want))
	if name := errnoName(want); got.Name() != name {
		m.t.Errorf("%s: got %s, want %s", what, got.Name(), name)
		return false
	}
	return want == nil
}

func same[T comparable](m *model, what string, got, want T) {
	if got != want {
		m.t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func errnoName(err error) string {
	if err == nil {
		return "OK"
	}
	e, ok := err.(syscall.Errno)
	if !ok {
		return err.Error()
	}
	for name, n := range map[string]syscall.Errno{
		"ENOENT": syscall.ENOENT, "EEXIST": syscall.EEXIST, "ENOTDIR": syscall.ENOTDIR,
		"EISDIR": syscall.EISDIR, "ENOTEMPTY": syscall.ENOTEMPTY, "EINVAL": syscall.EINVAL,
		"EACCES": syscall.EACCES, "EPERM": syscall.EPERM, "ELOOP": syscall.ELOOP,
		"EBUSY": syscall.EBUSY, "EBADF": syscall.EBADF, "ESPIPE": syscall.ESPIPE,
		"ENXIO": syscall.ENXIO, "EAGAIN": syscall.EAGAIN, "EPIPE": syscall.EPIPE,
		"EXDEV": syscall.EXDEV, "EOPNOTSUPP": syscall.EOPNOTSUPP, "EFBIG": syscall.EFBIG,
		"ENAMETOOLONG": syscall.ENAMETOOLONG, "EROFS": syscall.EROFS, "EMLINK": syscall.EMLINK,
	} {
		if n == e {
			return name
		}
	}
	return e.Error()
}

func (m *model) step() {
	ops := []func(){
		m.mkdir, m.mkdir, m.mkdir, m.rmdir, m.unlink, m.rename, m.rename, m.rename, m.link, m.symlink,
		m.symlink, m.mkfifo, m.stat, m.stat, m.lstat, m.chmod, m.truncate, m.utimes, m.readlink,
		m.open, m.open, m.open, m.open, m.read, m.read, m.write, m.write, m.pread, m.pwrite,
		m.seek, m.ftruncate, m.fstat, m.readdir, m.closeOne,
	}
	ops[m.Byte()%len(ops)]()
}
