package emscripten

import (
	"math"
	"time"

	"github.com/tetratelabs/wazero/api"
)

// doSetitimer is _setitimer_js(which, milliseconds); 0 stops the timer.
func doSetitimer(c call) uint64 {
	c.p.Timers.Set(c.u32(0), duration(api.DecodeF64(c.stack[1]), time.Millisecond), 0)
	return 0
}

// duration returns n units, 0 for what is less or not a number.
func duration(n float64, unit time.Duration) time.Duration {
	if !(n > 0) {
		return 0
	}
	return time.Duration(min(n*float64(unit), math.MaxInt64/2))
}

// doCheckSignals is _Py_CheckEmscriptenSignals_Helper(). Signals are put into the
// guest's memory: it only lets other threads run.
func doCheckSignals(c call) uint64 {
	if c.p.Guest.Threads != nil {
		c.p.Guest.Threads.Check(c.ctx)
	}
	return 0
}
