// Package process starts, confines, limits, watches and ends one process with
// its process group, and reads what it writes.
//
// It does not know programs, packages, reports or outcomes. Its callers, the runners
// of Deno and of the host's languages, decide what the process may touch and what its
// end means.
//
// # Locking
//
// Process.mu guards the reason of a kill and the samples. No lock is held while
// anything waits.
//
// # Limits
//
// Only Linux limits memory outside the JavaScript heap, counts threads and
// kills a child with its parent. Disk use and threads are sampled (watch.go).
//
// # Testing
//
// The tests start shells and their own binary, confined as Deno is.
package process

import (
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"coderunner/internal/sandbox"
)

// Stop is the reason why a process was killed. "" is none.
type Stop string

// The reasons of this package; callers add others.
const (
	StopTime    Stop = "time"    // it ran longer than its limit
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
	Stdin  Input // our ends of the pipes; Collect closes them
	Stdout *Output
	Stderr *Output
	Report *Output // another pipe of the owner's; nil if there is none

	system *os.Process
	state  *os.ProcessState // of its end; set by Reap
	input  string           // Command.Input
	merged bool             // Command.Merged
	// beforeKill is Command.BeforeKill.
	beforeKill func()
	end        chan struct{}  // closed when the process is reaped; releases its thread
	group      *sandbox.Group // nil if there is none; Reap removes it

	// Set by Limit.
	limit   int64  // of memory, in bytes
	first   memory // the memory then
	visible bool   // we may list its descriptors
	workers bool   // set by Settle: its memory is sampled

	mu     sync.Mutex // guards what follows
	ended  bool       // by itself or killed: its group must not be killed again
	reason Stop
	most   memory // the largest samples
}

// Pid returns the process's number.
func (p *Process) Pid() int { return p.system.Pid }

// Grouped reports whether the process has a control group, which Reap removes.
func (p *Process) Grouped() bool { return p.group != nil }

// Kill kills the process and its group. Stopped then returns the first reason.
// Kill does nothing after the process has ended.
func (p *Process) Kill(reason Stop) {
	if p.beforeKill != nil {
		p.beforeKill()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	if p.reason == "" {
		p.reason = reason
	}
	_ = p.system.Kill() // it may have left its group
	killGroup(p.system)
}

// Signal sends the process a signal: SIGINT also to its group, as a terminal does.
func (p *Process) Signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ended:
	case s == syscall.SIGINT:
		interruptGroup(p.system)
	default:
		_ = p.system.Signal(s)
	}
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
func (p *Process) Exited() bool { return hasExited(p.system) }

// Wait waits for the end of the process and for the readers of its output.
func (p *Process) Wait(readers *sync.WaitGroup) {
	p.Reap()
	p.Collect(readers)
}

// Reap waits for the end of the process and kills the rest of its group.
func (p *Process) Reap() {
	defer close(p.end)
	// until reaped, the pgid cannot be reused
	early := awaitExit(p.system)
	if early {
		p.endGroup()
	}
	p.state, _ = p.system.Wait()
	if !early {
		p.endGroup()
	}
	for until := time.Now().Add(dying); groupLives(p.system) && time.Now().Before(until); {
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
	code, signal := exitOf(p.state)
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

// Pause stops the process with its group, and lets the readers finish with what is
// in the pipes.
func (p *Process) Pause(readers *sync.WaitGroup) {
	p.mu.Lock()
	if !p.ended {
		stopGroup(p.system)
	}
	p.mu.Unlock()
	p.Stdin.Close()
	for _, o := range p.outputs() {
		o.end()
	}
	readers.Wait()
}

// Hold stops the process with its group, which uses no processor time until Release. The
// process must not be reaped at the same time.
func (p *Process) Hold() {
	stopGroup(p.system)
	awaitStop(p.system)
}

// Release lets a process go on that is held.
func (p *Process) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		continueGroup(p.system)
	}
}

// Resume lets a paused process go on, with what is in the pipes dropped, and its
// standard input empty and open.
func (p *Process) Resume() error {
	for _, o := range p.outputs() {
		_, _ = io.Copy(io.Discard, o)
		o.resume()
	}
	var err error
	if p.Stdin.File, err = reopenInput(p.input); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		continueGroup(p.system)
	}
	return nil
}

// outputs returns the pipes from the process.
func (p *Process) outputs() []*Output {
	return slices.DeleteFunc([]*Output{p.Stdout, p.Stderr, p.Report}, func(o *Output) bool { return o == nil })
}

// Collect lets the readers finish with what is in the pipes, and closes them. The
// process must have ended.
func (p *Process) Collect(readers *sync.WaitGroup) {
	p.Stdin.Close()
	for _, o := range p.outputs() {
		o.end()
	}
	readers.Wait()
	for _, o := range p.outputs() {
		o.Close()
	}
}

func (p *Process) endGroup() {
	p.mu.Lock()
	defer p.mu.Unlock()
	killGroup(p.system)
	p.ended = true
}

// Exit returns the exit code of a reaped process, 128 plus the signal's number if
// a signal ended it.
func (p *Process) Exit() (code int, signal syscall.Signal) {
	<-p.end
	return exitOf(p.state)
}

func exitOf(state *os.ProcessState) (code int, signal syscall.Signal) {
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
		if state := p.state; state != nil {
			u = Usage{CPU: state.UserTime() + state.SystemTime(), Peak: PeakMemory(state)}
		}
	default:
		u.CPU, _ = used(p.Pid())
		p.sample()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.most.peak = max(u.Peak, p.most.peak)
	u.Peak = p.most.peak
	return u
}

// Copy copies a stream of the process to its end, and kills the process when w
// returns an error.
func (p *Process) Copy(w io.Writer, r io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if _, werr := w.Write(buf[:n]); werr != nil {
			p.Kill(StopOutput)
			return
		}
		if err != nil {
			return
		}
	}
}

// sample records the memory of the living process, and returns it.
func (p *Process) sample() (now memory) {
	now, err := memoryNow(p.Pid())
	if err != nil {
		return now // it has ended
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.most = memory{max(p.most.peak, now.peak), max(p.most.data, now.data), max(p.most.anon, now.anon)}
	return now
}
