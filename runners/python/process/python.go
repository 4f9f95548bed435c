package process

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/pyodide"
	"coderunner/runners"
)

// python is the program of a child: an interpreter of its own on the same files.
func (c *Table) python(ctx context.Context, p *kernel.Process) int {
	if c.Ready != nil {
		if err := c.Ready(ctx); err != nil {
			c.Kernel.Fail(err)
			return 1
		}
	}
	program := c.program.Load()
	files := p.TakeFiles()
	if f := files[2]; f != nil {
		defer f.Ref().Close()
	}
	stderr := p.Writer(ctx, files[2])
	in, err := program.Runtime.New(ctx, pyodide.Options{
		From: program.From, Memory: program.Memory, FS: c.FS, Shared: true, Charged: c.unbook(), Process: p,
		Dir: p.Dir, Umask: p.Umask, Files: files, Calls: program.Calls,
		Sockets: c.Sockets(), Authorities: c.authorities,
	})
	if errors.Is(err, abi.ENOMEM) {
		err = program.noRoom()
	}
	if err != nil {
		fmt.Fprintf(stderr, "python: %v\n", err)
		return 1
	}
	unnote := c.Note(p, in)
	res, err := in.Exec(ctx, pyodide.Command{Args: p.Args, Env: p.Env})
	unnote()
	p.Handle(nil)
	if err := in.Close(); err != nil {
		c.log.Error("close an interpreter", zap.Error(err))
	}
	if err != nil {
		fmt.Fprintf(stderr, "python: %v\n", err)
		return 1
	}
	p.AddCPU(res.CPUTime)
	return c.ended(p, res, func(text string) { fmt.Fprintln(stderr, "python: "+text) })
}

// ended returns the exit status of an interpreter, or ends the process by the
// signal that would end it elsewhere.
func (c *Table) ended(p *kernel.Process, res *pyodide.Result, say func(string)) int {
	const sigabrt, sigsegv = 6, 11
	switch {
	case res.Signal != 0:
		p.Die(kernel.Signal(res.Signal))
	case res.Ended == pyodide.Flooded:
		p.Kernel().Fail(res.Cause)
	case res.MemoryCapHit && res.Ended != pyodide.Finished && res.Ended != pyodide.Cancelled:
		say(runners.Limits{Memory: c.program.Load().Memory}.Exceeded(runners.OutOfMemory).Message)
		p.Die(kernel.SIGKILL)
	case res.Trap == pyodide.StackOverflow:
		say("the interpreter's stack overflowed")
		p.Die(sigsegv)
	case res.Ended == pyodide.Trapped:
		say(res.Trap)
		p.Die(sigabrt)
	case res.Ended == pyodide.Died:
		c.log.Error("an interpreter died", zap.Error(res.Cause))
		p.Die(sigabrt)
	}
	return res.ExitCode
}

// Note notes an interpreter that is there from now on, and unnote that it ends.
func (c *Table) Note(p *kernel.Process, in *pyodide.Interp) (unnote func()) {
	p.Measure(func() kernel.Usage { return kernel.Usage{Memory: in.Memory(), CPU: in.CPUTime()} })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.there[in] = true
	return func() {
		p.Measure(nil)
		c.mu.Lock()
		defer c.mu.Unlock()
		held := int64(0)
		for in := range c.there {
			held += in.Memory()
		}
		c.peak = max(c.peak, held)
		delete(c.there, in)
	}
}
