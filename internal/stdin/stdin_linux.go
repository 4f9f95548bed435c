package stdin

import (
	"errors"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// peeker is our stdin where it is a pipe or a file, which others may read after
// the program: the loop of a shell, for one. See [runners.Peeker].
type peeker struct {
	f          *os.File
	copies, in *os.File // a pipe for copies of what is in f; nil if f is a file

	mu   sync.Mutex
	seen int64 // bytes that Read has returned
	done int64 // bytes of these that are no longer in f
}

// Peek returns f so that what the program does not read stays in it for others, or f
// itself where that cannot be.
func Peek(f *os.File) io.Reader {
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.Mode().IsRegular():
		return &peeker{f: f}
	case info.Mode()&os.ModeNamedPipe != 0:
		if r, w, err := os.Pipe(); err == nil {
			return &peeker{f: f, copies: r, in: w}
		}
	}
	return f
}

// Read implements io.Reader.
func (p *peeker) Read(b []byte) (n int, err error) {
	p.Consumed(p.seen) // all of it, or there would be no Read
	if p.copies != nil {
		n, err = p.tee(b)
	} else {
		var at int64
		if at, err = p.f.Seek(0, io.SeekCurrent); err == nil {
			n, err = p.f.ReadAt(b, at)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

// tee copies what is in a pipe, and waits until there is something.
func (p *peeker) tee(b []byte) (int, error) {
	for {
		n, err := unix.Tee(int(p.f.Fd()), int(p.in.Fd()), len(b), 0)
		switch {
		case err == nil && n == 0:
			return 0, io.EOF
		case err == nil:
			return io.ReadFull(p.copies, b[:n])
		case errors.Is(err, unix.EAGAIN):
			_, err = unix.Poll([]unix.PollFd{{Fd: int32(p.f.Fd()), Events: unix.POLLIN}}, -1)
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return 0, os.NewSyscallError("tee", err)
		}
	}
}

// Consumed implements runners.Peeker.
func (p *peeker) Consumed(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n -= p.done; n <= 0 {
		return
	}
	p.done += n
	if p.copies != nil {
		_, _ = io.CopyN(io.Discard, p.f, n)
	} else {
		_, _ = p.f.Seek(n, io.SeekCurrent)
	}
}

// keys is a terminal. It implements [runners.Keyboard].
type keys struct{ *os.File }

// Keys returns a terminal that programs can switch to single keys.
func Keys(f *os.File) io.Reader { return keys{f} }

// Mode implements runners.Keyboard.
func (k keys) Mode(lines, echo bool) (restore func()) {
	fd := int(k.Fd())
	usual, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return func() {}
	}
	t := *usual
	if !lines {
		t.Lflag &^= unix.ICANON
		t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
	}
	if !echo {
		t.Lflag &^= unix.ECHO
	}
	_ = unix.IoctlSetTermios(fd, unix.TCSETSW, &t)
	return func() { _ = unix.IoctlSetTermios(fd, unix.TCSETSW, usual) }
}
