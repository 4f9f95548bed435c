package emscripten

import (
	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// The functions of this file decode the arguments that many functions begin with.

// onFile is for functions whose argument 0 is a descriptor.
func onFile(f func(call, *memfs.File) abi.Errno) func(call) abi.Errno {
	return func(c call) abi.Errno {
		file, errno := c.file(0)
		if errno != abi.OK {
			return errno
		}
		return f(c, file)
	}
}

// onNode is for functions that work on an existing file, which find returns.
func onNode(find func(call) (*memfs.Node, abi.Errno), f func(call, *memfs.Node) abi.Errno) func(call) abi.Errno {
	return func(c call) abi.Errno {
		n, errno := find(c)
		if errno != abi.OK {
			return errno
		}
		return f(c, n)
	}
}

// pathNode and linkNode find the file at path argument 0, relative to the working
// directory. pathNode follows a symbolic link.
func pathNode(c call) (*memfs.Node, abi.Errno) { return c.cwdNode(true) }

func linkNode(c call) (*memfs.Node, abi.Errno) { return c.cwdNode(false) }

func (c call) cwdNode(follow bool) (*memfs.Node, abi.Errno) {
	name, errno := c.path(0)
	if errno != abi.OK {
		return nil, errno
	}
	return c.p.fs.Lookup(c.p.cwd, name, follow)
}

// fdNode finds the inode of descriptor argument 0, which pipes and the standard
// streams have not.
func fdNode(c call) (*memfs.Node, abi.Errno) {
	f, errno := c.file(0)
	if errno == abi.OK && f.Node() == nil {
		errno = abi.EINVAL
	}
	if errno != abi.OK {
		return nil, errno
	}
	return f.Node(), abi.OK
}

// atNode finds the file of a descriptor and a path, arguments 0 and 1, with the flags
// of argument flags.
func atNode(flags int) func(call) (*memfs.Node, abi.Errno) {
	return func(c call) (*memfs.Node, abi.Errno) { return c.node(0, 1, c.u32(flags)&abi.AT_SYMLINK_NOFOLLOW == 0) }
}

// atOrSelfNode is atNode for functions that understand AT_EMPTY_PATH.
func atOrSelfNode(flags int) func(call) (*memfs.Node, abi.Errno) {
	return func(c call) (*memfs.Node, abi.Errno) {
		switch empty, errno := c.emptyPath(flags); {
		case errno != abi.OK:
			return nil, errno
		case empty && c.i32(0) == abi.AT_FDCWD:
			return c.p.cwd, abi.OK
		case empty:
			return fdNode(c)
		}
		return atNode(flags)(c)
	}
}

// emptyPath reports whether a call with AT_EMPTY_PATH is about the descriptor
// itself.
func (c call) emptyPath(flags int) (bool, abi.Errno) {
	if c.u32(flags)&abi.AT_EMPTY_PATH == 0 {
		return false, abi.OK
	}
	name, errno := c.path(1)
	return name == "", errno
}

// onName is for functions that work on a name: descriptor and path are arguments 0
// and 1.
func onName(f func(c call, dir *memfs.Node, name string) abi.Errno) func(call) abi.Errno {
	return func(c call) abi.Errno {
		dir, name, errno := c.at(0, 1)
		if errno != abi.OK {
			return errno
		}
		return f(c, dir, name)
	}
}

// at decodes the descriptor and path of an *at function: arguments fd and path.
func (c call) at(fd, path int) (dir *memfs.Node, name string, errno abi.Errno) {
	if name, errno = c.path(path); errno != abi.OK {
		return nil, "", errno
	}
	dir, errno = c.p.base(c.i32(fd), name)
	return dir, name, errno
}

// node decodes the arguments of a function that works on an existing file.
func (c call) node(fd, path int, follow bool) (*memfs.Node, abi.Errno) {
	dir, name, errno := c.at(fd, path)
	if errno != abi.OK {
		return nil, errno
	}
	return c.p.fs.Lookup(dir, name, follow)
}

// file returns the open file of descriptor argument i.
func (c call) file(i int) (*memfs.File, abi.Errno) { return c.p.fds.get(c.i32(i)) }

// base returns the directory that path is relative to. An absolute path does not
// ask for the descriptor.
func (p *Process) base(fd int32, path string) (*memfs.Node, abi.Errno) {
	if fd == abi.AT_FDCWD || len(path) > 0 && path[0] == '/' {
		return p.cwd, abi.OK
	}
	f, errno := p.fds.get(fd)
	if errno == abi.OK && (f.Node() == nil || !f.Node().IsDir()) {
		errno = abi.ENOTDIR
	}
	if errno != abi.OK {
		return nil, errno
	}
	return f.Node(), abi.OK
}

// Chdir makes path the working directory.
func (p *Process) Chdir(path string) error {
	n, errno := p.fs.Lookup(p.cwd, path, true)
	if errno == abi.OK {
		errno = p.enter(n)
	}
	return errno.Err()
}

func (p *Process) enter(n *memfs.Node) abi.Errno {
	if n == nil || !n.IsDir() {
		return abi.ENOTDIR
	}
	if errno := p.fs.Access(n, abi.X_OK); errno != abi.OK {
		return errno
	}
	p.cwd = n
	return abi.OK
}

// Cwd is the working directory's path; empty if it was removed.
func (p *Process) Cwd() string {
	path, _ := p.fs.PathOf(p.cwd)
	return path
}

// ResolveDir returns the absolute path of a directory.
func (p *Process) ResolveDir(path string) (string, abi.Errno) {
	n, errno := p.fs.Lookup(p.cwd, path, true)
	if errno != abi.OK {
		return "", errno
	}
	if errno = p.fs.Access(n, abi.X_OK); errno != abi.OK {
		return "", errno
	}
	return p.fs.PathOf(n)
}

// Umask returns the permission bits that new files do not get.
func (p *Process) Umask() uint32 { return p.umask }

// doChdir is chdir(path), doFchdir is fchdir(fd).
func doChdir(c call, n *memfs.Node) abi.Errno { return c.p.enter(n) }

func doFchdir(c call, f *memfs.File) abi.Errno { return c.p.enter(f.Node()) }

// doGetcwd is getcwd(buf, size): the length with the NUL.
func doGetcwd(c call) (int32, abi.Errno) {
	buf, size := c.u32(0), c.u32(1)
	if size == 0 {
		return 0, abi.EINVAL
	}
	path, errno := c.p.fs.PathOf(c.p.cwd)
	if errno != abi.OK {
		return 0, errno
	}
	n := uint32(len(path)) + 1
	if n > size {
		return 0, abi.ERANGE
	}
	_, ok := c.mem.PutCString(buf, n, path)
	return int32(n), fault(ok)
}

// The guest's C library has no imports for the following: Python reaches them
// through the interpreter's own calls, see guest/posix.py.

// Linkat is linkat(olddirfd, oldpath, newdirfd, newpath, flags).
func (p *Process) Linkat(oldDir int32, oldPath string, newDir int32, newPath string, flags uint32) abi.Errno {
	from, errno := p.base(oldDir, oldPath)
	if errno != abi.OK {
		return errno
	}
	to, errno := p.base(newDir, newPath)
	if errno != abi.OK {
		return errno
	}
	if flags&^abi.AT_SYMLINK_FOLLOW != 0 {
		return abi.EINVAL
	}
	return p.fs.Link(from, oldPath, to, newPath, flags != 0)
}

// Mknodat is mknodat(dirfd, path, mode, 0).
func (p *Process) Mknodat(dir int32, path string, mode uint32) abi.Errno {
	at, errno := p.base(dir, path)
	if errno != abi.OK {
		return errno
	}
	return p.fs.Mknod(at, path, mode&^p.umask)
}
