//go:build !linux

package process

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"time"
)

// dieWithParent does nothing: only Linux can do that.
func dieWithParent(*syscall.SysProcAttr) {}

// setTraced does nothing: processes are traced on Linux only.
func setTraced(*syscall.SysProcAttr, bool) {}

// BeBatch does nothing: only Linux has such a policy.
func BeBatch() {}

// awaitExit reports false: only Linux can wait without reaping in a simple way.
func awaitExit(*os.Process) bool { return false }

// awaitStop does not wait: only Linux can without reaping.
func awaitStop(*os.Process) {}

// hasExited reports false: it cannot be known without waiting.
func hasExited(*os.Process) bool { return false }

// used is not known here before the process ends.
func used(int) (time.Duration, error) { return 0, errors.ErrUnsupported }

// memoryNow is not known here before the process ends.
func memoryNow(int) (memory, error) { return memory{}, errors.ErrUnsupported }

// Resident is not known here.
func (*Process) Resident() int64 { return 0 }

// Threads is not known here.
func (*Process) Threads() int { return 0 }

// Bound does nothing.
func (*Process) Bound() {}

// setLimits and setData do nothing.
func setLimits(int, uint64, uint64) error { return nil }
func setData(int, uint64, uint64) error   { return nil }

// threads is not known here.
func threads(int) (int, error) { return 0, errors.ErrUnsupported }

// visible reports whether we may list a process's descriptors.
func visible(int) bool { return false }

// PeakMemory returns the peak memory of an ended process, in bytes.
func PeakMemory(state *os.ProcessState) int64 {
	if runtime.GOOS == "darwin" {
		return maxRSS(state)
	}
	return maxRSS(state) << 10
}

// Narrow is not possible here, so that nobody may use Drained.
func (Input) Narrow() error { return errors.ErrUnsupported }

// Drained reports false: it cannot be known.
func (Input) Drained() bool { return false }

// Unread is not known here.
func (Input) Unread() int { return 0 }
