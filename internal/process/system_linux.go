package process

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// dieWithParent has a process killed when the thread that started it ends.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// setTraced makes a process stop before its first instruction.
func setTraced(attr *syscall.SysProcAttr, traced bool) { attr.Ptrace = traced }

// awaitExit waits for the end of a process without reaping it. It reports whether
// that worked.
func awaitExit(p *os.Process) bool { return await(p, unix.WEXITED) }

// awaitStop waits until a process is stopped or has ended.
func awaitStop(p *os.Process) { await(p, unix.WSTOPPED|unix.WEXITED) }

// await waits until a process is what the options name, without reaping it.
func await(p *os.Process, options int) bool {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_PID, p.Pid, &info, options|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}

// hasExited reports whether a process that is not reaped has ended.
func hasExited(p *os.Process) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, p.Pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	return err != nil && !errors.Is(err, unix.EINTR) || info.Signo != 0
}

// used returns the processor time of a process. Source:
// clock_getcpuclockid(3), whose clock for a process is ~PID<<3|2.
func used(pid int) (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|2), &t); err != nil {
		return 0, fmt.Errorf("read the clock of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// memoryNow returns the memory of a living process.
func memoryNow(pid int) (memory, error) {
	status, err := memoryStatus(pid)
	return memory{status["VmHWM"], status["VmData"], status["RssAnon"]}, err
}

// Resident returns the memory that a process has touched and no file has, in bytes, 0 if it
// has ended.
func (p *Process) Resident() int64 {
	status, _ := memoryStatus(p.Pid())
	return status["RssAnon"] + status["RssShmem"]
}

// Threads returns how many threads a process has, 0 if it has ended.
func (p *Process) Threads() int {
	n, _ := threads(p.Pid())
	return n
}

// Bound limits the files of a process, and forbids core dumps.
func (p *Process) Bound() { _ = setLimits(p.Pid(), unix.RLIM_INFINITY, unix.RLIM_INFINITY) } // it may have ended

// threads returns the number of threads of a process. Source: proc_task_getattr in the
// kernel's fs/proc/base.c, which counts them as directories.
func threads(pid int) (int, error) {
	var st unix.Stat_t
	if err := unix.Stat("/proc/"+strconv.Itoa(pid)+"/task", &st); err != nil {
		return 0, fmt.Errorf("count the threads of process %d: %w", pid, err)
	}
	return int(st.Nlink) - 2, nil
}

// setLimits sets the resource limits of a process, with data bytes of RLIMIT_DATA,
// which setData may raise to most.
func setLimits(pid int, data, most uint64) error {
	if err := setData(pid, data, most); err != nil {
		return err
	}
	for resource, limit := range map[int]unix.Rlimit{
		unix.RLIMIT_CORE:     {},
		unix.RLIMIT_FSIZE:    {Cur: maxFileSize, Max: maxFileSize},
		unix.RLIMIT_NOFILE:   {Cur: maxOpenFiles, Max: maxOpenFiles},
		unix.RLIMIT_MSGQUEUE: {},
	} {
		if err := setLimit(pid, resource, limit); err != nil {
			return err
		}
	}
	return nil
}

// setData sets RLIMIT_DATA, which it may raise to most later.
func setData(pid int, data, most uint64) error {
	return setLimit(pid, unix.RLIMIT_DATA, unix.Rlimit{Cur: data, Max: most})
}

// setLimit sets a resource limit of a process, at most to its hard limit.
func setLimit(pid, resource int, limit unix.Rlimit) error {
	var old unix.Rlimit
	err := unix.Prlimit(pid, resource, nil, &old)
	if err == nil {
		limit.Cur, limit.Max = min(limit.Cur, old.Max), min(limit.Max, old.Max)
		err = unix.Prlimit(pid, resource, &limit, nil)
	}
	if err != nil {
		return fmt.Errorf("set limit %d of process %d: %w", resource, pid, err)
	}
	return nil
}

// memoryStatus reads the sizes in /proc/PID/status, in bytes.
func memoryStatus(pid int) (map[string]int64, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return nil, fmt.Errorf("read the memory of process %d: %w", pid, err)
	}
	sizes := map[string]int64{}
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		if kb, ok := strings.CutSuffix(strings.TrimSpace(value), " kB"); ok {
			n, err := strconv.ParseInt(kb, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("read the memory of process %d: %w", pid, err)
			}
			sizes[name] = n << 10
		}
	}
	if sizes["VmData"] == 0 {
		return nil, fmt.Errorf("read the memory of process %d: %w", pid, ErrEnded)
	}
	return sizes, nil
}

// PeakMemory returns the peak memory of an ended process, in bytes, 0 if unknown.
// Linux includes the parent's memory at the fork, so the number holds only if it
// is larger than that.
func PeakMemory(state *os.ProcessState) int64 {
	peak := maxRSS(state) << 10
	own, err := memoryStatus(os.Getpid())
	if err != nil || peak <= own["VmHWM"] {
		return 0
	}
	return peak
}

// visible reports whether we may list a process's descriptors.
func visible(pid int) bool {
	f, err := os.Open(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// Narrow makes an empty pipe hold one page, and Drained tell when that has been
// read.
func (in Input) Narrow() error {
	raw, err := in.SyscallConn()
	if err != nil {
		return err
	}
	var set error
	err = raw.Control(func(fd uintptr) { _, set = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, Page) })
	return errors.Join(err, set)
}

// Drained waits until the process has read all of it, and reports false
// when that is closed instead. A pipe of one page can be written to again when
// it is empty, which is what wakes us.
func (in Input) Drained() bool {
	raw, err := in.SyscallConn()
	return err == nil && raw.Write(func(fd uintptr) bool {
		n, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
		return err != nil || n == 0
	}) == nil
}

// Unread returns how many bytes the process has not read.
func (in Input) Unread() (n int) {
	if raw, err := in.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	}
	return n
}
