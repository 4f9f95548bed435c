package command

import (
	"bufio"
	"bytes"
	"io"
	"iter"
)

// Lines splits a reader at a delimiter.
type Lines struct {
	c       *Call
	R       *bufio.Reader
	Delim   byte
	long    bytes.Buffer // holds a line that is longer than r's buffer; it doubles, append leaves garbage of five times the line
	charged int64
	Whole   bool  // the last line ended with the delimiter
	Err     error // other than the end of the input
}

// Lines returns r split at a delimiter.
func (c *Call) Lines(r io.Reader, delim byte) *Lines {
	if in, ok := r.(stdin); ok {
		r = in.Reader
	}
	b, ok := r.(*bufio.Reader)
	if !ok {
		b = bufio.NewReaderSize(r, CopySize)
	}
	return &Lines{c: c, R: b, Delim: delim}
}

// Next returns the next line without its delimiter, valid until the next call,
// or false at the end or after an error.
func (l *Lines) Next() ([]byte, bool) {
	line, err := l.R.ReadSlice(l.Delim)
	if err == bufio.ErrBufferFull {
		l.long.Reset()
		for err == bufio.ErrBufferFull {
			if need := int64(2 * (l.long.Len() + len(line))); need > l.charged {
				if e := l.c.Reserve(need - l.charged); e != nil {
					l.Err = e
					return nil, false
				}
				l.charged = need
			}
			l.long.Write(line)
			line, err = l.R.ReadSlice(l.Delim)
		}
		l.long.Write(line)
		line = l.long.Bytes()
	}
	l.Whole = err == nil
	if l.Whole {
		return line[:len(line)-1], true
	}
	if err != io.EOF {
		l.Err = err
		return nil, false
	}
	return line, len(line) > 0
}

// All returns the lines that are left, each valid until the next.
func (l *Lines) All() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for line, ok := l.Next(); ok && yield(line); line, ok = l.Next() {
		}
	}
}
