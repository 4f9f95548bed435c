package emscripten

import (
	"bytes"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/modeltest"
	"coderunner/pyodide/emscripten/layout"
)

func (m *model) mkdir() {
	ours, host, what := m.base()
	p := m.name()
	m.done("mkdirat "+what+" "+p, m.call("mkdirat", ours, p, 0o700), unix.Mkdirat(host, p, 0o700))
}

func (m *model) unlink() {
	ours, host, what := m.base()
	p := m.name()
	f, g := 0, 0
	if m.Byte()%2 == 0 {
		f, g = int(abi.AT_REMOVEDIR), unix.AT_REMOVEDIR
	}
	m.done(fmt.Sprint("unlinkat ", what, " ", p, " ", g), m.call("unlinkat", ours, p, f), unix.Unlinkat(host, p, g))
}

func (m *model) rename() {
	a, b, what := m.base()
	c, d, to := m.base()
	p, q := m.name(), m.name()
	got, err := m.call("renameat", a, p, c, q), unix.Renameat(b, p, d, q)
	if got < 0 && err != nil && c != abi.AT_FDCWD {
		return // which of two mistakes is told does not matter
	}
	m.done("renameat "+what+" "+p+" "+to+" "+q, got, err)
}

func (m *model) symlink() {
	ours, host, what := m.base()
	p, target := m.name(), modeltest.Pick(m, "a", "b", "d", "e", "d/a", "nowhere")
	m.done("symlinkat "+target+" "+what+" "+p, m.call("symlinkat", target, ours, p), unix.Symlinkat(target, host, p))
}

func (m *model) readlink() {
	ours, host, what := m.base()
	p, b := m.name(), make([]byte, modeltest.Pick(m, 1, 2, 100))
	n, err := unix.Readlinkat(host, p, b)
	at := m.put(make([]byte, len(b)))
	if m.same("readlinkat "+what+" "+p, m.call("readlinkat", ours, p, at, len(b)), n, err) {
		m.wantMemory(at, string(b[:n]))
	}
}

func (m *model) mkfifo() {
	ours, host, what := m.base()
	p := m.name()
	m.done("mknodat "+what+" "+p, m.call("mknodat", ours, p, abi.S_IFIFO|0o700, 0), unix.Mknodat(host, p, unix.S_IFIFO|0o700, 0))
}

func (m *model) fstatat() {
	ours, host, what := m.base()
	p := m.name()
	f, g := 0, 0
	if m.Byte()%2 == 0 {
		f, g = int(abi.AT_SYMLINK_NOFOLLOW), unix.AT_SYMLINK_NOFOLLOW
	}
	var want unix.Stat_t
	err := unix.Fstatat(host, p, &want, g)
	at := m.put(make([]byte, layout.StatSize))
	if m.done(fmt.Sprint("fstatat ", what, " ", p, " ", g), m.call("newfstatat", ours, p, at, f), err) {
		m.sameStat(at, &want)
	}
}

func (m *model) faccessat() {
	ours, host, what := m.base()
	p := m.name()
	m.done("faccessat "+what+" "+p, m.call("faccessat", ours, p, 0, 0), unix.Faccessat(host, p, unix.F_OK, 0))
}

func (m *model) getdents() {
	i := m.fd()
	unix.Seek(m.fds[i].host, 0, 0)
	m.call("fd_seek", m.fds[i].ours, int64(0), 0, m.put(make([]byte, 8)))
	at := m.put(make([]byte, 20*layout.DirentSize))
	got := m.call("getdents64", m.fds[i].ours, at, 20*layout.DirentSize)
	buf := make([]byte, 8192)
	n, err := unix.Getdents(m.fds[i].host, buf)
	if !m.done(fmt.Sprint("getdents ", i), got, err) {
		return
	}
	var ours, host []string
	for b := m.mem[at : at+uint32(got)]; len(b) > 0; b = b[layout.DirentSize:] {
		name, _, _ := bytes.Cut(b[19:], []byte{0})
		ours = append(ours, fmt.Sprint(string(name), b[18]))
	}
	for b := buf[:n]; len(b) > 0; {
		size := int(b[16]) | int(b[17])<<8
		name, _, _ := bytes.Cut(b[19:size], []byte{0})
		host = append(host, fmt.Sprint(string(name), b[18]))
		b = b[size:]
	}
	slices.Sort(ours)
	slices.Sort(host)
	if !slices.Equal(ours, host) {
		m.t.Errorf("entries %q, want %q", ours, host)
	}
}

func (m *model) fionread() {
	i := m.fd()
	var st unix.Stat_t
	if unix.Fstat(m.fds[i].host, &st) == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		return
	}
	if fl, err := unix.FcntlInt(uintptr(m.fds[i].host), unix.F_GETFL, 0); err == nil && fl&unix.O_PATH != 0 {
		return
	}
	n, err := unix.IoctlGetInt(m.fds[i].host, unix.TIOCINQ)
	value := m.words(0)
	got := m.call("ioctl", m.fds[i].ours, int(abi.FIONREAD), m.words(value))
	if m.done(fmt.Sprint("FIONREAD ", i), got, err) {
		m.same("what is left", int64(m.word(value)), int(max(int32(n), 0)), nil)
	}
}
