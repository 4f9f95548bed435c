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

// call is one call of an import. A method that cannot do what it is for ends the call: it
// panics with the errno that the call then answers with.
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
		answer := func(errno abi.Errno) {
			if errno > lastErrno {
				errno = enotsup
			}
			stack[0] = uint64(errno)
		}
		defer func() {
			end := recover()
			if errno, ok := end.(abi.Errno); ok {
				answer(errno)
			} else if end != nil {
				panic(end)
			}
		}()
		answer(f(call{FromContext(ctx), ctx, stack}))
	}
}

func (c call) must(errno abi.Errno) {
	if errno != abi.OK {
		panic(errno)
	}
}

// bytes returns n bytes at an address; to returns them at the address that is argument i.
func (c call) bytes(at, n uint32) []byte {
	b, ok := c.mem.Bytes(at, n)
	if !ok {
		panic(abi.EFAULT)
	}
	return b
}

func (c call) to(i int, n uint32) []byte { return c.bytes(c.u32(i), n) }

func (c call) put32(i int, n int) abi.Errno {
	le.PutUint32(c.to(i, 4), uint32(n))
	return abi.OK
}

func (c call) put64(i int, n uint64) abi.Errno {
	le.PutUint64(c.to(i, 8), n)
	return abi.OK
}

// open returns the descriptor that is argument i, and file its file.
func (c call) open(i int) *descriptor {
	d := c.at(c.u32(i))
	if d == nil {
		panic(abi.EBADF)
	}
	return d
}

func (c call) file(i int) *memfs.File { return c.open(i).file }

// place returns a directory and a path relative to it: arguments fd, and at and the one after
// it.
func (c call) place(fd, at int) (*memfs.Node, string) {
	d, name := c.open(fd), c.text(at)
	dir := d.file.Node()
	switch {
	case dir == nil || !dir.IsDir():
		panic(abi.ENOTDIR)
	case d.preopen != "." && leaves(name) || strings.HasPrefix(name, "/"):
		panic(abi.EPERM)
	}
	if c.Looked != nil {
		if to, errno := c.fs.PathOf(dir); errno == abi.OK {
			c.Looked(path.Join(to, name))
		}
	}
	return dir, name
}

// node finds the file at a place; link reports whether it may be one itself.
func (c call) node(fd, at int, link bool) *memfs.Node {
	dir, name := c.place(fd, at)
	n, errno := c.fs.Lookup(dir, name, !link)
	c.must(errno)
	return n
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
func (c call) text(i int) string {
	b := c.to(i, c.u32(i+1))
	switch {
	case len(b) >= abi.PATH_MAX:
		panic(abi.ENAMETOOLONG)
	case strings.IndexByte(string(b), 0) >= 0:
		panic(abi.EINVAL)
	}
	return string(b)
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
