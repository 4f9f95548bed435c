// Package baton lets goroutines take turns. Of the threads of a Baton one at a time
// runs: the one that has the baton. It keeps it until it gives it away, to wait for
// something outside, for a condition that another thread will make true, or because
// others want to run; and it is told when one of them has waited for a time slice.
//
// It knows nothing of what the threads do.
//
// # Locking
//
// The state is guarded by Baton.mu. Conditions are called with mu held, by the holder
// or while there is none, and so may read whatever only the holder changes. Everything
// that one holder does happens before everything that the next one does.
package baton

import (
	"slices"
	"sync"
	"time"
)

// Baton is what the threads pass on. Any goroutine may call First and End; the
// other methods are for the thread that has it.
type Baton struct {
	slice   time.Duration
	preempt func()

	mu      sync.Mutex
	holder  *Thread   // nil: nobody
	queue   []*Thread // want it, in the order of their turns
	first   *Thread   // has its next turn before the others
	waiting []*Thread // for their conditions
	ended   bool
	over    chan struct{} // closed when ended
	since   time.Time     // when the turn of holder began, or when there was none
	idle    time.Duration // without a holder, in all
	timer   *time.Timer   // asks the holder to yield; runs while armed
	armed   bool
}

// Thread is one that takes turns. Its methods are called by its own goroutine, all
// but Begin and Acquire while it has the baton.
type Thread struct {
	b     *Baton
	wake  chan struct{} // it got the baton; room for one
	ready func() bool   // the condition that it waits for; guarded by mu
}

// New returns a baton and the thread that has it. preempt is called when others
// have waited for a slice: it asks the holder to call Yield soon. It is not called
// after End.
func New(slice time.Duration, preempt func()) (*Baton, *Thread) {
	b := &Baton{slice: slice, preempt: preempt, over: make(chan struct{}), since: time.Now()}
	b.holder = b.thread()
	return b, b.holder
}

func (b *Baton) thread() *Thread { return &Thread{b: b, wake: make(chan struct{}, 1)} }

// Add adds a thread that wants the baton. Its goroutine calls Begin first and
// Release last.
func (b *Baton) Add() *Thread {
	t := b.thread()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = append(b.queue, t)
	b.arm()
	return t
}

// First lets a thread have its next turn, once it wants one, before all others.
func (b *Baton) First(t *Thread) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.first = t
}

// End ends the taking of turns: each thread that waits gets the baton once more, one
// after the other, and is told.
func (b *Baton) End() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return
	}
	b.ended = true
	close(b.over)
	b.queue = append(b.queue, b.waiting...)
	b.waiting = nil
	if b.holder == nil {
		b.pass()
	}
}

// Idle returns for how long no thread has had the baton since the last call.
func (b *Baton) Idle() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.idle
	b.idle = 0
	return d
}

// Wanted reports whether another thread could run now.
func (b *Baton) Wanted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.look()
	return len(b.queue) > 0
}

// pass gives the baton to the next thread, if there is one, with mu held, by the
// holder or while there is none.
func (b *Baton) pass() {
	b.look()
	now := time.Now()
	if b.holder == nil {
		b.idle += now.Sub(b.since)
	}
	b.since, b.holder = now, nil
	if len(b.queue) > 0 {
		i := 0
		if b.first != nil {
			i = max(0, slices.Index(b.queue, b.first))
		}
		if b.holder = b.queue[i]; b.holder == b.first {
			b.first = nil
		}
		b.queue = slices.Delete(b.queue, i, i+1)
		b.holder.wake <- struct{}{}
		b.arm()
	}
}

// look moves the threads whose conditions hold to the queue, with mu held.
func (b *Baton) look() {
	b.waiting = slices.DeleteFunc(b.waiting, func(t *Thread) bool {
		if !t.ready() {
			return false
		}
		b.queue = append(b.queue, t)
		return true
	})
}

// arm starts the timer if somebody waits for the holder, with mu held. A condition
// counts: nobody looks at it before the holder yields.
func (b *Baton) arm() {
	if b.armed || b.ended || b.holder == nil || len(b.queue)+len(b.waiting) == 0 {
		return
	}
	b.armed = true
	if b.timer == nil {
		b.timer = time.AfterFunc(b.slice, b.expire)
	} else {
		b.timer.Reset(b.slice)
	}
}

// expire asks the holder to yield once its turn has lasted a slice.
func (b *Baton) expire() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.armed = false
	b.arm()
	if !b.armed {
		return
	}
	if left := b.slice - time.Since(b.since); left > 0 {
		b.timer.Reset(left)
	} else {
		b.preempt()
	}
}

// Begin waits for the thread's first turn. Like the other methods that return
// whether the taking of turns goes on, it has the baton in either case: a thread
// that is told false cleans up and calls Release.
func (t *Thread) Begin() bool {
	<-t.wake
	return t.goesOn()
}

func (t *Thread) goesOn() bool {
	select {
	case <-t.b.over:
		return false
	default:
		return true
	}
}

// Release gives the baton away.
func (t *Thread) Release() {
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	t.b.pass()
}

// Acquire waits for the baton that Release gave away.
func (t *Thread) Acquire() bool {
	t.b.mu.Lock()
	t.want()
	t.b.mu.Unlock()
	return t.Begin()
}

// want puts the thread in the queue, with mu held. If nobody has the baton it gets
// it.
func (t *Thread) want() {
	t.b.queue = append(t.b.queue, t)
	if t.b.holder == nil {
		t.b.pass()
	} else {
		t.b.arm()
	}
}

// Yield lets the threads run that want to.
func (t *Thread) Yield() bool {
	t.b.mu.Lock()
	if t.b.look(); len(t.b.queue) > 0 && !t.b.ended {
		t.b.queue = append(t.b.queue, t)
		t.b.pass()
	} else {
		t.wake <- struct{}{}
	}
	t.b.mu.Unlock()
	return t.Begin()
}

// Outcome is how a wait ended.
type Outcome int

// The outcomes of Wait. After Ready the condition held when the thread was chosen,
// and may not any more: others may have run since.
const (
	Ready Outcome = iota
	TimedOut
	Interrupted // stop was closed
	Ended
)

// Wait gives the baton away until ready holds, stop is closed or, unless limit is
// negative, that long.
func (t *Thread) Wait(ready func() bool, stop <-chan struct{}, limit time.Duration) Outcome {
	if !t.goesOn() {
		return Ended
	}
	var timeout <-chan time.Time
	if limit >= 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		timeout = timer.C
	}
	t.b.mu.Lock()
	t.ready = ready
	t.b.waiting = append(t.b.waiting, t)
	t.b.pass()
	t.b.mu.Unlock()
	how := Ready
	select {
	case <-t.wake:
		t.wake <- struct{}{}
	case <-timeout:
		how = TimedOut
	case <-stop:
		how = Interrupted
	}
	if how != Ready {
		t.b.mu.Lock()
		if i := slices.Index(t.b.waiting, t); i >= 0 {
			t.b.waiting = slices.Delete(t.b.waiting, i, i+1)
			t.want()
		} else {
			how = Ready // since
		}
		t.b.mu.Unlock()
	}
	if !t.Begin() {
		return Ended
	}
	return how
}
