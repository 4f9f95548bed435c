package emscripten

import (
	"coderunner/pyodide/abi"
	"coderunner/pyodide/memfs"
)

func (c call) putStat(addr uint32, st abi.Stat) abi.Errno {
	b, ok := c.mem.Bytes(addr, abi.StatSize)
	if ok {
		st.Put(b)
	}
	return fault(ok)
}

// doStat64 is stat64(path, *stat).
func doStat64(c call) abi.Errno { return c.statPath(true) }

// doLstat64 is lstat64(path, *stat).
func doLstat64(c call) abi.Errno { return c.statPath(false) }

func (c call) statPath(follow bool) abi.Errno {
	n, errno := c.cwdNode(0, follow)
	if errno != abi.OK {
		return errno
	}
	return c.putStat(c.u32(1), c.p.fs.Stat(n))
}

// doFstat64 is fstat64(fd, *stat).
func doFstat64(c call) abi.Errno {
	f, errno := c.file(0)
	if errno != abi.OK {
		return errno
	}
	return c.putStat(c.u32(1), f.Stat())
}

// doNewfstatat is newfstatat(dirfd, path, *stat, flags).
func doNewfstatat(c call) abi.Errno {
	flags := c.u32(3)
	if flags&abi.AT_EMPTY_PATH != 0 {
		name, errno := c.path(1)
		if errno != abi.OK {
			return errno
		}
		if name == "" {
			return c.statEmpty()
		}
	}
	n, errno := c.node(0, 1, flags&abi.AT_SYMLINK_NOFOLLOW == 0)
	if errno != abi.OK {
		return errno
	}
	return c.putStat(c.u32(2), c.p.fs.Stat(n))
}

// statEmpty is newfstatat of an empty path: of the descriptor itself.
func (c call) statEmpty() abi.Errno {
	if c.i32(0) == abi.AT_FDCWD {
		return c.putStat(c.u32(2), c.p.fs.Stat(c.p.cwd))
	}
	f, errno := c.file(0)
	if errno != abi.OK {
		return errno
	}
	return c.putStat(c.u32(2), f.Stat())
}

// doFaccessat is faccessat(dirfd, path, mode, flags).
func doFaccessat(c call) abi.Errno {
	mode, flags := c.u32(2), c.u32(3)
	if mode&^(abi.R_OK|abi.W_OK|abi.X_OK) != 0 {
		return abi.EINVAL
	}
	n, errno := c.node(0, 1, flags&abi.AT_SYMLINK_NOFOLLOW == 0)
	if errno != abi.OK || mode == abi.F_OK {
		return errno
	}
	return c.p.fs.Access(n, mode)
}

// doChmod is chmod(path, mode).
func doChmod(c call) abi.Errno {
	n, errno := c.cwdNode(0, true)
	if errno != abi.OK {
		return errno
	}
	return c.p.fs.Chmod(n, c.u32(1)&0o7777)
}

// doFchmod is fchmod(fd, mode).
func doFchmod(c call) abi.Errno {
	n, errno := c.fileNode(0)
	if errno != abi.OK {
		return errno
	}
	return c.p.fs.Chmod(n, c.u32(1)&0o7777)
}

// doFchmodat2 is fchmodat2(dirfd, path, mode, flags).
func doFchmodat2(c call) abi.Errno {
	n, errno := c.node(0, 1, c.u32(3)&abi.AT_SYMLINK_NOFOLLOW == 0)
	if errno != abi.OK {
		return errno
	}
	return c.p.fs.Chmod(n, c.u32(2)&0o7777)
}

// doFchown32 is fchown(fd, uid, gid).
func doFchown32(c call) abi.Errno {
	n, errno := c.fileNode(0)
	if errno != abi.OK {
		return errno
	}
	return c.p.fs.Chown(n, c.u32(1), c.u32(2))
}

// doFchownat is fchownat(dirfd, path, uid, gid, flags).
func doFchownat(c call) abi.Errno {
	flags := c.u32(4)
	n, errno := c.nodeOrSelf(0, 1, flags)
	if errno != abi.OK {
		return errno
	}
	return c.p.fs.Chown(n, c.u32(2), c.u32(3))
}

// nodeOrSelf is node for functions that understand AT_EMPTY_PATH.
func (c call) nodeOrSelf(fd, path int, flags uint32) (*memfs.Node, abi.Errno) {
	if flags&abi.AT_EMPTY_PATH != 0 {
		name, errno := c.path(path)
		switch {
		case errno != abi.OK:
			return nil, errno
		case name == "" && c.i32(fd) == abi.AT_FDCWD:
			return c.p.cwd, abi.OK
		case name == "":
			return c.fileNode(fd)
		}
	}
	return c.node(fd, path, flags&abi.AT_SYMLINK_NOFOLLOW == 0)
}

// doUtimensat is utimensat(dirfd, path, timespec[2], flags). Without a path it
// is futimens, without times it is now.
func doUtimensat(c call) abi.Errno {
	now := abi.Timespec{Nsec: abi.UTIME_NOW}
	atime, mtime := now, now
	if addr := c.u32(2); addr != 0 {
		b, ok := c.mem.Bytes(addr, 2*abi.TimespecSize)
		if !ok {
			return abi.EFAULT
		}
		atime, mtime = abi.DecodeTimespec(b), abi.DecodeTimespec(b[abi.TimespecSize:])
	}
	var n *memfs.Node
	var errno abi.Errno
	if c.u32(1) == 0 {
		n, errno = c.fileNode(0)
	} else {
		n, errno = c.nodeOrSelf(0, 1, c.u32(3))
	}
	if errno != abi.OK {
		return errno
	}
	return c.p.fs.SetTimes(n, atime, mtime)
}

// doStatfs64 is statfs64(path, size, *statfs).
func doStatfs64(c call) abi.Errno {
	if _, errno := c.cwdNode(0, true); errno != abi.OK {
		return errno
	}
	return c.putStatfs()
}

// doFstatfs64 is fstatfs64(fd, size, *statfs).
func doFstatfs64(c call) abi.Errno {
	if _, errno := c.file(0); errno != abi.OK {
		return errno
	}
	return c.putStatfs()
}

func (c call) putStatfs() abi.Errno {
	if c.u32(1) != abi.StatfsSize {
		return abi.EINVAL
	}
	b, ok := c.mem.Bytes(c.u32(2), abi.StatfsSize)
	if ok {
		st := c.p.fs.Statfs()
		st.Put(b)
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
	size := c.u32(2) / abi.DirentSize * abi.DirentSize
	if size == 0 {
		return 0, abi.EINVAL
	}
	b, ok := c.mem.Bytes(c.u32(1), size)
	if !ok {
		return 0, abi.EFAULT
	}
	n := 0
	errno = f.ReadDir(func(d abi.Dirent) bool {
		if n+abi.DirentSize > len(b) {
			return false
		}
		d.Put(b[n:])
		n += abi.DirentSize
		return true
	})
	return int32(n), errno
}

// doTruncate64 is truncate64(path, size).
func doTruncate64(c call) abi.Errno {
	if c.i64(1) < 0 {
		return abi.EINVAL
	}
	n, errno := c.cwdNode(0, true)
	if errno != abi.OK {
		return errno
	}
	return c.p.fs.Truncate(n, c.i64(1))
}

// doFtruncate64 is ftruncate64(fd, size).
func doFtruncate64(c call) abi.Errno {
	f, errno := c.file(0)
	switch {
	case c.i64(1) < 0:
		return abi.EINVAL
	case errno != abi.OK:
		return errno
	}
	return f.Truncate(c.i64(1))
}

// doFallocate is fallocate(fd, mode, offset, size).
func doFallocate(c call) abi.Errno {
	f, errno := c.file(0)
	switch {
	case errno != abi.OK:
		return errno
	case c.i32(1) != 0:
		return abi.EOPNOTSUPP
	case c.i64(2) < 0 || c.i64(3) <= 0:
		return abi.EINVAL
	}
	return f.Allocate(c.i64(2), c.i64(3))
}

// doFadvise64 is fadvise64(fd, offset, size, advice): advice may be ignored.
func doFadvise64(c call) abi.Errno {
	_, errno := c.file(0)
	return errno
}
