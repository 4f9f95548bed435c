package emscripten

import (
	"math"
	"time"
)

// doSetitimer is _setitimer_js(which, milliseconds); 0 stops the timer. The
// guest sees for itself that it has run out when it sleeps; when it computes,
// Guest.Alarm has to tell it.
func doSetitimer(c call, milliseconds float64) uint64 {
	if which := c.u32(0); which < uint32(len(c.p.timers)) {
		c.p.setTimer(int(which), milliseconds)
	}
	return 0
}

func (p *Process) setTimer(which int, milliseconds float64) {
	if t := p.timers[which]; t != nil {
		t.Stop()
		p.timers[which] = nil
	}
	alarm := p.Guest.Alarm
	if !(milliseconds > 0) || alarm == nil {
		return
	}
	ns := min(milliseconds*float64(time.Millisecond), math.MaxInt64/2)
	p.timers[which] = time.AfterFunc(time.Duration(ns), func() {
		alarm(int32(which))
		p.Interrupt()
	})
}

// doCallSighandler is __call_sighandler(handler, signal), the last step of
// raise in the guest.
func doCallSighandler(c call) {
	if c.p.Guest.CallHandler != nil {
		c.p.Guest.CallHandler(c.ctx, c.u32(0), c.i32(1))
	}
}
