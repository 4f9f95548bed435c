package pyodide

import (
	"context"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/baton"
	"coderunner/pyodide/rewrite"
)

// threadCalls are the instance's threads, for host functions.
type threadCalls struct{ in *instance }

// Check lets other threads run, if there are any that can.
func (c threadCalls) Check(ctx context.Context) {
	s := c.in.threads
	if s == nil {
		return
	}
	c.in.memory.Store32(s.handling, 0)
	if s.attached() && !s.stopping() && s.baton.Wanted() {
		s.detached(ctx, s.yield)
	}
}

// stopping reports whether the main thread runs and the time limit has struck: it has
// a moment for its traceback, and shares it only if it waits for another thread.
func (s *threads) stopping() bool { return s.running == s.main && s.in.signals.struck.Load() }

func (s *threads) yield() {
	t := s.running
	s.save()
	s.enter(t, t.Yield())
}

// Main reports whether the main thread runs.
func (c threadCalls) Main() bool {
	return c.in.threads == nil || c.in.threads.running == c.in.threads.main
}

// Leave gives the baton away for as long as the running thread waits for the host.
func (c threadCalls) Leave() (back func() (idle time.Duration)) {
	s := c.in.threads
	if s == nil || len(s.alive) == 0 || s.attached() || s.stopping() {
		return nil
	}
	t := s.running
	s.baton.Idle()
	s.save()
	t.Release()
	return func() time.Duration {
		s.enter(t, t.Acquire())
		return s.baton.Idle()
	}
}

// Op does an operation of threads: see package rewrite. Libraries can call it with
// any arguments.
func (c threadCalls) Op(ctx context.Context, op, x, y, z uint32) uint32 {
	s, err := c.in.threading(ctx)
	if err != nil {
		panic(err)
	}
	n := int64(uint64(z)<<32 | uint64(y)) // of the operations that have a time
	switch op {
	case rewrite.ThreadSpawn:
		return s.spawn(ctx, x, y, z)
	case rewrite.ThreadSemaphore:
		return s.semaphore(ctx, x, time.Duration(n))
	case rewrite.ThreadLock, rewrite.ThreadLockOrSignal:
		return s.lock(ctx, x, time.Duration(min(n, int64(forever/time.Microsecond)))*time.Microsecond, op == rewrite.ThreadLockOrSignal)
	case rewrite.ThreadJoin:
		return uint32(s.join(ctx, x))
	case rewrite.ThreadExit:
		if s.running != s.main {
			if s.attached() {
				s.fail(errExitWithGIL)
			}
			s.unwind()
		}
		return 0
	case rewrite.ThreadMutexLock:
		return uint32(s.lockMutex(ctx, x))
	case rewrite.ThreadMutexTryLock:
		return uint32(s.tryMutex(x))
	case rewrite.ThreadMutexUnlock:
		s.unlockMutex(x)
		return 0
	case rewrite.ThreadCondWait:
		return uint32(s.waitCond(ctx, y, z))
	}
	return uint32(abi.EINVAL)
}

// forever is longer than any program runs.
const forever = 1 << 40 * time.Microsecond

// wait waits until ready holds, which looks at the guest's memory, at most for limit
// unless it is negative. Of the main thread signals end it.
func (s *threads) wait(ctx context.Context, ready func() bool, limit time.Duration) (how baton.Outcome) {
	if ready() {
		return baton.Ready
	}
	s.detached(ctx, func() {
		t := s.running
		var stop <-chan struct{}
		if t == s.main {
			wait, done := s.in.proc.Interruptible(ctx)
			defer done()
			stop = wait.Done()
		}
		if s.stopping() {
			s.baton.First(t.Thread)
		}
		s.save()
		how = t.Wait(ready, stop, limit)
		s.enter(t, how != baton.Ended)
	})
	return how
}

// Results of _PySemaphore_Wait and PyThread_acquire_lock_timed.
const (
	parkOK, parkTimeout, parkInterrupted     = 0, ^uint32(1), ^uint32(2)
	lockFailure, lockAcquired, lockInterrupt = 0, 1, 2
)

// semaphore is _PySemaphore_Wait without the GIL: at addr is the counter.
func (s *threads) semaphore(ctx context.Context, addr uint32, limit time.Duration) uint32 {
	how := s.wait(ctx, func() bool { return int32(s.word(addr)) > 0 }, limit)
	if n := s.word(addr); int32(n) > 0 {
		s.in.mem.PutUint32(addr, n-1)
		return parkOK
	}
	if how == baton.TimedOut {
		return parkTimeout
	}
	return parkInterrupted // or it was taken by another: CPython tries again
}

// lock is PyThread_acquire_lock_timed for a lock that was held: at addr is 0 when it
// is free.
func (s *threads) lock(ctx context.Context, addr uint32, limit time.Duration, orSignal bool) uint32 {
	free := func() bool { b, ok := s.in.mem.Bytes(addr, 1); return ok && b[0] == 0 }
	end := time.Now().Add(limit)
	for {
		how := s.wait(ctx, free, limit)
		switch {
		case free():
			s.in.mem.Put(addr, []byte{1})
			return lockAcquired
		case how == baton.TimedOut:
			return lockFailure
		case how == baton.Interrupted && orSignal:
			return lockInterrupt
		}
		if limit >= 0 {
			limit = max(time.Until(end), 0)
		}
	}
}

// join waits until the thread with the handle has ended.
func (s *threads) join(ctx context.Context, handle uint32) abi.Errno {
	if s.running != s.main && s.running.handle == handle {
		return edeadlk
	}
	for s.alive[handle] != nil {
		s.wait(ctx, func() bool { return s.alive[handle] == nil }, -1)
	}
	return abi.OK
}
