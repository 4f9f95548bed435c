package system

import (
	"context"
	"errors"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/clock"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/userland/commands/command"
)

// Flock takes or gives back a lock of an open descriptor, or holds one while a command
// runs.
func Flock(c *command.Call) int {
	o := c.Parse("+ s,shared x,e,exclusive u,unlock n,nb,nonblock w,wait,timeout= E,conflict-exit-code= o,close F,no-fork c,command verbose")
	if len(o.Args) == 0 {
		return c.Die(64, "requires file descriptor, file or directory")
	}
	conflict := c.Int(o.Value("E", "1"), 0, 255, "invalid exit code: %s")
	ctx := c.Ctx
	if w := o.Value("w", ""); w != "" {
		d, ok := clock.Duration(w)
		if !ok {
			return c.Die(64, "invalid timeout value: %s", command.Quote(w))
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	f, err := lockFile(c, o)
	if errors.Is(err, abi.EBADF) {
		return c.Die(65, "%s: %s", o.Args[0], command.Text(err))
	}
	c.Need(err, 66, "cannot open lock file %s", o.Args[0])
	if o.On("u") {
		f.Unlock()
		return 0
	}
	switch e := f.Lock(ctx, !o.On("s"), o.On("n")); {
	case e == abi.EAGAIN, e == abi.EINTR:
		return conflict
	case e != abi.OK:
		return c.Die(65, "%s: %s", o.Args[0], command.Text(e))
	}
	args := o.Args[1:]
	if len(args) > 1 && (args[0] == "-c" || args[0] == "--command") {
		args = []string{"/bin/sh", "-c", args[1]}
	}
	if len(args) == 0 {
		return 0
	}
	defer f.Unlock()
	return instead(c, command.Child{Args: args})
}

// lockFile returns the open file of the first operand: a descriptor if it is the only
// one, or else a file that is made if there is none.
func lockFile(c *command.Call, o *command.Options) (*memfs.File, error) {
	if fd, ok := command.Atoi(o.Args[0]); ok && len(o.Args) == 1 {
		if f := c.Process.File(fd); f != nil {
			return f, nil
		}
		return nil, abi.EBADF
	}
	f, err := c.OpenFile(o.Args[0], abi.O_RDONLY|abi.O_CREAT, 0o666)
	if errors.Is(err, abi.EISDIR) {
		f, err = c.OpenFile(o.Args[0], abi.O_RDONLY|abi.O_DIRECTORY, 0)
	}
	if err != nil {
		return nil, err
	}
	c.Files = append(c.Files, f)
	return f.F, nil
}
