//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attempts are what the child tries. Each gives an error if it did not work.
var attempts = []struct {
	name string
	may  string // "yes", "no", "network" or "loopback": when it is to work
	try  func(p place) error
}{
	{"write in the directory", "yes", func(p place) error { return os.WriteFile(p.Dir+"/a", []byte("a"), 0o600) }},
	{"make a directory", "yes", func(p place) error { return os.Mkdir(p.Dir+"/d", 0o700) }},
	{"move in the directory", "yes", func(p place) error { return os.Rename(p.Dir+"/a", p.Dir+"/d/a") }},
	{"write to /dev/null", "yes", func(p place) error { return os.WriteFile("/dev/null", []byte("a"), 0) }},
	{"read /dev/urandom", "yes", func(p place) error { return open("/dev/urandom", unix.O_RDONLY) }},
	{"signal itself", "yes", func(p place) error { return unix.Kill(os.Getpid(), 0) }},
	{"signal a thread of its own", "yes", func(p place) error { return unix.Tgkill(os.Getpid(), os.Getpid(), 0) }},
	{"read a file", "no", func(p place) error { return open(p.Secret, unix.O_RDONLY) }},
	{"write a file", "no", func(p place) error { return open(p.Secret, unix.O_WRONLY) }},
	{"append to a file", "no", func(p place) error { return open(p.Secret, unix.O_WRONLY|unix.O_APPEND) }},
	{"cut a file", "no", func(p place) error { return os.Truncate(p.Secret, 0) }},
	{"remove a file", "no", func(p place) error { return os.Remove(p.Secret) }},
	{"make a file elsewhere", "no", func(p place) error { return os.WriteFile(p.Secret+".new", nil, 0o600) }},
	{"move a file in", "no", func(p place) error { return os.Rename(p.Secret, p.Dir+"/s") }},
	{"link a file in", "no", func(p place) error { return os.Link(p.Secret, p.Dir+"/s") }},
	{"read through a link", "no", func(p place) error {
		if err := os.Symlink(p.Secret, p.Dir+"/link"); err != nil {
			return err
		}
		return open(p.Dir+"/link", unix.O_RDONLY)
	}},
	{"list the root", "no", func(p place) error { return open("/", unix.O_RDONLY|unix.O_DIRECTORY) }},
	{"read users", "no", func(p place) error { return open("/etc/passwd", unix.O_RDONLY) }},
	{"read its environment", "no", func(p place) error { return open("/proc/self/environ", unix.O_RDONLY) }},
	{"read our environment", "no", func(p place) error { return open(proc(p.Server, "environ"), unix.O_RDONLY) }},
	{"read our memory", "no", func(p place) error { return open(proc(p.Server, "mem"), unix.O_RDWR) }},
	{"read our thread's memory", "no", func(p place) error { return open(proc(p.TID, "mem"), unix.O_RDWR) }},
	{"write to our stdout", "no", func(p place) error { return open(proc(p.Server, "fd/1"), unix.O_WRONLY) }},
	{"make a device", "no", func(p place) error { return unix.Mknod(p.Dir+"/dev", unix.S_IFCHR|0o600, 0x103) }},
	{"start a program", "no", func(p place) error { return exec.Command("/bin/true").Run() }},
	{"start a program of its own", "no", func(p place) error {
		if err := os.WriteFile(p.Dir+"/x", []byte("#!/bin/sh\n"), 0o700); err != nil {
			return err
		}
		return exec.Command(p.Dir + "/x").Run()
	}},
	{"signal us", "no", func(p place) error { return unix.Kill(p.Server, 0) }},
	{"signal our thread", "no", func(p place) error { return unix.Tgkill(p.Server, p.TID, 0) }},
	{"signal a thread", "no", func(p place) error { return number(unix.SYS_TKILL, uintptr(p.TID), 0) }},
	{"signal everybody", "no", func(p place) error { return unix.Kill(-p.Server, 0) }},
	{"trace us", "no", func(p place) error { return unix.PtraceAttach(p.Server) }},
	{"trace our thread", "no", func(p place) error { return unix.PtraceAttach(p.TID) }},
	{"copy our memory", "no", func(p place) error {
		var b byte
		v := []unix.Iovec{{Base: &b, Len: 1}}
		_, err := unix.ProcessVMReadv(p.TID, v, []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&b)), Len: 1}}, 0)
		return err
	}},
	{"take our descriptor", "no", func(p place) error {
		fd, err := unix.PidfdOpen(p.Server, 0)
		if err != nil {
			return err
		}
		_, err = unix.PidfdGetfd(fd, 1, 0)
		return err
	}},
	{"change our limits", "no", func(p place) error {
		return unix.Prlimit(p.Server, unix.RLIMIT_NOFILE, nil, &unix.Rlimit{})
	}},
	{"raise its own limits", "no", func(p place) error {
		if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 0, Max: 0}); err != nil {
			return nil
		}
		return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1})
	}},
	{"start a thread", "yes", func(p place) error {
		done := make(chan bool)
		go func() {
			runtime.LockOSThread() // and never unlocked, so it ends
			close(done)
		}()
		<-done
		return nil
	}},
	{"have memory of its own", "yes", func(p place) error { return mapping(unix.MAP_PRIVATE | unix.MAP_ANON) }},
	{"have memory to share", "no", func(p place) error { return mapping(unix.MAP_SHARED | unix.MAP_ANON) }},
	{"have a file in memory", "no", func(p place) error {
		fd, err := unix.MemfdCreate("x", 0)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}},
	{"have memory that stays", "no", func(p place) error {
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, 0o600)
		if err == nil {
			_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		}
		return err
	}},
	{"fork", "no", func(p place) error { return fork(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0) }},
	{"fork without a parent", "no", func(p place) error { return fork(unix.SYS_CLONE, uintptr(unix.SIGCHLD)|unix.CLONE_PARENT, 0) }},
	{"fork by another name", "no", func(p place) error {
		if runtime.GOARCH != "amd64" {
			return unix.ENOSYS
		}
		return fork(57, 0, 0)
	}},
	{"fork by the newest name", "no", func(p place) error {
		args := struct{ flags, pidfd, tid, parent, exit, stack, size, tls uint64 }{exit: uint64(unix.SIGCHLD)}
		return fork(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args))
	}},
	{"become a program", "no", func(p place) error { return unix.Exec(p.Self, []string{"x", "-test.run=^$"}, nil) }},
	{"become a file", "no", func(p place) error {
		fd, err := unix.Open(p.Self, unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		empty, argv := []byte{0}, []*byte{nil}
		_, _, errno := unix.Syscall6(unix.SYS_EXECVEAT, uintptr(fd), uintptr(unsafe.Pointer(&empty[0])), uintptr(unsafe.Pointer(&argv[0])), 0, unix.AT_EMPTY_PATH, 0)
		return errno
	}},
	{"leave a note on a file", "no", func(p place) error { return unix.Setxattr(p.Dir, "user.note", []byte("x"), 0) }},
	{"leave the group", "no", func(p place) error { return unix.Setpgid(0, p.Group) }},
	{"leave the session", "no", func(p place) error {
		_, err := unix.Setsid()
		return err
	}},
	{"outlive us", "no", func(p place) error { return unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0) }},
	{"name itself", "yes", func(p place) error {
		name := []byte("test\x00")
		return unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&name[0])), 0, 0, 0)
	}},
	{"have namespaces", "no", func(p place) error { return unix.Unshare(unix.CLONE_NEWUSER) }},
	{"mount", "no", func(p place) error { return unix.Mount("none", p.Dir, "tmpfs", 0, "") }},
	{"set up a ring", "no", func(p place) error {
		var params [120]byte
		return number(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)))
	}},
	{"connect", "network", func(p place) error {
		c, err := net.Dial("tcp", p.Addr)
		if err == nil {
			c.Close()
		}
		return err
	}},
	{"listen", "loopback", func(p place) error {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err == nil {
			l.Close()
		}
		return err
	}},
	{"make a UDP socket", "loopback", func(p place) error { return socket(unix.AF_INET, unix.SOCK_DGRAM) }},
	{"make a socket of IPv6 or IPv4", "loopback", func(p place) error {
		if !p.IPv6 {
			return socket(unix.AF_INET, unix.SOCK_STREAM)
		}
		return socket(unix.AF_INET6, unix.SOCK_STREAM)
	}},
	{"make a Unix socket", "network", func(p place) error { return socket(unix.AF_UNIX, unix.SOCK_STREAM) }},
	{"reach itself", "loopback", func(p place) error {
		l, err := net.Listen("tcp", ":0")
		if err != nil {
			return err
		}
		defer l.Close()
		for _, host := range []string{"127.0.0.1", "::1", "localhost"} {
			if host == "::1" && !p.IPv6 {
				continue
			}
			c, err := net.Dial("tcp", net.JoinHostPort(host, strconv.Itoa(l.Addr().(*net.TCPAddr).Port)))
			if err != nil {
				return err
			}
			c.Close()
		}
		return nil
	}},
	{"be the user that it was", "yes", func(p place) error {
		if os.Geteuid() != p.User || os.Getegid() != p.Users {
			return fmt.Errorf("it is %d:%d", os.Geteuid(), os.Getegid())
		}
		return nil
	}},
	{"make a raw socket", "no", func(p place) error { return socket(unix.AF_INET, unix.SOCK_RAW) }},
	{"make a packet socket", "no", func(p place) error { return socket(unix.AF_PACKET, unix.SOCK_DGRAM) }},
	{"make a netlink socket", "network", func(p place) error { return socket(unix.AF_NETLINK, unix.SOCK_RAW) }},
	{"take the loopback down", "no", func(p place) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		var request [40]byte
		copy(request[:], "lo")
		return ioctl(uintptr(fd), unix.SIOCSIFFLAGS, unsafe.Pointer(&request[0]))
	}},
	{"join a namespace", "no", func(p place) error { return unix.Setns(0, 0) }},
}

// hasIPv6 reports whether the machine's loopback has an address of IPv6.
func hasIPv6() bool {
	l, err := net.Listen("tcp6", "[::1]:0")
	if err == nil {
		l.Close()
	}
	return err == nil
}

func number(nr, a, b uintptr) error {
	if _, _, errno := unix.Syscall(nr, a, b, 0); errno != 0 {
		return errno
	}
	return nil
}

// fork makes a process, which ends at once.
func fork(nr, a, b uintptr) error {
	pid, _, errno := unix.RawSyscall6(nr, a, b, 0, 0, 0, 0)
	switch {
	case errno != 0:
		return errno
	case pid == 0:
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	return nil
}

func mapping(flags int) error {
	b, err := unix.Mmap(-1, 0, 1<<16, unix.PROT_READ|unix.PROT_WRITE, flags)
	if err == nil {
		err = unix.Munmap(b)
	}
	return err
}

func proc(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

func open(name string, flags int) error {
	fd, err := unix.Open(name, flags|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func socket(domain, kind int) error {
	fd, err := unix.Socket(domain, kind, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}
