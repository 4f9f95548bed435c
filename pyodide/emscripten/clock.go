package emscripten

import (
	"time"

	"github.com/tetratelabs/wazero/api"

	"coderunner/pyodide/abi"
)

// The clocks of WASI. All but the first are the monotonic clock: there is no
// processor time of a single interpreter to be had.
const (
	clockRealtime   = 0
	clockThreadCPU  = 3
	clockResolution = time.Microsecond
)

// monotonic is the time since the program started. It never goes back, even
// if the host's clock does.
func (p *Process) monotonic() time.Duration {
	p.mono = max(p.mono, p.now().Sub(p.start))
	return p.mono
}

// Monotonic is what the guest's monotonic clock shows. A process that goes on
// with a guest's memory must not show less: see [Config.Monotonic].
func (p *Process) Monotonic() time.Duration { return p.monotonic() }

// doClockTimeGet is clock_time_get(id, precision, *ns).
// https://github.com/WebAssembly/WASI/blob/snapshot-01/phases/snapshot/docs.md#clock_time_get
func doClockTimeGet(c call) abi.Errno {
	var ns int64
	switch id := c.u32(0); {
	case id == clockRealtime:
		ns = c.p.now().UnixNano()
	case id <= clockThreadCPU:
		ns = int64(c.p.monotonic())
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
	return api.EncodeF64(float64(c.p.now().UnixMicro()) / 1000)
}

// doGetNow is emscripten_get_now: milliseconds of the monotonic clock.
func doGetNow(c call) uint64 {
	return api.EncodeF64(float64(c.p.monotonic()) / float64(time.Millisecond))
}
