//go:build amd64

package sandbox

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// counted is in the memory of a zygote: each fork adds 1.
var counted int

func init() {
	for _, kind := range []string{"zygote", "zygote that shares", "zygote that reads"} {
		modes[kind] = zygote
	}
}

// zygote is what a zygote of the tests does: it reports that it is ready. A fork reads a line, and
// does what it names.
func zygote(given string) {
	if given == "zygote that shares" {
		if _, err := unix.Mmap(-1, 0, 1<<16, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANON); err != nil {
			panic(err)
		}
	}
	if given == "zygote that reads" {
		go func() {
			for {
				if err := open("/dev/null", unix.O_RDONLY); err != nil {
					panic(err)
				}
				time.Sleep(100 * time.Microsecond)
			}
		}()
	}
	ready := os.Getpid()
	fmt.Print("r")
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		os.Exit(1)
	}
	counted++
	switch line = strings.TrimSuffix(line, "\n"); line {
	case "count":
		fmt.Println(counted, os.Getpid(), unix.Getpgrp(), os.Getppid())
	case "signal", "trap":
		signal := unix.SIGUSR1
		if line == "trap" {
			signal = unix.SIGTRAP
		}
		fmt.Println(unix.Kill(ready, signal))
	case "connect":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err == nil {
			_, err = net.Dial("tcp", l.Addr().String())
		}
		fmt.Println(err)
	default:
		child(line)
	}
	os.Exit(0)
}

// zygoteOf starts a zygote of the tests. It ends with the test.
func zygoteOf(t *testing.T, s Spec, given string, files ...*os.File) (z *Zygote, ours []*os.File, end chan struct{}) {
	t.Helper()
	if err := CanFork(); err != nil {
		t.Skip(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = []string{childVariable + "=" + given, "GODEBUG=asyncpreemptoff=1"} // Go's threads send each other signals
	for _, to := range []any{&cmd.Stdin, &cmd.Stdout, &cmd.Stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		theirs, own := w, r
		if to == any(&cmd.Stdin) {
			theirs, own = r, w
			cmd.Stdin = theirs
		} else {
			*to.(*io.Writer) = theirs
		}
		ours = append(ours, own)
		t.Cleanup(func() { own.Close() })
		defer theirs.Close()
	}
	end = make(chan struct{})
	s.Execute = []string{self}
	z, err = StartZygote(s, end, func(trace bool, inherited []*os.File) (int, error) {
		cmd.ExtraFiles = append(inherited, files...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: trace, Pdeathsig: unix.SIGKILL, Setpgid: true}
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		return cmd.Process.Pid, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		select {
		case <-end: // its thread, with which it ends, is gone
		default:
			z.Kill()
			close(end)
		}
		_ = cmd.Wait() // it was killed
	})
	if _, err := io.ReadFull(ours[1], make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return z, ours, end
}

// ask gives a fork a line and returns what it writes, and its number.
func ask(t *testing.T, z *Zygote, line string) (said string, pid int) {
	t.Helper()
	pid, pipes, err := z.Fork(nil)
	if err != nil {
		t.Fatal(err)
	}
	said = tell(t, pid, pipes, line)
	return said, pid
}

func tell(t *testing.T, pid int, pipes []*os.File, line string) string {
	t.Helper()
	if _, err := pipes[0].WriteString(line + "\n"); err != nil {
		t.Error(err)
	}
	var texts [2][]byte
	for i, f := range pipes[1:] {
		var err error
		if texts[i], err = io.ReadAll(f); err != nil {
			t.Error(err)
		}
	}
	for _, f := range pipes {
		f.Close()
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if state, err := p.Wait(); err != nil || !state.Success() {
		t.Errorf("the fork ended with %v, %v; it wrote %s", state, err, texts[1])
	}
	return string(texts[0])
}

// TestZygote has forks try what a confined process may not, and looks at what they have.
func TestZygote(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	z, ours, _ := zygoteOf(t, Spec{Write: []string{dir}, Loopback: true}, "zygote")
	if err := z.Freeze(ours); err != nil {
		t.Fatal(err)
	}
	var pids [2]int
	var pipes [2][]*os.File
	for i := range pids {
		var err error
		if pids[i], pipes[i], err = z.Fork(nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, pair := range [][2]int{{z.pid, pids[0]}, {z.pid, pids[1]}, pids} {
		if same := shared(t, pair); len(same) > 0 {
			t.Errorf("processes %v (the zygote is %d) share open files: %v", pair, z.pid, same)
		}
	}
	for i := range pids {
		if err := z.Learn(pids[i]); err != nil {
			t.Error(err)
		}
		want := fmt.Sprintln(1, pids[i], pids[i], os.Getpid())
		if got := tell(t, pids[i], pipes[i], "count"); got != want {
			t.Errorf("fork %d said %q, want %q", i, got, want)
		}
	}
	if said, pid := ask(t, z, "count"); said != fmt.Sprintln(1, pid, pid, os.Getpid()) {
		t.Errorf("a fork with what others have written said %q", said)
	}

	p := place{User: os.Geteuid(), Users: os.Getegid(), Dir: dir, Secret: secret, Addr: "127.0.0.1:1", IPv6: hasIPv6(), Self: "/bin/true", Server: os.Getpid(), Group: unix.Getpgrp(), TID: unix.Gettid()}
	given, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	said, _ := ask(t, z, string(given))
	answers := map[string]string{}
	if err := json.Unmarshal([]byte(said), &answers); err != nil {
		t.Fatalf("the fork said %q: %v", said, err)
	}
	for _, a := range attempts {
		want := a.may == "yes" || a.may == "loopback" && OwnNetwork() == nil
		if got := answers[a.name]; (got == "worked") != want {
			t.Errorf("%s: %s, want it to work: %v", a.name, got, want)
		}
	}
}

// shared returns the descriptors of two processes that lead to the same open file.
func shared(t *testing.T, pids [2]int) (same []string) {
	t.Helper()
	var fds [2][]int
	for i, pid := range pids {
		entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			fd, err := strconv.Atoi(e.Name())
			if err != nil {
				t.Fatal(err)
			}
			fds[i] = append(fds[i], fd)
		}
		if len(fds[i]) < 3 || len(fds[i]) != len(fds[0]) {
			t.Errorf("process %d has the descriptors %v, the other %v", pid, fds[i], fds[0])
		}
	}
	for _, a := range fds[0] {
		for _, b := range fds[1] {
			order, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(pids[0]), uintptr(pids[1]), 0, uintptr(a), uintptr(b), 0)
			if errno != 0 {
				t.Fatal(errno)
			}
			if order == 0 {
				same = append(same, fmt.Sprint(a, "=", b))
			}
		}
	}
	return same
}

// A fork that has used the network leaves it to no other: the next have networks of their own.
func TestZygoteNetwork(t *testing.T) {
	if err := OwnNetwork(); err != nil {
		t.Skip(err)
	}
	z, ours, _ := zygoteOf(t, Spec{Loopback: true}, "zygote")
	if err := z.Freeze(ours); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, line := range []string{"count", "connect", "connect", "count"} {
		pid, pipes, err := z.Fork(nil)
		if err != nil {
			t.Fatal(err)
		}
		name, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
		if err != nil {
			t.Fatal(err)
		}
		seen[name]++
		if said := tell(t, pid, pipes, line); line == "connect" && said != "<nil>\n" {
			t.Errorf("a fork connects to itself: %q", said)
		}
	}
	if len(seen) != 3 {
		t.Errorf("the networks of four forks, the second and third of which used it: %v", seen)
	}
}

// What forks would share is refused.
func TestZygoteRefused(t *testing.T) {
	file, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	for _, tt := range []struct {
		given string
		files []*os.File
		want  string
	}{
		{"zygote", []*os.File{file}, "a fork would share /dev/null"},
		{"zygote", []*os.File{w}, "a fork would share a pipe"},
		{"zygote that shares", nil, "a fork would share the memory at"},
	} {
		z, ours, _ := zygoteOf(t, Spec{}, tt.given, tt.files...)
		if err := z.Freeze(ours); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s with %d more files: %v, want %q", tt.given, len(tt.files), err, tt.want)
		}
		if _, _, err := z.Fork(nil); err == nil || !strings.Contains(err.Error(), "not stopped") {
			t.Errorf("%s with %d more files: Fork returns %v", tt.given, len(tt.files), err)
		}
	}
}

// A fork may send its zygote signals, which can then not be forked any more.
func TestZygoteSignalled(t *testing.T) {
	for _, line := range []string{"signal", "trap"} {
		z, ours, _ := zygoteOf(t, Spec{}, "zygote")
		if err := z.Freeze(ours); err != nil {
			t.Fatal(err)
		}
		if said, _ := ask(t, z, line); said != "<nil>\n" {
			t.Errorf("%s: %q", line, said)
		}
		if pid, _, err := z.Fork(nil); err == nil {
			t.Errorf("%s: it is forked, to %d", line, pid)
		}
	}
}

// A file that a thread has open now and then does not keep a zygote from being forked.
func TestZygoteMoment(t *testing.T) {
	z, ours, _ := zygoteOf(t, Spec{}, "zygote that reads")
	for range 20 {
		if err := z.Freeze(ours); err != nil {
			t.Fatal(err)
		}
		if said, pid := ask(t, z, "count"); said != fmt.Sprintln(1, pid, pid, os.Getpid()) {
			t.Errorf("the fork said %q", said)
		}
		if err := z.Thaw(); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Freeze(ours); err != nil {
		t.Fatal(err)
	}
}

// Forks end with whoever would kill them, and none is made of a zygote that has ended.
func TestZygoteEnd(t *testing.T) {
	z, ours, end := zygoteOf(t, Spec{}, "zygote")
	if err := z.Freeze(ours); err != nil {
		t.Fatal(err)
	}
	pid, pipes, err := z.Fork(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range pipes {
		defer f.Close()
	}
	if err := unix.Kill(z.pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, _, err := z.Fork(nil); err == nil {
		t.Error("a zygote that was killed is forked")
	}
	z.Kill()
	close(end)
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	state, err := p.Wait()
	if ws, ok := state.Sys().(syscall.WaitStatus); err != nil || !ok || ws.Signal() != unix.SIGKILL {
		t.Errorf("a fork whose thread has ended: %v, %v", state, err)
	}
}
