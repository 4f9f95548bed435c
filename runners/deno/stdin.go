package deno

import (
	"errors"
	"io"
	"sync"

	"coderunner/internal/process"
)

// replayed bounds, in bytes, the input kept to replay after a failed load: a
// pipe's buffer plus one io.Copy read.
const replayed = 1<<20 + 32<<10

// stdin copies a program's standard input to the processes started for it. If the
// first could not load the program, nothing of it ran, and the next one reads
// the input from its start.
type stdin struct {
	r io.Reader // nil: empty

	reading sync.Mutex // held while r is read

	mu   sync.Mutex // guards what follows
	head []byte     // what r returned so far, at most replayed bytes
	more bool       // r returned more than head
	err  error      // of r
}

// copy writes the input to w until it ends or w fails. A Read of r that blocks
// keeps it from returning.
func (s *stdin) copy(w io.Writer) {
	buf := make([]byte, 32<<10)
	for at := 0; ; {
		n, err := s.read(buf, at)
		at += n
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// drip copies the input to a process whenever that has read all before, so that
// at most a page of it is on the way.
type drip struct {
	s *stdin
	p *process.Process

	mu sync.Mutex // held while the process is written to
	at int        // bytes written
}

func (d *drip) copy() {
	buf := make([]byte, process.Page)
	for d.p.Stdin.Drained() {
		n, err := d.s.read(buf, d.at)
		if n > 0 {
			d.mu.Lock()
			_, werr := d.p.Stdin.Write(buf[:n])
			if werr == nil {
				d.at += n
			}
			d.mu.Unlock()
			err = errors.Join(err, werr)
		}
		if err != nil {
			return
		}
	}
}

// consumed returns how many bytes the process, which has ended, has read.
func (d *drip) consumed() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return int64(max(d.at-d.p.Stdin.Unread(), 0))
}

// read reads the input from offset at.
func (s *stdin) read(buf []byte, at int) (int, error) {
	if s.r == nil {
		return 0, io.EOF
	}
	if n, err, ok := s.replay(buf, at); ok {
		return n, err
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	if n, err, ok := s.replay(buf, at); ok { // another copy has read it meanwhile
		return n, err
	}
	n, err := s.r.Read(buf)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	if s.more = s.more || len(s.head)+n > replayed; !s.more {
		s.head = append(s.head, buf[:n]...)
	}
	return n, err
}

// replay reads from what r returned before. It reports whether that had bytes at
// this offset, or an error.
func (s *stdin) replay(buf []byte, at int) (int, error, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at < len(s.head) {
		return copy(buf, s.head[at:]), nil, true
	}
	return 0, s.err, s.err != nil
}

// taken returns what was read of the input, and a byte more than is kept of a longer
// one.
func (s *stdin) taken() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.head
}
