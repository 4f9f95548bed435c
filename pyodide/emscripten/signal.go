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
