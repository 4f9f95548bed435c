package preview1

import (
	"context"
	"crypto/rand"
	"runtime"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
)

// sizes is args_sizes_get(*argc, *size) and environ_sizes_get, list args_get(**argv, *buf) and
// environ_get: pointers to the strings, and the strings, each with a NUL.
func (c call) sizes(list []string) abi.Errno {
	size := 0
	for _, s := range list {
		size += len(s) + 1
	}
	c.put32(0, len(list))
	return c.put32(1, size)
}

func (c call) list(list []string) abi.Errno {
	const last = 1<<32 - 1 // the end of the largest memory there is
	at, to := uint64(c.u32(0)), uint64(c.u32(1))
	for _, s := range list {
		if at > last || to > last {
			return abi.EFAULT
		}
		le.PutUint32(c.bytes(uint32(at), 4), uint32(to))
		copy(c.bytes(uint32(to), uint32(len(s)+1)), s+"\x00")
		at, to = at+4, to+uint64(len(s))+1
	}
	return abi.OK
}

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
	for b := c.to(0, c.u32(1)); len(b) > 0; {
		n := min(len(b), 1<<20)
		_, _ = rand.Read(b[:n]) // it never fails
		b = b[n:]
		c.check()
	}
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
