package process

import (
	"context"
	"errors"
	"strings"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/pyodide"
)

// process is a kernel's process as an interpreter sees it.
type process struct{ *kernel.Process }

var _ pyodide.Process = process{}

func (p process) of(pid int) (*kernel.Process, abi.Errno) {
	if pid == 0 {
		return p.Process, abi.OK
	}
	if q := p.Kernel().Process(pid); q != nil {
		return q, abi.OK
	}
	return nil, abi.ESRCH
}

// Group implements [pyodide.Process], as the other methods do.
func (p process) Group(pid int) (int, abi.Errno) {
	q, e := p.of(pid)
	if e != abi.OK {
		return 0, e
	}
	return q.Group(), e
}

func (p process) Session(pid int) (int, abi.Errno) {
	q, e := p.of(pid)
	if e != abi.OK {
		return 0, e
	}
	return q.Session(), e
}

func (p process) Start(s pyodide.Spawn) (int, error) {
	var c *kernel.Process
	err := p.eachPath(s, func(e kernel.Exec) (err error) {
		c, err = p.Process.Start(e)
		return err
	})
	if err != nil {
		return 0, err
	}
	return c.PID(), nil
}

func (p process) Replace(s pyodide.Spawn) error { return p.eachPath(s, p.Process.Replace) }

// eachPath calls start for the paths of s until one can be executed.
func (p process) eachPath(s pyodide.Spawn, start func(kernel.Exec) error) error {
	err := error(abi.ENOENT)
	for _, path := range s.Paths {
		if path != "" && !strings.Contains(path, "/") {
			path = "./" + path // it was looked up already
		}
		e := start(kernel.Exec{Path: path, Args: s.Args, Env: s.Env, Dir: s.Dir, Umask: s.Umask, Files: s.Files, Group: s.Group, Session: s.Session})
		if !errors.Is(e, abi.ENOENT) && !errors.Is(e, abi.ENOTDIR) && !errors.Is(e, abi.EACCES) {
			return e
		}
		if err == error(abi.ENOENT) {
			err = e
		}
	}
	return err
}

func (p process) Wait(ctx context.Context, pid, options int) (pyodide.Waited, abi.Errno) {
	w, e := p.Process.Wait(ctx, pid, options)
	return pyodide.Waited{PID: w.PID, Status: int(w.Status), CPU: w.CPU}, e
}

func (p process) Kill(pid, signal int) abi.Errno { return p.Process.Kill(pid, kernel.Signal(signal)) }

func (p process) OpenPID(pid int) (*memfs.File, abi.Errno) { return p.Kernel().OpenPID(pid) }

func (p process) Handle(f func(int) bool) {
	if f == nil {
		p.Process.Handle(nil)
		return
	}
	p.Process.Handle(func(s kernel.Signal) bool { return f(int(s)) })
}

func (p process) Processors() int { return p.Kernel().Processors() }

func (p process) ChildTime() time.Duration { return p.ChildCPU() }
