package hostdir

import (
	"fmt"
	"slices"
	"strings"
	"syscall"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/machine/modeltest"
)

func (m *model) mkdir() {
	p := m.name()
	m.both("mkdir "+p, m.fsys.Mkdir(nil, m.mem(p), 0o750), syscall.Mkdir(m.os(p), 0o750))
}

func (m *model) rmdir() {
	p := m.name()
	m.both("rmdir "+p, m.fsys.Rmdir(nil, m.mem(p)), syscall.Rmdir(m.os(p)))
}

func (m *model) unlink() {
	p := m.name()
	m.both("unlink "+p, m.fsys.Unlink(nil, m.mem(p)), syscall.Unlink(m.os(p)))
}

func (m *model) rename() {
	p, q := m.name(), m.name()
	m.both("rename "+p+" "+q, m.fsys.Rename(nil, m.mem(p), nil, m.mem(q), 0), syscall.Rename(m.os(p), m.os(q)))
}

// at finds a node and calls f.
func (m *model) at(p string, follow bool, f func(*memfs.Node) abi.Errno) abi.Errno {
	n, e := m.fsys.Lookup(nil, m.mem(p), follow)
	if e == abi.OK {
		e = f(n)
	}
	return e
}

// chmod leaves the owner's search permission: to all but root, directories without
// it would hide what the test compares.
func (m *model) chmod() {
	p, perm := m.name(), modeltest.Pick(m, uint32(0o700), 0o744, 0o755)
	e := m.at(p, true, func(n *memfs.Node) abi.Errno { return m.fsys.Chmod(n, perm) })
	m.both(fmt.Sprintf("chmod %s %o", p, perm), e, syscall.Chmod(m.os(p), perm))
}

func (m *model) utimes() {
	p, sec := m.name(), int64(m.Byte())*1e6
	times := []syscall.Timespec{{Sec: sec, Nsec: 5000}, {Sec: sec + 1, Nsec: 6000}}
	e := m.at(p, true, func(n *memfs.Node) abi.Errno {
		return m.fsys.SetTimes(n, abi.Timespec{Sec: sec, Nsec: 5000}, abi.Timespec{Sec: sec + 1, Nsec: 6000})
	})
	if m.both("utimes "+p, e, syscall.UtimesNano(m.os(p), times)) {
		n, _ := m.fsys.Lookup(nil, m.mem(p), true)
		same(m, "mtime", m.fsys.Stat(n).Mtime, abi.Timespec{Sec: sec + 1, Nsec: 6000})
	}
}

func (m *model) truncate() {
	p, size := m.name(), m.size()
	e := m.at(p, true, func(n *memfs.Node) abi.Errno { return m.fsys.Truncate(n, size) })
	m.both(fmt.Sprintf("truncate %s %d", p, size), e, syscall.Truncate(m.os(p), size))
}

func (m *model) stat()  { m.statBy("stat ", true, syscall.Stat) }
func (m *model) lstat() { m.statBy("lstat ", false, syscall.Lstat) }

func (m *model) statBy(what string, follow bool, f func(string, *syscall.Stat_t) error) {
	p := m.name()
	var got abi.Stat
	var want syscall.Stat_t
	e := m.at(p, follow, func(n *memfs.Node) abi.Errno {
		got = m.fsys.Stat(n)
		return abi.OK
	})
	if m.both(what+p, e, f(m.os(p), &want)) {
		m.sameStat(what+p, got, &want)
	}
}

func (m *model) sameStat(what string, got abi.Stat, want *syscall.Stat_t) {
	same(m, what+" mode", got.Mode, want.Mode)
	if !got.IsDir() {
		same(m, what+" size", got.Size, want.Size)
		same(m, what+" nlink", uint64(got.Nlink), uint64(want.Nlink))
	}
}

func (m *model) fstat() {
	m.opened(func(f *memfs.File, fd int) {
		var want syscall.Stat_t
		if err := syscall.Fstat(fd, &want); err != nil {
			m.t.Error(err)
		}
		if want.Nlink > 0 && !f.Node().IsDir() {
			m.sameStat("fstat", f.Stat(), &want)
		}
	})
}

func (m *model) readlink() {
	p := m.name()
	var got string
	e := m.at(p, false, func(n *memfs.Node) (e abi.Errno) {
		got, e = m.fsys.Readlink(n)
		return e
	})
	buf := make([]byte, 4096)
	k, err := syscall.Readlink(m.os(p), buf)
	if m.both("readlink "+p, e, err) {
		same(m, "readlink", got, string(buf[:k]))
	}
}

// list reads a directory that is open from its beginning, a few entries at a time.
func (m *model) list() {
	m.opened(func(f *memfs.File, fd int) {
		var want syscall.Stat_t
		if err := syscall.Fstat(fd, &want); err != nil || want.Mode&syscall.S_IFMT != syscall.S_IFDIR || want.Nlink == 0 {
			return
		}
		f.SeekTo(0, abi.SEEK_SET)
		syscall.Seek(fd, 0, 0)
		atOnce := 1 + m.Byte()%4
		var got, there []string
		for more := true; more; {
			n := 0
			e := f.ReadDir(func(d abi.Dirent) bool {
				if n == atOnce {
					return false
				}
				n++
				got = append(got, fmt.Sprint(d.Name, d.Type))
				return true
			})
			if e == abi.ENOENT {
				return // it was moved: a held directory is known by its name
			}
			if e != abi.OK {
				m.t.Errorf("list: %v", e)
			}
			more = n > 0
		}
		buf := make([]byte, 1<<16)
		n, err := syscall.ReadDirent(fd, buf)
		if err != nil {
			m.t.Error(err)
		}
		for b := buf[:n]; len(b) > 0; {
			size := int(b[16]) | int(b[17])<<8
			there = append(there, fmt.Sprint(strings.TrimRight(string(b[19:size]), "\x00"), b[18]))
			b = b[size:]
		}
		slices.Sort(got)
		slices.Sort(there)
		same(m, "list", strings.Join(got, " "), strings.Join(there, " "))
	})
}
