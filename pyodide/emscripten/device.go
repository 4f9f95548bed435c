package emscripten

import (
	"context"
	"io"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// OpenHost returns the open function of a device whose stream is Guest.OpenHost's
// of the process that opens it.
func OpenHost(name string) func(context.Context, uint32) (memfs.Stream, abi.Errno) {
	return func(ctx context.Context, flags uint32) (memfs.Stream, abi.Errno) {
		p, _ := ctx.Value(contextKey{}).(*Process)
		if p == nil {
			return nil, abi.ENXIO
		}
		return p.Guest.OpenHost(ctx, name, flags)
	}
}

// openStdio opens descriptors 0 to 2, which look like pipes, or those of c.Files.
func (p *Process) openStdio(c Config) {
	if c.Files != nil {
		for fd, f := range c.Files {
			if fd < p.fds.max {
				p.fds.set(fd, f, false)
				delete(c.Files, fd)
			}
		}
		return
	}
	p.stdio = [3]memfs.Stream{
		memfs.NewInput(c.Stdin),
		memfs.NewOutput("stdout", c.Stdout),
		memfs.NewOutput("stderr", c.Stderr),
	}
	for fd, flags := range [3]uint32{abi.O_RDONLY, abi.O_WRONLY, abi.O_WRONLY} {
		p.fds.set(fd, p.fs.NewFile(p.stdio[fd], flags, abi.S_IFIFO|0o600), false)
	}
}

// SetStdio replaces what is behind the three standard streams, when nothing runs. It reports
// whether the program has read from the first.
func (p *Process) SetStdio(stdin io.Reader, stdout, stderr io.Writer) (read bool) {
	read = p.stdio[0].(*memfs.Input).Replace(stdin)
	p.stdio[1].(*memfs.Output).Replace(stdout)
	p.stdio[2].(*memfs.Output).Replace(stderr)
	return read
}
