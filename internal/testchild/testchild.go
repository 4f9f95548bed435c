// Package testchild starts the child processes of tests as a login would, however the tests
// themselves were started. Only tests import it.
package testchild

import (
	"os"
	"os/signal"
	"syscall"
)

// Ordinary gives the processes that this one starts from now on the usual umask,
// and lets them die of the signals that this one was started to ignore, as by
// nohup or a script's "&": ignored signals stay ignored behind exec, signals with
// a handler do not, and Go's runtime installs one for each but these two, if they
// are ignored at the start.
func Ordinary() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	setUmask(0o022)
}
