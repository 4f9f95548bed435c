//go:build amd64

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// restored makes a process of a snapshot of a zygote of the tests. It ends with the test.
func restored(t *testing.T, s Spec, dir string) (pid int, pipes []*os.File, err error) {
	t.Helper()
	m, err := OpenSnapshot(dir)
	if err != nil {
		return 0, nil, err
	}
	defer m.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s.Execute = []string{self}
	cmd, end := exec.Command(self), make(chan struct{})
	cmd.Env = []string{}
	pipes, err = Restore(s, m, end, func(trace bool, inherited []*os.File) (int, error) {
		cmd.ExtraFiles = inherited
		cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: trace, Pdeathsig: unix.SIGKILL, Setpgid: true}
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		return cmd.Process.Pid, nil
	})
	if err != nil {
		_ = cmd.Wait() // it was killed
		return 0, nil, err
	}
	t.Cleanup(func() { close(end) })
	return cmd.Process.Pid, pipes, nil
}

// saved returns the directory with a snapshot of a zygote of the tests, which has ended.
func saved(t *testing.T, s Spec) string {
	t.Helper()
	z, ours, end := zygoteOf(t, s, "zygote")
	if err := z.Freeze(ours); err != nil {
		t.Fatal(err)
	}
	pid, pipes, err := z.Fork(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := z.Learn(pid); err != nil {
		t.Error(err)
	}
	tell(t, pid, pipes, "count")
	dir := t.TempDir()
	if err := z.Save(dir); err != nil {
		t.Fatal(err)
	}
	z.Kill()
	close(end)
	return dir
}

// TestSnapshot has processes that are restored go on where their zygote was, which has ended, and
// try what a confined process may not.
func TestSnapshot(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := Spec{Write: []string{dir}, Loopback: true}
	snapshot := saved(t, s)
	for range 2 {
		pid, pipes, err := restored(t, s, snapshot)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := tell(t, pid, pipes, "count"), fmt.Sprintln(1, pid, pid, os.Getpid()); got != want {
			t.Errorf("process %d said %q, want %q", pid, got, want)
		}
	}
	pid, pipes, err := restored(t, s, snapshot)
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil || !strings.Contains(string(status), "\nSeccomp:\t2\n") || !strings.Contains(string(status), "\nNoNewPrivs:\t1\n") {
		t.Errorf("it is under no filter: %v\n%s", err, status)
	}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if want := restoredFiles(t, snapshot); err != nil || len(fds) != want {
		t.Errorf("it has %d files open, %v, want %d", len(fds), err, want)
	}
	p := place{User: os.Geteuid(), Users: os.Getegid(), Dir: dir, Secret: secret, Addr: "127.0.0.1:1", IPv6: hasIPv6(), Self: "/bin/true", Server: os.Getpid(), Group: unix.Getpgrp(), TID: unix.Gettid()}
	given, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]string{}
	if err := json.Unmarshal([]byte(tell(t, pid, pipes, string(given))), &answers); err != nil {
		t.Fatal(err)
	}
	for _, a := range attempts {
		want := a.may == "yes" || a.may == "loopback" && OwnNetwork() == nil
		if got := answers[a.name]; (got == "worked") != want {
			t.Errorf("%s: %s, want it to work: %v", a.name, got, want)
		}
	}
}

// restoredFiles returns how many descriptors a snapshot has.
func restoredFiles(t *testing.T, dir string) (n int) {
	t.Helper()
	m, err := OpenSnapshot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, d := range m.Open {
		n += len(d.Descriptors)
	}
	return n
}

// A snapshot is of no use when a file that was mapped, the kernel, or the place is another. Then
// nothing runs.
func TestSnapshotRefused(t *testing.T) {
	snapshot := saved(t, Spec{})
	state := filepath.Join(snapshot, stateName)
	text, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(m *Snapshot){
		"changed":               func(m *Snapshot) { m.Files[len(m.Files)-1].Time = time.Unix(1, 0) },
		"is not that":           func(m *Snapshot) { m.Kernel[slices.IndexFunc(m.Kernel, isFunctions)].At[1] += 4096 },
		ErrTaken.Error():        func(m *Snapshot) { m.Maps = m.Maps[1:] },
		"map a snapshot":        func(m *Snapshot) { m.Maps[0].Prot |= unix.PROT_WRITE | 1<<20; m.Maps[0].File = 99 },
		"pkey_alloc":            func(m *Snapshot) { m.Keys = maxKeys }, // one is that of all memory
		"snapshot of a process": func(m *Snapshot) { m.Files = nil },
	} {
		m := &Snapshot{}
		if err := json.Unmarshal(text, &m.snapshot); err != nil {
			t.Fatal(err)
		}
		change(m)
		changed, err := json.Marshal(m.snapshot)
		if err == nil {
			err = os.WriteFile(state, changed, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if name == "pkey_alloc" {
			name = fmt.Sprintf("map a snapshot: system call %d", unix.SYS_PKEY_ALLOC)
		}
		pid, _, err := restored(t, Spec{}, snapshot)
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: process %d, %v", name, pid, err)
		}
		if errors.Is(err, ErrTaken) != (name == ErrTaken.Error()) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzSnapshot reads snapshots of which a part is another.
func FuzzSnapshot(f *testing.F) {
	f.Add([]byte(`{"Files":[{}],"Threads":[{"Vector":"AA=="}],"Maps":"AAAAAAAAAAAAEAAAAAAAAAAAAAAAAAAAAwAAACIAAAD/////AAAAAAAAAAAAAAAA","Open":[{"Descriptors":[{"FD":3}]}],"Actions":[{"Signal":2}]}`))
	f.Add([]byte(`{"Files":[{}],"Threads":[null],"Maps":"AAA=","Learned":"AAAAAAAAAAA=","Keys":-1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m := &Snapshot{}
		if m.decode(text) != nil {
			return
		}
		_ = m.fits([]vma{{at: pages{0x1000, 0x1000}}, {name: "[vdso]"}}, 0x1000, 0x2000)
		b := &batch{}
		b.restoreMaps(m, 3)
		b.leave(m, nil)
	})
}

func isFunctions(k special) bool { return k.Name == "[vdso]" }
