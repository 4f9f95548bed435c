//go:build unix && !linux

package process

import (
	"os"
	"runtime"
	"syscall"
)

// ownGroup starts a process as the leader of its own process group. It does not
// die with its parent: only Linux can do that.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

// peakMemory returns the peak memory of an ended process, in bytes.
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
