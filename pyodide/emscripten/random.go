package emscripten

import (
	"crypto/rand"

	"coderunner/internal/machine/abi"
)

// doRandomGet is random_get(*buf, n). The bytes are the host's own.
// https://github.com/WebAssembly/WASI/blob/snapshot-01/phases/snapshot/docs.md#random_get
func doRandomGet(c call) abi.Errno {
	b, ok := c.mem.Bytes(c.u32(0), c.u32(1))
	if !ok {
		return abi.EFAULT
	}
	for len(b) > 0 { // in parts, so that a huge request can be cancelled
		n := min(len(b), 1<<20)
		if _, err := rand.Read(b[:n]); err != nil {
			return abi.EIO
		}
		if b = b[n:]; c.ctx.Err() != nil {
			stop(c.ctx)
		}
	}
	return abi.OK
}
