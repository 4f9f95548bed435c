package emscripten

import (
	"coderunner/pyodide/abi"
	"coderunner/pyodide/memfs"
)

// Calls that the guest's C library has no import for: Python reaches them through
// the interpreter's own calls, see guest/posix.py.

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

// base returns the directory that path is relative to. An absolute path does not
// ask for the descriptor.
func (p *Process) base(fd int32, path string) (*memfs.Node, abi.Errno) {
	switch {
	case len(path) >= pathMax:
		return nil, abi.ENAMETOOLONG
	case len(path) > 0 && path[0] == '/':
		return p.cwd, abi.OK
	}
	return p.dir(fd)
}
