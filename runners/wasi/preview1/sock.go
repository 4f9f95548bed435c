package preview1

import (
	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// isSocket reports whether a file is one that sock_recv works on.
func isSocket(f *memfs.File) bool { return f.Stat().Mode&abi.S_IFMT == abi.S_IFSOCK }

// sockRecv is sock_recv(fd, *iovec, n, riflags, *count, *roflags), without flags.
func sockRecv(c call, f *memfs.File) abi.Errno {
	if !isSocket(f) {
		return abi.ENOTSOCK
	}
	if c.u32(3) != 0 {
		return enotsup
	}
	if b, ok := c.mem.Bytes(c.u32(5), 2); ok {
		clear(b)
		return c.vectored(f, 4, f.Read)
	}
	return abi.EFAULT
}

// sockSend is sock_send(fd, *iovec, n, flags, *count).
func sockSend(c call, f *memfs.File) abi.Errno {
	if !isSocket(f) {
		return abi.ENOTSOCK
	}
	if c.u32(3) != 0 {
		return abi.EINVAL
	}
	return c.vectored(f, 4, f.Write)
}

// notListening is for sock_accept and sock_shutdown: what a process is given is connected,
// and closing it is all that ends it.
func notListening(_ call, f *memfs.File) abi.Errno {
	if !isSocket(f) {
		return abi.ENOTSOCK
	}
	return enotsup
}
