//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// forbidden are system calls that no program needs and that reach into other
// processes, into the kernel, or around the filter itself.
var forbidden = []uint32{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE,
	unix.SYS_PIDFD_GETFD, unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_KCMP, unix.SYS_TKILL,
	unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_MOUNT_SETATTR,
	unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_FSCONFIG, unix.SYS_FSPICK,
	unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_UNSHARE, unix.SYS_SETNS,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_SYSLOG,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT,
}

// absent are system calls that programs can do without when the kernel answers
// that it does not know them.
var absent = []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER}

// afterStart are system calls that are forbidden to a process that was started
// already. They start programs, leave the process group, make memory that no
// limit counts or that outlives the process, leave notes on files, and slow other
// processes of the same user down.
var afterStart = slices.Concat(forks, []uint32{
	unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_SETPGID, unix.SYS_SETSID,
	unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET, unix.SYS_SHMGET, unix.SYS_MSGGET, unix.SYS_SEMGET, unix.SYS_MQ_OPEN,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
	unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET,
	unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR,
})

// attributes are system calls that change or watch files by their names, wherever they are:
// Landlock knows none of them.
var attributes = slices.Concat(oldAttributes, []uint32{
	unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
	unix.SYS_INOTIFY_ADD_WATCH, unix.SYS_FANOTIFY_INIT,
})

// filterProgram builds the filter. Server is this process. Started is for the
// filter of a process that was started; otherwise a thread of the server will be
// under it, too, for as long as the started process lives.
//
//	arch is ours?  ─no─> kill
//	number         ─────> forbidden: EPERM, absent: ENOSYS
//	number         ─────> socket, without network: EACCES; with loopback: what loopback adds
//	number         ─────> a signal to a thread of ours that is not SIGURG: EPERM
//	number         ─────> limits of another process: EPERM
//	number         ─────> if started: what onlyThreads adds
//	number         ─────> if supervised: what supervise adds
//	number         ─────> if started and of Go only: what onlyGo adds
//	               ─────> allow
func filterProgram(server int, reach reach, started, supervised bool, s Spec) program {
	var p program
	p.load(dataArch)
	p.unless(auditArch, 1)
	p.answer(unix.SECCOMP_RET_KILL_PROCESS)
	p.load(dataNumber)
	if runtime.GOARCH == "amd64" {
		const x32 = 0x4000_0000 // the same calls by other numbers
		p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, Jf: 1, K: x32})
		p.fail(unix.ENOSYS)
	}
	for _, number := range forbidden {
		p.when(number, 1)
		p.fail(unix.EPERM)
	}
	for _, number := range absent {
		p.when(number, 1)
		p.fail(unix.ENOSYS)
	}
	switch reach {
	case nowhere:
		p.when(unix.SYS_SOCKET, 1)
		p.fail(unix.EACCES)
	case itself:
		p.loopback()
	}
	// Landlock takes this thread for one of the confined, so it would let them
	// signal it, and with it the whole process. Go's scheduler sends SIGURG.
	for number, signal := range map[uint32]uint32{unix.SYS_TGKILL: 2, unix.SYS_RT_TGSIGQUEUEINFO: 2} {
		p.when(number, 6)
		p.load(dataArgs)
		p.when(uint32(server), 3)
		p.load(dataArgs + 8*signal)
		p.unless(uint32(unix.SIGURG), 1)
		p.fail(unix.EPERM)
		p.answer(unix.SECCOMP_RET_ALLOW)
	}
	p.when(unix.SYS_PRLIMIT64, 4)
	p.load(dataArgs)
	p.unless(0, 1)
	p.fail(unix.EPERM)
	p.answer(unix.SECCOMP_RET_ALLOW)
	if started {
		p.onlyThreads(s)
	}
	if supervised {
		p.supervise()
	}
	if started && s.OnlyGo {
		p.onlyGo(s)
		return p
	}
	p.answer(unix.SECCOMP_RET_ALLOW)
	return p
}

// onlyThreads adds what a process that was started must not do any more: become two,
// start a program, outlive us, and have memory that no limit counts.
func (p *program) onlyThreads(s Spec) {
	numbers := afterStart
	if !s.Attributes {
		numbers = slices.Concat(numbers, attributes, byDescriptor)
	}
	for _, number := range numbers {
		if s.SharedMemory && number == unix.SYS_MEMFD_CREATE {
			continue
		}
		p.when(number, 1)
		p.fail(unix.EPERM)
	}
	// Its flags are in memory, where a filter cannot look. The C library then
	// takes clone.
	p.when(unix.SYS_CLONE3, 1)
	p.fail(unix.ENOSYS)
	p.when(unix.SYS_CLONE, 4)
	p.load(dataArgs)
	p.any(unix.CLONE_THREAD, 1)
	p.answer(unix.SECCOMP_RET_ALLOW)
	p.fail(unix.EPERM)
	p.when(unix.SYS_PRCTL, 6)
	p.load(dataArgs)
	p.when(unix.PR_SET_PDEATHSIG, 1)
	p.fail(unix.EPERM)
	p.when(unix.PR_SET_MM, 1)
	p.fail(unix.EPERM)
	p.answer(unix.SECCOMP_RET_ALLOW)
	const shared = unix.MAP_SHARED | unix.MAP_ANONYMOUS // counted by no limit
	p.when(unix.SYS_MMAP, 5)
	p.load(dataArgs + 8*3)
	p.mask(shared)
	p.when(shared, 1)
	p.fail(unix.ENOMEM)
	p.answer(unix.SECCOMP_RET_ALLOW)
}

// canFilter reports whether the kernel knows the answers that filters give.
func canFilter() bool {
	answer := uint32(unix.SECCOMP_RET_KILL_PROCESS)
	return seccomp(unix.SECCOMP_GET_ACTION_AVAIL, 0, unsafe.Pointer(&answer)) == nil
}

// filterFlags are those to install a filter with. Without this one kernels
// before 5.16 slow the process down, against side channels that are not
// promised to be closed.
func filterFlags() uintptr {
	const quick = unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW
	if errors.Is(seccomp(unix.SECCOMP_SET_MODE_FILTER, quick, nil), unix.EFAULT) {
		return quick // it looked for the filter, so it knows the flag
	}
	return 0
}

// installFilter puts the thread under a filter.
func installFilter(p program, flags uintptr) error {
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	return seccomp(unix.SECCOMP_SET_MODE_FILTER, flags, unsafe.Pointer(&prog))
}
