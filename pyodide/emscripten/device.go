package emscripten

import (
	"io"

	"coderunner/pyodide/abi"
	"coderunner/pyodide/memfs"
)

// openStdio opens descriptors 0 to 2, which look like pipes.
func (p *Process) openStdio(c Config) {
	p.stdio = [3]memfs.Stream{
		memfs.NewInput(c.Stdin),
		memfs.NewOutput("stdout", c.Stdout),
		memfs.NewOutput("stderr", c.Stderr),
	}
	for fd, flags := range [3]uint32{abi.O_RDONLY, abi.O_WRONLY, abi.O_WRONLY} {
		p.fds.set(fd, p.fs.NewFile(p.stdio[fd], flags, abi.S_IFIFO|0o600), false)
	}
}

// SetStdio replaces what is behind the three standard streams, when nothing runs.
func (p *Process) SetStdio(stdin io.Reader, stdout, stderr io.Writer) {
	p.stdio[0].(*memfs.Input).Replace(stdin)
	p.stdio[1].(*memfs.Output).Replace(stdout)
	p.stdio[2].(*memfs.Output).Replace(stderr)
}
