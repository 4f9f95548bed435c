package runners

import (
	"sync"
	"syscall"
)

// Signals passes signals of the host, such as that of Ctrl-C, to the program of a
// request while it runs. SIGINT is for its process group, as from a terminal, and any
// other for its main process. A nil *Signals passes none.
type Signals struct {
	mu   sync.Mutex
	send func(syscall.Signal) // nil: no program runs
}

// Send sends a signal to the program. It reports whether one runs.
func (s *Signals) Send(n syscall.Signal) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.send == nil {
		return false
	}
	s.send(n)
	return true
}

// Pass has signals passed by send, which must not wait, until stop is called.
func (s *Signals) Pass(send func(syscall.Signal)) (stop func()) {
	if s == nil {
		return func() {}
	}
	set := func(f func(syscall.Signal)) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.send = f
	}
	set(send)
	return func() { set(nil) }
}
