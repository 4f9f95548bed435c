//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const groupVariable = "CODERUNNER_GROUP_TEST"

// The program of the test does one of these in a group, after a line on stdin.
func init() {
	what, ok := map[string]func(){"hog": hog, "forks": makeForks, "threads": manyThreads}[os.Getenv(groupVariable)]
	if !ok {
		return
	}
	fmt.Println("ready")
	in := bufio.NewReader(os.Stdin)
	_, _ = in.ReadString('\n')
	what()
	_, _ = in.ReadString('\n') // until we are killed, or the test is
	os.Exit(0)
}

// hog touches 512 MiB.
func hog() {
	b, err := unix.Mmap(-1, 0, 512<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	fmt.Println("has all")
}

// makeForks makes processes that wait, as many as it can, and says how many it
// made and what stopped it.
func makeForks() {
	for n := range 1000 {
		pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		switch {
		case errno != 0:
			fmt.Println(n, errno)
			return
		case pid == 0:
			for {
				_, _, _ = syscall.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
			}
		}
	}
	fmt.Println("has all")
}

// manyThreads makes threads that wait, until the runtime gives up.
func manyThreads() {
	for range 1000 {
		begun := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(begun)
			_, _, _ = syscall.Syscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
		}()
		<-begun
	}
	fmt.Println("has all")
}

// grouped starts the program of the test in a group and under a confinement,
// as far as it says. It gives what it prints.
func grouped(t *testing.T, g *Group, what string, confined bool) (cmd *exec.Cmd, printed *bufio.Reader, begin func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(self)
	cmd.Env = []string{groupVariable + "=" + what}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	g.Place(cmd.SysProcAttr)
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	if confined {
		err = Start(Spec{Execute: []string{self}}, end, func(trace bool, files []*os.File) (int, error) {
			cmd.ExtraFiles = files
			cmd.SysProcAttr.Ptrace = trace
			if err := cmd.Start(); err != nil {
				return 0, err
			}
			return cmd.Process.Pid, nil
		})
	} else {
		began := make(chan error)
		go onThread(func() { began <- cmd.Start(); <-end })
		err = <-began
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	printed = bufio.NewReader(out)
	if line, err := printed.ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if inside, err := words(g.dir, "cgroup.procs"); err != nil || !slices.Equal(inside, []string{strconv.Itoa(cmd.Process.Pid)}) {
		t.Fatalf("in the group are %q, %v, not %d alone", inside, err, cmd.Process.Pid)
	}
	return cmd, printed, func() { _, _ = in.Write([]byte("\n")) }
}

const groupTasks = 64 // of the groups in the tests

// group makes a group, or skips the test where that cannot be done.
func group(t *testing.T) *Group {
	t.Helper()
	if err := Delegated(); err != nil {
		t.Skipf("no control group: %v", err)
	}
	g, err := NewGroup(groupTasks)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// end closes a group, which must end the process in it, and be gone.
func (g *Group) end(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(g.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the group is still there: %v", err)
	}
	err := cmd.Wait()
	t.Logf("it ended: %v", err)
}

// TestControlGroup has processes that no other limit holds meet those of their
// group.
func TestControlGroup(t *testing.T) {
	if err := Delegated(); err != nil {
		t.Skipf("no control group: %v", err)
	}
	for _, tt := range []struct {
		what             string
		memory           int64 // more than at the beginning
		says, ends       string
		noMemory, noTask bool
	}{
		{"hog", 32 << 20, "", "signal: killed", true, false},
		{"hog", 600 << 20, "has all\n", "signal: killed", false, false}, // by the group's end
		{"threads", 600 << 20, "", "exit status 2", false, true},
	} {
		for _, confined := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,%dMiB,confined=%v", tt.what, tt.memory>>20, confined), func(t *testing.T) {
				g := group(t)
				cmd, printed, begin := grouped(t, g, tt.what, confined)
				if err := g.LimitMemory(tt.memory); err != nil {
					t.Error(err)
				}
				begin()
				if line, _ := printed.ReadString('\n'); line != tt.says {
					t.Errorf("it said %q, want %q", line, tt.says)
				}
				if tt.says == "" {
					_, _ = io.Copy(io.Discard, printed) // until it has ended
				}
				noMemory, noTask := g.Refused()
				g.end(t, cmd)
				if noMemory != tt.noMemory || noTask != tt.noTask || cmd.ProcessState.String() != tt.ends {
					t.Errorf("it ended by %v; refused: memory %v, tasks %v", cmd.ProcessState, noMemory, noTask)
				}
			})
		}
	}
}

// TestControlGroupForks ends many processes at once, which are fewer than one
// of them wanted.
func TestControlGroupForks(t *testing.T) {
	g := group(t)
	cmd, printed, begin := grouped(t, g, "forks", false)
	begin()
	line, err := printed.ReadString('\n')
	var n int
	if _, serr := fmt.Sscan(line, &n); serr != nil || n >= groupTasks || !strings.Contains(line, unix.EAGAIN.Error()) {
		t.Errorf("it said %q, %v", line, err)
	}
	inside, err := words(g.dir, "cgroup.procs")
	if err != nil || len(inside) != n+1 {
		t.Errorf("%d processes in the group, %v, want %d", len(inside), err, n+1)
	}
	_, noTask := g.Refused()
	g.end(t, cmd)
	if !noTask {
		t.Error("nothing was refused")
	}
	for _, pid := range inside {
		if status, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil && !strings.Contains(string(status), ") Z ") {
			t.Errorf("process %s lives: %s", pid, status)
		}
	}
}

// TestControlGroupSweep removes the group of a server that is dead, and no
// other.
func TestControlGroupSweep(t *testing.T) {
	g := group(t)
	parent := filepath.Dir(g.dir)
	dead := exec.Command("/proc/self/exe", "-test.run=^$")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(parent, groupPrefix+strconv.Itoa(dead.Process.Pid)+"-1")
	if err := os.Mkdir(left, 0o755); err != nil {
		t.Fatal(err)
	}
	sweepGroups(parent)
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a dead server's group is left: %v", err)
	}
	if _, err := os.Stat(g.dir); err != nil {
		t.Errorf("our own group: %v", err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

func TestOwnGroup(t *testing.T) {
	const mounts = "24 1 0:20 / /proc rw - proc proc rw\n30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n"
	for _, tt := range []struct{ own, mounts, want, fault string }{
		{"0::/a/b\n", mounts, "/sys/fs/cgroup/a/b", ""},
		{"4:memory:/x\n0::/a\n", mounts, "/sys/fs/cgroup/a", ""},
		{"0::/a/b/c\n", "1 1 0:1 /a /g rw - cgroup2 none rw\n", "/g/b/c", ""},
		{"0::/\n", mounts, "", "uppermost"},
		{"0::/../x\n", mounts, "", "in no group"},
		{"4:memory:/x\n", mounts, "", "in no group"},
		{"", "", "", "in no group"},
		{"0::/a\n", "1 1 0:1 /b /g rw - cgroup2 none rw\n", "", "not mounted"},
		{"0::/a\n", "1 1 0:1 / /g rw - cgroup none rw,memory\n", "", "not mounted"},
		{"0::/a\n", " - cgroup2 \n\n-", "", "not mounted"},
	} {
		got, err := ownGroup(tt.own, tt.mounts)
		if got != tt.want || (err == nil) != (tt.fault == "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("%q: %q, %v; want %q, %q", tt.own, got, err, tt.want, tt.fault)
		}
	}
}

// TestNoGroup has the methods of no group do nothing.
func TestNoGroup(t *testing.T) {
	var g *Group
	var attr syscall.SysProcAttr
	g.Place(&attr)
	memory, more := g.Refused()
	if err := errors.Join(g.LimitMemory(1), g.Close()); attr.UseCgroupFD || memory || more || err != nil {
		t.Errorf("%v %v %v %v", attr.UseCgroupFD, memory, more, err)
	}
}
