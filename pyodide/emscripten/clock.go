package emscripten

import (
	"math"
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

// The guest's sleep asks for the time over and over until it has come
// (emscripten_thread_sleep; nothing else of CPython asks this function). A
// streak of such calls is therefore waited for here: with growing pauses, so
// that sleeping costs little processor time, overshoots by a sixteenth and by
// maxPause at most, and ends when the program is interrupted.
const (
	streakGap   = 50 * time.Microsecond // longer between two calls: no streak
	streakCalls = 16                    // calls before the first pause
	maxPause    = 10 * time.Millisecond
	minPause    = 20 * time.Microsecond
)

type streak struct {
	calls int
	begin time.Duration
	last  time.Duration // when the last call returned
}

// doGetNow is emscripten_get_now: milliseconds of the monotonic clock.
func doGetNow(c call) uint64 {
	p, s := c.p, &c.p.streak
	now := p.monotonic()
	if now-s.last > streakGap {
		*s = streak{begin: now}
	}
	if s.calls++; s.calls > streakCalls {
		if !p.pause(c.ctx, min(max((now-s.begin)/16, minPause), maxPause)) {
			// The end of time: whoever waits for an hour that has not come
			// stops waiting, and CPython looks for signals.
			*s = streak{}
			return api.EncodeF64(math.MaxFloat64)
		}
		now = p.monotonic()
	}
	s.last = now
	return api.EncodeF64(float64(now) / float64(time.Millisecond))
}
