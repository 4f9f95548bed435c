package emscripten

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/modeltest"
	"coderunner/pyodide/emscripten/layout"
)

// model makes the same system calls here, as a guest does, and on the host,
// in a directory of each, and compares what they answer. A sequence comes from
// bytes, so that a fuzzer can make it up.
//
// Every file may be read and written: the test may run as root, whom
// permissions do not bind. No name leads out of the directory.
type model struct {
	modeltest.Choices
	*kernel
	t    *testing.T
	host int // the host's directory
	fds  [8]struct{ ours, host int }
	log  []string
}

func TestModel(t *testing.T) { modeltest.Each(t, 80, 1200, 5, runModel) }

func FuzzModel(f *testing.F) {
	f.Add([]byte("openat dup pipe write read close rename unlink"))
	f.Fuzz(func(t *testing.T, in []byte) { runModel(t, in[:min(len(in), 2000)]) })
}

func runModel(t *testing.T, in []byte) {
	dir := filepath.Join(t.TempDir(), "w")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	host, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	m := &model{kernel: newKernel(t, Config{}), t: t, host: host, Choices: modeltest.Of(in)}
	if err := m.p.fs.MkdirAll("/w", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := m.p.Chdir("/w"); err != nil {
		t.Fatal(err)
	}
	m.p.umask = uint32(unix.Umask(0))
	unix.Umask(int(m.p.umask))
	for i := range m.fds {
		m.fds[i].ours, m.fds[i].host = -1, -1
	}
	steps := []func(){m.openat, m.openat, m.openat, m.close, m.dup, m.dup3, m.fcntl, m.read, m.write, m.write, m.pread, m.pwrite,
		m.seek, m.ftruncate, m.fstat, m.pipe, m.poll, m.fionread, m.mkdir, m.unlink, m.rename, m.symlink, m.readlink, m.mkfifo,
		m.fstatat, m.faccessat, m.getdents}
	for m.Left() && !t.Failed() {
		m.mask()
		steps[m.Byte()%len(steps)]()
	}
	for i := range m.fds {
		m.forget(i)
	}
	unix.Close(host)
	if t.Failed() {
		t.Log(strings.Join(m.log, "\n"))
	}
}

func (m *model) name() string {
	return modeltest.Pick(m, "", "", "d/", "e/", "d/e/", "d/../", "a/") + modeltest.Pick(m, "a", "b", "c", "d", "e", "f") + modeltest.Pick(m, "", "", "", "/")
}

// fd picks one of the descriptors, which need not be open, and base a directory
// that names are relative to.
func (m *model) fd() int { return m.Byte() % len(m.fds) }

func (m *model) base() (ours, host int, what string) {
	if m.Byte()%3 > 0 {
		return abi.AT_FDCWD, m.host, "."
	}
	i := m.fd()
	return m.fds[i].ours, m.fds[i].host, fmt.Sprint("fd ", i)
}

// same compares a result of ours, a negative errno if it failed, with one of
// the host's; true if both were good.
func (m *model) same(what string, got int64, want int, err error) bool {
	m.t.Helper()
	ours, host := fmt.Sprint(got), fmt.Sprint(want)
	if got < 0 {
		ours = abi.Errno(-got).Name()
	}
	if err != nil {
		host = strings.Replace(unix.ErrnoName(err.(unix.Errno)), "ENOTSUP", "EOPNOTSUPP", 1)
	}
	m.log = append(m.log, what+" = "+ours)
	if ours != host {
		m.t.Errorf("%s = %s, want %s", what, ours, host)
	}
	return got >= 0 && err == nil && ours == host
}

// done is same for calls whose result is not a number to compare.
func (m *model) done(what string, got int64, err error) bool {
	m.t.Helper()
	return m.same(what, min(got, 0), 0, err)
}

// wasi makes a positive errno of WASI's negative, or gives the number at addr.
func (m *model) wasi(errno int64, addr uint32) int64 {
	if errno != 0 {
		return -errno
	}
	return int64(int32(m.word(addr)))
}

func (m *model) forget(i int) {
	if m.fds[i].ours >= 0 {
		m.call("fd_close", m.fds[i].ours)
		unix.Close(m.fds[i].host)
		m.fds[i].ours, m.fds[i].host = -1, -1
	}
}

// keep puts a new descriptor, if both have one, into a place.
func (m *model) keep(what string, ours int64, host int, err error) {
	m.t.Helper()
	if m.done(what, ours, err) {
		i := m.fd()
		m.forget(i)
		m.fds[i].ours, m.fds[i].host = int(ours), host
	}
}

func (m *model) openat() {
	ours, host, what := m.base()
	p := m.name()
	type flag struct {
		ours uint32
		host int
	}
	flags := modeltest.Pick(m, flag{abi.O_RDONLY, unix.O_RDONLY}, flag{abi.O_WRONLY, unix.O_WRONLY}, flag{abi.O_RDWR, unix.O_RDWR})
	for range m.Byte() % 4 {
		fl := modeltest.Pick(m, flag{abi.O_CREAT, unix.O_CREAT}, flag{abi.O_CREAT, unix.O_CREAT}, flag{abi.O_EXCL, unix.O_EXCL},
			flag{abi.O_TRUNC, unix.O_TRUNC}, flag{abi.O_APPEND, unix.O_APPEND}, flag{abi.O_DIRECTORY, unix.O_DIRECTORY},
			flag{abi.O_NOFOLLOW, unix.O_NOFOLLOW}, flag{abi.O_CLOEXEC, unix.O_CLOEXEC}, flag{abi.O_PATH, unix.O_PATH})
		flags.ours |= fl.ours
		flags.host |= fl.host
	}
	if flags.ours&(abi.O_CREAT|abi.O_DIRECTORY) == abi.O_CREAT|abi.O_DIRECTORY {
		return // differs between versions of Linux
	}
	fd, err := unix.Openat(host, p, flags.host|unix.O_NONBLOCK, 0o700)
	got := m.call("openat", ours, p, flags.ours|abi.O_NONBLOCK, m.words(0o700))
	m.keep(fmt.Sprintf("openat %s %s %#o", what, p, flags.ours), got, fd, err)
}

func (m *model) close() {
	i := m.fd()
	err := unix.Close(m.fds[i].host)
	m.done(fmt.Sprint("close ", i), -m.call("fd_close", m.fds[i].ours), err)
	m.fds[i].ours, m.fds[i].host = -1, -1
}

func (m *model) dup() {
	i := m.fd()
	fd, err := unix.Dup(m.fds[i].host)
	m.keep(fmt.Sprint("dup ", i), m.call("dup", m.fds[i].ours), fd, err)
}

func (m *model) dup3() {
	i, j := m.fd(), m.fd()
	if m.fds[j].host < 0 {
		return
	}
	err := unix.Dup3(m.fds[i].host, m.fds[j].host, unix.O_CLOEXEC)
	m.done(fmt.Sprint("dup3 ", i, j), m.call("dup3", m.fds[i].ours, m.fds[j].ours, abi.O_CLOEXEC), err)
}

func (m *model) fcntl() {
	i := m.fd()
	ours, host := m.fds[i].ours, uintptr(m.fds[i].host)
	arg := modeltest.Pick(m, 0, 1)
	switch m.Byte() % 4 {
	case 0:
		n, err := unix.FcntlInt(host, unix.F_GETFD, 0)
		m.same(fmt.Sprint("F_GETFD ", i), m.call("fcntl64", ours, abi.F_GETFD, 0), n, err)
	case 1:
		n, err := unix.FcntlInt(host, unix.F_SETFD, arg)
		m.same(fmt.Sprint("F_SETFD ", i, arg), m.call("fcntl64", ours, abi.F_SETFD, m.words(uint32(arg))), n, err)
	case 2:
		n, err := unix.FcntlInt(host, unix.F_GETFL, 0)
		got := m.call("fcntl64", ours, abi.F_GETFL, 0)
		if m.done(fmt.Sprint("F_GETFL ", i), got, err) {
			m.same("access mode", got&3, n&3, nil)
			m.same("O_APPEND", min(1, got&int64(abi.O_APPEND)), min(1, n&unix.O_APPEND), nil)
		}
	case 3: // never without O_NONBLOCK
		if m.isPipe(i) {
			return // a pipe that appends: what of it
		}
		n, err := unix.FcntlInt(host, unix.F_SETFL, unix.O_NONBLOCK|arg*unix.O_APPEND)
		flags := abi.O_NONBLOCK | uint32(arg)*abi.O_APPEND
		m.same(fmt.Sprint("F_SETFL ", i, arg), m.call("fcntl64", ours, abi.F_SETFL, m.words(flags)), n, err)
	}
}

func (m *model) isPipe(i int) bool {
	var st unix.Stat_t
	return unix.Fstat(m.fds[i].host, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO
}

func (m *model) isDir(i int) bool {
	var st unix.Stat_t
	return unix.Fstat(m.fds[i].host, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

func (m *model) size() int { return modeltest.Pick(m, 0, 1, 10, 100, 5000) }

// vector makes buffers of the sizes, with data in them, here and for the host.
func (m *model) vector(sizes ...int) (iov uint32, ours [][]byte, host [][]byte) {
	var words []uint32
	for _, n := range sizes {
		b := bytes.Repeat([]byte{byte(m.Byte())}, n)
		addr := m.put(b)
		words = append(words, addr, uint32(n))
		ours, host = append(ours, m.mem[addr:addr+uint32(n)]), append(host, b)
	}
	return m.words(words...), ours, host
}

func (m *model) read() {
	i := m.fd()
	iov, ours, host := m.vector(m.size(), m.size())
	n, err := unix.Readv(m.fds[i].host, host)
	count := m.words(0)
	got := m.wasi(m.call("fd_read", m.fds[i].ours, iov, 2, count), count)
	if m.isPipe(i) && got >= 0 && err == nil && got < int64(n) && got >= int64(len(ours[0])) {
		// Only one buffer is read into: go on.
		m.log = append(m.log, "short read")
		rest := m.words(m.word(iov+8)+uint32(got)-uint32(len(ours[0])), uint32(len(ours[0])+len(ours[1]))-uint32(got))
		if more := m.wasi(m.call("fd_read", m.fds[i].ours, rest, 1, count), count); more > 0 {
			got += more
		}
	}
	if m.same(fmt.Sprint("readv ", i), got, n, err) {
		if a, b := bytes.Join(ours, nil), bytes.Join(host, nil); !bytes.Equal(a[:n], b[:n]) {
			m.t.Errorf("read %q, want %q", a[:n], b[:n])
		}
	}
}

func (m *model) write() {
	i := m.fd()
	a, b := m.size(), m.size()
	if m.isPipe(i) {
		a, b = min(a, 100), 0 // a full pipe of Linux holds less: it counts pages
	}
	iov, _, host := m.vector(a, b)
	n, err := unix.Writev(m.fds[i].host, host)
	count := m.words(0)
	m.same(fmt.Sprint("writev ", i), m.wasi(m.call("fd_write", m.fds[i].ours, iov, 2, count), count), n, err)
}

func (m *model) pread() {
	i, off := m.fd(), int64(m.size())
	iov, ours, host := m.vector(m.size())
	n, err := unix.Pread(m.fds[i].host, host[0], off)
	count := m.words(0)
	got := m.wasi(m.call("fd_pread", m.fds[i].ours, iov, 1, off, count), count)
	if len(host[0]) == 0 {
		return // whether nothing can be read is not the same everywhere
	}
	if m.same(fmt.Sprint("pread ", i, off), got, n, err) && !bytes.Equal(ours[0], host[0]) {
		m.t.Errorf("pread %q, want %q", ours[0], host[0])
	}
}

func (m *model) pwrite() {
	i, off := m.fd(), int64(m.size())
	iov, _, host := m.vector(m.size())
	if len(host[0]) == 0 {
		return
	}
	n, err := unix.Pwrite(m.fds[i].host, host[0], off)
	count := m.words(0)
	m.same(fmt.Sprint("pwrite ", i, off), m.wasi(m.call("fd_pwrite", m.fds[i].ours, iov, 1, off, count), count), n, err)
}

func (m *model) seek() {
	i, off, whence := m.fd(), int64(modeltest.Pick(m, 0, 1, 100, -1, -50, 70000)), m.Byte()%3
	if m.isDir(i) {
		return // what offsets mean is the file system's business
	}
	n, err := unix.Seek(m.fds[i].host, off, whence)
	at := m.put(make([]byte, 8))
	m.same(fmt.Sprint("lseek ", i, off, whence), m.wasi(m.call("fd_seek", m.fds[i].ours, off, whence, at), at), int(n), err)
}

func (m *model) ftruncate() {
	i, n := m.fd(), int64(modeltest.Pick(m, 0, 1, 100, 70000, -1))
	err := unix.Ftruncate(m.fds[i].host, n)
	m.done(fmt.Sprint("ftruncate ", i, n), m.call("ftruncate64", m.fds[i].ours, n), err)
}

func (m *model) fstat() {
	i := m.fd()
	var want unix.Stat_t
	err := unix.Fstat(m.fds[i].host, &want)
	at := m.put(make([]byte, layout.StatSize))
	if m.done(fmt.Sprint("fstat ", i), m.call("fstat64", m.fds[i].ours, at), err) {
		m.sameStat(at, &want)
	}
}

func (m *model) sameStat(at uint32, want *unix.Stat_t) {
	m.t.Helper()
	m.same("type", int64(m.word(at+4)&abi.S_IFMT), int(want.Mode&unix.S_IFMT), nil)
	if want.Mode&unix.S_IFMT != unix.S_IFDIR {
		m.same("size", int64(m.word(at+24)), int(want.Size), nil)
		m.same("links", int64(m.word(at+8)), int(want.Nlink), nil)
	}
}

func (m *model) pipe() {
	var host [2]int
	err := unix.Pipe2(host[:], unix.O_NONBLOCK|unix.O_CLOEXEC)
	at := m.words(0, 0)
	if m.done("pipe", m.call("pipe", at), err) {
		for n := range host {
			fd := m.word(at + 4*uint32(n))
			m.call("fcntl64", fd, abi.F_SETFL, m.words(abi.O_NONBLOCK))
			i := m.fd()
			m.forget(i)
			m.fds[i].ours, m.fds[i].host = int(fd), host[n]
		}
	}
}

func (m *model) poll() {
	var host []unix.PollFd
	var words []uint32
	for range 1 + m.Byte()%3 {
		i := m.fd()
		if m.fds[i].host < 0 {
			continue
		}
		host = append(host, unix.PollFd{Fd: int32(m.fds[i].host), Events: unix.POLLIN | unix.POLLOUT})
		words = append(words, uint32(m.fds[i].ours), uint32(abi.POLLIN|abi.POLLOUT))
	}
	n, err := unix.Poll(host, 0)
	for err == unix.EINTR { // a signal of the Go runtime's
		n, err = unix.Poll(host, 0)
	}
	at := m.words(words...)
	if !m.same("poll", m.call("poll", at, len(host), 0), n, err) {
		return
	}
	for i, h := range host {
		m.same(fmt.Sprint("revents of ", words[2*i]), int64(m.word(at+8*uint32(i)+4)>>16), int(h.Revents), nil)
	}
}
