package emscripten

import (
	"coderunner/internal/machine/abi"
	"coderunner/internal/preview1"
)

// doRandomGet is random_get(*buf, n). The bytes are the host's own.
// https://github.com/WebAssembly/WASI/blob/snapshot-01/phases/snapshot/docs.md#random_get
func doRandomGet(c call) abi.Errno {
	b, ok := c.mem.Bytes(c.u32(0), c.u32(1))
	preview1.Random(b, func() {
		if c.ctx.Err() != nil {
			stop(c.ctx)
		}
	})
	return fault(ok)
}
