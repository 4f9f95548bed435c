package process

import (
	"errors"
	"os"
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
		pipes = append(pipes, o.f)
	}
	return z.of.Freeze(pipes)
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
	p := &Process{system: system, end: make(chan struct{}), Stdin: Input{pipes[0]}}
	p.beforeKill = func() {
		beforeKill()
		z.learn(p)
	}
	z.last = p
	to := []**Output{&p.Stdout, &p.Stderr, &p.Report}
	for i, f := range pipes[1:] {
		*to[i] = newOutput(f)
	}
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
