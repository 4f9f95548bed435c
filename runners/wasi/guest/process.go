package guest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/preview1"
)

// starter is the file by which interpreters start processes, which WASI has no call for. What
// is written there is a mode, a directory, a command of the shell and an environment, with NULs
// between them. Then it reads a line with the exit status and, in mode "o", what the command
// has printed; else that goes where the interpreter prints.
const starter = "/dev/process"

// MakeStarter makes the file on a machine.
func MakeStarter(fsys *memfs.FS) error {
	if _, errno := fsys.Lookup(nil, starter, true); errno == abi.OK {
		return nil
	}
	const rdev = 10<<8 | 1
	return fsys.Device(starter, 0o666, rdev, func(ctx context.Context, _ uint32) (memfs.Stream, abi.Errno) {
		p := preview1.Caller(ctx)
		if p == nil {
			return nil, abi.ENXIO
		}
		return &start{p: p}, abi.OK
	})
}

// start is the starter that a process has open.
type start struct {
	p      *kernel.Process
	text   []byte
	answer *bytes.Reader // nil: nothing was started yet
}

// maxCommand and maxPrinted bound what is written, and what a command prints, in bytes.
const maxCommand, maxPrinted = 1 << 20, 64 << 20

func (s *start) Write(_ context.Context, b []byte, _ bool) (int, abi.Errno) {
	if len(s.text)+len(b) > maxCommand || s.answer != nil {
		return 0, abi.EFBIG
	}
	s.text = append(s.text, b...)
	return len(b), abi.OK
}

func (s *start) Read(ctx context.Context, b []byte, _ bool) (int, abi.Errno) {
	if s.answer == nil {
		words := strings.Split(string(s.text), "\x00")
		if len(words) < 3 || len(words[1]) == 0 || words[1][0] != '/' {
			return 0, abi.EINVAL
		}
		status, printed, errno := run(ctx, s.p, words[0] == "o", words[1], words[2], words[3:])
		if errno != abi.OK {
			return 0, errno
		}
		s.answer = bytes.NewReader(append(fmt.Appendln(nil, status), printed...))
	}
	n, _ := s.answer.Read(b)
	return n, abi.OK
}

func (s *start) Close() abi.Errno { return abi.OK }

// run runs a command as a child of a process, and waits for it.
func run(ctx context.Context, p *kernel.Process, output bool, dir, command string, env []string) (status int, printed []byte, errno abi.Errno) {
	files := p.Files()
	maps.DeleteFunc(files, func(fd int, _ *memfs.File) bool { return fd > 2 })
	var from, to *memfs.File
	if output {
		if from, to, errno = p.FS().Pipe(0); errno != abi.OK {
			return 0, nil, errno
		}
		files[1] = to
	}
	child, err := p.Start(kernel.Exec{Path: "/bin/sh", Args: []string{"sh", "-c", command}, Env: env, Dir: dir, Umask: p.Umask, Files: files})
	if output {
		to.Close()
		if err == nil {
			printed, _ = io.ReadAll(io.LimitReader(p.Reader(ctx, from), maxPrinted)) // its error is that of Wait
		}
		from.Close()
	}
	if err != nil {
		return 0, nil, abi.EAGAIN
	}
	w, errno := p.Wait(ctx, child.PID(), 0)
	return w.Status.Code(), printed, errno
}
