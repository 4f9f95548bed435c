package emscripten

import (
	"context"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// doOpenat is openat(dirfd, path, flags, *mode).
func doOpenat(c call) (int32, abi.Errno) {
	dir, name, errno := c.at(0, 1)
	if errno != abi.OK {
		return 0, errno
	}
	flags := c.u32(2)
	var mode uint32
	if flags&(abi.O_CREAT|abi.O_TMPFILE&^abi.O_DIRECTORY) != 0 && c.u32(3) != 0 {
		if mode, errno = c.vararg(c.u32(3)); errno != abi.OK {
			return 0, errno
		}
	}
	if c.p.fds.lacks(1) {
		return 0, abi.EMFILE // before a file is created
	}
	var f *memfs.File
	standard := c.p.fds.standard()
	mode &= 0o7777 &^ c.p.umask
	_, errno = c.waiting(func(ctx context.Context) (n int, errno abi.Errno) {
		ctx = memfs.WithFiles(ctx, func(fd int) *memfs.File { return standard[fd] })
		f, errno = c.p.fs.Open(ctx, dir, name, flags, mode)
		return 0, errno
	})
	if errno != abi.OK {
		return 0, errno
	}
	return c.p.fds.add(f, 0, flags&abi.O_CLOEXEC != 0)
}

// doClose is fd_close(fd).
func doClose(c call) abi.Errno { return c.p.fds.close(c.i32(0)) }

// doDup is dup(fd).
func doDup(c call) (int32, abi.Errno) {
	f, errno := c.file(0)
	if errno != abi.OK {
		return 0, errno
	}
	return c.p.fds.add(f.Ref(), 0, false)
}

// doDup3 is dup3(fd, new, flags): what was open as new is closed.
func doDup3(c call) (int32, abi.Errno) {
	f, errno := c.file(0)
	fd, flags := c.i32(1), c.u32(2)
	switch {
	case errno != abi.OK:
		return 0, errno
	case c.i32(0) == fd || flags&^abi.O_CLOEXEC != 0:
		return 0, abi.EINVAL
	case fd < 0 || int(fd) >= c.p.fds.max:
		return 0, abi.EBADF
	}
	f.Ref()
	c.p.fds.close(fd)
	c.p.fds.set(int(fd), f, flags&abi.O_CLOEXEC != 0)
	return fd, abi.OK
}

// doPipe is pipe(int fd[2]): fd[0] is the end to read from. Both are closed on
// exec from the start: CPython asks for that, but the guest's C library thinks
// it pointless and drops the flag, and then os.get_inheritable would be wrong.
func doPipe(c call) abi.Errno {
	if _, ok := c.mem.Bytes(c.u32(0), 8); !ok || c.u32(0) == 0 {
		return abi.EFAULT
	}
	if c.p.fds.lacks(2) {
		return abi.EMFILE
	}
	r, w, errno := c.p.fs.Pipe(0)
	if errno != abi.OK {
		return errno
	}
	rfd, _ := c.p.fds.add(r, 0, true)
	wfd, _ := c.p.fds.add(w, 0, true)
	c.mem.PutUint32(c.u32(0), uint32(rfd))
	c.mem.PutUint32(c.u32(0)+4, uint32(wfd))
	return abi.OK
}

// doMkdirat is mkdirat(dirfd, path, mode).
func doMkdirat(c call, dir *memfs.Node, name string) abi.Errno {
	return c.p.fs.Mkdir(dir, name, c.u32(2)&^c.p.umask)
}

// doMknodat is mknodat(dirfd, path, mode, dev).
func doMknodat(c call, dir *memfs.Node, name string) abi.Errno {
	return c.p.fs.Mknod(dir, name, c.u32(2)&^c.p.umask)
}

// doUnlinkat is unlinkat(dirfd, path, flags).
func doUnlinkat(c call, dir *memfs.Node, name string) abi.Errno {
	switch c.u32(2) {
	case 0:
		return c.p.fs.Unlink(dir, name)
	case abi.AT_REMOVEDIR:
		return c.p.fs.Rmdir(dir, name)
	}
	return abi.EINVAL
}

// doRmdir is rmdir(path).
func doRmdir(c call) abi.Errno {
	name, errno := c.path(0)
	if errno != abi.OK {
		return errno
	}
	return c.p.fs.Rmdir(c.p.cwd, name)
}

// doRenameat is renameat(olddirfd, oldpath, newdirfd, newpath).
func doRenameat(c call, oldDir *memfs.Node, oldName string) abi.Errno {
	newDir, newName, errno := c.at(2, 3)
	if errno != abi.OK {
		return errno
	}
	return c.p.fs.Rename(oldDir, oldName, newDir, newName, 0)
}

// doSymlinkat is symlinkat(target, dirfd, path).
func doSymlinkat(c call) abi.Errno {
	target, errno := c.path(0)
	if errno != abi.OK {
		return errno
	}
	dir, name, errno := c.at(1, 2)
	if errno != abi.OK {
		return errno
	}
	return c.p.fs.Symlink(target, dir, name)
}

// doReadlinkat is readlinkat(dirfd, path, buf, size): the length, without a
// NUL, which is not written either.
func doReadlinkat(c call) (int32, abi.Errno) {
	size := c.i32(3)
	if size <= 0 {
		return 0, abi.EINVAL
	}
	n, errno := c.node(0, 1, false)
	if errno != abi.OK {
		return 0, errno
	}
	target, errno := c.p.fs.Readlink(n)
	if errno != abi.OK {
		return 0, errno
	}
	target = target[:min(len(target), int(size))]
	return int32(len(target)), fault(c.mem.Put(c.u32(2), []byte(target)))
}

// ParkMask is a mask that is none, see Guest.Park.
const ParkMask = 1<<31 | 0x9a41

// doUmask is umask(mask): the one before.
func doUmask(c call) uint64 {
	if c.u32(0) == ParkMask {
		return uint64(c.p.Guest.Park())
	}
	before := c.p.umask
	c.p.umask = c.u32(0) & 0o777
	return uint64(before)
}
