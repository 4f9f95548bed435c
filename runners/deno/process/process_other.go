//go:build !unix

package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// ownGroup: there are no process groups here.
func ownGroup() *syscall.SysProcAttr { return nil }

// setTraced does nothing: nobody asks for it here.
func setTraced(*syscall.SysProcAttr, bool) {}

func killGroup(p *os.Process) { _ = p.Kill() }

// awaitExit would wait without reaping, which only Linux can do simply.
func awaitExit(*os.Process) bool { return false }

// peakMemory is not known here.
func peakMemory(*os.ProcessState) int64 { return 0 }

// readNow is never needed: pipes have no deadlines here.
func readNow(*os.File, []byte) (int, error) { return 0, io.EOF }

// MakePipe makes a file: there are no pipes with names here.
func MakePipe(name string) (*Output, error) {
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		return nil, fmt.Errorf("make a file: %w", err)
	}
	return nil, nil
}

// hasExited cannot be known without waiting.
func hasExited(*os.Process) bool { return false }

// used is not known here.
func used(int) (time.Duration, error) { return 0, nil }

// memoryNow is not known here before the end.
func memoryNow(int) (peak, data int64, err error) { return 0, 0, errors.ErrUnsupported }

// groupLives: there are no process groups here.
func groupLives(*os.Process) bool { return false }

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
