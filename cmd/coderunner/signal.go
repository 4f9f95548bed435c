package main

import (
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/term"

	"coderunner/runners"
)

// signalGrace is how long a command may take to end after a signal. Some things
// cannot be cancelled: a file that does not open, a compilation. What they leave
// unfinished nobody trusts, and the next process removes it.
const signalGrace = 3 * time.Second

// signalError is the cause of a context that a signal ended.
type signalError struct{ syscall.Signal }

func (e signalError) Error() string { return e.Signal.String() }

// exitCode is the shell's for a command that the signal ended.
func (e signalError) exitCode() int { return 128 + int(e.Signal) }

// taker, if there is one, is offered each SIGINT and SIGTERM. It reports whether the
// command goes on.
var taker atomic.Pointer[func(syscall.Signal) bool]

// onSignal has f take signals until the end of what the caller does.
func onSignal(f func(syscall.Signal) bool) (restore func()) {
	before := taker.Swap(&f)
	return func() { taker.Store(before) }
}

// firstSignal passes the first signal to a program, which decides what comes of it. The
// next one ends the command, and so does SIGTERM after a while.
type firstSignal struct {
	runners.Signals
	shown []*stream    // where a terminal shows ^C
	sent  atomic.Int32 // the signal, 0: none
}

// take takes a signal for the program, if one runs.
func (f *firstSignal) take(s syscall.Signal) bool {
	if f.sent.Load() != 0 || !f.Send(s) {
		return false
	}
	f.sent.Store(int32(s))
	for _, out := range f.shown {
		out.inLine.Store(s == syscall.SIGINT && atTerminal())
	}
	if s == syscall.SIGTERM {
		time.AfterFunc(signalGrace, func() { raise(s) })
	}
	return true
}

// ended reports whether a program ended by the signal that it was sent.
func (f *firstSignal) ended(out *runners.Outcome) bool {
	return f.sent.Load() != 0 && out.ExitCode == 128+int(f.sent.Load())
}

// wordless reports whether a program that ended so has nothing to say about it: who sent
// the signal knows.
func (f *firstSignal) wordless(out *runners.Outcome) bool {
	return f.ended(out) && out.Error != nil && out.Error.Traceback == ""
}

// atTerminal reports whether a terminal shows what this process has to say.
func atTerminal() bool { return term.IsTerminal(int(os.Stderr.Fd())) }

// interrupted ends this process by the signal of Ctrl-C: only then a shell ends
// its loop or script, too. For the shell, that is exit code 130.
func interrupted() {
	signal.Reset(os.Interrupt)
	raise(syscall.SIGINT)
}
