package emscripten

import (
	"math"
	"time"
)

// shortestInterval bounds how often a timer runs out, which costs the host a
// little each time.
const shortestInterval = time.Millisecond

// doSetitimer is _setitimer_js(which, milliseconds); 0 stops the timer.
func doSetitimer(c call, milliseconds float64) uint64 {
	c.p.SetTimer(c.u32(0), duration(milliseconds, time.Millisecond), 0)
	return 0
}

// duration returns n units, 0 for what is less or not a number.
func duration(n float64, unit time.Duration) time.Duration {
	if !(n > 0) {
		return 0
	}
	return time.Duration(min(n*float64(unit), math.MaxInt64/2))
}

// SetTimer sets an interval timer (0 real, 1 virtual, 2 profiling), which all run
// with the clock; a value of 0 stops it. Guest.Alarm is called when it runs out.
// The results are what Timer returned before.
func (p *Process) SetTimer(which uint32, value, interval time.Duration) (left, every time.Duration) {
	left, every = p.Timer(which)
	p.mu.Lock()
	defer p.mu.Unlock()
	if which >= uint32(len(p.timers)) {
		return left, every
	}
	if old := p.timers[which]; old != nil {
		old.Stop()
		p.timers[which] = nil
	}
	if value <= 0 || p.Guest.Alarm == nil {
		return left, every
	}
	t := &timer{due: time.Now().Add(value)}
	if interval > 0 {
		t.interval = max(interval, shortestInterval)
	}
	t.Timer = time.AfterFunc(value, func() { p.expire(which, t) })
	p.timers[which] = t
	return left, every
}

// Timer returns the time until an interval timer runs out, 0 if it is not set, and
// its interval.
func (p *Process) Timer(which uint32) (left, every time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if which >= uint32(len(p.timers)) || p.timers[which] == nil {
		return 0, 0
	}
	t := p.timers[which]
	return max(time.Until(t.due), time.Microsecond), t.interval
}

func (p *Process) expire(which uint32, t *timer) {
	p.mu.Lock()
	if p.timers[which] != t { // it was set anew meanwhile
		p.mu.Unlock()
		return
	}
	if t.interval > 0 {
		t.due = time.Now().Add(t.interval)
		t.Reset(t.interval)
	} else {
		p.timers[which] = nil
	}
	p.mu.Unlock()
	p.Guest.Alarm(which)
	p.Interrupt()
}

// doCallSighandler is __call_sighandler(handler, signal), the last step of
// raise in the guest.
func doCallSighandler(c call) {
	if c.p.Guest.CallHandler != nil {
		c.p.Guest.CallHandler(c.ctx, c.u32(0), c.i32(1))
	}
}
