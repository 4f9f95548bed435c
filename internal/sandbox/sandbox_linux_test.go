//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

const childVariable = "CODERUNNER_SANDBOX_TEST"

func TestMain(m *testing.M) {
	if given := os.Getenv(childVariable); given != "" {
		child(given)
	}
	os.Exit(m.Run())
}

// place is what the child is told.
type place struct {
	Dir, Secret string // its own folder; a file of somebody else
	Addr        string // where somebody listens
	Self        string // the program of the test
	Server, TID int    // our process and the thread that started the child
	Group       int    // our process group
	User, Users int    // who we are
	IPv6        bool   // whether the machine has it
}

// attempts are what the child tries. Each gives an error if it did not work.
var attempts = []struct {
	name string
	may  string // "yes", "no", "network" or "loopback": when it is to work
	try  func(p place) error
}{
	{"write in the folder", "yes", func(p place) error { return os.WriteFile(p.Dir+"/a", []byte("a"), 0o600) }},
	{"make a folder", "yes", func(p place) error { return os.Mkdir(p.Dir+"/d", 0o700) }},
	{"move in the folder", "yes", func(p place) error { return os.Rename(p.Dir+"/a", p.Dir+"/d/a") }},
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

// child tries everything and says what became of it.
func child(given string) {
	var p place
	if err := json.Unmarshal([]byte(given), &p); err != nil {
		panic(err)
	}
	answers := map[string]string{}
	for _, a := range attempts {
		if err := a.try(p); err != nil {
			answers[a.name] = err.Error()
		} else {
			answers[a.name] = "worked"
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		panic(err)
	}
	os.Exit(0)
}

// start starts a command that is confined. It ends with the test.
func start(t testing.TB, s Spec, cmd *exec.Cmd, before func()) {
	t.Helper()
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	err := Start(s, end, func(trace bool) (int, error) {
		before()
		cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: trace, Pdeathsig: unix.SIGKILL, Setpgid: true}
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		return cmd.Process.Pid, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestStart(t *testing.T) {
	if l := Probe(); l.Name != Full {
		t.Skipf("this kernel cannot do all of it: %s", l)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []reach{nowhere, itself, anywhere} {
		if to == itself && OwnNetwork() != nil {
			t.Logf("no network of its own: %v", OwnNetwork())
			continue
		}
		p := place{User: os.Geteuid(), Users: os.Getegid(), Dir: t.TempDir(), Secret: filepath.Join(t.TempDir(), "secret"), Addr: listener.Addr().String(), IPv6: hasIPv6(),
			Self: self, Server: os.Getpid(), Group: unix.Getpgrp()}
		if err := os.WriteFile(p.Secret, []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		cmd := exec.Command(self)
		cmd.Stdout, cmd.Stderr = &out, os.Stderr
		start(t, Spec{Execute: []string{self}, Write: []string{p.Dir}, Network: to == anywhere, Loopback: to == itself}, cmd, func() {
			p.TID = unix.Gettid()
			given, err := json.Marshal(p)
			if err != nil {
				t.Error(err)
			}
			cmd.Env = []string{childVariable + "=" + string(given)}
		})
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		answers := map[string]string{}
		if err := json.Unmarshal(out.Bytes(), &answers); err != nil {
			t.Fatalf("the child said %q: %v", out.Bytes(), err)
		}
		for _, a := range attempts {
			want := a.may == "yes" || a.may == "network" && to == anywhere || a.may == "loopback" && to != nowhere
			if got := answers[a.name]; (got == "worked") != want {
				t.Errorf("network %v: %s: %s, want it to work: %v", to, a.name, got, want)
			}
		}
		if b, err := os.ReadFile(p.Secret); err != nil || string(b) != "secret" {
			t.Errorf("the file is %q, %v", b, err)
		}
	}
}

// A program that is not there is nobody's fault but the caller's.
func TestStartNothing(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	err := Start(Spec{}, nil, func(trace bool) (int, error) {
		cmd := exec.Command(none)
		cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: trace}
		return 0, cmd.Start()
	})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Start: %v", err)
	}
}

// A process that cannot be afterStart does not run.
func TestSealFails(t *testing.T) {
	if k := probe(); !k.filter || k.untraced != nil {
		t.Skipf("this kernel has filters: %v; injecting one: %v", k.filter, k.untraced)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	result := make(chan error)
	go onThread(func() {
		// Without it, root alone may filter system calls.
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			result <- err
			return
		}
		pid, err := syscall.ForkExec(self, []string{"x"}, &syscall.ProcAttr{
			Env: []string{childVariable + "={}"}, Sys: &syscall.SysProcAttr{Ptrace: true, Pdeathsig: unix.SIGKILL},
		})
		if err != nil {
			result <- err
			return
		}
		var stopped *stopped
		if stopped, err = hold(pid); err == nil {
			_, err = stopped.filter(program{{Code: 0xffff}}, 0)
		}
		_ = unix.Kill(pid, unix.SIGKILL)
		status := unix.WaitStatus(0x7f) // stopped
		for status.Stopped() {
			if _, werr := unix.Wait4(pid, &status, 0, nil); werr != nil && werr != unix.EINTR {
				result <- werr
				return
			}
		}
		if status.Signal() != unix.SIGKILL {
			err = errors.New("it has run")
		}
		result <- err
	})
	if err := <-result; !errors.Is(err, unix.EINVAL) {
		t.Errorf("a filter that is none: %v, want %v", err, unix.EINVAL)
	}
}

// The rest of the process is as it was.
func TestRestrictsOneThread(t *testing.T) {
	const confined = "NoNewPrivs:\t1"
	before, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	// Whoever started us may have set it. Then the files must tell.
	set := strings.Contains(string(before), confined)
	enough := errors.New("nothing is started")
	for range 50 {
		err := Start(Spec{}, nil, func(bool) (int, error) {
			_, err := os.ReadFile("/etc/hostname")
			if Probe().ABI > 0 && err == nil {
				t.Error("the confined thread reads files")
			}
			if unix.Gettid() == os.Getpid() {
				t.Error("the first thread is confined")
			}
			return 0, enough
		})
		if err != enough {
			t.Fatal(err)
		}
	}
	var status []byte
	for range 20 { // on whatever thread
		done := make(chan error)
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			var err error
			status, err = os.ReadFile("/proc/thread-self/status")
			done <- err
		}()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if !set && strings.Contains(string(status), confined) {
			t.Fatal("another thread is confined")
		}
	}
}

func TestInterpreter(t *testing.T) {
	got := interpreter("/bin/sh")
	if !strings.HasPrefix(got, "/lib") || !strings.Contains(got, "ld") {
		t.Errorf("interpreter(/bin/sh) = %q", got)
	}
	if got := interpreter("/etc/passwd"); got != "" {
		t.Errorf("interpreter(/etc/passwd) = %q", got)
	}
}

// The filter must be one that the kernel takes, on both processors' tables:
// jumps inside it, and an answer at the end of every way.
func TestFilterProgram(t *testing.T) {
	for _, to := range []reach{nowhere, itself, anywhere} {
		network := to == anywhere
		p := filterProgram(4711, to, network, network)
		for i, in := range p {
			if in.Code&7 == unix.BPF_JMP && (i+1+int(in.Jt) >= len(p) || i+1+int(in.Jf) >= len(p)) {
				t.Errorf("instruction %d jumps out", i)
			}
		}
		either := func(with, without uint32) uint32 {
			if network {
				return with
			}
			return without
		}
		own := func(with, without uint32) uint32 {
			if to == nowhere {
				return without
			}
			return with
		}
		strange := uint32(unix.SECCOMP_RET_ALLOW) // an option of a socket
		if to == itself {
			strange = errnoAnswer(unix.ENOPROTOOPT)
		}
		for _, c := range []struct {
			nr   uint32
			args [6]uint64
			want uint32
		}{
			{unix.SYS_READ, [6]uint64{}, unix.SECCOMP_RET_ALLOW},
			{unix.SYS_PTRACE, [6]uint64{}, errnoAnswer(unix.EPERM)},
			{unix.SYS_IO_URING_SETUP, [6]uint64{}, errnoAnswer(unix.ENOSYS)},
			{unix.SYS_TGKILL, [6]uint64{4711, 1, 9}, errnoAnswer(unix.EPERM)},
			{unix.SYS_TGKILL, [6]uint64{4711, 1, uint64(unix.SIGURG)}, unix.SECCOMP_RET_ALLOW},
			{unix.SYS_TGKILL, [6]uint64{4712, 1, 9}, unix.SECCOMP_RET_ALLOW},
			{unix.SYS_RT_TGSIGQUEUEINFO, [6]uint64{4711, 1, 9}, errnoAnswer(unix.EPERM)},
			{unix.SYS_PRLIMIT64, [6]uint64{0}, unix.SECCOMP_RET_ALLOW},
			{unix.SYS_PRLIMIT64, [6]uint64{4711}, errnoAnswer(unix.EPERM)},
			{unix.SYS_CLONE, [6]uint64{uint64(unix.SIGCHLD)}, map[bool]uint32{false: unix.SECCOMP_RET_ALLOW, true: errnoAnswer(unix.EPERM)}[network]},
			{unix.SYS_CLONE, [6]uint64{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND}, unix.SECCOMP_RET_ALLOW},
			{unix.SYS_CLONE3, [6]uint64{}, map[bool]uint32{false: unix.SECCOMP_RET_ALLOW, true: errnoAnswer(unix.ENOSYS)}[network]},
			{unix.SYS_PRCTL, [6]uint64{unix.PR_SET_PDEATHSIG}, map[bool]uint32{false: unix.SECCOMP_RET_ALLOW, true: errnoAnswer(unix.EPERM)}[network]},
			{unix.SYS_PRCTL, [6]uint64{unix.PR_SET_NAME}, unix.SECCOMP_RET_ALLOW},
			{unix.SYS_MMAP, [6]uint64{0, 0, 0, unix.MAP_PRIVATE | unix.MAP_ANON}, unix.SECCOMP_RET_ALLOW},
			{unix.SYS_MMAP, [6]uint64{0, 0, 0, unix.MAP_SHARED}, unix.SECCOMP_RET_ALLOW},
			{unix.SYS_MMAP, [6]uint64{0, 0, 0, unix.MAP_SHARED | unix.MAP_ANON | unix.MAP_NORESERVE}, map[bool]uint32{false: unix.SECCOMP_RET_ALLOW, true: errnoAnswer(unix.ENOMEM)}[network]},
			{unix.SYS_SOCKET, [6]uint64{unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}, own(unix.SECCOMP_RET_ALLOW, errnoAnswer(unix.EACCES))},
			{unix.SYS_SOCKET, [6]uint64{unix.AF_INET6, unix.SOCK_DGRAM, unix.IPPROTO_UDP}, own(unix.SECCOMP_RET_ALLOW, errnoAnswer(unix.EACCES))},
			{unix.SYS_SOCKET, [6]uint64{unix.AF_UNIX, unix.SOCK_STREAM}, either(unix.SECCOMP_RET_ALLOW, errnoAnswer(unix.EACCES))},
			{unix.SYS_SOCKET, [6]uint64{unix.AF_NETLINK, unix.SOCK_RAW}, either(unix.SECCOMP_RET_ALLOW, errnoAnswer(unix.EACCES))},
			{unix.SYS_SOCKET, [6]uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT}, either(errnoAnswer(unix.EPROTONOSUPPORT), errnoAnswer(unix.EACCES))},
			{unix.SYS_SOCKET, [6]uint64{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP}, own(errnoAnswer(unix.EPROTONOSUPPORT), errnoAnswer(unix.EACCES))},
			{unix.SYS_SOCKET, [6]uint64{unix.AF_INET, unix.SOCK_SEQPACKET}, own(errnoAnswer(unix.EPROTONOSUPPORT), errnoAnswer(unix.EACCES))},
			{unix.SYS_SOCKET, [6]uint64{unix.AF_VSOCK, unix.SOCK_STREAM}, either(errnoAnswer(unix.EAFNOSUPPORT), errnoAnswer(unix.EACCES))},
			{unix.SYS_SOCKET, [6]uint64{unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_TCP}, own(errnoAnswer(unix.EPROTONOSUPPORT), errnoAnswer(unix.EACCES))},
			{unix.SYS_SETSOCKOPT, [6]uint64{3, unix.IPPROTO_TCP, unix.TCP_NODELAY}, unix.SECCOMP_RET_ALLOW},
			{unix.SYS_SETSOCKOPT, [6]uint64{3, unix.IPPROTO_TCP, unix.TCP_ULP}, strange},
			{unix.SYS_SETSOCKOPT, [6]uint64{3, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY}, unix.SECCOMP_RET_ALLOW},
			{unix.SYS_SETSOCKOPT, [6]uint64{3, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER}, strange},
			{unix.SYS_SETSOCKOPT, [6]uint64{3, unix.SOL_UDP, 1}, strange},
			{unix.SYS_CONNECT, [6]uint64{}, either(unix.SECCOMP_RET_USER_NOTIF, unix.SECCOMP_RET_ALLOW)},
			{unix.SYS_SENDTO, [6]uint64{}, unix.SECCOMP_RET_ALLOW},
			{unix.SYS_SENDTO, [6]uint64{3, 0, 0, 0, 1 << 32}, either(unix.SECCOMP_RET_USER_NOTIF, unix.SECCOMP_RET_ALLOW)},
			{unix.SYS_SENDTO, [6]uint64{3, 0, 0, 0, 1}, either(unix.SECCOMP_RET_USER_NOTIF, unix.SECCOMP_RET_ALLOW)},
		} {
			if got := run(t, p, auditArch, c.nr, c.args); got != c.want {
				t.Errorf("network %v: call %d%v: %#x, want %#x", to, c.nr, c.args, got, c.want)
			}
		}
		if got := run(t, p, auditArch+1, unix.SYS_READ, [6]uint64{}); got != unix.SECCOMP_RET_KILL_PROCESS {
			t.Errorf("another processor's call: %#x", got)
		}
	}
}

func errnoAnswer(e syscall.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }

// run interprets a filter.
func run(t *testing.T, p program, arch, nr uint32, args [6]uint64) uint32 {
	t.Helper()
	data := map[uint32]uint32{dataNumber: nr, dataArch: arch}
	for i, a := range args {
		data[dataArgs+8*uint32(i)], data[dataArgs+8*uint32(i)+4] = uint32(a), uint32(a>>32)
	}
	var acc uint32
	for pc := 0; pc < len(p); pc++ {
		in := p[pc]
		yes := false
		switch in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			acc = data[in.K]
			continue
		case unix.BPF_RET | unix.BPF_K:
			return in.K
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			acc &= in.K
			continue
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			yes = acc&in.K != 0
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			yes = acc == in.K
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			yes = acc >= in.K
		default:
			t.Fatalf("instruction %d: code %#x", pc, in.Code)
		}
		if yes {
			pc += int(in.Jt)
		} else {
			pc += int(in.Jf)
		}
	}
	t.Fatal("the filter has no end")
	return 0
}

func TestLevel(t *testing.T) {
	no := errors.New("forbidden")
	for _, c := range []struct {
		k       kernel
		want    string
		missing []string // words in what is missing, one each
	}{
		{kernel{abi: 7, scopes: true, filter: true}, Full, nil},
		{kernel{abi: 7, scopes: true}, Partial, []string{"filter"}},
		{kernel{abi: 7, scopes: true, filter: true, untraced: no}, Partial, []string{"trace what we start (forbidden)"}},
		{kernel{abi: 5, filter: true}, Partial, []string{"signals"}},
		{kernel{abi: 3}, Partial, []string{"filter", "network", "signals"}},
		{kernel{abi: 2, filter: true}, Partial, []string{"truncation", "signals"}},
		{kernel{filter: true}, Partial, []string{"no Landlock"}},
		{kernel{}, None, []string{"no Landlock", "filter", "network"}},
	} {
		l := level(c.k)
		ok := l.Name == c.want && len(l.Missing) == len(c.missing)
		for i, w := range c.missing {
			ok = ok && slices.ContainsFunc(l.Missing[i:i+1], func(m string) bool { return strings.Contains(m, w) })
		}
		if !ok {
			t.Errorf("level(%+v) = %s, want %s with %q", c.k, l, c.want, c.missing)
		}
	}
}

// BenchmarkStart is what the start of a process costs, confined and not. The
// program is one that has next to nothing to do.
func BenchmarkStart(b *testing.B) {
	program, err := exec.LookPath("true")
	if err != nil {
		b.Skip(err)
	}
	dir := b.TempDir()
	for name, loopback := range map[string]bool{"confined": false, "alone": true} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				cmd := exec.Command(program)
				end := make(chan struct{})
				s := Spec{Execute: []string{program}, Read: []string{dir}, Write: []string{dir}, Loopback: loopback}
				err := Start(s, end, func(trace bool) (int, error) {
					cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: trace}
					if err := cmd.Start(); err != nil {
						return 0, err
					}
					return cmd.Process.Pid, nil
				})
				if err == nil {
					err = cmd.Wait()
				}
				close(end)
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command(program).Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
