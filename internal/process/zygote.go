package process

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"coderunner/internal/sandbox"
)

// Zygote is a confined process that is forked when it has begun: see [sandbox.Zygote]. Its
// owner calls Freeze when it is as forks are to be, and End when all of them have ended.
type Zygote struct {
	*Process
	of *sandbox.Zygote

	mu      sync.Mutex // held while it runs on, is forked, or learns; guards what follows
	last    *Process   // the last fork
	learned bool       // it knows what forks write
}

// CanFork returns why there are no zygotes, nil if there are. Where processes have a control
// group, each is made in its own.
func CanFork() error {
	if sandbox.Delegated() == nil {
		return errors.New("each process is started in a control group of its own")
	}
	return sandbox.CanFork()
}

// StartZygote starts c, which has a Spec, as a zygote.
func StartZygote(c Command) (*Zygote, error) {
	z := &Zygote{}
	p, err := start(c, func(s sandbox.Spec, end <-chan struct{}, start func(trace bool, files []*os.File) (pid int, err error)) (err error) {
		z.of, err = sandbox.StartZygote(s, end, start)
		return err
	})
	z.Process = p
	return z, err
}

// Freeze stops the zygote.
func (z *Zygote) Freeze() error {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.freeze()
}

// RunOn has the zygote run until f returns; it is forked as it is then. If it fails, the zygote
// cannot be forked any more.
func (z *Zygote) RunOn(f func() error) error {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.last, z.learned = nil, false
	err := z.of.Thaw()
	if err == nil {
		err = f()
	}
	if err == nil {
		err = z.freeze()
	}
	return err
}

func (z *Zygote) freeze() error {
	pipes := []*os.File{z.Stdin.File}
	for _, o := range z.outputs() {
		if !z.merged || o != z.Stderr {
			pipes = append(pipes, o.f)
		}
	}
	return z.of.Freeze(pipes)
}

// Save writes the stopped zygote into a directory, for Restore.
func (z *Zygote) Save(dir string) error {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.of.Save(dir)
}

// Restore starts c, which is the command of a zygote, as a process that goes on where the zygote
// of a snapshot was stopped, with pipes of its own.
func Restore(c Command, m *sandbox.Snapshot) (*Process, error) {
	var pipes []*os.File
	p, err := start(c, func(s sandbox.Spec, end <-chan struct{}, start func(trace bool, files []*os.File) (pid int, err error)) (err error) {
		pipes, err = sandbox.Restore(s, m, end, start)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, ours := range []*os.File{p.Stdin.File, p.Stdout.f, p.Stderr.f} {
		ours.Close() // it has others in their place
	}
	if err := p.take(pipes); err != nil {
		p.Kill("not ready")
		p.Reap()
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	return p, nil
}

// take sets our ends of the pipes, in the order of freeze.
func (p *Process) take(pipes []*os.File) error {
	to := []**Output{&p.Stdout, &p.Stderr, &p.Report}
	if p.merged {
		none, theirs, err := os.Pipe() // of which nobody has the other end
		if err != nil {
			return err
		}
		theirs.Close()
		p.Stderr = newOutput(none)
		to = slices.Delete(to, 1, 2)
	}
	if len(pipes) != 1+len(to) {
		return fmt.Errorf("it has %d pipes", len(pipes))
	}
	p.Stdin = Input{pipes[0]}
	for i, f := range pipes[1:] {
		*to[i] = newOutput(f)
	}
	return nil
}

// Fork makes a process that goes on where the zygote was stopped, with pipes of its own.
// Supervise is Spec.Supervise of the fork, and beforeKill its Command.BeforeKill.
func (z *Zygote) Fork(supervise func(*sandbox.Calls), beforeKill func()) (*Process, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	pid, pipes, err := z.of.Fork(supervise)
	if err != nil {
		return nil, err
	}
	system, err := os.FindProcess(pid)
	if err != nil {
		return nil, err
	}
	p := &Process{system: system, merged: z.merged, end: make(chan struct{})}
	if err := p.take(pipes); err != nil {
		p.Kill("not ready")
		p.Reap()
		return nil, err
	}
	p.beforeKill = func() {
		beforeKill()
		z.learn(p)
	}
	z.last = p
	return p, nil
}

// learn has the zygote know what a fork of it as it is has written that is about to be killed.
func (z *Zygote) learn(fork *Process) {
	if !z.mu.TryLock() {
		return // it is another already
	}
	defer z.mu.Unlock()
	if !z.learned && fork == z.last {
		z.learned = z.of.Learn(fork.Pid()) == nil
	}
}

// End kills the zygote and waits for its end.
func (z *Zygote) End() {
	z.mu.Lock() // while it is being stopped its end could not be awaited
	defer z.mu.Unlock()
	z.Kill("over")
	z.of.Kill()
	z.Wait(new(sync.WaitGroup))
}
