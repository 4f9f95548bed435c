//go:build !linux

package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// setTraced does nothing: processes are traced on Linux only.
func setTraced(*syscall.SysProcAttr, bool) {}

// awaitExit reports false: only Linux can wait without reaping in a simple way.
func awaitExit(*os.Process) bool { return false }

// hasExited reports false: it cannot be known without waiting.
func hasExited(*os.Process) bool { return false }

// used is not known here before the process ends.
func used(int) (time.Duration, error) { return 0, errors.ErrUnsupported }

// memoryNow is not known here before the process ends.
func memoryNow(int) (peak, data int64, err error) { return 0, 0, errors.ErrUnsupported }

// setLimits does nothing.
func setLimits(int, uint64) error { return nil }

// threads is not known here.
func threads(int) (int, error) { return 0, errors.ErrUnsupported }

// Limits describes how processes are limited, a short sentence each.
func Limits() []string {
	return []string{
		"memory: V8's heap, to the limit of the run",
		fmt.Sprintf("files: %d MiB and %d of them in the run's directory, counted every %v", maxDiskBytes>>20, maxDiskFiles, diskEvery*watchInterval),
	}
}
