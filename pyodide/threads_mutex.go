package pyodide

import (
	"context"
	"encoding/binary"
	"time"

	"coderunner/internal/machine/abi"
)

// Mutexes and condition variables of libraries. They have no state in the guest's
// memory, since what initializes them is compiled away: the host keeps those that
// are held. All are recursive, and a condition may be seen to hold too early, both
// of which POSIX lets programs expect or not notice. A library cannot start threads of
// its own: pthread_create fails. Python's are started in threads.go.

// mutex is one that is held.
type mutex struct {
	owner *thread
	count int
}

// maxMutexes bounds the mutexes held at once.
const maxMutexes = 4096

// Errnos of threads, as Emscripten has them.
const (
	edeadlk   abi.Errno = 16
	etimedout abi.Errno = 73
)

// condPause bounds the time between two looks at a condition.
const condPause = time.Millisecond

func (s *threads) tryMutex(addr uint32) abi.Errno {
	switch m := s.mutexes[addr]; {
	case m == nil && len(s.mutexes) >= maxMutexes:
		return abi.EAGAIN
	case m == nil:
		s.mutexes[addr] = &mutex{s.running, 1}
	case m.owner != s.running:
		return abi.EBUSY
	default:
		m.count++
	}
	return abi.OK
}

func (s *threads) lockMutex(ctx context.Context, addr uint32) abi.Errno {
	for {
		if errno := s.tryMutex(addr); errno != abi.EBUSY {
			return errno
		}
		s.wait(ctx, func() bool { return s.mutexes[addr] == nil }, -1)
	}
}

// unlockMutex ignores a mutex that was locked before there were threads.
func (s *threads) unlockMutex(addr uint32) {
	m := s.mutexes[addr]
	if m == nil || m.owner != s.running {
		return
	}
	if m.count--; m.count == 0 {
		delete(s.mutexes, addr)
	}
}

// waitCond lets other threads run without the mutex, until the time at deadline.
func (s *threads) waitCond(ctx context.Context, addr, deadline uint32) abi.Errno {
	m := s.mutexes[addr]
	if m != nil && m.owner == s.running {
		delete(s.mutexes, addr)
	}
	limit := condPause
	over := false
	if deadline != 0 {
		b, ok := s.in.mem.Bytes(deadline, 16) // struct timespec
		if !ok {
			return abi.EFAULT
		}
		end := time.Unix(int64(binary.LittleEndian.Uint64(b)), int64(int32(binary.LittleEndian.Uint32(b[8:]))))
		left := time.Until(end)
		over, limit = left <= 0, max(0, min(limit, left))
	}
	s.wait(ctx, func() bool { return false }, limit)
	for m != nil && s.mutexes[addr] != nil {
		s.wait(ctx, func() bool { return s.mutexes[addr] == nil }, -1)
	}
	if m != nil {
		s.mutexes[addr] = m
	}
	if over {
		return etimedout
	}
	return abi.OK
}

// linkerMutex is the linker's, at an address where no mutex can be.
const linkerMutex = ^uint32(0)

// oneAtATime waits while another thread loads libraries, whose constructors may
// have let this one run.
func (in *linking) oneAtATime(ctx context.Context) (unlock func()) {
	s, err := in.threading(ctx)
	if err != nil || s.lockMutex(ctx, linkerMutex) != abi.OK {
		return func() {}
	}
	return func() { s.unlockMutex(linkerMutex) }
}
