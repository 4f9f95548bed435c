package kernel

import (
	"context"
	"io"
	"maps"
	"os"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// File returns the open file of a descriptor, which stays the process's, or nil.
func (p *Process) File(fd int) *memfs.File {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.files[fd]
}

// Files returns the descriptors, for the Exec of a child.
func (p *Process) Files() map[int]*memfs.File {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.files)
}

// TakeFiles returns the descriptors and leaves the process without: the caller
// closes them.
func (p *Process) TakeFiles() map[int]*memfs.File {
	p.mu.Lock()
	defer p.mu.Unlock()
	files := p.files
	p.files = map[int]*memfs.File{}
	return files
}

// Open opens a file by its path, relative to the working directory. flags are
// abi.O_*.
func (p *Process) Open(ctx context.Context, path string, flags, perm uint32) (*memfs.File, abi.Errno) {
	dir, e := p.k.fs.Lookup(nil, p.Dir, true)
	if e != abi.OK {
		return nil, e
	}
	return p.k.fs.Open(ctx, dir, path, flags, perm&^p.Umask)
}

// Stdin returns descriptor 0 for reading, until ctx ends. Without one, it is
// empty.
func (p *Process) Stdin(ctx context.Context) io.Reader { return p.Reader(ctx, p.File(0)) }

// Stdout returns descriptor 1 for writing.
func (p *Process) Stdout(ctx context.Context) io.Writer { return p.Writer(ctx, p.File(1)) }

// Stderr returns descriptor 2 for writing.
func (p *Process) Stderr(ctx context.Context) io.Writer { return p.Writer(ctx, p.File(2)) }

// Reader returns f as an io.Reader, which returns ctx's error when that ends.
func (p *Process) Reader(ctx context.Context, f *memfs.File) io.Reader { return stream{p, ctx, f} }

// Writer returns f as an io.Writer. Writing to a pipe that nobody reads sends
// SIGPIPE to the process.
func (p *Process) Writer(ctx context.Context, f *memfs.File) io.Writer { return stream{p, ctx, f} }

type stream struct {
	p   *Process
	ctx context.Context
	f   *memfs.File
}

func (s stream) Read(b []byte) (int, error) {
	if s.f == nil || len(b) == 0 {
		return 0, io.EOF
	}
	for {
		var n int
		var e abi.Errno
		s.p.Idle(func() { n, e = s.f.Read(s.ctx, b) })
		switch {
		case e == abi.EAGAIN && s.wait(abi.POLLIN):
			continue
		case e == abi.EINTR && s.ctx.Err() != nil:
			return n, context.Cause(s.ctx)
		case e != abi.OK:
			return n, e
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

func (s stream) Write(b []byte) (done int, err error) {
	if s.f == nil {
		return 0, os.ErrClosed
	}
	for len(b) > done {
		var n int
		var e abi.Errno
		s.p.Idle(func() { n, e = s.f.Write(s.ctx, b[done:]) })
		done += n
		switch {
		case e == abi.EAGAIN && s.wait(abi.POLLOUT):
		case e == abi.EPIPE:
			s.p.deliver(SIGPIPE)
			return done, e
		case e == abi.EINTR && s.ctx.Err() != nil, e == abi.OK && n == 0 && s.ctx.Err() != nil:
			return done, context.Cause(s.ctx)
		case e != abi.OK:
			return done, e
		}
	}
	return done, nil
}

// wait waits until a file that another process made non-blocking is ready.
func (s stream) wait(events abi.Events) (ready bool) {
	s.p.Idle(func() {
		ready = memfs.Await(s.ctx, s.f, func() bool { return s.f.Ready()&(events|abi.POLLHUP|abi.POLLERR) != 0 }) == abi.OK
	})
	return ready
}
