package pyodide

import (
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero/api"

	"coderunner/pyodide/rewrite"
)

// Signal numbers, as Emscripten has them.
const (
	sigalrm = 14
	sigxcpu = 24
)

var errOutOfRange = errors.New("address out of range")

// signal asks CPython to run the handler of a signal at its next check, and
// wakes it if it waits for the host. It may be called from any goroutine, also
// when the interpreter is closed. CPython looks at the number when its
// countdown, which stands still otherwise, is 0.
func (in *Interp) signal(number uint32) {
	in.stopFlag.Lock()
	defer in.stopFlag.Unlock()
	if in.flag == nil {
		return
	}
	in.memory.Store32(in.signalNumber, number)
	in.memory.Store32(in.signalClock, 0)
	in.proc.Interrupt()
}

// interrupt is the time limit's first strike. SIGXCPU says what it is, and
// leaves SIGINT to programs and to asyncio, which look at its handler.
func (in *Interp) interrupt() { in.signal(sigxcpu) }

// stop makes the next loop header trap. It may be called from any goroutine;
// a host function that waits is ended by its context.
func (in *Interp) stop() {
	in.stopFlag.Lock()
	defer in.stopFlag.Unlock()
	if in.flag != nil {
		in.flag.Set(1)
	}
}

// findSignals looks up what signal and stop write to, so that they need not.
func (in *Interp) findSignals() (err error) {
	if in.signalNumber, err = in.rt.symbol("_Py_emscripten_signal_in_memory"); err != nil {
		return err
	}
	if in.signalClock, err = in.rt.symbol("_Py_emscripten_signal_clock"); err != nil {
		return err
	}
	in.stopFlag.Lock()
	defer in.stopFlag.Unlock()
	in.flag, err = in.global(rewrite.InterruptGlobal)
	return err
}

func (in *Interp) global(name string) (api.MutableGlobal, error) {
	g, ok := in.mod.ExportedGlobal(name).(api.MutableGlobal)
	if !ok {
		return nil, fmt.Errorf("the module has no mutable global %s", name)
	}
	return g, nil
}

func (in *Interp) setGlobal(name string, v uint32) error {
	g, err := in.global(name)
	if err != nil {
		return err
	}
	g.Set(uint64(v))
	return nil
}
