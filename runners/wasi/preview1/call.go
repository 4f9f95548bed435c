package preview1

import (
	"context"
	"encoding/binary"
	"path"
	"strings"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/pyodide/hostfn"
)

var le = binary.LittleEndian

// call is one call of an import.
type call struct {
	*Process
	ctx   context.Context
	stack []uint64
}

func (c call) u32(i int) uint32 { return uint32(c.stack[i]) }
func (c call) u64(i int) uint64 { return c.stack[i] }

// enotsup is WASI's number for both that the machine has for what is not supported, and for
// whatever else preview 1 does not know.
const enotsup, lastErrno abi.Errno = 58, 76

// fn makes an import of a function that answers with an errno.
func fn(f func(call) abi.Errno) hostfn.Func {
	return func(ctx context.Context, stack []uint64) {
		p := FromContext(ctx)
		errno := f(call{p, ctx, stack})
		if errno > lastErrno {
			errno = enotsup
		}
		stack[0] = uint64(errno)
	}
}

// onFile is for functions whose argument 0 is a descriptor.
func onFile(f func(call, *memfs.File) abi.Errno) hostfn.Func {
	return fn(func(c call) abi.Errno {
		d := c.at(c.u32(0))
		if d == nil {
			return abi.EBADF
		}
		return f(c, d.file)
	})
}

// place is a directory and a path relative to it.
type place struct {
	dir  *memfs.Node
	name string
}

// place decodes a descriptor and a path: arguments fd, and at and the one after it.
func (c call) place(fd, at int) (place, abi.Errno) {
	d := c.at(c.u32(fd))
	if d == nil {
		return place{}, abi.EBADF
	}
	name, errno := c.text(at)
	if errno != abi.OK {
		return place{}, errno
	}
	if d.file.Node() == nil || !d.file.Node().IsDir() {
		return place{}, abi.ENOTDIR
	}
	if d.preopen != "." && leaves(name) || strings.HasPrefix(name, "/") {
		return place{}, abi.EPERM
	}
	if c.Looked != nil {
		if dir, errno := c.fs.PathOf(d.file.Node()); errno == abi.OK {
			c.Looked(path.Join(dir, name))
		}
	}
	return place{d.file.Node(), name}, abi.OK
}

// leaves reports whether a path by its words leads out of the directory that it is relative
// to. The working directory's paths may: there a C library has what is relative to it.
func leaves(name string) bool {
	depth := 0
	for part := range strings.SplitSeq(name, "/") {
		switch part {
		case "", ".":
		case "..":
			if depth--; depth < 0 {
				return true
			}
		default:
			depth++
		}
	}
	return false
}

// text reads the path whose address is argument i, and its length the next.
func (c call) text(i int) (string, abi.Errno) {
	b, ok := c.mem.Bytes(c.u32(i), c.u32(i+1))
	switch {
	case !ok:
		return "", abi.EFAULT
	case len(b) >= abi.PATH_MAX:
		return "", abi.ENAMETOOLONG
	case strings.IndexByte(string(b), 0) >= 0:
		return "", abi.EINVAL
	}
	return string(b), abi.OK
}

func fault(ok bool) abi.Errno {
	if !ok {
		return abi.EFAULT
	}
	return abi.OK
}

// waiting calls f, which may wait for others. It does not return once the process has ended.
func (c call) waiting(f func(ctx context.Context) (int, abi.Errno)) (n int, errno abi.Errno) {
	begun := time.Now()
	c.k.Idle(func() { n, errno = f(c.ctx) })
	c.idle += time.Since(begun)
	c.check()
	return n, errno
}

// check ends a module whose process was ended.
func (c call) check() {
	if c.ctx.Err() != nil {
		panic(&Stopped{context.Cause(c.ctx)})
	}
}

// result passes n on to the address that is argument i.
func (c call) result(i int, n uint32, errno abi.Errno) abi.Errno {
	if errno != abi.OK {
		return errno
	}
	return fault(c.mem.PutUint32(c.u32(i), n))
}
