package emscripten

import (
	"time"

	"github.com/tetratelabs/wazero/api"

	"coderunner/internal/machine/abi"
)

// The clocks of WASI. The last two, of a process and of a thread, are the same.
const (
	clockRealtime   = 0
	clockMonotonic  = 1
	clockThreadCPU  = 3
	clockResolution = time.Microsecond
)

// doClockTimeGet is clock_time_get(id, precision, *ns).
// https://github.com/WebAssembly/WASI/blob/snapshot-01/phases/snapshot/docs.md#clock_time_get
func doClockTimeGet(c call) abi.Errno {
	var ns int64
	switch id := c.u32(0); {
	case id == clockRealtime:
		ns = c.p.clock.now().UnixNano()
	case id == clockMonotonic:
		ns = int64(c.p.clock.monotonic())
	case id <= clockThreadCPU:
		ns = int64(c.p.clock.busy())
	default:
		return abi.EINVAL
	}
	return fault(c.mem.PutUint64(c.u32(2), uint64(ns)))
}

func doClockResGet(c call) abi.Errno {
	if c.u32(0) > clockThreadCPU {
		return abi.EINVAL
	}
	return fault(c.mem.PutUint64(c.u32(1), uint64(clockResolution)))
}

func doDateNow(c call) uint64 {
	return api.EncodeF64(float64(c.p.clock.now().UnixMicro()) / 1000)
}

// doGetNow is emscripten_get_now: milliseconds of the monotonic clock.
func doGetNow(c call) uint64 {
	return api.EncodeF64(float64(c.p.clock.monotonic()) / float64(time.Millisecond))
}
