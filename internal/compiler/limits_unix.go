//go:build unix

package compiler

import (
	"errors"
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
