package memfs

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"

	"coderunner/internal/machine/abi"
)

// OutputError is the error of an Output whose writer refused: there is no use in
// going on. Write panics with it.
type OutputError struct {
	Stream string // "stdout" or "stderr"
	Err    error
}

func (e *OutputError) Error() string { return "write " + e.Stream + ": " + e.Err.Error() }
func (e *OutputError) Unwrap() error { return e.Err }

// Output is the stream of a program's stdout or stderr. Writes are done one after
// the other.
type Output struct {
	name string
	mu   sync.Mutex
	w    io.Writer
}

// NewOutput returns the stream of that name ("stdout"), which writes to w; nil: what
// is written is dropped.
func NewOutput(name string, w io.Writer) *Output { return &Output{name: name, w: w} }

// Replace makes w what the stream writes to.
func (o *Output) Replace(w io.Writer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.w = w
}

func (o *Output) Read(context.Context, []byte, bool) (int, abi.Errno) { return 0, abi.EBADF }
func (o *Output) Close() abi.Errno                                    { return abi.OK }

// Write panics with an *[OutputError] if the writer refuses.
func (o *Output) Write(_ context.Context, b []byte, _ bool) (int, abi.Errno) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.w == nil || len(b) == 0 {
		return len(b), abi.OK
	}
	if _, err := o.w.Write(b); err != nil {
		panic(&OutputError{o.name, err})
	}
	return len(b), abi.OK
}

// Input is the stream of a program's stdin. A reader cannot be told to give up, so each Read of it runs
// in a goroutine of its own, one at a time, which outlives a wait that was
// cancelled and keeps what it got for the next.
type Input struct {
	Terminal bool // r is a terminal

	// Mode, if not nil, has the terminal give lines or else each key at once, and
	// echo what is typed or not, until restore is called.
	Mode func(lines, echo bool) (restore func())

	r      io.Reader
	direct bool // r never blocks

	mu      sync.Mutex
	buf     []byte // read and not yet taken
	err     error  // what r said last; io.EOF at the end
	reading bool
	source  int  // how often r was replaced
	taken   bool // the program has read from r, or found its end
	waiters Waiters
}

// readAhead is how much is asked of the host at once.
const readAhead = 32 << 10

// NewInput returns the stream that reads r; nil: it is empty. Reads of r, unless it is a
// reader on memory, may outlive the stream: whoever has r ends them.
func NewInput(r io.Reader) *Input {
	in := &Input{}
	in.Replace(r)
	return in
}

// Replace makes r the stream's source, and reports whether the program has read from the earlier
// one, of which what was not taken is dropped.
func (in *Input) Replace(r io.Reader) (taken bool) {
	if r == nil {
		r = strings.NewReader("")
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	taken, in.taken = in.taken, false
	in.r, in.source, in.buf, in.err, in.reading, in.direct = r, in.source+1, nil, nil, false, false
	switch r.(type) {
	case *strings.Reader, *bytes.Reader, *bytes.Buffer:
		in.direct = true
	}
	return taken
}

func (in *Input) Write(context.Context, []byte, bool) (int, abi.Errno) { return 0, abi.EBADF }
func (in *Input) Close() abi.Errno                                     { return abi.OK }

func (in *Input) Read(ctx context.Context, b []byte, nonblock bool) (int, abi.Errno) {
	if len(b) == 0 {
		return 0, abi.OK
	}
	var n int
	var errno abi.Errno
	var ok bool
	e := Await(ctx, &in.waiters, func() bool {
		n, errno, ok = in.take(b)
		return ok || nonblock
	})
	switch {
	case ok:
		return n, errno
	case nonblock:
		return 0, abi.EAGAIN
	}
	return 0, e
}

// take moves what there is to b. If nothing is known yet, it sees to it that
// something will be, and ok is false.
func (in *Input) take(b []byte) (n int, errno abi.Errno, ok bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.taken = in.taken || in.direct || len(in.buf) > 0 || in.err != nil
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
func (in *Input) ask() {
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
func (in *Input) Ready() abi.Events {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.buf) == 0 && in.err == nil && !in.direct {
		in.ask()
		return 0
	}
	return abi.POLLIN | abi.POLLRDNORM
}

func (in *Input) Watch(ch chan<- struct{}) func() { return in.waiters.Watch(ch) }
