//go:build linux

package memfs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/modeltest"
)

func (m *model) mkdir() {
	p, perm := m.path(2), m.perm()
	m.both(fmt.Sprintf("mkdir %s %o", p, perm), m.fsys.Mkdir(nil, m.mem(p), perm), syscall.Mkdir(m.os(p), perm))
}

// mem and os are p in either file system.
func (m *model) mem(p string) string { return m.work + "/" + p }
func (m *model) os(p string) string  { return m.base + m.work + "/" + p }

func (m *model) rmdir() {
	p := m.path(2)
	m.both("rmdir "+p, m.fsys.Rmdir(nil, m.mem(p)), syscall.Rmdir(m.os(p)))
}

func (m *model) unlink() {
	p := m.path(2)
	m.both("unlink "+p, m.fsys.Unlink(nil, m.mem(p)), syscall.Unlink(m.os(p)))
}

func (m *model) rename() {
	p, q := m.path(2), m.path(2)
	m.both("rename "+p+" "+q, m.fsys.Rename(nil, m.mem(p), nil, m.mem(q), 0), syscall.Rename(m.os(p), m.os(q)))
}

func (m *model) link() {
	p, q := m.path(2), m.path(2)
	m.both("link "+p+" "+q, m.fsys.Link(nil, m.mem(p), nil, m.mem(q), false), syscall.Link(m.os(p), m.os(q)))
}

func (m *model) symlink() {
	p, q := m.path(1), m.path(2)
	m.both("symlink "+p+" "+q, m.fsys.Symlink(p, nil, m.mem(q)), syscall.Symlink(p, m.os(q)))
}

func (m *model) mkfifo() {
	p, perm := m.path(2), m.perm()
	m.both(fmt.Sprintf("mkfifo %s %o", p, perm), m.fsys.Mknod(nil, m.mem(p), abi.S_IFIFO|perm), syscall.Mkfifo(m.os(p), perm))
}

func (m *model) stat() {
	p := m.path(2)
	var want syscall.Stat_t
	n, e := m.fsys.Lookup(nil, m.mem(p), true)
	if m.both("stat "+p, e, syscall.Stat(m.os(p), &want)) {
		m.sameStat("stat "+p, m.fsys.Stat(n), &want)
	}
}

func (m *model) lstat() {
	p := m.path(2)
	var want syscall.Stat_t
	n, e := m.fsys.Lookup(nil, m.mem(p), false)
	if m.both("lstat "+p, e, syscall.Lstat(m.os(p), &want)) {
		m.sameStat("lstat "+p, m.fsys.Stat(n), &want)
	}
}

func (m *model) sameStat(what string, got abi.Stat, want *syscall.Stat_t) {
	same(m, what+" mode", got.Mode, want.Mode)
	if !got.IsDir() {
		same(m, what+" nlink", uint64(got.Nlink), uint64(want.Nlink))
		same(m, what+" size", got.Size, want.Size)
	} else if want.Nlink != 1 && got.Nlink != 1 { // some file systems do not count, nor does a directory that is not listed yet
		same(m, what+" nlink", uint64(got.Nlink), uint64(want.Nlink))
	}
}

func (m *model) chmod() {
	p, perm := m.path(2), m.perm()
	n, e := m.fsys.Lookup(nil, m.mem(p), true)
	if e == abi.OK {
		e = m.fsys.Chmod(n, perm)
	}
	m.both(fmt.Sprintf("chmod %s %o", p, perm), e, syscall.Chmod(m.os(p), perm))
}

func (m *model) truncate() {
	p, size := m.path(2), max(0, m.size()) // the caller sees to negative ones first
	n, e := m.fsys.Lookup(nil, m.mem(p), true)
	if e == abi.OK {
		e = m.fsys.Truncate(n, size)
	}
	m.both(fmt.Sprintf("truncate %s %d", p, size), e, syscall.Truncate(m.os(p), size))
}

func (m *model) size() int64 {
	return modeltest.Pick(m, int64(0), 1, 10, 511, 512, 4096, 5000, chunkSize-1, chunkSize, chunkSize+1, 2*chunkSize, 200_000, -1)
}

func (m *model) utimes() {
	p, sec := m.path(2), int64(m.Byte())*1e6
	n, e := m.fsys.Lookup(nil, m.mem(p), true)
	if e == abi.OK {
		e = m.fsys.SetTimes(n, abi.Timespec{Sec: sec, Nsec: 5}, abi.Timespec{Sec: sec + 1, Nsec: 6})
	}
	times := []syscall.Timespec{{Sec: sec, Nsec: 5}, {Sec: sec + 1, Nsec: 6}}
	if !m.both("utimes "+p, e, syscall.UtimesNano(m.os(p), times)) {
		return
	}
	var want syscall.Stat_t
	if err := syscall.Stat(m.os(p), &want); err == nil {
		got := m.fsys.Stat(n)
		same(m, "atime", got.Atime, abi.Timespec{Sec: want.Atim.Sec, Nsec: int32(want.Atim.Nsec)})
		same(m, "mtime", got.Mtime, abi.Timespec{Sec: want.Mtim.Sec, Nsec: int32(want.Mtim.Nsec)})
	}
}

func (m *model) readlink() {
	p := m.path(2)
	var got string
	n, e := m.fsys.Lookup(nil, m.mem(p), false)
	if e == abi.OK {
		got, e = m.fsys.Readlink(n)
	}
	buf := make([]byte, 4096)
	k, err := syscall.Readlink(m.os(p), buf)
	if m.both("readlink "+p, e, err) {
		same(m, "readlink "+p, got, string(buf[:k]))
	}
}

func (m *model) open() {
	i, p := m.Byte()%len(m.files), m.path(2)
	type flag struct {
		mem uint32
		os  int
	}
	flags := modeltest.Pick(m, flag{abi.O_RDONLY, syscall.O_RDONLY}, flag{abi.O_WRONLY, syscall.O_WRONLY}, flag{abi.O_RDWR, syscall.O_RDWR})
	for range m.Byte() % 4 {
		fl := modeltest.Pick(m, flag{abi.O_CREAT, syscall.O_CREAT}, flag{abi.O_CREAT, syscall.O_CREAT},
			flag{abi.O_CREAT, syscall.O_CREAT},
			flag{abi.O_EXCL, syscall.O_EXCL}, flag{abi.O_TRUNC, syscall.O_TRUNC},
			flag{abi.O_APPEND, syscall.O_APPEND}, flag{abi.O_DIRECTORY, syscall.O_DIRECTORY},
			flag{abi.O_NOFOLLOW, syscall.O_NOFOLLOW}, flag{abi.O_PATH, 0x200000})
		flags.mem |= fl.mem
		flags.os |= fl.os
	}
	if flags.mem&(abi.O_CREAT|abi.O_DIRECTORY) == abi.O_CREAT|abi.O_DIRECTORY {
		return // differs between versions of Linux
	}
	m.close(i)
	perm := m.perm()
	f, e := m.fsys.Open(context.Background(), nil, m.mem(p), flags.mem|abi.O_NONBLOCK, perm)
	fd, err := syscall.Open(m.os(p), flags.os|syscall.O_NONBLOCK, perm)
	if m.both(fmt.Sprintf("%d = open %s %#o %o", i, p, flags.mem, perm), e, err) {
		m.files[i].fd, m.files[i].file = fd, f
	} else {
		if err == nil {
			syscall.Close(fd)
		}
		if e == abi.OK {
			f.Close()
		}
	}
}

func (m *model) close(i int) {
	if m.files[i].file != nil {
		m.files[i].file.Close()
		syscall.Close(m.files[i].fd)
		m.files[i].file = nil
	}
}

func (m *model) closeOne() { m.close(m.Byte() % len(m.files)) }

// onFile calls f for an open file, if there is one.
func (m *model) onFile(f func(name string, file *File, fd int)) {
	i := m.Byte() % len(m.files)
	if m.files[i].file != nil {
		f(fmt.Sprint(i), m.files[i].file, m.files[i].fd)
	}
}

func (m *model) data() []byte {
	p := make([]byte, modeltest.Pick(m, 0, 1, 10, 100, 5000, chunkSize-5, chunkSize+5))
	c := byte(m.Byte())
	for i := range p {
		p[i] = c + byte(i*7)
	}
	return p
}

func (m *model) transfer(what string, n int, e abi.Errno, want int, err error) {
	if m.both(what, e, err) {
		same(m, what, n, want)
	}
}

func (m *model) read() {
	m.onFile(func(name string, f *File, fd int) {
		p := make([]byte, len(m.data()))
		q := slices.Clone(p)
		n, e := f.Read(context.Background(), p)
		k, err := syscall.Read(fd, q)
		if err == syscall.EINVAL && f.Node().IsDir() {
			err = syscall.EISDIR // ext4 after a listing: the position is the largest there is
		}
		m.transfer(fmt.Sprintf("read %s %d", name, len(p)), n, e, k, err)
		same(m, "read bytes", string(p), string(q))
	})
}

func (m *model) write() {
	m.onFile(func(name string, f *File, fd int) {
		p := m.data()
		if f.Node().Type() == abi.S_IFIFO {
			p = p[:min(len(p), 100)] // a full pipe of Linux holds less: it counts pages
		}
		n, e := f.Write(context.Background(), p)
		k, err := syscall.Write(fd, p)
		m.transfer(fmt.Sprintf("write %s %d", name, len(p)), n, e, k, err)
	})
}

func (m *model) pread() {
	m.onFile(func(name string, f *File, fd int) {
		p := make([]byte, len(m.data()))
		q, off := slices.Clone(p), m.size()
		n, e := f.Pread(context.Background(), p, off)
		k, err := syscall.Pread(fd, q, off)
		m.transfer(fmt.Sprintf("pread %s %d @%d", name, len(p), off), n, e, k, err)
		same(m, "pread bytes", string(p), string(q))
	})
}

func (m *model) pwrite() {
	m.onFile(func(name string, f *File, fd int) {
		p, off := m.data(), m.size()
		n, e := f.Pwrite(context.Background(), p, off)
		k, err := syscall.Pwrite(fd, p, off)
		m.transfer(fmt.Sprintf("pwrite %s %d @%d", name, len(p), off), n, e, k, err)
	})
}

func (m *model) seek() {
	m.onFile(func(name string, f *File, fd int) {
		off, whence := m.size(), m.Byte()%3
		if f.Node().IsDir() {
			return // what offsets mean is the file system's business
		}
		got, e := f.SeekTo(off, whence)
		want, err := syscall.Seek(fd, off, whence)
		if m.both(fmt.Sprintf("seek %s %d %d", name, off, whence), e, err) {
			same(m, "seek", got, want)
		}
	})
}

func (m *model) ftruncate() {
	m.onFile(func(name string, f *File, fd int) {
		size := m.size()
		m.both(fmt.Sprintf("ftruncate %s %d", name, size), f.Truncate(size), syscall.Ftruncate(fd, size))
	})
}

func (m *model) fstat() {
	m.onFile(func(name string, f *File, fd int) {
		var want syscall.Stat_t
		if m.both("fstat "+name, abi.OK, syscall.Fstat(fd, &want)) {
			m.sameStat("fstat "+name, f.Stat(), &want)
		}
	})
}

func (m *model) readdir() {
	m.onFile(func(name string, f *File, fd int) {
		if f.Node().IsDir() && f.Flags()&abi.O_PATH == 0 {
			f.SeekTo(0, abi.SEEK_SET)
			syscall.Seek(fd, 0, 0)
		}
		var got, want []string
		e := f.ReadDir(func(d abi.Dirent) bool {
			got = append(got, fmt.Sprint(d.Name, d.Type))
			return true
		})
		buf := make([]byte, 8192)
		n, err := syscall.ReadDirent(fd, buf)
		if !m.both("readdir "+name, e, err) {
			return
		}
		for b := buf[:n]; len(b) > 0; {
			size := int(b[16]) | int(b[17])<<8
			want = append(want, fmt.Sprint(strings.TrimRight(string(b[19:size]), "\x00"), b[18]))
			b = b[size:]
		}
		slices.Sort(got)
		slices.Sort(want)
		same(m, "readdir "+name, strings.Join(got, " "), strings.Join(want, " "))
	})
}
