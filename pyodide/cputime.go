package pyodide

import (
	"runtime"
	"sync"
	"time"
)

// stopwatch measures the processor time of a run, whose threads take turns. Each turn
// is bound to a thread of the system, and ends where the guest waits (rest). It may be read
// from anywhere.
type stopwatch struct {
	mu     sync.Mutex
	thread int           // of the system, that has its turn; 0: none
	turn   time.Duration // the thread's time when the turn began
	used   time.Duration // in turns that are over
}

// reset begins a run and its first turn. It reports whether this system tells the time.
func (s *stopwatch) reset() bool {
	s.mu.Lock()
	s.used = 0
	s.mu.Unlock()
	s.start()
	return s.turn > 0
}

// start begins a turn of the calling goroutine, which stays on its thread until stop.
func (s *stopwatch) start() {
	runtime.LockOSThread()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.thread = threadID()
	s.turn = threadTime(s.thread)
}

// stop ends the turn, if there is one.
func (s *stopwatch) stop() (ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.thread == 0 {
		return false
	}
	s.used += threadTime(s.thread) - s.turn
	s.thread = 0
	runtime.UnlockOSThread()
	return true
}

// rest ends the turn, if there is one, until goOn is called: who waits needs no thread of the
// system, of which a process can have a thousand, and is woken sooner without.
func (s *stopwatch) rest() (goOn func()) {
	if !s.stop() {
		return func() {}
	}
	return s.start
}

// time returns the processor time of the run so far.
func (s *stopwatch) time() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.thread == 0 {
		return s.used
	}
	return s.used + max(0, threadTime(s.thread)-s.turn)
}

// CPUTime returns the processor time of the run in progress, or of the last one; 0
// where the system does not tell. It may be called while a program runs.
func (in *Interp) CPUTime() time.Duration { return in.instance.cpu.time() }
