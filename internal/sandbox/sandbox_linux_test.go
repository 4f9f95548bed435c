//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/json"
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
	Server, TID int    // our process and the thread that started the child
}

// attempts are what the child tries. Each gives an error if it did not work.
var attempts = []struct {
	name string
	may  string // "yes", "no" or "network": when it is to work
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
	{"listen", "network", func(p place) error {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err == nil {
			l.Close()
		}
		return err
	}},
	{"make a UDP socket", "network", func(p place) error { return socket(unix.AF_INET, unix.SOCK_DGRAM) }},
	{"make an IPv6 socket", "network", func(p place) error { return socket(unix.AF_INET6, unix.SOCK_STREAM) }},
	{"make a Unix socket", "network", func(p place) error { return socket(unix.AF_UNIX, unix.SOCK_STREAM) }},
}

func number(nr, a, b uintptr) error {
	if _, _, errno := unix.Syscall(nr, a, b, 0); errno != 0 {
		return errno
	}
	return nil
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

// confined calls start on a confined thread.
func confined(t testing.TB, s Spec, start func(tid int) error) {
	t.Helper()
	end := make(chan struct{})
	defer close(end)
	if err := Start(s, end, func() error { return start(unix.Gettid()) }); err != nil {
		t.Fatal(err)
	}
}

func TestRestrict(t *testing.T) {
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
	for _, network := range []bool{false, true} {
		p := place{Dir: t.TempDir(), Secret: filepath.Join(t.TempDir(), "secret"), Addr: listener.Addr().String(), Server: os.Getpid()}
		if err := os.WriteFile(p.Secret, []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
		var out []byte
		confined(t, Spec{Execute: []string{self}, Write: []string{p.Dir}, Network: network}, func(tid int) (err error) {
			p.TID = tid
			given, err := json.Marshal(p)
			if err != nil {
				return err
			}
			cmd := exec.Command(self)
			cmd.Env = []string{childVariable + "=" + string(given)}
			cmd.Stderr = os.Stderr
			out, err = cmd.Output()
			return err
		})
		answers := map[string]string{}
		if err := json.Unmarshal(out, &answers); err != nil {
			t.Fatalf("the child said %q: %v", out, err)
		}
		for _, a := range attempts {
			want := a.may == "yes" || a.may == "network" && network
			if got := answers[a.name]; (got == "worked") != want {
				t.Errorf("network %v: %s: %s, want it to work: %v", network, a.name, got, want)
			}
		}
		if b, err := os.ReadFile(p.Secret); err != nil || string(b) != "secret" {
			t.Errorf("the file is %q, %v", b, err)
		}
	}
}

// The rest of the process is as it was.
func TestRestrictsOneThread(t *testing.T) {
	for range 50 {
		confined(t, Spec{}, func(tid int) (err error) {
			_, err = os.ReadFile("/etc/hostname")
			if Probe().ABI > 0 && err == nil {
				t.Error("the confined thread reads files")
			}
			if tid == os.Getpid() {
				t.Error("the first thread is confined")
			}
			return nil
		})
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
		if strings.Contains(string(status), "NoNewPrivs:\t1") {
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
	for _, network := range []bool{false, true} {
		p := filterProgram(4711, network)
		for i, in := range p {
			if in.Code&7 == unix.BPF_JMP && (i+1+int(in.Jt) >= len(p) || i+1+int(in.Jf) >= len(p)) {
				t.Errorf("instruction %d jumps out", i)
			}
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
			{unix.SYS_SOCKET, [6]uint64{unix.AF_INET}, map[bool]uint32{true: unix.SECCOMP_RET_ALLOW, false: errnoAnswer(unix.EACCES)}[network]},
		} {
			if got := run(t, p, auditArch, c.nr, c.args); got != c.want {
				t.Errorf("network %v: call %d%v: %#x, want %#x", network, c.nr, c.args, got, c.want)
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
		data[dataArgs+8*uint32(i)] = uint32(a)
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
	for _, c := range []struct {
		abi            int
		scopes, filter bool
		want           string
		missing        []string // words in what is missing, one each
	}{
		{7, true, true, Full, nil},
		{7, true, false, Partial, []string{"filter"}},
		{5, false, true, Partial, []string{"signals"}},
		{3, false, false, Partial, []string{"filter", "network", "signals"}},
		{2, false, true, Partial, []string{"truncation", "signals"}},
		{0, false, true, Partial, []string{"no Landlock"}},
		{0, false, false, None, []string{"no Landlock", "filter", "network"}},
	} {
		l := level(c.abi, c.scopes, c.filter)
		ok := l.Name == c.want && len(l.Missing) == len(c.missing)
		for i, w := range c.missing {
			ok = ok && slices.ContainsFunc(l.Missing[i:i+1], func(m string) bool { return strings.Contains(m, w) })
		}
		if !ok {
			t.Errorf("level(%d, %v, %v) = %s, want %s with %q", c.abi, c.scopes, c.filter, l, c.want, c.missing)
		}
	}
}

// BenchmarkRestrict is what one start costs more.
func BenchmarkRestrict(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		confined(b, Spec{Execute: []string{"/bin/sh"}, Read: []string{dir}, Write: []string{dir}}, func(int) error { return nil })
	}
}
