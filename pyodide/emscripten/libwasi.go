package emscripten

import (
	"context"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/preview1"
	"coderunner/pyodide/emscripten/layout"
)

// What bounds a vector and a call that moves bytes.
const iovMax, transferMax, countMax = preview1.IovMax, preview1.TransferMax, preview1.CountMax

// iovecs returns the buffers of a vector: argument iov is its address, n its length.
func (c call) iovecs(iov, n int) ([][]byte, abi.Errno) {
	return preview1.Buffers(c.mem, c.u32(iov), c.u32(n))
}

// transfer moves bytes between a file and the buffers, one after the other.
func (c call) transfer(f *memfs.File, bufs [][]byte, one step) (uint32, abi.Errno) {
	never := false // waits, as far as the guest is concerned
	switch f.Stream().(type) {
	case *memfs.Output, Immediate:
		never = true
	}
	return preview1.Transfer(f, bufs, func(b []byte, stream bool) (int, abi.Errno) { return c.move(b, stream && !never, one) })
}

// Immediate is a stream whose calls return at once, but for what they do in
// Process.Wait.
type Immediate interface{ Immediate() }

// move is one step of transfer, which may have to wait.
func (c call) move(b []byte, waits bool, one step) (int, abi.Errno) {
	if waits {
		return c.waiting(func(ctx context.Context) (int, abi.Errno) { return one(ctx, b) })
	}
	if c.ctx.Err() != nil {
		stop(c.ctx)
	}
	return one(c.ctx, b)
}

// step is one step of a transfer.
type step func(context.Context, []byte) (int, abi.Errno)

// vectored is the body of the functions that read or write f: arguments are the
// descriptor, the vector, its length, and last the address of the count.
func (c call) vectored(f *memfs.File, last int, op step) abi.Errno {
	bufs, errno := c.iovecs(1, 2)
	if errno != abi.OK {
		return errno
	}
	if _, ok := c.mem.Bytes(c.u32(last), 4); !ok {
		return abi.EFAULT
	}
	n, errno := c.transfer(f, bufs, op)
	if errno != abi.OK {
		return errno
	}
	c.mem.PutUint32(c.u32(last), n)
	return abi.OK
}

// doFdRead is fd_read(fd, *iovec, n, *count).
// https://github.com/WebAssembly/WASI/blob/snapshot-01/phases/snapshot/docs.md#fd_read
func doFdRead(c call, f *memfs.File) abi.Errno { return c.vectored(f, 3, f.Read) }

// doFdWrite is fd_write(fd, *iovec, n, *count).
// https://github.com/WebAssembly/WASI/blob/snapshot-01/phases/snapshot/docs.md#fd_write
func doFdWrite(c call, f *memfs.File) abi.Errno { return c.vectored(f, 3, f.Write) }

// doFdPread is fd_pread(fd, *iovec, n, offset, *count).
func doFdPread(c call, f *memfs.File) abi.Errno { return c.positioned(f, f.Pread) }

// doFdPwrite is fd_pwrite(fd, *iovec, n, offset, *count).
func doFdPwrite(c call, f *memfs.File) abi.Errno { return c.positioned(f, f.Pwrite) }

func (c call) positioned(f *memfs.File, op func(context.Context, []byte, int64) (int, abi.Errno)) abi.Errno {
	off := c.i64(3)
	return c.vectored(f, 4, func(ctx context.Context, b []byte) (int, abi.Errno) {
		n, errno := op(ctx, b, off)
		off += int64(n)
		return n, errno
	})
}

// doFdSeek is fd_seek(fd, offset, whence, *position).
func doFdSeek(c call, f *memfs.File) abi.Errno {
	if _, ok := c.mem.Bytes(c.u32(3), 8); !ok {
		return abi.EFAULT
	}
	whence := c.u32(2)
	if whence > abi.SEEK_END {
		return abi.EINVAL
	}
	pos, errno := f.SeekTo(c.i64(1), int(whence))
	if errno == abi.OK {
		c.mem.PutUint64(c.u32(3), uint64(pos))
	}
	return errno
}

// doFdSync is fd_sync(fd), and __syscall_fdatasync.
func doFdSync(_ call, f *memfs.File) abi.Errno { return f.Sync() }

// doNothing is for functions that do nothing to an open file: __syscall_fadvise64.
func doNothing(call, *memfs.File) abi.Errno { return abi.OK }

// doFdFdstatGet is fd_fdstat_get(fd, *fdstat).
func doFdFdstatGet(c call, f *memfs.File) abi.Errno {
	b, ok := c.mem.Bytes(c.u32(1), layout.FdstatSize)
	if !ok {
		return abi.EFAULT
	}
	st := layout.Fdstat{Filetype: filetype(f.Stat().Mode), RightsBase: ^uint64(0), RightsInheriting: ^uint64(0)}
	if f.Flags()&abi.O_APPEND != 0 {
		st.Flags |= layout.FdflagsAppend
	}
	if f.Flags()&abi.O_NONBLOCK != 0 {
		st.Flags |= layout.FdflagsNonblock
	}
	st.Put(b)
	return abi.OK
}

// filetype translates a file's type. libc's isatty takes every character device
// for a terminal; there are none here, so they have no type.
func filetype(mode uint32) uint8 {
	switch mode & abi.S_IFMT {
	case abi.S_IFDIR:
		return layout.FiletypeDirectory
	case abi.S_IFREG:
		return layout.FiletypeRegular
	case abi.S_IFLNK:
		return layout.FiletypeSymlink
	}
	return layout.FiletypeUnknown
}
