package emscripten

import (
	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/pyodide/emscripten/layout"
)

// putStat writes the struct stat whose address is argument addr.
func (c call) putStat(addr int, st abi.Stat) abi.Errno {
	b, ok := c.mem.Bytes(c.u32(addr), layout.StatSize)
	if ok {
		layout.PutStat(b, &st)
	}
	return fault(ok)
}

// doStat is stat64(path, *stat) and lstat64.
func doStat(c call, n *memfs.Node) abi.Errno { return c.putStat(1, c.p.fs.Stat(n)) }

// doFstat is fstat64(fd, *stat).
func doFstat(c call, f *memfs.File) abi.Errno { return c.putStat(1, f.Stat()) }

// doNewfstatat is newfstatat(dirfd, path, *stat, flags).
func doNewfstatat(c call) abi.Errno {
	if empty, errno := c.emptyPath(3); errno != abi.OK {
		return errno
	} else if empty && c.i32(0) != abi.AT_FDCWD {
		return onFile(func(c call, f *memfs.File) abi.Errno { return c.putStat(2, f.Stat()) })(c)
	}
	return onNode(atOrSelfNode(3), func(c call, n *memfs.Node) abi.Errno { return c.putStat(2, c.p.fs.Stat(n)) })(c)
}

// doFaccessat is faccessat(dirfd, path, mode, flags).
func doFaccessat(c call) abi.Errno {
	mode := c.u32(2)
	if mode&^(abi.R_OK|abi.W_OK|abi.X_OK) != 0 {
		return abi.EINVAL
	}
	n, errno := atNode(3)(c)
	if errno != abi.OK || mode == abi.F_OK {
		return errno
	}
	return c.p.fs.Access(n, mode)
}

// chmod is for chmod, fchmod and fchmodat2, whose mode is argument mode.
func chmod(mode int) func(call, *memfs.Node) abi.Errno {
	return func(c call, n *memfs.Node) abi.Errno { return c.p.fs.Chmod(n, c.u32(mode)&0o7777) }
}

// chown is for fchown32 and fchownat: user and group are arguments uid and uid+1.
func chown(uid int) func(call, *memfs.Node) abi.Errno {
	return func(c call, n *memfs.Node) abi.Errno { return c.p.fs.Chown(n, c.u32(uid), c.u32(uid+1)) }
}

// doUtimensat is utimensat(dirfd, path, timespec[2], flags). Without a path it
// is futimens, without times it is now.
func doUtimensat(c call) abi.Errno {
	now := abi.Timespec{Nsec: abi.UTIME_NOW}
	atime, mtime := now, now
	if addr := c.u32(2); addr != 0 {
		b, ok := c.mem.Bytes(addr, 2*layout.TimespecSize)
		if !ok {
			return abi.EFAULT
		}
		atime, mtime = layout.DecodeTimespec(b), layout.DecodeTimespec(b[layout.TimespecSize:])
	}
	find := atOrSelfNode(3)
	if c.u32(1) == 0 {
		find = fdNode
	}
	return onNode(find, func(c call, n *memfs.Node) abi.Errno { return c.p.fs.SetTimes(n, atime, mtime) })(c)
}

// doStatfs is statfs64(path, size, *statfs), doFstatfs is fstatfs64(fd, size,
// *statfs).
func doStatfs(c call, _ *memfs.Node) abi.Errno { return c.putStatfs() }

func doFstatfs(c call, _ *memfs.File) abi.Errno { return c.putStatfs() }

func (c call) putStatfs() abi.Errno {
	if c.u32(1) != layout.StatfsSize {
		return abi.EINVAL
	}
	b, ok := c.mem.Bytes(c.u32(2), layout.StatfsSize)
	if ok {
		st := c.p.fs.Statfs()
		layout.PutStatfs(b, &st)
	}
	return fault(ok)
}

// doGetdents64 is getdents64(fd, *dirent, size): the bytes written, 0 at the
// end. Every entry is 280 bytes long, whatever its name.
func doGetdents64(c call) (int32, abi.Errno) {
	f, errno := c.file(0)
	if errno != abi.OK {
		return 0, errno
	}
	size := c.u32(2) / layout.DirentSize * layout.DirentSize
	if size == 0 {
		return 0, abi.EINVAL
	}
	b, ok := c.mem.Bytes(c.u32(1), size)
	if !ok {
		return 0, abi.EFAULT
	}
	n := 0
	errno = f.ReadDir(func(d abi.Dirent) bool {
		if n+layout.DirentSize > len(b) {
			return false
		}
		layout.PutDirent(b[n:], &d)
		n += layout.DirentSize
		return true
	})
	return int32(n), errno
}

// notNegative is for functions of which argument i, a size or an offset, is looked
// at first.
func notNegative(i int, f func(call) abi.Errno) func(call) abi.Errno {
	return func(c call) abi.Errno {
		if c.i64(i) < 0 {
			return abi.EINVAL
		}
		return f(c)
	}
}

// doTruncate is truncate64(path, size), doFtruncate ftruncate64(fd, size).
func doTruncate(c call, n *memfs.Node) abi.Errno { return c.p.fs.Truncate(n, c.i64(1)) }

func doFtruncate(c call, f *memfs.File) abi.Errno { return f.Truncate(c.i64(1)) }

// doFallocate is fallocate(fd, mode, offset, size).
func doFallocate(c call, f *memfs.File) abi.Errno {
	switch {
	case c.i32(1) != 0:
		return abi.EOPNOTSUPP
	case c.i64(2) < 0 || c.i64(3) <= 0:
		return abi.EINVAL
	}
	return f.Allocate(c.i64(2), c.i64(3))
}
