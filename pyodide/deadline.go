package pyodide

import (
	"sync"
	"time"
)

// softGrace is the time between the soft interrupt (a Python exception) and the
// hard one. The traceback may take longer; see [deadline.extend].
const softGrace = 60 * time.Millisecond

// slowGrace bounds the grace of a program that has not had softGrace of processor
// time since the soft interrupt and has not said where it was: on a busy machine.
const slowGrace = 600 * time.Millisecond

// sessionGrace is softGrace for a program of a session, whose variables the hard
// interrupt loses: on a busy machine, one that obeys may be late to do so.
const sessionGrace = time.Second

// deadline is a time limit that strikes twice: soft, then hard. It can be paused
// while the program waits for the network, within a budget: it strikes at the
// latest when limit and budget have passed, whatever the program does, besides the
// time for which the host holds it.
type deadline struct {
	soft, hard func()
	grace      time.Duration        // between the two
	cpu        func() time.Duration // the program's processor time; nil: unknown

	mu       sync.Mutex
	left     time.Duration // until it strikes next, as of since
	budget   time.Duration // left for pauses, as of since
	since    time.Time     // when left and budget were last updated
	timer    *time.Timer   // nil: there is no limit
	struck   bool          // soft has been called
	struckAt time.Time
	cpuAt    time.Duration // cpu, when soft was called
	told     bool          // the program saw the soft strike
	extended bool
	paused   int
	held     int
	stopped  bool
}

// startDeadline starts a deadline; a limit of 0 never strikes.
func startDeadline(limit, budget, grace time.Duration, soft, hard func()) *deadline {
	d := &deadline{soft: soft, hard: hard, grace: grace, left: limit, budget: budget}
	if limit <= 0 {
		d.stopped = true
		return d
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.since = time.Now()
	d.timer = time.AfterFunc(limit, d.strike)
	return d
}

// chargeLocked charges the time since the last call to the budget, while the
// deadline is paused, and otherwise, or beyond the budget, to what is left.
func (d *deadline) chargeLocked() {
	now := time.Now()
	passed := now.Sub(d.since)
	d.since = now
	if d.held > 0 {
		return
	}
	if d.paused > 0 {
		free := min(passed, d.budget)
		d.budget -= free
		passed -= free
	}
	d.left = max(d.left-passed, 0)
}

// resetLocked sets the timer to when the deadline strikes next.
func (d *deadline) resetLocked() {
	if d.held > 0 {
		d.timer.Stop()
		return
	}
	wait := d.left
	if d.paused > 0 {
		wait += d.budget
	}
	d.timer.Reset(wait)
}

func (d *deadline) strike() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped || d.held > 0 {
		return
	}
	d.chargeLocked()
	switch {
	case d.left > 0 || d.paused > 0 && d.budget > 0: // the timer was reset meanwhile
		d.resetLocked()
	case d.struck:
		if wait := d.starvedLocked(); wait > 0 {
			d.left = wait
			d.resetLocked()
			return
		}
		d.stopped = true
		d.hard()
	default:
		d.struck, d.struckAt = true, time.Now()
		if d.cpu != nil {
			d.cpuAt = d.cpu()
		}
		d.left, d.budget = d.grace, 0 // no more pauses after the soft strike
		d.resetLocked()
		d.soft()
	}
}

// starvedLocked returns how much longer the hard strike should wait, since the
// processors were too busy to let the program see the soft one. A program that waits
// for the host is not starved.
func (d *deadline) starvedLocked() time.Duration {
	if d.cpu == nil || d.told || d.paused > 0 {
		return 0
	}
	missing := d.grace - (d.cpu() - d.cpuAt)
	return min(missing, slowGrace-time.Since(d.struckAt))
}

// sawStrike notes that the program saw the soft strike. It has the whole grace from
// then on.
func (d *deadline) sawStrike() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.struck || d.stopped || d.told {
		return
	}
	d.told = true
	d.chargeLocked()
	d.left = max(d.left, d.grace)
	d.resetLocked()
}

// measureBy has the grace count the processor time that cpu returns.
func (d *deadline) measureBy(cpu func() time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cpu = cpu
}

// pause stops the clock until resume has been called once per pause. It returns
// the rest of the budget and whether there is a limit at all.
func (d *deadline) pause() (left time.Duration, limited bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return 0, d.timer != nil
	}
	d.chargeLocked()
	d.paused++
	d.resetLocked()
	return d.budget, true
}

func (d *deadline) resume() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return
	}
	d.chargeLocked()
	d.paused--
	d.resetLocked()
}

// hold stops the clock, without a budget, until release is called, and every other holder's
// has been.
func (d *deadline) hold() (release func()) {
	set := func(more int) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.stopped || d.struck {
			return
		}
		d.chargeLocked()
		d.held = max(d.held+more, 0)
		d.resetLocked()
	}
	set(1)
	return func() { set(-1) }
}

// extend lengthens the grace once, for the traceback of a program that the
// interrupt ended.
func (d *deadline) extend(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.struck || d.stopped || d.extended {
		return
	}
	d.extended = true
	d.chargeLocked()
	d.left += by
	d.resetLocked()
}

// stop ends the deadline; it does not strike afterwards.
func (d *deadline) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped = true
	if d.timer != nil {
		d.timer.Stop()
	}
}

// hasStruck reports whether the limit was reached.
func (d *deadline) hasStruck() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.struck
}

// tracebackGrace bounds the time for the traceback of a program that the soft
// interrupt ended.
const tracebackGrace = 500 * time.Millisecond
