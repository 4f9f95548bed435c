package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// interrupt, if there is one, is called at Ctrl-C in place of the end of the command.
var interrupt atomic.Pointer[context.CancelFunc]

// onInterrupt has Ctrl-C call f until the end of what the caller does.
func onInterrupt(f context.CancelFunc) (restore func()) {
	before := interrupt.Swap(&f)
	return func() { interrupt.Store(before) }
}

// interrupted ends this process by the signal of Ctrl-C: only then a shell ends
// its loop or script, too. For the shell, that is exit code 130.
func interrupted() {
	fmt.Fprintln(os.Stderr) // the terminal shows ^C, and then a prompt
	signal.Reset(os.Interrupt)
	raise(syscall.SIGINT)
}
