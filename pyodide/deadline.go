package pyodide

import (
	"sync"
	"time"
)

// softGrace is how long a program that was interrupted softly (a Python
// exception) has before it is stopped for good. A program that obeys has its
// traceback made within it; see [deadline.extend].
const softGrace = 60 * time.Millisecond

// deadline is a time limit that can be paused, so that what the host does for
// the program does not count. It strikes twice: soft, then hard.
type deadline struct {
	soft, hard func()
	grace      time.Duration // between the two

	mu       sync.Mutex
	left     time.Duration // until it strikes next
	since    time.Time     // when it last began to run; zero while paused
	timer    *time.Timer
	struck   bool // soft has been called
	extended bool
	paused   int
	stopped  bool
}

// startDeadline makes a running deadline; a limit of 0 never strikes.
func startDeadline(limit, grace time.Duration, soft, hard func()) *deadline {
	d := &deadline{soft: soft, hard: hard, grace: grace, left: limit, paused: 1}
	if limit <= 0 {
		d.stopped = true
		return d
	}
	d.timer = time.AfterFunc(limit, d.strike)
	d.timer.Stop()
	d.resume()
	return d
}

func (d *deadline) strike() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped || d.paused > 0 {
		return
	}
	if d.struck {
		d.stopped = true
		d.hard()
		return
	}
	d.struck = true
	d.left = d.grace
	d.since = time.Now()
	d.timer.Reset(d.left)
	d.soft()
}

// pause stops the clock until resume is called as often.
func (d *deadline) pause() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.paused++; d.paused == 1 && !d.stopped {
		d.timer.Stop()
		d.left = max(d.left-time.Since(d.since), 0)
	}
}

func (d *deadline) resume() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.paused--; d.paused == 0 && !d.stopped {
		d.since = time.Now()
		d.timer.Reset(d.left)
	}
}

// extend gives a program that was interrupted and has ended by it the time to
// make its traceback, once.
func (d *deadline) extend(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.struck || d.stopped || d.extended {
		return
	}
	d.extended = true
	if d.paused > 0 {
		d.left += by
		return
	}
	d.left = max(d.left-time.Since(d.since), 0) + by
	d.since = time.Now()
	d.timer.Reset(d.left)
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

// hasStruck says whether the limit was reached.
func (d *deadline) hasStruck() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.struck
}
