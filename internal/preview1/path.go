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

var oflags = flags{abi.O_CREAT, abi.O_DIRECTORY, abi.O_EXCL, abi.O_TRUNC}

// pathOpen is path_open(fd, lookup, *path, n, oflags, base, inheriting, fdflags, *fd).
func pathOpen(c call) abi.Errno {
	dir, name := c.place(0, 2)
	flags, rights := oflags.of(c.u32(4))|fdFlags.of(c.u32(7)), c.u64(5)
	if flags&(abi.O_CREAT|abi.O_DIRECTORY) == abi.O_CREAT|abi.O_DIRECTORY {
		return abi.EINVAL
	}
	opened := c.to(8, 4)
	if c.u32(1)&follow == 0 {
		flags |= abi.O_NOFOLLOW
	}
	reads, writes := rights&(rightRead|rightReaddir) != 0, rights&rightWrite != 0
	switch {
	case writes && flags&abi.O_DIRECTORY != 0:
		return abi.EISDIR
	case writes && reads:
		flags |= abi.O_RDWR
	case writes:
		flags |= abi.O_WRONLY
	}
	var f *memfs.File
	_, errno := c.waiting(func(ctx context.Context) (n int, errno abi.Errno) {
		f, errno = c.fs.Open(ctx, dir, name, flags, 0o666&^c.k.Umask)
		return 0, errno
	})
	c.must(errno)
	fd, errno := c.add(f, "")
	le.PutUint32(opened, fd)
	return errno
}

// named makes a function of one that works on a name: arguments 0, and 1 and the one after it.
func named(f func(c call, dir *memfs.Node, name string) abi.Errno) func(call) abi.Errno {
	return func(c call) abi.Errno {
		dir, name := c.place(0, 1)
		return f(c, dir, name)
	}
}

// pathReadlink is path_readlink(fd, *path, n, *buf, size, *used), without a NUL.
func pathReadlink(c call) abi.Errno {
	target, errno := c.fs.Readlink(c.node(0, 1, true))
	c.must(errno)
	target = target[:min(len(target), int(c.u32(4)))]
	copy(c.to(3, uint32(len(target))), target)
	return c.put32(5, len(target))
}

// pathSymlink is path_symlink(*target, n, fd, *path, n).
func pathSymlink(c call) abi.Errno {
	dir, name := c.place(2, 3)
	return c.fs.Symlink(c.text(0), dir, name)
}

// pathLink is path_link(fd, flags, *path, n, newfd, *newpath, n). A link to a link's target
// is not possible in preview 1.
func pathLink(c call) abi.Errno {
	dir, name := c.place(0, 2)
	if c.u32(1)&follow != 0 {
		return abi.EINVAL
	}
	to, as := c.place(4, 5)
	return c.fs.Link(dir, name, to, as, false)
}

// pathRename is path_rename(fd, *path, n, newfd, *newpath, n).
func pathRename(c call) abi.Errno {
	dir, name := c.place(0, 1)
	to, as := c.place(3, 4)
	return c.fs.Rename(dir, name, to, as, 0)
}
