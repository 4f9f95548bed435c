//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Group is a control group for one process that is about to be started, below
// one that was delegated to us. The methods of a nil Group do nothing. A Group is
// not safe for concurrent use. The caller calls Close once.
type Group struct {
	dir  string
	file *os.File // the directory, for the start
}

// groupPrefix begins the names of groups: coderunner-PID-N.
const groupPrefix = "coderunner-"

var groupNumber atomic.Int64

var delegation = sync.OnceValues(func() (string, error) {
	parent, err := delegatedParent()
	if err != nil {
		return "", err
	}
	sweepGroups(parent)
	if err := tryGroup(parent); err != nil {
		return "", fmt.Errorf("try one: %w", err)
	}
	return parent, nil
})

// Delegated returns nil if control groups can be made, else the reason. The first
// call removes the groups that killed servers left, and starts this program in a
// group, killed before its first instruction, to check that it works.
func Delegated() error {
	_, err := delegation()
	return err
}

// NewGroup makes a group for at most tasks tasks, including threads. It returns an
// error if no group was delegated.
func NewGroup(tasks int) (*Group, error) {
	parent, err := delegation()
	if err != nil {
		return nil, err
	}
	return newGroup(parent, tasks)
}

func newGroup(parent string, tasks int) (_ *Group, err error) {
	g := &Group{dir: filepath.Join(parent, fmt.Sprintf("%s%d-%d", groupPrefix, os.Getpid(), groupNumber.Add(1)))}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return nil, fmt.Errorf("make a control group: %w", err)
	}
	defer func() {
		if err != nil {
			_ = g.Close()
		}
	}()
	if err := g.set("pids.max", int64(tasks)); err != nil {
		return nil, err
	}
	if err := g.set("memory.oom.group", 1); err != nil {
		return nil, err
	}
	// A kernel without swap has no such file.
	if err := g.set("memory.swap.max", 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, name := range []string{"memory.max", "cgroup.kill"} {
		if err := unix.Access(filepath.Join(g.dir, name), unix.W_OK); err != nil {
			return nil, fmt.Errorf("use a control group's %s: %w", name, err)
		}
	}
	if g.file, err = os.Open(g.dir); err != nil {
		return nil, fmt.Errorf("open a control group: %w", err)
	}
	return g, nil
}

// Place has a process start in the group. It must be started traced, as Start
// does it wherever there are groups: otherwise the thread's filter forbids it.
func (g *Group) Place(attr *syscall.SysProcAttr) {
	if g != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(g.file.Fd())
	}
}

// LimitMemory limits the group's memory to its current use plus more bytes.
func (g *Group) LimitMemory(more int64) error {
	if g == nil {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(g.dir, "memory.current"))
	if err != nil {
		return fmt.Errorf("read a control group's memory: %w", err)
	}
	now, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return fmt.Errorf("read a control group's memory: %w", err)
	}
	return g.set("memory.max", now+more)
}

// Refused reports whether a process of the group was killed for its memory, and
// whether the group was refused a task.
func (g *Group) Refused() (memory, tasks bool) {
	if g == nil {
		return false, false
	}
	return g.event("memory.events", "oom_kill"), g.event("pids.events", "max")
}

// Close kills what is in the group and removes it. It waits for that, 200 ms
// at most.
func (g *Group) Close() error {
	if g == nil {
		return nil
	}
	if g.file != nil {
		g.file.Close()
	}
	_ = g.set("cgroup.kill", 1) // older kernels cannot, and an empty one does not need it
	for until := time.Now().Add(200 * time.Millisecond); ; time.Sleep(time.Millisecond) {
		err := unix.Rmdir(g.dir)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) && !errors.Is(err, unix.EINTR) || time.Now().After(until) {
			return fmt.Errorf("remove a control group: %w", err)
		}
	}
}

// set writes a number into one of the group's files.
func (g *Group) set(name string, value int64) error {
	if err := writeControl(filepath.Join(g.dir, name), strconv.FormatInt(value, 10)); err != nil {
		return fmt.Errorf("set a control group's %s: %w", name, err)
	}
	return nil
}

// writeControl writes to a file of the kernel's, which is never made.
func writeControl(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err
}

// event reports whether something has happened in the group.
func (g *Group) event(file, name string) bool {
	text, err := os.ReadFile(filepath.Join(g.dir, file))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if n, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(n) != "0"
		}
	}
	return false
}

// delegatedParent finds the directory of the group that our own is in, if it was
// delegated to us and can have groups with limits. The kernel allows those only
// in groups without processes: our own group is none, and we move nobody.
//
//	delegated ─┬─ ours: this process, and who started it
//	           └─ coderunner-PID-N: each a process of a program
func delegatedParent() (string, error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	leaf, err := ownGroup(string(own), string(mounts))
	if err != nil {
		return "", err
	}
	// The path may be another's where namespaces are mixed.
	if procs, err := words(leaf, "cgroup.procs"); err != nil || !slices.Contains(procs, strconv.Itoa(os.Getpid())) {
		return "", errors.New("the group of this process is not where the system says")
	}
	parent := filepath.Dir(leaf)
	if kind, err := words(parent, "cgroup.type"); err != nil || !slices.Equal(kind, []string{"domain"}) {
		return "", errors.New("this process is not in a group below a delegated one")
	}
	if err := mayUse(parent); err != nil {
		return "", err
	}
	return parent, enable(parent)
}

// mayUse returns nil if we may make groups in a group. Being able to write
// there is not enough: root can everywhere, and a user in the groups that the
// user's own systemd manages. It is ours if systemd has marked it as delegated,
// or if it is the place where what we may write begins.
func mayUse(dir string) error {
	for _, name := range []string{"", "cgroup.procs", "cgroup.subtree_control"} {
		if err := writable(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("the group above this process's is not writable: %w", err)
		}
	}
	for _, mark := range []string{"user.delegate", "trusted.delegate"} {
		var value [8]byte
		if n, err := unix.Getxattr(dir, mark, value[:]); err == nil && string(value[:n]) == "1" {
			return nil
		}
	}
	if writable(filepath.Dir(dir)) == nil {
		return errors.New("the group above this process's is not marked as delegated")
	}
	return nil
}

func writable(name string) error {
	return unix.Faccessat(unix.AT_FDCWD, name, unix.W_OK, unix.AT_EACCESS)
}

// enable turns on the controllers that we need for groups in dir.
func enable(dir string) error {
	for _, name := range []string{"memory", "pids"} {
		have, err := words(dir, "cgroup.controllers")
		if err != nil {
			return err
		}
		if !slices.Contains(have, name) {
			return fmt.Errorf("the group above this process's does not have the %s controller", name)
		}
		on, err := words(dir, "cgroup.subtree_control")
		if err != nil {
			return err
		}
		if slices.Contains(on, name) {
			continue
		}
		if err := writeControl(filepath.Join(dir, "cgroup.subtree_control"), "+"+name); err != nil {
			return fmt.Errorf("turn the %s controller on: %w", name, err)
		}
	}
	return nil
}

// words reads a file of a group.
func words(dir, name string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(dir, name))
	return strings.Fields(string(text)), err
}

// ownGroup finds the directory of the process's group, by what /proc/self/cgroup
// and /proc/self/mountinfo say.
func ownGroup(own, mounts string) (string, error) {
	path := ""
	for line := range strings.Lines(own) {
		if rest, ok := strings.CutPrefix(line, "0::"); ok {
			path = strings.TrimRight(rest, "\n")
		}
	}
	if !filepath.IsAbs(path) || strings.HasPrefix(path, "/..") {
		return "", errors.New("this process is in no group of version 2")
	}
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(line, " - ")
		f := strings.Fields(before)
		if !strings.HasPrefix(after, "cgroup2 ") || len(f) < 5 || strings.Contains(f[3]+f[4], `\`) {
			continue
		}
		inside, err := filepath.Rel(f[3], path)
		if err == nil && filepath.IsLocal(inside) {
			if inside == "." {
				return "", errors.New("this process is in the uppermost group")
			}
			return filepath.Join(f[4], inside), nil
		}
	}
	return "", errors.New("groups of version 2 are not mounted")
}

// sweepGroups removes the groups of servers that were killed. What they had
// started was killed with them, so there is nobody in the groups; the kernel
// removes no others.
func sweepGroups(parent string) {
	left, _ := filepath.Glob(filepath.Join(parent, groupPrefix+"*-*"))
	for _, dir := range left {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), groupPrefix), "-")
		n, err := strconv.Atoi(pid)
		if err == nil && n > 0 && errors.Is(unix.Kill(n, 0), unix.ESRCH) {
			_ = unix.Rmdir(dir) // the next one tries again
		}
	}
}

// tryGroup starts this program in a group, and kills it by the group before
// its first instruction.
func tryGroup(parent string) error {
	if k := probe(); !k.filter || k.untraced != nil {
		return errors.New("this system does not let us trace what we start")
	}
	g, err := newGroup(parent, 16)
	if err != nil {
		return err
	}
	if err = g.LimitMemory(64 << 20); err == nil {
		attr := new(syscall.SysProcAttr)
		g.Place(attr)
		err = tryStart(attr, func(pid int) error {
			err := awaitTrap(pid)
			if procs, rerr := words(g.dir, "cgroup.procs"); err == nil && (rerr != nil || !slices.Equal(procs, []string{strconv.Itoa(pid)})) {
				err = errors.New("the process is not in it")
			}
			return errors.Join(err, g.set("cgroup.kill", 1))
		})
	}
	return errors.Join(err, g.Close())
}
