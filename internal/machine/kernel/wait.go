package kernel

import (
	"context"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// Wait options, as wait(2) has them.
const (
	NoHang = 1       // WNOHANG: do not wait
	Keep   = 1 << 24 // WNOWAIT: the process can be waited for again
)

// Waited is a child that has ended.
type Waited struct {
	PID    int // 0: none, with NoHang
	Status Status
	CPU    time.Duration // that it and the children that it waited for have used
}

// Wait is waitpid(2): it waits until a child has ended and removes it from the
// table. pid is a child, -1 any, 0 one of the caller's group, and others one of
// the group -pid. The error is ECHILD if there is none, or EINTR when ctx ends
// first.
func (p *Process) Wait(ctx context.Context, pid, options int) (w Waited, e abi.Errno) {
	reaped := func() (done bool) {
		w, e, done = p.reap(pid, options)
		return done
	}
	if !reaped() {
		p.Idle(func() {
			if memfs.Await(ctx, &p.waiters, reaped) != abi.OK {
				w, e = Waited{}, abi.EINTR
			}
		})
	}
	return w, e
}

// reap looks for a child that has ended. done reports whether there is nothing to
// wait for.
func (p *Process) reap(pid, options int) (w Waited, e abi.Errno, done bool) {
	k := p.k
	k.mu.Lock()
	defer k.mu.Unlock()
	any := false
	var found *Process
	for _, c := range k.processes {
		if c.parent != p.pid || !(pid == -1 || pid > 0 && c.pid == pid || pid == 0 && c.group == p.group || pid < -1 && c.group == -pid) {
			continue
		}
		any = true
		if c.exited && (found == nil || c.pid < found.pid) {
			found = c
		}
	}
	switch {
	case found != nil:
		w = Waited{found.pid, found.status, found.cpuLocked() + found.childCPU}
		if options&Keep == 0 {
			k.removeLocked(found.pid, found)
			p.childCPU += w.CPU
		}
		return w, abi.OK, true
	case !any:
		return w, abi.ECHILD, true
	}
	return w, abi.OK, options&NoHang != 0
}

// Reaps has the process count as one that waits for its children as soon as they
// end, as a shell does: Kill and /proc do not find them any more. Wait still returns
// their status.
func (p *Process) Reaps() {
	p.k.mu.Lock()
	defer p.k.mu.Unlock()
	p.reaps = true
}

// reapedLocked reports whether a process counts as waited for.
func (k *Kernel) reapedLocked(p *Process) bool {
	parent := k.processes[p.parent]
	return p.exited && parent != nil && parent.reaps
}

// OpenPID is pidfd_open(2): a file that poll reports readable when the process has
// ended.
func (k *Kernel) OpenPID(pid int) (*memfs.File, abi.Errno) {
	p := k.Process(pid)
	if p == nil {
		return nil, abi.ESRCH
	}
	return k.fs.NewFile(pidFile{p}, abi.O_RDWR, abi.S_IFREG|0o600), abi.OK
}

type pidFile struct{ p *Process }

func (pidFile) Read(context.Context, []byte, bool) (int, abi.Errno)  { return 0, abi.EINVAL }
func (pidFile) Write(context.Context, []byte, bool) (int, abi.Errno) { return 0, abi.EINVAL }
func (pidFile) Close() abi.Errno                                     { return abi.OK }

func (f pidFile) Ready() abi.Events {
	select {
	case <-f.p.done:
		return abi.POLLIN | abi.POLLRDNORM
	default:
		return 0
	}
}

func (f pidFile) Watch(ch chan<- struct{}) (stop func()) { return f.p.waiters.Watch(ch) }
