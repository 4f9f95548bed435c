//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const childVariable = "CODERUNNER_SANDBOX_TEST"

func TestMain(m *testing.M) {
	switch given := os.Getenv(childVariable); given {
	case "":
	case "wait":
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	case "inherit":
		Probe()
		flags, err := unix.FcntlInt(3, unix.F_GETFD, 0)
		fmt.Print(flags, err)
		os.Exit(0)
	default:
		if mode := modes[given]; mode != nil {
			mode(given)
		}
		child(given)
	}
	os.Exit(m.Run())
}

// modes are what this program does instead of the tests, beside the above.
var modes = map[string]func(given string){}

// place is what the child is told.
type place struct {
	Dir, Secret string // its own directory; a file of somebody else
	Addr        string // where somebody listens
	Self        string // the program of the test
	Server, TID int    // our process and the thread that started the child
	Group       int    // our process group
	User, Users int    // who we are
	IPv6        bool   // whether the machine has it
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
	err := Start(s, end, func(trace bool, files []*os.File) (int, error) {
		cmd.ExtraFiles = files
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
	for i, to := range []reach{nowhere, itself, itself, anywhere} {
		if to == itself && OwnNetwork() != nil {
			t.Logf("no network of its own: %v", OwnNetwork())
			continue
		}
		if i == 2 { // this one is in a namespace that there was
			_, leave := alone(t, ":")
			leave()
			awaitSpare(t)
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

// TestLarge has a range of a process's memory marked, before it begins.
func TestLarge(t *testing.T) {
	if l := Probe(); l.Name != Full {
		t.Skipf("this kernel cannot do all of it: %s", l)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text := uintptr(0x400000) // where Go puts programs
	cmd := exec.Command(self)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, Spec{Execute: []string{self}, Large: [][2]uintptr{{1, 1}, {text, uintptr(os.Getpagesize())}}}, cmd, func() { cmd.Env = []string{childVariable + "=wait"} })
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps", cmd.Process.Pid))
	_, first, _ := strings.Cut(string(maps), fmt.Sprintf("%08x-", text))
	_, flags, _ := strings.Cut(first, "VmFlags:")
	flags, _, _ = strings.Cut(flags, "\n")
	if err != nil || !strings.Contains(flags, " hg") {
		t.Errorf("the flags of what is at %#x: %q, %v", text, flags, err)
	}
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// What a server was started with open is not for the processes that it starts.
func TestInherited(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd := exec.Command(self)
	cmd.Env, cmd.ExtraFiles = []string{childVariable + "=inherit"}, []*os.File{file}
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != fmt.Sprint(unix.FD_CLOEXEC, nil) {
		t.Errorf("the flags of what it inherited: %s, %v", out, err)
	}
}

// A program that is not there is nobody's fault but the caller's.
func TestStartNothing(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	err := Start(Spec{}, nil, func(trace bool, files []*os.File) (int, error) {
		cmd := exec.Command(none)
		cmd.ExtraFiles = files
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
		err := Start(Spec{}, nil, func(bool, []*os.File) (int, error) {
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
				err := Start(s, end, func(trace bool, files []*os.File) (int, error) {
					cmd.ExtraFiles = files
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
