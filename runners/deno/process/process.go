// Package process starts, confines, limits, watches and ends one process with
// its process group, and reads what it writes.
//
// It does not know programs, packages, reports or outcomes. Its caller, package
// deno, decides what the process may touch and what its end means.
//
// # Locking
//
// Process.mu guards the reason of a kill and the samples. No lock is held while
// anything waits.
//
// # Limits
//
// Only Linux limits memory outside the JavaScript heap, counts threads and
// kills a child with its parent. Disk use and threads are sampled (disk.go).
//
// # Testing
//
// The tests start shells and their own binary, confined as Deno is.
package process

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"coderunner/internal/sandbox"
)

// Command is a process to start.
type Command struct {
	Path string
	Args []string
	Dir  string
	Env  []string
	// Spec is what it may touch; nil: everything.
	Spec *sandbox.Spec
	// Group requests a control group, where one is delegated to us.
	Group bool
}

// cmd returns the exec.Cmd of c.
func (c Command) cmd() *exec.Cmd {
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir = c.Dir
	cmd.Env = c.Env
	cmd.SysProcAttr = ownGroup()
	return cmd
}

// Starter starts unconfined processes from one OS thread that lives as long as the
// Starter: Linux kills a process with Pdeathsig when the thread that started it
// ends.
type Starter struct {
	work chan func()
	done chan struct{}
}

// NewStarter returns a Starter. The caller closes it.
func NewStarter() *Starter {
	s := &Starter{work: make(chan func()), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		runtime.LockOSThread() // never unlocked: the thread ends with us
		for f := range s.work {
			f()
		}
	}()
	return s
}

func (s *Starter) start(cmd *exec.Cmd) error {
	result := make(chan error, 1)
	s.work <- func() { result <- cmd.Start() }
	return <-result
}

// Close ends the Starter's thread.
func (s *Starter) Close() {
	close(s.work)
	<-s.done
}

// Stop is the reason why a process was killed. "" is none.
type Stop string

// The reasons of this package; callers add others.
const (
	StopOutput  Stop = "output"  // a stream flooded
	StopDisk    Stop = "disk"    // the disk limit was exceeded or not countable
	StopSpace   Stop = "space"   // the disk is nearly full
	StopThreads Stop = "threads" // too many threads
	StopMemory  Stop = "memory"  // the kernel killed it by its control group's limit
	StopContext Stop = "context" // the context ended
)

// Process is a started process that leads its own process group. Its owner calls
// Wait once, or Reap and Collect once each.
type Process struct {
	Stdin  *os.File // our ends of the pipes; Collect closes them
	Stdout *Output
	Stderr *Output
	Report *Output // another pipe of the owner's; nil if there is none

	cmd   *exec.Cmd
	end   chan struct{}  // closed when the process is reaped; releases its thread
	group *sandbox.Group // nil if there is none; Reap removes it

	// Set by Limit.
	memory    int64 // the limit, in bytes
	firstPeak int64 // the peak then
	firstData int64
	visible   bool // we may list its descriptors

	mu     sync.Mutex // guards what follows
	ended  bool       // by itself or killed: its group must not be killed again
	reason Stop
	peak   int64 // the largest sample, in bytes
	data   int64
}

// Start starts c.
func (s *Starter) Start(c Command) (*Process, error) {
	p := &Process{cmd: c.cmd(), end: make(chan struct{})}
	if c.Group && sandbox.Delegated() == nil {
		p.group, _ = sandbox.NewGroup(groupTasks) // without one, the other limits hold
	}
	var pipes [6]*os.File
	var err error
	for i := 0; i < len(pipes) && err == nil; i += 2 {
		pipes[i], pipes[i+1], err = os.Pipe()
	}
	if err == nil {
		p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = pipes[0], pipes[3], pipes[5]
		if c.Spec != nil {
			err = p.startConfined(*c.Spec)
		} else {
			err = s.start(p.cmd)
		}
	}
	if err != nil {
		for _, f := range pipes {
			f.Close() // a nil file returns an error, ignored
		}
		_ = p.group.Close()
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	for _, theirs := range []int{0, 3, 5} {
		pipes[theirs].Close()
	}
	p.Stdin, p.Stdout, p.Stderr = pipes[1], newOutput(pipes[2]), newOutput(pipes[4])
	return p, nil
}

// startConfined starts the process confined by spec.
func (p *Process) startConfined(spec sandbox.Spec) error {
	err := sandbox.Start(spec, p.end, func(trace bool) (pid int, err error) {
		setTraced(p.cmd.SysProcAttr, trace)
		p.group.Place(p.cmd.SysProcAttr)
		if err := p.cmd.Start(); err != nil {
			return 0, err
		}
		return p.cmd.Process.Pid, nil
	})
	if err != nil && p.cmd.Process != nil {
		_ = p.cmd.Wait() // it was killed before it began
	}
	return err
}

// Run starts c, a trusted process without input, calls the functions to read its
// output, and waits for its end. When ctx ends, the process is killed and the
// error is ctx's cause.
func (s *Starter) Run(ctx context.Context, c Command, stdout, stderr func(io.Reader)) (*os.ProcessState, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	p, err := s.Start(c)
	if err != nil {
		return nil, err
	}
	_ = setLimits(p.Pid(), trustedData) // it may have ended already
	stop := context.AfterFunc(ctx, func() { p.Kill(StopContext) })
	defer stop()
	var readers sync.WaitGroup
	readers.Go(func() { stdout(p.Stdout) })
	readers.Go(func() { stderr(p.Stderr) })
	p.Stdin.Close()
	p.Wait(&readers)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return p.cmd.ProcessState, nil
}

// Pid returns the process's number.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Kill kills the process and its group. Stopped then returns the first reason.
// Kill does nothing after the process has ended.
func (p *Process) Kill(reason Stop) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	if p.reason == "" {
		p.reason = reason
	}
	_ = p.cmd.Process.Kill() // it may have left its group
	killGroup(p.cmd.Process)
}

// Stopped returns why the process was killed, "" if it was not.
func (p *Process) Stopped() Stop {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reason
}

// End returns a channel that is closed when the process is reaped.
func (p *Process) End() <-chan struct{} { return p.end }

// Exited reports whether the process, which is not reaped, has ended. It reports
// false where that cannot be known without waiting.
func (p *Process) Exited() bool { return hasExited(p.cmd.Process) }

// Wait waits for the end of the process and for the readers of its output.
func (p *Process) Wait(readers *sync.WaitGroup) {
	p.Reap()
	p.Collect(readers)
}

// Reap waits for the end of the process and kills the rest of its group.
func (p *Process) Reap() {
	defer close(p.end)
	// until reaped, the pgid cannot be reused
	early := awaitExit(p.cmd.Process)
	if early {
		p.endGroup()
	}
	_ = p.cmd.Wait() // ProcessState has the result
	if !early {
		p.endGroup()
	}
	for until := time.Now().Add(dying); groupLives(p.cmd.Process) && time.Now().Before(until); {
		time.Sleep(time.Millisecond) // the others are not our children: no event
	}
	p.leaveGroup()
}

// leaveGroup removes the control group and records a limit that ended the process.
func (p *Process) leaveGroup() {
	memory, threads := p.group.Refused()
	_ = p.group.Close() // the next start removes what is left of it
	p.mu.Lock()
	defer p.mu.Unlock()
	code, signal := p.exit()
	switch {
	case p.reason != "":
	case memory && signal == syscall.SIGKILL:
		p.reason = StopMemory
	case threads && code != 0:
		p.reason = StopThreads
	}
}

// dying bounds the wait for the end of a killed group.
const dying = 200 * time.Millisecond

// Collect lets the readers finish with what is in the pipes, and closes them. The
// process must have ended.
func (p *Process) Collect(readers *sync.WaitGroup) {
	p.Stdin.Close()
	outputs := []*Output{p.Stdout, p.Stderr, p.Report}
	for _, o := range outputs {
		if o != nil {
			o.end()
		}
	}
	readers.Wait()
	for _, o := range outputs {
		if o != nil {
			o.Close()
		}
	}
}

func (p *Process) endGroup() {
	p.mu.Lock()
	defer p.mu.Unlock()
	killGroup(p.cmd.Process)
	p.ended = true
}

// Exit returns the exit code of a reaped process, 128 plus the signal's number if
// a signal ended it.
func (p *Process) Exit() (code int, signal syscall.Signal) {
	<-p.end
	return p.exit()
}

func (p *Process) exit() (code int, signal syscall.Signal) {
	state := p.cmd.ProcessState
	if state == nil {
		return 1, 0
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && runtime.GOOS != "windows" && ws.Signaled() {
		return 128 + int(ws.Signal()), ws.Signal()
	}
	return state.ExitCode(), 0
}

// Usage is what a process has used so far.
type Usage struct {
	CPU  time.Duration // 0 if unknown
	Peak int64         // peak memory in bytes, 0 if unknown
}

// Usage returns the usage of a living or a reaped process.
func (p *Process) Usage() Usage {
	var u Usage
	select {
	case <-p.end:
		if state := p.cmd.ProcessState; state != nil {
			u = Usage{CPU: state.UserTime() + state.SystemTime(), Peak: peakMemory(state)}
		}
	default:
		u.CPU, _ = used(p.Pid())
		p.sample()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	u.Peak = max(u.Peak, p.peak)
	return u
}
