package process

import (
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

// BeBatch has the scheduler take this process, and what it starts from then on, for work that
// others wait for (SCHED_BATCH): a thread of it that wakes up runs where a processor is idle or
// when its turn comes, and interrupts nobody. A policy that the user has chosen stays.
func BeBatch() {
	for range 2 { // a thread may have made another meanwhile
		threads, _ := os.ReadDir("/proc/self/task")
		for _, t := range threads {
			id, _ := strconv.Atoi(t.Name())
			if how, err := unix.SchedGetAttr(id, 0); err == nil && how.Policy == unix.SCHED_NORMAL { // else it has ended
				how.Policy = unix.SCHED_BATCH
				_ = unix.SchedSetAttr(id, how, 0)
			}
		}
	}
}

// awaitExit waits for the end of a process without reaping it. It reports whether
// that worked.
func awaitExit(p *os.Process) bool { return awaitEnd(p) || await(p, unix.WEXITED) }

// awaitEnd is awaitExit where the kernel has descriptors of processes, which package os polls.
// A thread that waits in a system call keeps the scheduler's monitor awake, which takes 1 ms of
// the processor from a program of 5 ms.
func awaitEnd(p *os.Process) bool {
	fd, err := unix.PidfdOpen(p.Pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()
	raw, err := f.SyscallConn()
	return err == nil && raw.Read(func(uintptr) bool { return hasExited(p) }) == nil
}

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
func memoryNow(pid int) (m memory, err error) {
	err = memoryStatus(pid, map[string]*int64{"VmHWM": &m.peak, "VmData": &m.data, "RssAnon": &m.anon})
	if err == nil && m.data == 0 {
		err = fmt.Errorf("read the memory of process %d: %w", pid, ErrEnded)
	}
	return m, err
}

// Resident returns the memory that a process has touched and no file has, in bytes, 0 if it
// has ended.
func (p *Process) Resident() int64 {
	var anon, shared int64
	_ = memoryStatus(p.Pid(), map[string]*int64{"RssAnon": &anon, "RssShmem": &shared})
	return anon + shared
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

// memoryStatus reads sizes in /proc/PID/status, in bytes. Those that are not there stay. It
// makes the system calls itself: package os would ask first whether the file can be polled.
func memoryStatus(pid int, sizes map[string]*int64) error {
	text := make([]byte, 4096) // the sizes are in the first part of it
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/status", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		var n int
		n, err = unix.Read(fd, text)
		unix.Close(fd)
		text = text[:max(n, 0)]
	}
	for line := range bytes.Lines(text) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		if size := sizes[string(name)]; size != nil && err == nil {
			*size, err = strconv.ParseInt(strings.TrimSuffix(string(bytes.TrimSpace(value)), " kB"), 10, 64)
			*size <<= 10
		}
	}
	if err != nil {
		return fmt.Errorf("read the memory of process %d: %w", pid, err)
	}
	return nil
}

// PeakMemory returns the peak memory of an ended process, in bytes, 0 if unknown.
// Linux includes the parent's memory at the fork, so the number holds only if it
// is larger than that.
func PeakMemory(state *os.ProcessState) int64 {
	peak := maxRSS(state) << 10
	own, err := memoryNow(os.Getpid())
	if err != nil || peak <= own.peak {
		return 0
	}
	return peak
}

// visible reports whether we may list a process's descriptors.
func visible(pid int) bool {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/fd", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	unix.Close(fd)
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
