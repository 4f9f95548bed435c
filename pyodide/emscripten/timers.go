package emscripten

import (
	"sync"
	"time"
)

// shortestInterval bounds how often a timer runs out, which costs the host a
// little each time.
const shortestInterval = time.Millisecond

// Timers are the interval timers of a process, which all run with the clock: 0
// real, 1 virtual, 2 profiling. They may be used from any goroutine.
type Timers struct {
	expired func(which uint32) // called without mu, on a goroutine of its own

	mu  sync.Mutex
	set [3]*timer // guarded by mu; nil: not set
}

// timer is an interval timer that is set. Timers.mu guards it.
type timer struct {
	*time.Timer
	due      time.Time
	interval time.Duration // 0: it runs out once
}

// Set sets a timer to run out in a while; 0 stops it. The results are what Get returned
// before.
func (t *Timers) Set(which uint32, in, interval time.Duration) (left, every time.Duration) {
	left, every = t.Get(which)
	t.mu.Lock()
	defer t.mu.Unlock()
	if which >= uint32(len(t.set)) {
		return left, every
	}
	if old := t.set[which]; old != nil {
		old.Stop()
		t.set[which] = nil
	}
	if in <= 0 {
		return left, every
	}
	n := &timer{due: time.Now().Add(in)}
	if interval > 0 {
		n.interval = max(interval, shortestInterval)
	}
	n.Timer = time.AfterFunc(in, func() { t.expire(which, n) })
	t.set[which] = n
	return left, every
}

// Get returns the time until a timer runs out, 0 if it is not set, and its
// interval.
func (t *Timers) Get(which uint32) (left, every time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if which >= uint32(len(t.set)) || t.set[which] == nil {
		return 0, 0
	}
	n := t.set[which]
	return max(time.Until(n.due), time.Microsecond), n.interval
}

func (t *Timers) expire(which uint32, n *timer) {
	t.mu.Lock()
	if t.set[which] != n { // it was set anew meanwhile
		t.mu.Unlock()
		return
	}
	if n.interval > 0 {
		n.due = time.Now().Add(n.interval)
		n.Reset(n.interval)
	} else {
		t.set[which] = nil
	}
	t.mu.Unlock()
	t.expired(which)
}

func (t *Timers) stopAll() {
	for which := range t.set {
		t.Set(uint32(which), 0, 0)
	}
}
