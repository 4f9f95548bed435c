// Command attack is native code in a worker's place. It tries to get out and prints what
// worked, a line each.
package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What the test has set up to be reached: an address of TCP, the name of an abstract socket,
// another worker's process, a file of another one, and files of the cache, which it could not
// find by itself.
var address, abstract, other, file, stored string

func main() {
	all := attempts()
	for name, try := range calls() {
		all[name] = try
	}
	for name, try := range all {
		if err := try(); err == nil {
			fmt.Fprintln(os.Stderr, "worked:", name)
		}
	}
	fmt.Fprintln(os.Stderr, "tried", len(all))
}

func attempts() map[string]func() error {
	server := os.Getppid()
	proc := func(pid int, name string) string { return filepath.Join("/proc", strconv.Itoa(pid), name) }
	read := func(name string) func() error {
		return func() error { _, err := os.ReadFile(name); return err }
	}
	scratch := os.TempDir()
	cache := filepath.Dir(filepath.Dir(filepath.Dir(scratch))) // processes/PROCESS/worker-…/out
	all := map[string]func() error{
		"read a file of the system":     read("/etc/passwd"),
		"list the home":                 func() error { _, err := os.ReadDir(os.Getenv("HOME") + "/"); return err },
		"list the packages of others":   func() error { _, err := os.ReadDir(filepath.Join(cache, "trees", "wheel")); return err },
		"list the snapshots of others":  func() error { _, err := os.ReadDir(filepath.Join(cache, "files", "snapshot")); return err },
		"list the root":                 func() error { _, err := os.ReadDir("/"); return err },
		"list the server's descriptors": func() error { _, err := os.ReadDir(proc(server, "fd")); return err },
		"read the server's environment": read(proc(server, "environ")),
		"read the server's memory":      read(proc(server, "mem")),
		"read the sessions":             func() error { _, err := os.ReadDir(filepath.Join(cache, "sessions")); return err },
		"read others' directories":      func() error { _, err := os.ReadDir(filepath.Join(cache, "processes")); return err },
		"write to the cache":            func() error { return os.WriteFile(filepath.Join(cache, "files", "attack"), nil, 0o600) },
		"write to what it is shown":     func() error { return os.WriteFile(filepath.Join(filepath.Dir(scratch), "in", "attack"), nil, 0o600) },
		"write to shared memory":        func() error { return os.WriteFile("/dev/shm/coderunner-attack", nil, 0o600) },
		"write to the system's /tmp":    func() error { return os.WriteFile("/tmp/coderunner-attack", nil, 0o600) },
		"link a file of the system":     func() error { return os.Link("/etc/passwd", filepath.Join(scratch, "passwd")) },
		"kill the server":               func() error { return syscall.Kill(server, 0) },
		"stop a thread of the server": func() error {
			return errno(syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(server), uintptr(server), uintptr(syscall.SIGSTOP)))
		},
		"trace the server":   func() error { return syscall.PtraceAttach(server) },
		"start a program":    func() error { return exec.Command("/bin/true").Run() },
		"start itself again": func() error { return syscall.Exec("/proc/self/exe", []string{"x"}, nil) },
		"become two": func() error {
			return errno(syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0))
		},
		"connect to the loopback":       func() error { return dial("tcp", address) },
		"connect to an abstract socket": func() error { return dial("unix", abstract) },
		"connect by UDP":                func() error { return dial("udp", "127.0.0.1:53") },
		"listen": func() error {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err == nil {
				l.Close()
			}
			return err
		},
		"connect to a socket of a file": func() error { return dial("unix", "/run/dbus/system_bus_socket") },
		"make a raw socket": func() error {
			return errno(syscall.RawSyscall(syscall.SYS_SOCKET, syscall.AF_PACKET, syscall.SOCK_RAW, 0))
		},
		"make a socket of a new kind": func() error {
			return errno(syscall.RawSyscall(syscall.SYS_SOCKET, syscall.AF_NETLINK, syscall.SOCK_RAW, 0))
		},
		"mount":                   func() error { return syscall.Mount("none", scratch, "tmpfs", 0, "") },
		"enter another namespace": func() error { return syscall.Unshare(syscall.CLONE_NEWUSER) },
		"change the root":         func() error { return syscall.Chroot(scratch) },
		"get more privileges":     func() error { return syscall.Setuid(0x7ffe) },
	}
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if name != "TMPDIR" && name != "GOTRACEBACK" && name != "TZ" {
			all["see the variable "+name] = func() error { return nil }
		}
	}
	for fd := 4; fd < 64; fd++ { // the standard ones, and its socket
		var st syscall.Stat_t
		if syscall.Fstat(fd, &st) == nil && st.Mode&syscall.S_IFMT != 0 { // epoll and eventfd have no type
			what, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
			all["use the descriptor "+strconv.Itoa(fd)+" "+what] = func() error { return nil }
		}
	}
	shown, _ := filepath.Glob(filepath.Join(filepath.Dir(scratch), "in", "*"))
	for _, name := range append(append(strings.Split(stored, ","), shown...), file) { // what other workers map, too
		all["write to "+name] = func() error { return open(name, os.O_WRONLY) }
		all["cut "+name] = func() error { return os.Truncate(name, 1) }
		all["change the mode of "+name] = func() error { return os.Chmod(name, 0o777) }
		all["change the owner of "+name] = func() error { return os.Chown(name, os.Getuid(), os.Getgid()) }
		all["change the times of "+name] = func() error { return unix.UtimesNanoAt(unix.AT_FDCWD, name, make([]unix.Timespec, 2), 0) }
		all["move "+name] = func() error { return os.Rename(name, filepath.Join(scratch, "moved")) }
		all["write to another name of "+name] = func() error {
			link := filepath.Join(scratch, "link")
			_ = os.Link(name, link)
			return open(link, os.O_WRONLY)
		}
	}
	return all
}

func open(name string, how int) error {
	f, err := os.OpenFile(name, how, 0)
	if err == nil {
		f.Close()
	}
	return err
}

// calls are system calls that no worker needs. One that fails for what it was given has
// worked: the filter lets it through.
func calls() map[string]func() error {
	server := uintptr(os.Getppid())
	victim, _ := strconv.Atoi(other)
	path := func(s string) uintptr { b, _ := unix.BytePtrFromString(s); return uintptr(unsafe.Pointer(b)) }
	buffer := make([]byte, 4096)
	b := uintptr(unsafe.Pointer(&buffer[0]))
	vector := uintptr(unsafe.Pointer(&unix.Iovec{Base: &buffer[0], Len: 8}))
	all := map[string]func() error{}
	try := func(name string, number uintptr, args ...uintptr) {
		args = append(args, 0, 0, 0, 0, 0, 0)
		all[name] = func() error {
			_, _, e := syscall.RawSyscall6(number, args[0], args[1], args[2], args[3], args[4], args[5])
			if e == unix.EPERM || e == unix.EACCES || e == unix.ENOSYS {
				return e
			}
			return nil
		}
	}
	for name, pid := range map[string]uintptr{"the server": server, "another worker": uintptr(victim)} {
		try("trace "+name, unix.SYS_PTRACE, unix.PTRACE_SEIZE, pid)
		try("copy memory of "+name, unix.SYS_PROCESS_VM_READV, pid, vector, 1, vector, 1)
		try("change memory of "+name, unix.SYS_PROCESS_VM_WRITEV, pid, vector, 1, vector, 1)
		try("move memory of "+name, unix.SYS_MOVE_PAGES, pid)
		try("signal "+name, unix.SYS_KILL, pid)
		group, _ := unix.Getpgid(int(pid))
		try("signal the group of "+name, unix.SYS_KILL, -uintptr(group))
		try("queue a signal for "+name, unix.SYS_RT_SIGQUEUEINFO, pid, uintptr(unix.SIGTERM), b)
		try("change the limits of "+name, unix.SYS_PRLIMIT64, pid, unix.RLIMIT_CPU, b)
		try("change the priority of "+name, unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, pid, 19)
		try("change the scheduling of "+name, unix.SYS_SCHED_SETATTR, pid, b)
		try("pin "+name+" to a processor", unix.SYS_SCHED_SETAFFINITY, pid, 8, b)
		try("change the input and output of "+name, unix.SYS_IOPRIO_SET, 1, pid, 3<<13)
		try("compare descriptors with "+name, unix.SYS_KCMP, pid, uintptr(os.Getpid()), 2)
		all["read the memory of "+name] = func() error { return open(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR) }
		all["list the descriptors of "+name] = func() error { _, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)); return err }
		all["take a descriptor of "+name] = func() error {
			fd, err := unix.PidfdOpen(int(pid), 0)
			if err == nil {
				_, err = unix.PidfdGetfd(fd, 0, 0)
			}
			return err
		}
	}
	try("wait for page faults", unix.SYS_USERFAULTFD, unix.O_NONBLOCK)
	try("load a program into the kernel", unix.SYS_BPF, 0, b, 128)
	try("count what processors do", unix.SYS_PERF_EVENT_OPEN, b, 0, ^uintptr(0), ^uintptr(0))
	try("use io_uring", unix.SYS_IO_URING_SETUP, 1, b)
	try("use the kernel's keys", unix.SYS_KEYCTL, 0, ^uintptr(2))
	try("add a key", unix.SYS_ADD_KEY, path("user"), path("x"), b, 1, ^uintptr(2))
	try("ask for a key", unix.SYS_REQUEST_KEY, path("user"), path("x"))
	try("mount", unix.SYS_MOUNT, path("none"), path(os.TempDir()), path("tmpfs"))
	try("open a file system", unix.SYS_FSOPEN, path("tmpfs"))
	try("copy a tree of mounts", unix.SYS_OPEN_TREE, ^uintptr(99), path("/"), 1)
	try("move a mount", unix.SYS_MOVE_MOUNT)
	try("unmount", unix.SYS_UMOUNT2, path("/"))
	try("change the root", unix.SYS_PIVOT_ROOT, path("/"), path("/"))
	for name, flag := range map[string]uintptr{
		"users": unix.CLONE_NEWUSER, "mounts": unix.CLONE_NEWNS, "processes": unix.CLONE_NEWPID, "a network": unix.CLONE_NEWNET, "time": unix.CLONE_NEWTIME,
	} {
		try("make a namespace of "+name, unix.SYS_UNSHARE, flag)
		try("become two with a namespace of "+name, unix.SYS_CLONE, flag|uintptr(unix.SIGCHLD))
	}
	try("enter a namespace", unix.SYS_SETNS, 0, unix.CLONE_NEWNET)
	try("become two anew", unix.SYS_CLONE3, b, 88)
	try("start a program from memory", unix.SYS_EXECVEAT, 0, path(""), 0, 0, unix.AT_EMPTY_PATH)
	all["start a program made in memory"] = func() error {
		fd, err := unix.MemfdCreate("attack", 0)
		if err == nil {
			_, err = unix.Write(fd, []byte("#!/bin/true\n"))
		}
		if err == nil {
			err = unix.Exec(fmt.Sprintf("/proc/self/fd/%d", fd), []string{"x"}, nil)
		}
		return err
	}
	for name, pid := range map[string]int{"the server": int(server), "another worker": victim} {
		all["have the kernel signal "+name] = func() error { return signalByPipe(pid) }
	}
	try("be told of who writes a file", unix.SYS_FCNTL, 3, unix.F_SETLEASE, unix.F_RDLCK)
	try("be told of who changes a directory", unix.SYS_FCNTL, 3, unix.F_NOTIFY, 4)
	try("load a module", unix.SYS_FINIT_MODULE, 0, path(""))
	try("load a kernel", unix.SYS_KEXEC_LOAD)
	try("read the kernel's log", unix.SYS_SYSLOG, 3, b, 4096)
	try("set the clock", unix.SYS_CLOCK_SETTIME, 0, b)
	try("open a file by its handle", unix.SYS_OPEN_BY_HANDLE_AT, 0, b, 0)
	try("have memory of System V", unix.SYS_SHMGET, 0, 4096, 0o1600)
	try("have a queue of messages", unix.SYS_MQ_OPEN, path("x"), unix.O_CREAT|unix.O_RDWR, 0o600)
	try("outlive the server", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, 0)
	try("leave its session", unix.SYS_SETSID)
	try("leave a note on a file", unix.SYS_SETXATTR, path(os.TempDir()), path("user.x"), b, 1)
	try("watch a directory", unix.SYS_INOTIFY_ADD_WATCH, 0, path("/"), unix.IN_OPEN)
	try("watch the system", unix.SYS_FANOTIFY_INIT)
	// What nobody has forbidden by name.
	try("make a pair of sockets", unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_STREAM, 0, b)
	try("open a process", unix.SYS_PIDFD_OPEN, server)
	try("have another personality", unix.SYS_PERSONALITY, 0)
	try("lay pages out anew", unix.SYS_REMAP_FILE_PAGES, b)
	try("move pages between nodes", unix.SYS_MBIND, b)
	try("have keys of pages", unix.SYS_PKEY_ALLOC)
	try("give pages to a pipe", unix.SYS_VMSPLICE, 1)
	try("have a timer that is a file", unix.SYS_TIMERFD_CREATE, unix.CLOCK_MONOTONIC)
	try("have signals that are a file", unix.SYS_SIGNALFD4, ^uintptr(0), b, 8)
	try("have a ring of input and output", unix.SYS_IO_SETUP, 1, b)
	try("list mounts", unix.SYS_LISTMOUNT, b)
	try("confine itself", unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	try("filter its system calls", unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, b)
	try("write all files to the disk", unix.SYS_SYNC)
	try("read a note of a file", unix.SYS_GETXATTR, path(os.TempDir()), path("user.x"), b, 1)
	try("use a call that no kernel has yet", 4000)
	return all
}

// signalByPipe has a pipe's owner get SIGUSR1 when something is written.
func signalByPipe(pid int) error {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_ASYNC|unix.O_NONBLOCK); err != nil {
		return err
	}
	for _, set := range [][2]int{{unix.F_SETOWN, pid}, {unix.F_SETSIG, int(unix.SIGUSR1)}} {
		if _, err := unix.FcntlInt(uintptr(p[0]), set[0], set[1]); err != nil {
			return err
		}
	}
	_, err := unix.Write(p[1], []byte("x"))
	return err
}

func dial(network, address string) error {
	c, err := net.Dial(network, address)
	if err == nil {
		c.Close()
	}
	return err
}

func errno(_, _ uintptr, e syscall.Errno) error {
	if e != 0 {
		return e
	}
	return nil
}
