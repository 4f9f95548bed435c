package pyodide

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero/api"

	"coderunner/internal/machine/kernel"
	"coderunner/pyodide/emscripten"
	"coderunner/pyodide/linmem"
)

// Signal numbers, as Emscripten has them.
const (
	sigint  = 2
	sigpipe = 13
	sigxcpu = 24
	sigxfsz = 25
)

// timerSignals are SIGALRM, SIGVTALRM and SIGPROF, by the timer's number.
var timerSignals = [...]uint32{14, 26, 27}

// signals interrupts the program of one interpreter. It may be used from any
// goroutine, even after the interpreter is closed: then nothing happens, though
// its instance may belong to another one.
type signals struct {
	mu            sync.Mutex
	memory        *linmem.Memory
	number, clock uint32                // addresses
	proc          *emscripten.Process   // nil until there is one
	flag          api.MutableGlobal     // under mu; nil before the start and after the end
	struck        atomic.Bool           // interrupt was called
	first         func()                // lets the main thread, which handles signals, run next; nil: it is alone
	actions       [maxSignal + 1]action // under mu; of signals from other processes
}

// action is what a program does about a signal.
type action uint8

const (
	defaultAction action = iota // what kernel does
	ignored
	handled
)

const maxSignal = 64

// retry is how long a signal waits for the one before it to be seen.
const retry = time.Millisecond

// act notes what the program does about a signal.
func (s *signals) act(number int, a action) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.actions[number] = a
}

// receive takes a signal that a process sent, unless its default action has to
// follow.
func (s *signals) receive(number kernel.Signal) (taken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if number == 0 || number > maxSignal || s.flag == nil {
		return false
	}
	switch s.actions[number] {
	case ignored:
		return true
	case handled:
		s.queueLocked(uint32(number))
		return true
	}
	return false
}

// queueLocked sends a signal once the guest has seen the one before: there is room
// for one.
func (s *signals) queueLocked(number uint32) {
	if s.flag == nil || s.struck.Load() {
		return
	}
	if pending := s.memory.Load32(s.number); pending != 0 && pending != number {
		s.proc.Interrupt()
		time.AfterFunc(retry, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.queueLocked(number)
		})
		return
	}
	s.sendLocked(number)
}

// send asks CPython to run the handler of a signal at its next check, and wakes
// it if it waits for the host. CPython looks at the number when its countdown,
// which stands still otherwise, is 0.
func (s *signals) send(number uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sendLocked(number)
}

func (s *signals) sendLocked(number uint32) {
	if s.flag == nil {
		return
	}
	s.memory.Store32(s.number, number)
	s.memory.Store32(s.clock, 0)
	s.proc.Interrupt()
	if s.first != nil {
		s.first()
	}
}

// interrupt is the time limit's first strike. It is SIGXCPU because programs and
// asyncio look at SIGINT's handler. No alarm comes after it: there is room for
// one signal.
func (s *signals) interrupt() {
	s.struck.Store(true)
	s.send(sigxcpu)
}

// alarm sends the signal of a timer.
func (s *signals) alarm(number uint32) {
	if !s.struck.Load() {
		s.send(number)
	}
}

// stop makes the next loop header trap. A host function that waits is ended by
// its context.
func (s *signals) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flag != nil {
		s.flag.Set(1)
	}
}

// SignalPending returns a function that reports whether the program has a signal that
// it has not looked at. It may be called after the interpreter is closed.
func (in *Interp) SignalPending() func() bool {
	s := in.signals
	return func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.flag != nil && s.memory.Load32(s.number) != 0
	}
}

func (s *signals) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flag, s.first = nil, nil
}

func (s *signals) setFirst(first func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first = first
}

// start sets the addresses and the global that signals write to.
func (s *signals) start(memory *linmem.Memory, number, clock uint32, flag api.MutableGlobal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.memory, s.number, s.clock, s.flag = memory, number, clock, flag
	s.actions = [...]action{sigint: handled, sigpipe: ignored, sigxfsz: ignored, sigxcpu: handled, maxSignal: defaultAction}
}

// place is where the soft interrupt struck, as the guest reports it. A program that
// catches the interrupt has no other traceback.
type place struct {
	Line      int
	Traceback string
}

// maxPlace bounds a place in bytes.
const maxPlace = 64 << 10

func callInterrupted(_ context.Context, in *instance, p place, _ []byte) (any, error) {
	if in.signals.struck.Load() {
		in.interrupted = p
		in.deadline.sawStrike()
	}
	return nil, nil
}

// showPlace has the result of a program that the time limit ended say where it was.
func (in *instance) showPlace(res *Result) {
	at := in.interrupted
	if res.Exception != nil || at.Traceback == "" || at.Line < 0 || res.Ended != Interrupted && res.Ended != Stopped {
		return
	}
	res.Exception = &Exception{Type: "KeyboardInterrupt", Traceback: at.Traceback, Line: at.Line}
}
