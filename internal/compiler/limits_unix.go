//go:build unix

package compiler

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// limit has the kernel end this process when it takes more memory or processor
// time.
func limit(memory int64, t time.Duration) error {
	set := func(what int, n uint64) error {
		return unix.Setrlimit(what, &unix.Rlimit{Cur: n, Max: n})
	}
	return errors.Join(
		set(unix.RLIMIT_DATA, uint64(memory)),
		set(unix.RLIMIT_CPU, uint64(t/time.Second)),
		set(unix.RLIMIT_CORE, 0))
}

// polled returns stdin so that who reads it waits in Go's poller. A thread that waits in a system
// call keeps its processor from other goroutines until the scheduler notices.
func polled(stdin io.Reader) io.Reader {
	f, ok := stdin.(*os.File)
	if !ok {
		return stdin
	}
	fd := int(f.Fd())
	if err := unix.SetNonblock(fd, true); err != nil {
		return stdin
	}
	return os.NewFile(uintptr(fd), f.Name())
}
