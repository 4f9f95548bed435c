//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// alone starts a shell command with a network of its own, and returns its namespaces. It ends
// when leave is called.
func alone(t *testing.T, script string) (names string, leave func()) {
	t.Helper()
	shell, err := exec.LookPath("bash") // it has sockets
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(shell, "-c", script+"; echo; read")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	end := make(chan struct{})
	err = Start(Spec{Execute: []string{shell}, Write: []string{"/dev/null"}, Loopback: true}, end, func(trace bool, files []*os.File) (int, error) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: trace, Pdeathsig: unix.SIGKILL}
		cmd.ExtraFiles = files
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		return cmd.Process.Pid, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stdout.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"user", "net"} {
		name, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", cmd.Process.Pid, kind))
		if err != nil {
			t.Fatal(err)
		}
		names += name
	}
	for _, fd := range []int{3, 4} {
		if name, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", cmd.Process.Pid, fd)); err == nil && strings.Contains(name, ":[") && !strings.HasPrefix(name, "pipe") {
			t.Errorf("it has the descriptor of %s", name)
		}
	}
	return names, func() {
		stdin.Close()
		_ = cmd.Wait() // read fails
		close(end)
	}
}

// awaitSpare waits until a namespace waits for a process.
func awaitSpare(t *testing.T) {
	t.Helper()
	for until := time.Now().Add(time.Minute); time.Now().Before(until); runtime.Gosched() {
		if len(spare) > 0 {
			return
		}
	}
	t.Fatal("no namespace was given back")
}

// TestNamespaces has processes find the namespace of one before only if that has ended and has
// sent nothing.
func TestNamespaces(t *testing.T) {
	if OwnNetwork() != nil {
		t.Skip(OwnNetwork())
	}
	for takeNamespace() != nil { // of other tests
	}
	first, leave := alone(t, ":")
	other, leaveOther := alone(t, ":")
	defer leaveOther()
	if other == first {
		t.Error("two processes are in one namespace")
	}
	leave()
	awaitSpare(t)
	again, leave := alone(t, ":")
	if again != first {
		t.Errorf("a process is in %s, want %s", again, first)
	}
	leave()
	awaitSpare(t)
	n := takeNamespace()
	for _, script := range []string{":", "exec 5<>/dev/udp/127.0.0.1/9; echo hello >&5"} {
		n.giveBack()
		_, leave := alone(t, script)
		leave()
		if n.passed() != n.before != (script != ":") {
			t.Errorf("after %q, %q has passed, before %q", script, n.passed(), n.before)
		}
		if script == ":" {
			awaitSpare(t)
			n = takeNamespace()
		}
	}
}

// TestTrialNamespace has a process find the namespace of the trial start.
func TestTrialNamespace(t *testing.T) {
	if OwnNetwork() != nil {
		t.Skip(OwnNetwork())
	}
	for takeNamespace() != nil { // of other tests
	}
	if shared, err := tryInject(said().flags, true); shared != nil || err != nil {
		t.Fatal(shared, err)
	}
	n := takeNamespace()
	if n == nil {
		t.Fatal("the trial has kept none")
	}
	var want string
	for _, f := range n.files[:2] {
		name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		want += name
	}
	n.giveBack()
	for range maxSpare { // those of other tests may have come before
		names, leave := alone(t, ":")
		defer leave()
		if names == want {
			return
		}
	}
	t.Errorf("no process is in %s", want)
}

// TestUsedNamespace has a namespace closed through which something has passed.
func TestUsedNamespace(t *testing.T) {
	traffic, err := os.Create(filepath.Join(t.TempDir(), "dev"))
	if err != nil {
		t.Fatal(err)
	}
	n := &namespace{files: []*os.File{traffic, traffic, traffic}, before: "lo: 0"}
	if _, err := traffic.WriteString("lo: 1"); err != nil {
		t.Fatal(err)
	}
	n.giveBack()
	if takeNamespace() == n {
		t.Error("it is there for the next process")
	}
}
