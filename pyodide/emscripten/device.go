package emscripten

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"strings"
	"sync"

	"coderunner/pyodide/abi"
	"coderunner/pyodide/memfs"
)

// Device numbers as Linux has them, so that os.stat shows the usual ones.
func device(major, minor uint32) uint32 { return major<<8 | minor }

// openStdio opens descriptors 0 to 2, which look like pipes.
func (p *Process) openStdio(c Config) {
	p.stdio = [3]memfs.Stream{
		newInput(c.Stdin),
		&output{"stdout", c.Stdout},
		&output{"stderr", c.Stderr},
	}
	for fd, flags := range [3]uint32{abi.O_RDONLY, abi.O_WRONLY, abi.O_WRONLY} {
		p.fds.set(fd, p.fs.NewFile(p.stdio[fd], flags, abi.S_IFIFO|0o600), false)
	}
}

// SetStdio replaces what is behind the three standard streams, when nothing runs.
func (p *Process) SetStdio(stdin io.Reader, stdout, stderr io.Writer) {
	p.stdio[0].(*input).replace(stdin)
	p.stdio[1].(*output).w, p.stdio[2].(*output).w = stdout, stderr
}

// makeDevices fills /dev, unless an earlier process of the same file system
// did. The standard streams are there, too: opening one is like dup.
func (p *Process) makeDevices() error {
	if err := p.fs.MkdirAll("/dev", 0o755); err != nil {
		return err
	}
	always := func(s memfs.Stream) func(uint32) (memfs.Stream, abi.Errno) {
		return func(uint32) (memfs.Stream, abi.Errno) { return s, abi.OK }
	}
	for _, d := range []struct {
		name string
		rdev uint32
		open func(uint32) (memfs.Stream, abi.Errno)
	}{
		{"null", device(1, 3), always(sink{})},
		{"zero", device(1, 5), always(source{fill: func(b []byte) { clear(b) }})},
		{"random", device(1, 8), always(source{fill: randomBytes})},
		{"urandom", device(1, 9), always(source{fill: randomBytes})},
		{"tty", device(5, 0), noTerminal},
		{"stdin", device(5, 0), always(p.stdio[0])},
		{"stdout", device(5, 0), always(p.stdio[1])},
		{"stderr", device(5, 0), always(p.stdio[2])},
	} {
		path := "/dev/" + d.name
		if _, errno := p.fs.Lookup(nil, path, false); errno == abi.OK {
			if errno := p.fs.Unlink(nil, path); errno != abi.OK {
				return errno
			}
		}
		if err := p.fs.Device(path, 0o666, d.rdev, d.open); err != nil {
			return err
		}
	}
	return nil
}

// noTerminal opens /dev/tty, as Linux does for a process that has none.
func noTerminal(uint32) (memfs.Stream, abi.Errno) { return nil, abi.ENXIO }

// start is where the devices without an end always are.
type start struct{}

func (start) SeekTo(_ int64, whence int) (int64, abi.Errno) {
	if whence < abi.SEEK_SET || whence > abi.SEEK_END {
		return 0, abi.EINVAL
	}
	return 0, abi.OK
}

// sink is /dev/null.
type sink struct{ start }

func (sink) Read(context.Context, []byte, bool) (int, abi.Errno)        { return 0, abi.OK }
func (sink) Write(_ context.Context, b []byte, _ bool) (int, abi.Errno) { return len(b), abi.OK }
func (sink) Close() abi.Errno                                           { return abi.OK }

// source is a device that never ends. What is written to it is dropped.
type source struct {
	fill func([]byte)
	start
}

func (s source) Read(_ context.Context, b []byte, _ bool) (int, abi.Errno) {
	b = b[:min(len(b), 1<<20)]
	s.fill(b)
	return len(b), abi.OK
}
func (source) Write(_ context.Context, b []byte, _ bool) (int, abi.Errno) { return len(b), abi.OK }
func (source) Close() abi.Errno                                           { return abi.OK }

func randomBytes(b []byte) { rand.Read(b) } // it never fails

// output is stdout or stderr.
type output struct {
	name string
	w    io.Writer
}

func (o *output) Read(context.Context, []byte, bool) (int, abi.Errno) { return 0, abi.EBADF }
func (o *output) Close() abi.Errno                                    { return abi.OK }

func (o *output) Write(_ context.Context, b []byte, _ bool) (int, abi.Errno) {
	if o.w == nil || len(b) == 0 {
		return len(b), abi.OK
	}
	if _, err := o.w.Write(b); err != nil {
		panic(&OutputError{o.name, err})
	}
	return len(b), abi.OK
}

// input is stdin. A reader cannot be told to give up, so each Read of it runs
// in a goroutine of its own, one at a time, which outlives a wait that was
// cancelled and keeps what it got for the next.
type input struct {
	r      io.Reader
	direct bool // r never blocks

	mu      sync.Mutex
	buf     []byte // read and not yet taken
	err     error  // what r said last; io.EOF at the end
	reading bool
	source  int // how often r was replaced
	waiters memfs.Waiters
}

// readAhead is how much is asked of the host at once.
const readAhead = 32 << 10

func newInput(r io.Reader) *input {
	in := &input{}
	in.replace(r)
	return in
}

// replace makes r the stream's source. What an earlier one still reads is dropped.
func (in *input) replace(r io.Reader) {
	if r == nil {
		r = strings.NewReader("")
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.r, in.source, in.buf, in.err, in.reading, in.direct = r, in.source+1, nil, nil, false, false
	switch r.(type) {
	case *strings.Reader, *bytes.Reader, *bytes.Buffer:
		in.direct = true
	}
}

func (in *input) Write(context.Context, []byte, bool) (int, abi.Errno) { return 0, abi.EBADF }
func (in *input) Close() abi.Errno                                     { return abi.OK }

func (in *input) Read(ctx context.Context, b []byte, nonblock bool) (int, abi.Errno) {
	if len(b) == 0 {
		return 0, abi.OK
	}
	woken := make(chan struct{}, 1)
	stop := in.waiters.Watch(woken)
	defer stop()
	for {
		if n, errno, ok := in.take(b); ok {
			return n, errno
		}
		if nonblock {
			return 0, abi.EAGAIN
		}
		select {
		case <-woken:
		case <-ctx.Done():
			return 0, abi.EINTR
		}
	}
}

// take moves what there is to b. If nothing is known yet, it sees to it that
// something will be, and ok is false.
func (in *input) take(b []byte) (n int, errno abi.Errno, ok bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.direct && len(in.buf) == 0 && in.err == nil {
		n, in.err = in.r.Read(b)
		if n > 0 {
			return n, abi.OK, true
		}
	}
	switch {
	case len(in.buf) > 0:
		n = copy(b, in.buf)
		in.buf = in.buf[n:]
		return n, abi.OK, true
	case in.err == io.EOF:
		return 0, abi.OK, true
	case in.err != nil:
		return 0, abi.EIO, true
	}
	in.ask()
	return 0, abi.OK, false
}

// ask starts to read, with in.mu held.
func (in *input) ask() {
	if in.reading || in.direct {
		return
	}
	in.reading = true
	go func(r io.Reader, source int) {
		buf := make([]byte, readAhead)
		n, err := r.Read(buf)
		in.mu.Lock()
		if source == in.source {
			in.buf, in.err, in.reading = buf[:n], err, false
		}
		in.mu.Unlock()
		in.waiters.Wake()
	}(in.r, in.source)
}

// Ready asks the host for input if there is none, so that poll works.
func (in *input) Ready() abi.Events {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.buf) == 0 && in.err == nil && !in.direct {
		in.ask()
		return 0
	}
	return abi.POLLIN | abi.POLLRDNORM
}

func (in *input) Watch(ch chan<- struct{}) func() { return in.waiters.Watch(ch) }
