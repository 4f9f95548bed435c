package emscripten

import (
	"coderunner/pyodide/abi"
	"coderunner/pyodide/memfs"
)

// dir returns the directory that a path argument is relative to.
func (p *Process) dir(fd int32) (*memfs.Node, abi.Errno) {
	if fd == abi.AT_FDCWD {
		return p.cwd, abi.OK
	}
	f, errno := p.fds.get(fd)
	if errno != abi.OK {
		return nil, errno
	}
	if n := f.Node(); n != nil && n.IsDir() {
		return n, abi.OK
	}
	return nil, abi.ENOTDIR
}

// at decodes the descriptor and path of an *at function: arguments fd and
// path. An absolute path does not ask for the descriptor.
func (c call) at(fd, path int) (dir *memfs.Node, name string, errno abi.Errno) {
	if name, errno = c.path(path); errno != abi.OK {
		return nil, "", errno
	}
	if len(name) > 0 && name[0] == '/' {
		return c.p.cwd, name, abi.OK
	}
	dir, errno = c.p.dir(c.i32(fd))
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

// cwdNode is node for a path relative to the working directory.
func (c call) cwdNode(path int, follow bool) (*memfs.Node, abi.Errno) {
	name, errno := c.path(path)
	if errno != abi.OK {
		return nil, errno
	}
	return c.p.fs.Lookup(c.p.cwd, name, follow)
}

// file returns the open file of descriptor argument i.
func (c call) file(i int) (*memfs.File, abi.Errno) { return c.p.fds.get(c.i32(i)) }

// fileNode is file for functions that need an inode, which pipes and the
// standard streams have not.
func (c call) fileNode(i int) (*memfs.Node, abi.Errno) {
	f, errno := c.file(i)
	if errno != abi.OK {
		return nil, errno
	}
	if n := f.Node(); n != nil {
		return n, abi.OK
	}
	return nil, abi.EINVAL
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
	if !n.IsDir() {
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

// doChdir is chdir(path).
func doChdir(c call) abi.Errno {
	n, errno := c.cwdNode(0, true)
	if errno != abi.OK {
		return errno
	}
	return c.p.enter(n)
}

// doFchdir is fchdir(fd).
func doFchdir(c call) abi.Errno {
	f, errno := c.file(0)
	if errno != abi.OK {
		return errno
	}
	n := f.Node()
	if n == nil {
		return abi.ENOTDIR
	}
	return c.p.enter(n)
}

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
