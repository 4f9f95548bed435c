package pyodide

import (
	"errors"
	"fmt"
	"sync"

	"github.com/tetratelabs/wazero/api"

	"coderunner/pyodide/emscripten"
	"coderunner/pyodide/linmem"
	"coderunner/pyodide/rewrite"
)

// Signal numbers, as Emscripten has them.
const (
	sigalrm = 14
	sigxcpu = 24
)

var errOutOfRange = errors.New("address out of range")

// signals interrupt the program of one interpreter. They may be sent from any
// goroutine, also when the interpreter is closed: then nothing happens, though
// its instance may be another interpreter's.
type signals struct {
	mu            sync.Mutex
	memory        *linmem.Memory
	number, clock uint32              // addresses
	proc          *emscripten.Process // nil until there is one
	flag          api.MutableGlobal   // under mu; nil before the start and after the end
}

// send asks CPython to run the handler of a signal at its next check, and wakes
// it if it waits for the host. CPython looks at the number when its countdown,
// which stands still otherwise, is 0.
func (s *signals) send(number uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flag == nil {
		return
	}
	s.memory.Store32(s.number, number)
	s.memory.Store32(s.clock, 0)
	s.proc.Interrupt()
}

// interrupt is the time limit's first strike. SIGXCPU says what it is, and
// leaves SIGINT to programs and to asyncio, which look at its handler.
func (s *signals) interrupt() { s.send(sigxcpu) }

// stop makes the next loop header trap. A host function that waits is ended by
// its context.
func (s *signals) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flag != nil {
		s.flag.Set(1)
	}
}

func (s *signals) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flag = nil
}

// startSignals looks up what signals write to.
func (in *instance) startSignals() error {
	number, err := in.rt.symbol("_Py_emscripten_signal_in_memory")
	if err != nil {
		return err
	}
	clock, err := in.rt.symbol("_Py_emscripten_signal_clock")
	if err != nil {
		return err
	}
	flag, err := in.global(rewrite.InterruptGlobal)
	s := in.signals
	s.mu.Lock()
	defer s.mu.Unlock()
	s.memory, s.number, s.clock, s.flag = in.memory, number, clock, flag
	return err
}

func (in *instance) global(name string) (api.MutableGlobal, error) {
	g, ok := in.mod.ExportedGlobal(name).(api.MutableGlobal)
	if !ok {
		return nil, fmt.Errorf("the module has no mutable global %s", name)
	}
	return g, nil
}

func (in *instance) setGlobal(name string, v uint32) error {
	g, err := in.global(name)
	if err != nil {
		return err
	}
	g.Set(uint64(v))
	return nil
}
