package commands

import (
	"context"
	"errors"
	"maps"

	"coderunner/internal/kernel"
	"coderunner/pyodide/abi"
	"coderunner/pyodide/memfs"
)

// child is how a command starts another one.
type child struct {
	args  []string
	env   []string // nil: the command's own
	dir   string
	files map[int]*memfs.File // besides the inherited ones; nil removes one
	group bool                // a process group of its own
}

// start starts a child, after what was printed before it.
func (c *call) start(ch child) (*kernel.Process, error) {
	c.out.Flush()
	files := c.p.Files()
	maps.Copy(files, ch.files)
	maps.DeleteFunc(files, func(_ int, f *memfs.File) bool { return f == nil })
	e := kernel.Exec{Path: ch.args[0], Args: ch.args, Env: ch.env, Dir: ch.dir, Umask: c.p.Umask, Files: files}
	if e.Env == nil {
		e.Env = c.p.Env
	}
	if e.Dir == "" {
		e.Dir = c.dir
	}
	if ch.group {
		e.Group = kernel.NewGroup
	}
	return c.p.Start(e)
}

// wait waits for a child and returns how it ended. Cancellation ends the child.
func (c *call) wait(ctx context.Context, p *kernel.Process) (kernel.Status, bool) {
	w, e := c.p.Wait(ctx, p.PID(), 0)
	return w.Status, e == abi.OK
}

// run runs a child to its end. The status is 127 or 126 when it does not start,
// with an error.
func (c *call) run(ch child) (int, error) {
	p, err := c.start(ch)
	if err != nil {
		return notStarted(err), err
	}
	s, ok := c.wait(c.ctx, p)
	if !ok {
		c.p.Kill(p.PID(), kernel.SIGKILL)
		return 128 + int(kernel.SIGKILL), nil
	}
	return s.Code(), nil
}

// notStarted is the status that tells why a program did not start.
func notStarted(err error) int {
	if errors.Is(err, abi.ENOENT) {
		return 127
	}
	return 126
}
