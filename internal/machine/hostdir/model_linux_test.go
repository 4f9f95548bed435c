package hostdir

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/machine/modeltest"
)

// model does the same in a directory that a guest's file system shows, and in
// another by system calls, and compares what each answers and what is there in
// the end.
type model struct {
	modeltest.Choices
	t          *testing.T
	fsys       *memfs.FS
	ours, host string
	file       [3]*memfs.File
	fd         [3]int
	log        []string
}

const shown = "/shown"

func everything(string) bool { return true }
func nothing(string) bool    { return false }

// mounted returns a file system that shows dir.
func mounted(t testing.TB, dir string, rules Rules) *memfs.FS {
	t.Helper()
	if rules.Read == nil {
		rules.Read = everything
	}
	if rules.Write == nil {
		rules.Write = everything
	}
	if rules.Holds == nil {
		rules.Holds = nothing
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	fsys := memfs.New(memfs.Options{})
	if err := fsys.MkdirAll(shown, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := fsys.MountHostDir(shown, New(root, rules)); err != nil {
		t.Fatal(err)
	}
	return fsys
}

func TestModel(t *testing.T) { modeltest.Each(t, 60, 900, 11, runModel) }

func FuzzModel(f *testing.F) {
	f.Add([]byte("open write read rename mkdir rmdir unlink"))
	f.Fuzz(func(t *testing.T, in []byte) { runModel(t, in[:min(len(in), 1500)]) })
}

func runModel(t *testing.T, in []byte) {
	m := &model{t: t, ours: t.TempDir(), host: t.TempDir(), Choices: modeltest.Of(in)}
	for _, dir := range []string{m.ours, m.host} {
		for name, target := range map[string]string{"la": "a", "lb": "d/b", "ld": "d", "gone": "nowhere", "loop": "loop", "up": "d/../a"} {
			if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m.fsys = mounted(t, m.ours, Rules{})
	steps := []func(){m.open, m.open, m.open, m.read, m.write, m.write, m.pwrite, m.seek, m.ftruncate, m.close,
		m.mkdir, m.rmdir, m.unlink, m.rename, m.chmod, m.utimes, m.truncate, m.stat, m.lstat, m.fstat, m.readlink, m.list}
	for m.Left() && !t.Failed() {
		steps[m.Byte()%len(steps)]()
	}
	for i := range m.file {
		m.closeAt(i)
	}
	if ours, host := tree(t, m.ours), tree(t, m.host); !t.Failed() && ours != host {
		t.Errorf("in the end there is\n%s\nwant\n%s", ours, host)
	}
	if bytes, _ := m.fsys.Usage(); bytes != 0 {
		t.Errorf("%d bytes of memory are in use", bytes)
	}
	if t.Failed() {
		t.Log(strings.Join(m.log, "\n"))
	}
}

// tree writes down all that is in a directory.
func tree(t *testing.T, dir string) string {
	var b strings.Builder
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		fmt.Fprintf(&b, "%s %v", rel, info.Mode())
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %d %x", len(data), data[:min(len(data), 40)])
		}
		b.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return b.String()
}

// name returns a name below the directory.
func (m *model) name() string {
	last := func() string {
		return modeltest.Pick(m, "a", "b", "c", "d", "e", "la", "lb", "ld", "gone", "loop", "up", "pipe")
	}
	dir := modeltest.Pick(m, "", "", "d/", "ld/", "e/", "d/e/", "d/../", "./", "pipe/", "a/")
	return dir + last() + modeltest.Pick(m, "", "", "", "", "/")
}

func (m *model) mem(p string) string { return shown + "/" + p }
func (m *model) os(p string) string  { return m.host + "/" + p }

// both compares outcomes; true if both were good.
func (m *model) both(what string, got abi.Errno, err error) bool {
	m.log = append(m.log, fmt.Sprintf("%s: %v", what, got))
	want := abi.OK
	if err != nil {
		want = errno(err)
	}
	if got != want {
		m.t.Errorf("%s: %v, want %v", what, got.Name(), want.Name())
	}
	return got == abi.OK && want == abi.OK
}

func same[T comparable](m *model, what string, got, want T) {
	if got != want {
		m.t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func (m *model) open() {
	i, p := m.Byte()%len(m.file), m.name()
	var st syscall.Stat_t
	if syscall.Stat(m.os(p), &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFIFO {
		// Not opened here, whatever else: the host would, and wait.
		_, e := m.fsys.Open(context.Background(), nil, m.mem(p), modeltest.Pick(m, abi.O_RDONLY, abi.O_WRONLY, abi.O_RDWR), 0)
		if e == abi.OK {
			m.t.Errorf("%s was opened", p)
		}
		return
	}
	type flag struct {
		mem uint32
		os  int
	}
	flags := modeltest.Pick(m, flag{abi.O_RDONLY, syscall.O_RDONLY}, flag{abi.O_WRONLY, syscall.O_WRONLY}, flag{abi.O_RDWR, syscall.O_RDWR})
	for range m.Byte() % 4 {
		fl := modeltest.Pick(m, flag{abi.O_CREAT, syscall.O_CREAT}, flag{abi.O_CREAT, syscall.O_CREAT}, flag{abi.O_EXCL, syscall.O_EXCL},
			flag{abi.O_TRUNC, syscall.O_TRUNC}, flag{abi.O_APPEND, syscall.O_APPEND}, flag{abi.O_NOFOLLOW, syscall.O_NOFOLLOW},
			flag{abi.O_DIRECTORY, syscall.O_DIRECTORY})
		flags.mem |= fl.mem
		flags.os |= fl.os
	}
	if flags.mem&(abi.O_CREAT|abi.O_DIRECTORY) == abi.O_CREAT|abi.O_DIRECTORY {
		return // differs between versions of Linux
	}
	m.closeAt(i)
	f, e := m.fsys.Open(context.Background(), nil, m.mem(p), flags.mem, 0o640)
	fd, err := syscall.Open(m.os(p), flags.os|syscall.O_CLOEXEC, 0o640)
	if m.both(fmt.Sprintf("open %s %#x", p, flags.mem), e, err) {
		m.file[i], m.fd[i] = f, fd
		return
	}
	if e == abi.OK {
		f.Close()
	}
	if err == nil {
		syscall.Close(fd)
	}
}

func (m *model) closeAt(i int) {
	if m.file[i] != nil {
		m.file[i].Close()
		syscall.Close(m.fd[i])
		m.file[i] = nil
	}
}

func (m *model) close() { m.closeAt(m.Byte() % len(m.file)) }

func (m *model) opened(f func(f *memfs.File, fd int)) {
	if i := m.Byte() % len(m.file); m.file[i] != nil {
		f(m.file[i], m.fd[i])
	}
}

func (m *model) size() int64 { return modeltest.Pick(m, int64(0), 1, 10, 511, 5000, 70_000) }

func (m *model) data() []byte { return bytes.Repeat([]byte{byte(m.Byte())}, int(m.size())) }

func (m *model) read() {
	m.opened(func(f *memfs.File, fd int) {
		p := m.data()
		q := slices.Clone(p)
		n, e := f.Read(context.Background(), p)
		k, err := syscall.Read(fd, q)
		if m.both(fmt.Sprintf("read %d", len(p)), e, err) && len(p) > 0 {
			same(m, "read", n, k)
			same(m, "bytes read", string(p), string(q))
		}
	})
}

func (m *model) write() {
	m.opened(func(f *memfs.File, fd int) {
		p := m.data()
		n, e := f.Write(context.Background(), p)
		k, err := syscall.Write(fd, p)
		if m.both(fmt.Sprintf("write %d", len(p)), e, err) {
			same(m, "write", n, k)
		}
	})
}

func (m *model) pwrite() {
	m.opened(func(f *memfs.File, fd int) {
		p, off := m.data(), m.size()
		n, e := f.Pwrite(context.Background(), p, off)
		k, err := syscall.Pwrite(fd, p, off)
		if m.both(fmt.Sprintf("pwrite %d @%d", len(p), off), e, err) {
			same(m, "pwrite", n, k)
		}
	})
}

func (m *model) seek() {
	m.opened(func(f *memfs.File, fd int) {
		if f.Node().IsDir() {
			return
		}
		off, whence := m.size(), m.Byte()%3
		n, e := f.SeekTo(off, whence)
		k, err := syscall.Seek(fd, off, whence)
		if m.both(fmt.Sprintf("seek %d %d", off, whence), e, err) {
			same(m, "seek", n, k)
		}
	})
}

func (m *model) ftruncate() {
	m.opened(func(f *memfs.File, fd int) {
		size := m.size()
		m.both(fmt.Sprintf("ftruncate %d", size), f.Truncate(size), syscall.Ftruncate(fd, size))
	})
}
