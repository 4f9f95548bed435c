package process

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"

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
	// Merged makes stderr the same pipe as stdout, whose order is kept.
	Merged bool
	// Input is the name of a named pipe to make for stdin, so that it can have an end
	// more than once; "" is an ordinary pipe.
	Input string
	// BeforeKill is called before the process is killed, if it is not nil.
	BeforeKill func()
	// Name is what the program finds as its own; "" is Path.
	Name string
	// Files are inherited, from descriptor 3 on; not with Spec.Loopback, which needs these numbers.
	Files []*os.File
	// Group requests a control group, where one is delegated to us.
	Group bool
}

// cmd returns the exec.Cmd of c.
func (c Command) cmd() *exec.Cmd {
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir = c.Dir
	cmd.Env, cmd.ExtraFiles = c.Env, c.Files
	if c.Name != "" {
		cmd.Args[0] = c.Name
	}
	if cmd.SysProcAttr = ownGroup(); cmd.SysProcAttr != nil {
		dieWithParent(cmd.SysProcAttr)
	}
	return cmd
}

// Start starts c.
func Start(c Command) (*Process, error) {
	return start(c, sandbox.Start)
}

// starter is [sandbox.Start].
type starter func(s sandbox.Spec, end <-chan struct{}, start func(trace bool, files []*os.File) (pid int, err error)) error

// start starts c, by the starter if it is confined.
func start(c Command, confined starter) (*Process, error) {
	cmd, p := c.cmd(), &Process{end: make(chan struct{}), input: c.Input, merged: c.Merged, beforeKill: c.BeforeKill}
	if c.Group && sandbox.Delegated() == nil {
		p.group, _ = sandbox.NewGroup(groupTasks) // without one, the other limits hold
	}
	var pipes [6]*os.File
	var err error
	for i := 0; i < len(pipes) && err == nil; i += 2 {
		if i == 0 && c.Input != "" {
			pipes[0], pipes[1], err = makeInput(c.Input)
		} else {
			pipes[i], pipes[i+1], err = os.Pipe()
		}
	}
	if err == nil {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes[0], pipes[3], pipes[5]
		if c.Merged {
			cmd.Stderr = pipes[3]
		}
		if c.Spec != nil {
			err = p.startConfined(cmd, *c.Spec, confined)
		} else {
			err = p.startFree(cmd)
		}
	}
	if err != nil {
		for _, f := range pipes {
			f.Close() // a nil file returns an error, ignored
		}
		_ = p.group.Close()
		_ = os.Remove(c.Input) // for another start; "" is none
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	for _, theirs := range []int{0, 3, 5} {
		pipes[theirs].Close()
	}
	p.Stdin, p.Stdout, p.Stderr = Input{pipes[1]}, newOutput(pipes[2]), newOutput(pipes[4])
	return p, nil
}

// startConfined starts the process confined by spec.
func (p *Process) startConfined(cmd *exec.Cmd, spec sandbox.Spec, confined starter) error {
	err := confined(spec, p.end, func(trace bool, files []*os.File) (pid int, err error) {
		setTraced(cmd.SysProcAttr, trace)
		cmd.ExtraFiles = append(files[:len(files):len(files)], cmd.ExtraFiles...)
		p.group.Place(cmd.SysProcAttr)
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		p.system = cmd.Process
		return p.Pid(), nil
	})
	if err != nil && p.system != nil {
		_ = cmd.Wait() // it was killed before it began
	}
	return err
}

// startFree starts the process from a thread that outlives it: Linux kills a
// process with Pdeathsig when the thread that started it ends.
func (p *Process) startFree(cmd *exec.Cmd) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		p.system = cmd.Process
		if result <- err; err == nil {
			<-p.end
		}
	}()
	return <-result
}

// Run starts c, a trusted process without input, calls the functions to read its
// output, and waits for its end. When ctx ends, the process is killed and the
// error is ctx's cause.
func Run(ctx context.Context, c Command, stdout, stderr func(io.Reader)) (*os.ProcessState, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	p, err := Start(c)
	if err != nil {
		return nil, err
	}
	_ = setLimits(p.Pid(), trustedData, trustedData) // it may have ended already
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
	return p.state, nil
}
