package preview1

import (
	"context"
	"crypto/rand"
	"runtime"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
)

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

// schedYield is sched_yield().
func schedYield(c call) abi.Errno {
	runtime.Gosched()
	c.check()
	return abi.OK
}

// randomGet is random_get(buf, n).
func randomGet(c call) abi.Errno {
	b, ok := c.mem.Bytes(c.u32(0), c.u32(1))
	for len(b) > 0 {
		n := min(len(b), 1<<20)
		_, _ = rand.Read(b[:n]) // it never fails
		b = b[n:]
		c.check()
	}
	return fault(ok)
}
