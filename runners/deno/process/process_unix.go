//go:build unix && !linux

package process

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
)

// ownGroup makes a process the first of a group of its own. It does not die
// with us: only Linux can do that.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// setTraced does nothing: nobody asks for it here.
func setTraced(*syscall.SysProcAttr, bool) {}

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

// awaitExit would wait without reaping, which only Linux can do simply.
func awaitExit(*os.Process) bool { return false }

// peakMemory is the most memory that an ended process had at a time, in
// bytes.
func peakMemory(state *os.ProcessState) int64 {
	if state == nil {
		return 0
	}
	usage, ok := state.SysUsage().(*syscall.Rusage)
	switch {
	case !ok:
		return 0
	case runtime.GOOS == "darwin" || runtime.GOOS == "ios":
		return int64(usage.Maxrss)
	}
	return int64(usage.Maxrss) << 10
}

// hasExited cannot be known without waiting.
func hasExited(*os.Process) bool { return false }

// used is not known here before the end.
func used(int) (time.Duration, error) { return 0, errors.ErrUnsupported }

// memoryNow is not known here before the end.
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
