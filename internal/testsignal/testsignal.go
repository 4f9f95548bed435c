// Package testsignal starts the child processes of tests with the signals of a
// terminal's. Only tests import it.
package testsignal

import (
	"os"
	"os/signal"
	"syscall"
)

// Default lets processes that this one starts from now on die of the signals that
// it was started to ignore, as by nohup or a script's "&". Ignored signals stay
// ignored behind exec, signals with a handler do not, and Go's runtime installs
// one for each signal but these two, if they are ignored at the start.
func Default() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}
