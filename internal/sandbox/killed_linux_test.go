//go:build amd64

package sandbox

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
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

// A zygote that is killed from elsewhere, whatever is being done to it, is told of by an error,
// and can be ended: no call hangs, and nothing stays behind. So it is with a fork in the making.
func TestZygoteKilled(t *testing.T) {
	for _, tt := range []struct {
		name string
		kill func(zygote int)
	}{
		{"zygote", kill},
		{"zygote that is forked", func(zygote int) {
			newFork(t)
			kill(zygote)
		}},
		{"fork", func(int) { kill(newFork(t)) }},
		{"both", func(zygote int) {
			kill(newFork(t))
			kill(zygote)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := children(t)
			for i := range 30 {
				t.Run(strconv.Itoa(i), func(t *testing.T) { useKilled(t, tt.kill) })
			}
			if left := children(t); !maps.Equal(left, before) {
				t.Errorf("children of ours: %v, before: %v", left, before)
			}
		})
	}
}

// useKilled freezes, forks and thaws a zygote again and again until it has ended, or 10 times,
// and kills something at a random moment of that.
func useKilled(t *testing.T, kill func(zygote int)) {
	watch(t)
	z, ours, _ := zygoteOf(t, Spec{Loopback: true}, "zygote")
	killed := make(chan struct{})
	moment := rand.N(15 * time.Millisecond) // within the first rounds
	go func() {
		time.Sleep(moment)
		kill(z.pid)
		close(killed)
	}()
	for range 10 {
		err := z.Freeze(ours)
		if err == nil {
			err = forkAndKill(z)
		}
		if err == nil {
			err = z.Thaw()
		}
		if err != nil {
			<-killed
			t.Logf("killed after %v: %v", moment, err)
			z.Kill()
			return
		}
	}
	<-killed
}

// forkAndKill makes a fork, which ends at once.
func forkAndKill(z *Zygote) error {
	pid, pipes, err := z.Fork(nil)
	if err != nil {
		return err
	}
	learned := z.Learn(pid)
	for _, f := range pipes {
		f.Close()
	}
	p, err := os.FindProcess(pid)
	if err == nil {
		_ = p.Kill() // it may have ended
		_, err = p.Wait()
	}
	if err == nil {
		err = learned
	}
	return err
}

// A zygote that is killed before it has begun is one that could not be started, or has ended.
func TestZygoteKilledAtStart(t *testing.T) {
	if err := CanFork(); err != nil {
		t.Skip(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	before := children(t)
	watch(t)
	for range 50 {
		cmd := exec.Command(self)
		cmd.Env = []string{childVariable + "=zygote"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL, Setpgid: true}
		killed, end := make(chan struct{}), make(chan struct{})
		z, err := StartZygote(Spec{Execute: []string{self}, Loopback: true}, end, func(trace bool, inherited []*os.File) (int, error) {
			cmd.ExtraFiles, cmd.SysProcAttr.Ptrace = inherited, trace
			if err := cmd.Start(); err != nil {
				return 0, err
			}
			go func() {
				time.Sleep(rand.N(2 * time.Millisecond))
				kill(cmd.Process.Pid)
				close(killed)
			}()
			return cmd.Process.Pid, nil
		})
		<-killed
		if err == nil {
			if err := z.Freeze(nil); err == nil {
				t.Error("a zygote that was killed is frozen")
			}
			z.Kill()
		}
		close(end)
		_ = cmd.Wait() // it was killed
	}
	if left := children(t); !maps.Equal(left, before) {
		t.Errorf("children of ours: %v, before: %v", left, before)
	}
}

// watch ends this program if the test hangs, which then cannot clean up, either.
func watch(t *testing.T) {
	hangs := time.AfterFunc(20*time.Second, func() { panic(t.Name() + " hangs") })
	t.Cleanup(func() { hangs.Stop() })
}

// kill kills a process; 0 is none.
func kill(pid int) {
	if pid != 0 {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// newFork waits for the next process that is made as a child of ours, and returns its number, 0 if
// there is none for some time.
func newFork(t *testing.T) (pid int) {
	newest := func() string {
		text, err := os.ReadFile("/proc/loadavg") // proc_loadavg(5): the last number that was given
		if err != nil {
			t.Error(err)
		}
		return string(text[bytes.LastIndexByte(text, ' ')+1 : len(text)-1])
	}
	before := newest()
	for until := time.Now().Add(20 * time.Millisecond); time.Now().Before(until); {
		next := newest()
		if next == before {
			continue
		}
		if before = next; parent(next) == os.Getpid() {
			pid, _ = strconv.Atoi(next)
			return pid
		}
	}
	return 0
}

// children returns our children, living or not, and the names of their programs.
func children(t *testing.T) map[string]string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	ours := map[string]string{}
	for _, dir := range all {
		if pid := filepath.Base(dir); parent(pid) == os.Getpid() {
			name, _ := os.ReadFile(filepath.Join(dir, "comm")) // it may have ended
			ours[pid] = string(name)
		}
	}
	return ours
}

// parent returns the number of a process's parent, 0 if it is not there any more.
func parent(pid string) (parent int) {
	stat, _ := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	_, rest, _ := strings.Cut(string(stat), ") ")
	_, _ = fmt.Sscanf(rest, "%1s %d", new(string), &parent)
	return parent
}
