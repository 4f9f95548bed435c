package preview1

import (
	"context"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// Rights that tell how a file is to be opened.
const (
	rightRead     = 1 << 1
	rightSeek     = 1 << 2
	rightTell     = 1 << 5
	rightWrite    = 1 << 6
	rightAllocate = 1 << 8
	rightReaddir  = 1 << 14
	rightSetSize  = 1 << 22
)

// follow is the flag of path_open and others by which the last name may be a link.
const follow = 1

// onPath is for functions that work on a name: arguments fd, and path and the one after it.
func onPath(fd, path int, f func(c call, at place) abi.Errno) func(call) abi.Errno {
	return func(c call) abi.Errno {
		at, errno := c.place(fd, path)
		if errno != abi.OK {
			return errno
		}
		return f(c, at)
	}
}

// node finds the file at a place.
func (c call) node(at place, flags uint32) (*memfs.Node, abi.Errno) {
	return c.fs.Lookup(at.dir, at.name, flags&follow != 0)
}

// pathOpen is path_open(fd, lookup, *path, n, oflags, base, inheriting, fdflags, *fd).
func pathOpen(c call, at place) abi.Errno {
	const creat, directory, excl, trunc, all = 1, 2, 4, 8, 15
	oflags, rights, fdflags := c.u32(4), c.u64(5), c.u32(7)
	if oflags&^all != 0 || fdflags&^fdFlags != 0 || oflags&creat != 0 && oflags&directory != 0 {
		return abi.EINVAL
	}
	if _, ok := c.mem.Bytes(c.u32(8), 4); !ok {
		return abi.EFAULT
	}
	flags := openFlags(fdflags)
	for bit, flag := range map[uint32]uint32{creat: abi.O_CREAT, directory: abi.O_DIRECTORY, excl: abi.O_EXCL, trunc: abi.O_TRUNC} {
		if oflags&bit != 0 {
			flags |= flag
		}
	}
	if c.u32(1)&follow == 0 {
		flags |= abi.O_NOFOLLOW
	}
	reads, writes := rights&(rightRead|rightReaddir) != 0, rights&rightWrite != 0
	switch {
	case writes && oflags&directory != 0:
		return abi.EISDIR
	case writes && reads:
		flags |= abi.O_RDWR
	case writes:
		flags |= abi.O_WRONLY
	}
	var f *memfs.File
	perm := uint32(0o666) &^ c.k.Umask
	_, errno := c.waiting(func(ctx context.Context) (n int, errno abi.Errno) {
		f, errno = c.fs.Open(ctx, at.dir, at.name, flags, perm)
		return 0, errno
	})
	if errno != abi.OK {
		return errno
	}
	fd, errno := c.add(f, "")
	return c.result(8, fd, errno)
}

// pathCreateDirectory is path_create_directory(fd, *path, n).
func pathCreateDirectory(c call, at place) abi.Errno {
	return c.fs.Mkdir(at.dir, at.name, 0o777&^c.k.Umask)
}

// pathRemoveDirectory is path_remove_directory(fd, *path, n).
func pathRemoveDirectory(c call, at place) abi.Errno { return c.fs.Rmdir(at.dir, at.name) }

// pathUnlinkFile is path_unlink_file(fd, *path, n).
func pathUnlinkFile(c call, at place) abi.Errno { return c.fs.Unlink(at.dir, at.name) }

// pathFilestatGet is path_filestat_get(fd, flags, *path, n, *filestat).
func pathFilestatGet(c call, at place) abi.Errno {
	n, errno := c.node(at, c.u32(1))
	if errno != abi.OK {
		return errno
	}
	return c.putFilestat(4, c.fs.Stat(n))
}

// pathFilestatSetTimes is path_filestat_set_times(fd, flags, *path, n, atim, mtim, fstflags).
func pathFilestatSetTimes(c call, at place) abi.Errno {
	n, errno := c.node(at, c.u32(1))
	if errno != abi.OK {
		return errno
	}
	return c.setTimes(n, 4)
}

// pathReadlink is path_readlink(fd, *path, n, *buf, size, *used), without a NUL.
func pathReadlink(c call, at place) abi.Errno {
	n, errno := c.node(at, 0)
	if errno != abi.OK {
		return errno
	}
	target, errno := c.fs.Readlink(n)
	if errno != abi.OK {
		return errno
	}
	target = target[:min(len(target), int(c.u32(4)))]
	if !c.mem.Put(c.u32(3), []byte(target)) {
		return abi.EFAULT
	}
	return c.result(5, uint32(len(target)), abi.OK)
}

// pathSymlink is path_symlink(*target, n, fd, *path, n).
func pathSymlink(c call, at place) abi.Errno {
	target, errno := c.text(0)
	if errno != abi.OK {
		return errno
	}
	return c.fs.Symlink(target, at.dir, at.name)
}

// pathLink is path_link(fd, flags, *path, n, newfd, *newpath, n). A link to a link's target
// is not possible in preview 1.
func pathLink(c call, at place) abi.Errno {
	if c.u32(1)&follow != 0 {
		return abi.EINVAL
	}
	to, errno := c.place(4, 5)
	if errno != abi.OK {
		return errno
	}
	return c.fs.Link(at.dir, at.name, to.dir, to.name, false)
}

// pathRename is path_rename(fd, *path, n, newfd, *newpath, n).
func pathRename(c call, at place) abi.Errno {
	to, errno := c.place(3, 4)
	if errno != abi.OK {
		return errno
	}
	return c.fs.Rename(at.dir, at.name, to.dir, to.name, 0)
}
