package emscripten

import (
	"strings"
	"testing"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/pyodide/emscripten/layout"
)

const cwd = abi.AT_FDCWD

func TestOpenReadWrite(t *testing.T) {
	k := newKernel(t, Config{})
	fd := k.open("a", abi.O_CREAT|abi.O_RDWR, 0o666)
	if fd != 3 {
		t.Errorf("first descriptor is %d, want 3", fd)
	}
	if errno := k.write(fd, "hello world"); errno != abi.OK {
		t.Fatal(errno)
	}
	pos := k.words(0x3f3f3f3f, 0x3f3f3f3f, 0x3f3f3f3f)
	k.want(abi.OK, "fd_seek", fd, int64(6), abi.SEEK_SET, pos)
	k.wantMemory(pos, "\x06\x00\x00\x00\x00\x00\x00\x00????")
	if s, errno := k.read(fd, 100); s != "world" || errno != abi.OK {
		t.Errorf("read %q %v", s, errno)
	}
	if s, errno := k.read(fd, 100); s != "" || errno != abi.OK {
		t.Errorf("read at the end %q %v", s, errno)
	}
	// Three buffers, one of them empty: they are filled in their order, and
	// nothing else is written.
	k.mask()
	iov := k.words(0x100, 3, 0, 0, 0x200, 5)
	count := k.words(0)
	k.want(abi.OK, "fd_pread", fd, iov, 3, int64(0), count)
	k.wantMemory(0xfe, "??hel??")
	k.wantMemory(0x1fe, "??lo wo??")
	if n := k.word(count); n != 8 {
		t.Errorf("fd_pread counted %d, want 8", n)
	}
	k.want(abi.OK, "fd_pwrite", fd, k.words(0x100, 3), 1, int64(20), count)
	k.want(abi.OK, "fd_seek", fd, int64(0), abi.SEEK_END, pos)
	if n := k.word(pos); n != 23 {
		t.Errorf("size after pwrite is %d, want 23", n)
	}
	k.want(abi.OK, "fd_close", fd)
	k.want(abi.EBADF, "fd_close", fd)
}

// Programs that append to a device, or open one as text, look for its end.
func TestSeekDevices(t *testing.T) {
	k := newKernel(t, Config{})
	for _, name := range []string{"/dev/null", "/dev/zero", "/dev/urandom"} {
		fd := k.open(name, abi.O_RDWR, 0)
		for whence := abi.SEEK_SET; whence <= abi.SEEK_END; whence++ {
			pos := k.words(0x3f3f3f3f, 0x3f3f3f3f)
			k.want(abi.OK, "fd_seek", fd, int64(7), whence, pos)
			k.wantMemory(pos, "\x00\x00\x00\x00\x00\x00\x00\x00")
		}
		k.want(abi.EINVAL, "fd_seek", fd, int64(0), 9, k.words(0, 0))
	}
}

func TestErrno(t *testing.T) {
	k := newKernel(t, Config{})
	fd := k.open("f", abi.O_CREAT|abi.O_WRONLY, 0o666)
	long := strings.Repeat("x", 5000)
	iov := k.words(0x100, 10)
	out := k.words(0)
	for _, c := range []struct {
		want any
		name string
		args []any
	}{
		{abi.ENOENT, "openat", []any{cwd, "none", 0, 0}},
		{abi.ENOENT, "openat", []any{cwd, "", 0, 0}},
		{abi.EEXIST, "openat", []any{cwd, "f", abi.O_CREAT | abi.O_EXCL, k.words(0)}},
		{abi.ENOTDIR, "openat", []any{fd, "x", 0, 0}},
		{abi.EBADF, "openat", []any{99, "x", 0, 0}},
		{abi.ENAMETOOLONG, "openat", []any{cwd, long[:4099], 0, 0}},
		{abi.EFAULT, "openat", []any{cwd, 0, 0, 0}},
		{abi.ENXIO, "openat", []any{cwd, "/dev/tty", abi.O_RDWR | abi.O_CREAT, k.words(0o666)}},
		{abi.EFAULT, "openat", []any{cwd, memorySize - 3, 0, 0}}, // no NUL before the end
		{abi.EBADF, "fd_read", []any{fd, iov, 1, out}},           // not open for reading
		{abi.EINVAL, "fd_write", []any{fd, iov, 1025, out}},
		{abi.EFAULT, "fd_write", []any{fd, k.words(0x100, 1, 0xfffffff0, 8), 2, out}},
		{abi.EFAULT, "fd_write", []any{fd, k.words(0x100, 0xffffffff), 1, out}},
		{abi.EFAULT, "fd_write", []any{fd, iov, 1, memorySize - 2}},
		{abi.EINVAL, "fd_pwrite", []any{fd, iov, 1, int64(-1), out}},
		{abi.EINVAL, "fd_seek", []any{fd, int64(0), 3, out}},
		{abi.EINVAL, "fd_seek", []any{fd, int64(-1), 0, out}},
		{abi.ESPIPE, "fd_seek", []any{1, int64(0), 0, out}},
		{abi.EINVAL, "faccessat", []any{cwd, "f", 8, 0}},
		{abi.EINVAL, "dup3", []any{fd, fd, 0}},
		{abi.EBADF, "dup3", []any{fd, -1, 0}},
		{abi.EBADF, "dup3", []any{fd, 1 << 30, 0}},
		{abi.EINVAL, "unlinkat", []any{cwd, "f", 1}},
		{abi.ENOTDIR, "unlinkat", []any{cwd, "f", abi.AT_REMOVEDIR}},
		{abi.ENOTDIR, "rmdir", []any{"f"}},
		{abi.EINVAL, "readlinkat", []any{cwd, "f", 0x100, 10}},
		{abi.EINVAL, "readlinkat", []any{cwd, "f", 0x100, 0}},
		{abi.ENOTDIR, "chdir", []any{"f"}},
		{abi.ENOTDIR, "fchdir", []any{fd}},
		{abi.ENOTDIR, "fchdir", []any{1}},
		{abi.EINVAL, "getcwd", []any{0x100, 0}},
		{abi.ERANGE, "getcwd", []any{0x100, 1}},
		{abi.EINVAL, "truncate64", []any{"f", int64(-1)}},
		{abi.EINVAL, "ftruncate64", []any{fd, int64(-1)}},
		{abi.EOPNOTSUPP, "fallocate", []any{fd, 1, int64(0), int64(1)}},
		{abi.EINVAL, "fallocate", []any{fd, 0, int64(0), int64(0)}},
		{abi.EINVAL, "statfs64", []any{"f", 4, 0x100}},
		{abi.EINVAL, "getdents64", []any{fd, 0x100, 279}},
		{abi.ENOTDIR, "getdents64", []any{fd, 0x100, 280}},
		{abi.EPERM, "mknodat", []any{cwd, "dev", abi.S_IFCHR | 0o600, 0}},
		{abi.EFAULT, "pipe", []any{0}},
		{abi.EFAULT, "pipe", []any{memorySize - 4}},
		{abi.EBADF, "fcntl64", []any{99, abi.F_GETFL, 0}},
		{abi.EINVAL, "fcntl64", []any{fd, 9999, 0}},
		{abi.EBADF, "fcntl64", []any{fd, abi.F_GETPIPE_SZ, 0}},
		{abi.ENOTTY, "ioctl", []any{1, abi.TIOCGWINSZ, 0}},
		{abi.EINVAL, "ioctl", []any{1, 0x1234, 0}},
		{abi.EAFNOSUPPORT, "socket", []any{99, 1, 0, 0, 0, 0}},
		{abi.EPERM, "socket", []any{2, 3, 0, 0, 0, 0}},
		{abi.ENOTSOCK, "connect", []any{fd, 0, 0, 0, 0, 0}},
		{abi.EBADF, "connect", []any{99, 0, 0, 0, 0, 0}},
		{abi.ENOSYS, "_emscripten_system", []any{"ls"}},
		{abi.EINVAL, "clock_time_get", []any{4, int64(0), 0x100}},
	} {
		k.want(c.want, c.name, c.args...)
	}
}

func TestStat(t *testing.T) {
	k := newKernel(t, Config{})
	fd := k.open("/dir", abi.O_CREAT|abi.O_RDWR, 0o640) // a file, for all its name
	k.write(fd, "12345")
	k.want(0, "symlinkat", "dir", cwd, "/link")
	const buf = 0x100
	mode := func() uint32 { return k.word(buf + 4) }
	size := func() uint32 { return k.word(buf + 24) }

	k.want(0, "stat64", "/link", buf)
	if mode() != abi.S_IFREG|0o640 || size() != 5 {
		t.Errorf("stat: mode %o size %d", mode(), size())
	}
	k.want(0, "lstat64", "/link", buf)
	if mode()&abi.S_IFMT != abi.S_IFLNK || size() != 3 {
		t.Errorf("lstat: mode %o size %d", mode(), size())
	}
	k.want(0, "newfstatat", cwd, "/link", buf, abi.AT_SYMLINK_NOFOLLOW)
	if mode()&abi.S_IFMT != abi.S_IFLNK {
		t.Errorf("fstatat: mode %o", mode())
	}
	k.want(0, "newfstatat", fd, "", buf, abi.AT_EMPTY_PATH)
	if size() != 5 {
		t.Errorf("fstatat of an empty path: size %d", size())
	}
	k.want(0, "newfstatat", cwd, "", buf, abi.AT_EMPTY_PATH)
	if mode()&abi.S_IFMT != abi.S_IFDIR {
		t.Errorf("fstatat of an empty path: mode %o", mode())
	}
	k.want(0, "fstat64", 1, buf)
	if mode()&abi.S_IFMT != abi.S_IFIFO {
		t.Errorf("fstat of stdout: mode %o", mode())
	}
	k.wantMemory(buf+layout.StatSize, "????")
	k.want(abi.EFAULT, "fstat64", fd, memorySize-95)

	k.want(0, "chmod", "/dir", 0o600)
	k.want(0, "fchmodat2", cwd, "/dir", 0o604, 0)
	k.want(0, "fchownat", cwd, "/dir", 7, 8, 0)
	k.want(0, "fchown32", fd, 9, -1)
	k.want(0, "utimensat", cwd, "/dir", k.words(1, 0, 5, 0, 2, 0, abi.UTIME_OMIT, 0), 0)
	k.want(0, "fstat64", fd, buf)
	if mode() != abi.S_IFREG|0o604 || k.word(buf+12) != 9 || k.word(buf+16) != 8 || k.word(buf+40) != 1 || k.word(buf+48) != 5 {
		t.Errorf("stat after changes: %q", k.mem[buf:buf+layout.StatSize])
	}
	k.want(0, "utimensat", fd, 0, k.words(0, 0, abi.UTIME_OMIT, 0, 3, 0, 0, 0), 0)
	k.want(0, "fstat64", fd, buf)
	if k.word(buf+56) != 3 || k.word(buf+40) != 1 {
		t.Errorf("times after futimens: %d %d", k.word(buf+40), k.word(buf+56))
	}
}

func TestFolders(t *testing.T) {
	k := newKernel(t, Config{})
	k.want(0, "mkdirat", cwd, "/d", 0o777)
	k.want(0, "chdir", "/d")
	for _, name := range []string{"a", "b", "c"} {
		k.want(0, "mkdirat", cwd, name, 0o777)
	}
	k.want(3, "getcwd", 0x100, 10)
	k.wantMemory(0x100, "/d\x00?")
	fd := k.open("/d", abi.O_RDONLY|abi.O_DIRECTORY, 0)
	var names []string
	for { // two entries at a time
		n := k.call("getdents64", fd, 0x1000, 2*280+100)
		if n <= 0 {
			if n < 0 {
				t.Fatal(result(n))
			}
			break
		}
		for at := uint32(0x1000); at < 0x1000+uint32(n); at += 280 {
			name, _, _ := k.p.mem.CString(at+19, 256)
			names = append(names, name)
			if k.mem[at+18] != 4 || k.mem[at+16] != 280&255 {
				t.Errorf("entry %q: %q", name, k.mem[at:at+19])
			}
		}
	}
	if got := strings.Join(names, " "); got != ". .. a b c" {
		t.Errorf("entries %q", got)
	}
	sub := k.open("a", abi.O_RDONLY, 0)
	k.want(0, "mkdirat", sub, "inner", 0o777)
	k.want(0, "fchdir", sub)
	k.want(0, "renameat", sub, "inner", fd, "moved")
	k.want(0, "faccessat", fd, "moved", abi.W_OK, 0)
	k.want(abi.ENOENT, "faccessat", fd, "inner", 0, 0)
	k.want(0, "unlinkat", fd, "moved", abi.AT_REMOVEDIR)
	if got := k.p.Cwd(); got != "/d/a" {
		t.Errorf("directory is %q", got)
	}
}

func TestDescriptors(t *testing.T) {
	k := newKernel(t, Config{MaxFiles: 8})
	fd := k.open("f", abi.O_CREAT|abi.O_RDWR|abi.O_CLOEXEC, 0o666)
	k.want(1, "fcntl64", fd, abi.F_GETFD, 0)
	k.want(4, "dup", fd)
	k.want(0, "fcntl64", 4, abi.F_GETFD, 0) // dup clears it
	k.want(6, "fcntl64", fd, abi.F_DUPFD, k.words(6))
	k.want(7, "fcntl64", fd, abi.F_DUPFD_CLOEXEC, k.words(6))
	k.want(1, "fcntl64", 7, abi.F_GETFD, 0)
	k.want(abi.EINVAL, "fcntl64", fd, abi.F_DUPFD, k.words(8))
	k.want(abi.EMFILE, "pipe", 0x100) // one free, two needed
	k.want(5, "dup", 0)
	k.want(abi.EMFILE, "dup", 0)
	k.want(abi.EMFILE, "openat", cwd, "new", abi.O_CREAT, k.words(0))
	k.want(abi.ENOENT, "faccessat", cwd, "new", 0, 0)
	k.want(5, "dup3", fd, 5, abi.O_CLOEXEC)
	k.want(1, "fcntl64", 5, abi.F_GETFD, 0)

	// All share one position, and the file stays while one is open.
	k.write(5, "abc")
	for _, n := range []int{fd, 4, 5, 6} {
		k.want(abi.OK, "fd_close", n)
	}
	if errno := k.write(7, "def"); errno != abi.OK {
		t.Error(errno)
	}
	if b, _ := k.p.fs.ReadFile("/f"); string(b) != "abcdef" {
		t.Errorf("file is %q", b)
	}
	k.want(0, "fcntl64", 7, abi.F_SETFL, k.words(abi.O_APPEND|abi.O_NONBLOCK))
	if got := k.call("fcntl64", 7, abi.F_GETFL, 0); got != int64(abi.O_RDWR|abi.O_APPEND|abi.O_NONBLOCK) {
		t.Errorf("flags %#o", got)
	}
	lock := k.words(0x3f3f0001)
	k.want(0, "fcntl64", 7, abi.F_SETLK, k.words(lock))
	k.want(0, "fcntl64", 7, abi.F_GETLK, k.words(lock))
	k.wantMemory(lock, "\x02\x00??")
}

func TestUmask(t *testing.T) {
	k := newKernel(t, Config{})
	k.want(0o022, "umask_js", 0o077)
	k.open("f", abi.O_CREAT, 0o666)
	k.want(0, "mkdirat", cwd, "d", 0o777)
	k.want(0o077, "umask_js", 0)
	for name, want := range map[string]uint32{"f": 0o600, "d": 0o700} {
		k.want(0, "stat64", name, 0x100)
		if got := k.word(0x104) & 0o777; got != want {
			t.Errorf("%s has mode %o, want %o", name, got, want)
		}
	}
}

func TestMmap(t *testing.T) {
	k := newKernel(t, Config{})
	if err := k.p.fs.WriteFile("/f", []byte(strings.Repeat("a", 5000)), 0o644); err != nil {
		t.Fatal(err)
	}
	fd := k.open("/f", abi.O_RDWR, 0)
	args := func(prot, flags int) []any { return []any{6000, prot, flags, fd, int64(0), 0xf000, 0xf004} }
	k.want(0, "_mmap_js", args(3, 1)...)
	addr := k.word(0xf004)
	if k.word(0xf000) != 1 || k.mem[addr+4999] != 'a' || k.mem[addr+5000] != 0 {
		t.Errorf("mapping: allocated %d, %q", k.word(0xf000), k.mem[addr+4990:addr+5010])
	}
	// The guest changes the second page, somebody else the first, and the
	// guest closes its descriptor before it unmaps.
	k.mem[addr+4500], k.mem[addr+5500] = 'b', 'b'
	if errno := k.write(fd, "other"); errno != abi.OK {
		t.Fatal(errno)
	}
	k.want(abi.OK, "fd_close", fd)
	k.want(0, "_munmap_js", addr, 6000, 3, 1, fd, int64(0))
	want := "other" + strings.Repeat("a", 4495) + "b" + strings.Repeat("a", 499)
	if b, _ := k.p.fs.ReadFile("/f"); string(b) != want {
		t.Errorf("file is %q", b)
	}
	if len(k.p.mappings) != 0 {
		t.Error("mapping is still there")
	}
	fd = k.open("/f", abi.O_RDONLY, 0)
	k.want(abi.EACCES, "_mmap_js", args(3, 1)...)
	k.want(0, "_mmap_js", args(3, mapPrivate)...)
	k.mem[addr] = 'z'
	k.want(0, "_msync_js", addr, 6000, 3, mapPrivate, fd, int64(0))
	k.want(0, "_munmap_js", addr, 6000, 3, mapPrivate, fd, int64(0))
	if b, _ := k.p.fs.ReadFile("/f"); string(b) != want {
		t.Error("a private mapping was written back")
	}
	fd = 1
	k.want(abi.EACCES, "_mmap_js", args(1, 1)...)
	k.want(abi.EINVAL, "_mmap_js", 0, 1, 1, 0, int64(0), 0xf000, 0xf004)
}

func TestBudget(t *testing.T) {
	k := newKernel(t, Config{FS: memfs.New(memfs.Options{MaxBytes: 1 << 20})})
	fd := k.open("f", abi.O_CREAT|abi.O_RDWR, 0o666)
	var errno abi.Errno
	for range 100 {
		if errno = k.write(fd, strings.Repeat("x", 0x4000)); errno != abi.OK {
			break
		}
		k.mask()
	}
	if errno != abi.ENOSPC {
		t.Errorf("a file past the budget: %v, want ENOSPC", errno)
	}
	k.want(0, "ftruncate64", fd, int64(1)<<40) // holes are free
}
