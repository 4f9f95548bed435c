package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Output is our end of a pipe that a process writes to. One goroutine reads
// it; any may call end, and resume when that goroutine has ended.
//
// After exit all output is in the pipe, but EOF may not come: a child that left
// the group can hold it open.
type Output struct {
	f     *os.File      // not embedded: only Read may read from it
	ended chan struct{} // closed by end
	rest  bool          // the reader has seen end
	left  int           // bytes still allowed after end
}

// maxRest bounds the bytes that are read after end: the largest pipe that Linux
// allows without privileges.
const maxRest = 1 << 20

// newOutput returns an Output that reads from f and closes it.
func newOutput(f *os.File) *Output {
	return &Output{f: f, ended: make(chan struct{}), left: maxRest}
}

// MakePipe makes a named pipe that the process can open for writing, and opens it.
// Unlike a file, it wakes the reader at each write. Where there are no named pipes
// it makes a file and returns nil.
func MakePipe(name string) (*Output, error) {
	f, err := OpenPipe(name)
	if err != nil {
		return nil, fmt.Errorf("make a named pipe: %w", err)
	}
	if f == nil {
		return nil, nil
	}
	return newOutput(f), nil
}

// end makes Read return what is in the pipe now, then io.EOF.
func (o *Output) end() {
	select {
	case <-o.ended:
		return // the process was paused
	default:
	}
	close(o.ended)
	_ = o.f.SetReadDeadline(time.Unix(1, 0)) // wakes the reader; without deadlines it waits for EOF
}

// resume makes Read wait for output again after end.
func (o *Output) resume() {
	o.ended, o.rest, o.left = make(chan struct{}), false, maxRest
	_ = o.f.SetReadDeadline(time.Time{})
}

// Read implements io.Reader.
func (o *Output) Read(b []byte) (int, error) {
	if !o.rest {
		n, err := o.f.Read(b)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		select {
		case <-o.ended:
		default:
			return n, err // another deadline
		}
		o.rest = true
	}
	n, err := readNow(o.f, b[:min(len(b), o.left)])
	o.left -= n
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// ReadFull fills b before the time limit.
func (o *Output) ReadFull(b []byte, limit time.Duration) error {
	if err := o.f.SetReadDeadline(time.Now().Add(limit)); err != nil && !errors.Is(err, os.ErrNoDeadline) {
		return err
	}
	if _, err := io.ReadFull(o, b); err != nil {
		return err
	}
	if err := o.f.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, os.ErrNoDeadline) {
		return err
	}
	return nil
}

// Silent reports whether nothing is in the pipe. If there is, some of it is lost.
func (o *Output) Silent() bool {
	n, _ := readNow(o.f, make([]byte, 1)) // an error: it would block, or has ended
	return n <= 0
}

// Close closes the pipe.
func (o *Output) Close() error { return o.f.Close() }
