//go:build unix

package runnertest

import (
	"syscall"
	"testing"
	"time"
)

// ProcessorTime returns what this process has used.
func ProcessorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
