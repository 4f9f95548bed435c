//go:build linux && (amd64 || arm64)

package sandbox

import (
	"slices"

	"golang.org/x/sys/unix"
)

// ofGo are the system calls that a Go program without cgo needs for its memory, threads, files
// and the sockets that it was given. Those that the filter looks at more closely (clone, fcntl, mmap,
// prctl, prlimit64, tgkill) are not here.
var ofGo = slices.Concat(oldOfGo, []uint32{
	// The runtime.
	unix.SYS_FUTEX, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES, unix.SYS_GETTIMEOFDAY,
	unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2, unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EVENTFD2, unix.SYS_PIPE2, unix.SYS_PPOLL,
	unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MADVISE, unix.SYS_MINCORE, unix.SYS_MREMAP, unix.SYS_MSYNC, unix.SYS_BRK, unix.SYS_MEMFD_CREATE,
	unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_GETCPU, unix.SYS_MEMBARRIER, unix.SYS_RSEQ, unix.SYS_SET_TID_ADDRESS, unix.SYS_SET_ROBUST_LIST,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL, unix.SYS_KILL,
	unix.SYS_SETITIMER, unix.SYS_TIMER_CREATE, unix.SYS_TIMER_SETTIME, unix.SYS_TIMER_DELETE,
	unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_GETRANDOM, unix.SYS_UNAME, unix.SYS_SYSINFO, unix.SYS_GETRUSAGE, unix.SYS_TIMES, unix.SYS_UMASK,
	unix.SYS_GETPID, unix.SYS_GETPPID, unix.SYS_GETTID, unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID, unix.SYS_GETEGID, unix.SYS_GETGROUPS, unix.SYS_GETPGID,
	// Open files.
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_PREAD64, unix.SYS_PWRITE64, unix.SYS_PREADV, unix.SYS_PWRITEV,
	unix.SYS_LSEEK, unix.SYS_CLOSE, unix.SYS_CLOSE_RANGE, unix.SYS_DUP, unix.SYS_DUP3, unix.SYS_FLOCK,
	unix.SYS_FSTAT, unix.SYS_NEWFSTATAT, unix.SYS_FSTATFS, unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_FTRUNCATE, unix.SYS_FALLOCATE, unix.SYS_FADVISE64,
	unix.SYS_SENDFILE, unix.SYS_SPLICE, unix.SYS_COPY_FILE_RANGE, unix.SYS_GETDENTS64, unix.SYS_FCHDIR,
	// Names of files, which Landlock judges.
	unix.SYS_OPENAT, unix.SYS_OPENAT2, unix.SYS_STATX, unix.SYS_FACCESSAT, unix.SYS_FACCESSAT2, unix.SYS_READLINKAT, unix.SYS_STATFS,
	unix.SYS_GETCWD, unix.SYS_CHDIR, unix.SYS_MKDIRAT, unix.SYS_UNLINKAT, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_LINKAT, unix.SYS_SYMLINKAT, unix.SYS_TRUNCATE,
	// Sockets that it has.
	unix.SYS_SENDMSG, unix.SYS_RECVMSG, unix.SYS_SENDTO, unix.SYS_RECVFROM, unix.SYS_SHUTDOWN, unix.SYS_GETSOCKNAME, unix.SYS_GETPEERNAME, unix.SYS_GETSOCKOPT,
})

// byDescriptor change the mode and the owner of an open file, which may be one to read.
var byDescriptor = []uint32{unix.SYS_FCHMOD, unix.SYS_FCHOWN}

// ofFcntl are the commands of fcntl that only concern the descriptor and its own file. Others have
// the kernel signal processes, or tell of what others do with files.
var ofFcntl = []uint32{
	unix.F_DUPFD, unix.F_DUPFD_CLOEXEC, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL, unix.F_SETFL,
	unix.F_GETPIPE_SZ, unix.F_SETPIPE_SZ, unix.F_ADD_SEALS, unix.F_GET_SEALS,
}

// pagemapScan is PAGEMAP_SCAN, by which the pages are found that a program has written.
const pagemapScan = 0xc0606610

// onlyGo adds that what nothing before has answered must be among the system calls of a Go
// program. Others fail as those that a kernel does not know.
func (p *program) onlyGo(s Spec) {
	numbers := ofGo
	if s.Attributes {
		numbers = slices.Concat(numbers, attributes, byDescriptor, []uint32{unix.SYS_MKNODAT})
	}
	for _, number := range numbers {
		p.when(number, 1)
		p.answer(unix.SECCOMP_RET_ALLOW)
	}
	p.when(unix.SYS_FCNTL, uint8(2+2*len(ofFcntl)))
	p.load(dataArgs + 8)
	for _, command := range ofFcntl {
		p.when(command, 1)
		p.answer(unix.SECCOMP_RET_ALLOW)
	}
	p.fail(unix.EPERM)
	p.when(unix.SYS_IOCTL, 4)
	p.load(dataArgs + 8)
	p.when(pagemapScan, 1)
	p.answer(unix.SECCOMP_RET_ALLOW)
	p.fail(unix.ENOTTY)
	p.fail(unix.ENOSYS)
}
