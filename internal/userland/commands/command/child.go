package command

import (
	"cmp"
	"context"
	"errors"
	"maps"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
)

// Child is how a command starts another one.
type Child struct {
	Args  []string
	Env   []string // nil: the command's own
	Dir   string
	Files map[int]*memfs.File // besides the inherited ones; nil removes one
	Group bool                // a process group of its own
}

// Start starts a child, after what was printed before it.
func (c *Call) Start(ch Child) (*kernel.Process, error) {
	c.Out.Flush()
	files := c.Process.Files()
	maps.Copy(files, ch.Files)
	maps.DeleteFunc(files, func(_ int, f *memfs.File) bool { return f == nil })
	e := kernel.Exec{Path: ch.Args[0], Args: ch.Args, Env: ch.Env, Dir: ch.Dir, Umask: c.Process.Umask, Files: files}
	if e.Env == nil {
		e.Env = c.Process.Env
	}
	e.Dir = cmp.Or(e.Dir, c.Dir)
	if ch.Group {
		e.Group = kernel.NewGroup
	}
	return c.Process.Start(e)
}

// Wait waits for a child and returns how it ended. Cancellation ends the child.
func (c *Call) Wait(ctx context.Context, p *kernel.Process) (kernel.Status, bool) {
	w, e := c.Process.Wait(ctx, p.PID(), 0)
	return w.Status, e == abi.OK
}

// Run runs a child to its end. The status is 127 or 126 when it does not start,
// with an error.
func (c *Call) Run(ch Child) (int, error) {
	p, err := c.Start(ch)
	if err != nil {
		return NotStarted(err), err
	}
	s, ok := c.Wait(c.Ctx, p)
	if !ok {
		c.Process.Kill(p.PID(), kernel.SIGKILL)
		return 128 + int(kernel.SIGKILL), nil
	}
	return s.Code(), nil
}

// NotStarted is the status that tells why a program did not start.
func NotStarted(err error) int {
	if errors.Is(err, abi.ENOENT) {
		return 127
	}
	return 126
}
