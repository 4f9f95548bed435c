package preview1

import (
	"context"
	"runtime"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
)

// clock returns what a clock shows.
func (c call) clock(id uint32) time.Duration {
	const realtime, monotonic, process, thread = 0, 1, 2, 3
	switch id {
	case realtime:
		return time.Duration(time.Now().UnixNano())
	case monotonic:
		return c.Clock()
	case process, thread:
		return c.Busy()
	}
	panic(abi.EINVAL)
}

// clockResGet is clock_res_get(id, *resolution).
func clockResGet(c call) abi.Errno {
	c.clock(c.u32(0))
	return c.put64(1, uint64(time.Microsecond))
}

// procExit is proc_exit(code).
func procExit(_ context.Context, stack []uint64) { panic(&Exit{uint32(stack[0])}) }

// procRaise is proc_raise(signal). WASI's signals are Linux's without SIGSTKFLT.
func procRaise(c call) abi.Errno {
	const none, first, last = 0, 16, 30
	n := c.u32(0)
	switch {
	case n == none:
		return abi.OK
	case n > last:
		return abi.EINVAL
	case n >= first:
		n++
	}
	errno := c.k.Kill(c.k.PID(), kernel.Signal(n))
	c.check()
	return errno
}

func schedYield(c call) abi.Errno {
	runtime.Gosched()
	c.check()
	return abi.OK
}

// randomGet is random_get(buf, n).
func randomGet(c call) abi.Errno {
	Random(c.to(0, c.u32(1)), c.check)
	return abi.OK
}

// socket returns the file of argument 0, which must be a socket.
func (c call) socket() *memfs.File {
	f := c.file(0)
	if f.Stat().Mode&abi.S_IFMT != abi.S_IFSOCK {
		panic(abi.ENOTSOCK)
	}
	return f
}

// sockRecv is sock_recv(fd, *iovec, n, riflags, *count, *roflags), without flags.
func sockRecv(c call) abi.Errno {
	f := c.socket()
	if c.u32(3) != 0 {
		return enotsup
	}
	clear(c.to(5, 2))
	return c.vectored(4, f, f.Read)
}

// sockSend is sock_send(fd, *iovec, n, flags, *count).
func sockSend(c call) abi.Errno {
	f := c.socket()
	if c.u32(3) != 0 {
		return abi.EINVAL
	}
	return c.vectored(4, f, f.Write)
}

// notListening is for sock_accept and sock_shutdown: what a process is given is connected,
// and closing it is all that ends it.
func notListening(c call) abi.Errno {
	c.socket()
	return enotsup
}
