package jq

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"coderunner/internal/userland/commands/command"
)

// input reads the values of the inputs; gojq's function input takes from it too.
type input struct {
	j     *run
	names []string
	raw   *command.Lines // with -R
	count int            // lines that were read raw
	files *files         // without
	err   error
	done  bool

	walker walker // of the value that --stream takes apart
}

// files are the inputs as a reader reads them, one after the other.
type files struct {
	reader
	c     *command.Call
	names []string // which are left to open
	name  string   // of the open one
	r     io.Reader
	first int  // lines where the open one begins
	stay  bool // do not open another one

	charged int64 // for the value in progress
}

func (j *run) open(names []string) *files {
	f := &files{c: j.c, names: names, name: "<stdin>"}
	if len(names) == 0 {
		f.r = j.c.In()
	}
	f.reader = reader{in: bufio.NewReaderSize(f, command.CopySize), order: j.order}
	return f
}

// Read reads on, and charges that to the memory budget until the next value.
func (f *files) Read(b []byte) (n int, err error) {
	for n == 0 {
		if f.r == nil {
			if len(f.names) == 0 || f.stay {
				return 0, io.EOF
			}
			f.name, f.names = f.names[0], f.names[1:]
			f.r = f.c.Concat([]string{f.name})
			f.first = f.line
		}
		if n, err = f.r.Read(b); err == io.EOF {
			f.r = nil
		} else if err != nil {
			return n, err
		}
	}
	if e := f.c.Reserve(int64(5 * n)); e != nil {
		return 0, e
	}
	f.charged += int64(5 * n)
	return n, nil
}

// lineNumber is the number of line ends in the file that jq has read for the last value:
// it reads whole lines.
func (f *files) lineNumber() int {
	f.stay = true
	defer func() { f.stay = false }()
	for n := f.in.Buffered(); ; n = f.in.Buffered() {
		if rest, _ := f.in.Peek(n); bytes.IndexByte(rest, '\n') >= 0 {
			return f.line - f.first + 1
		}
		if _, err := f.in.Peek(n + 1); err != nil {
			return f.line - f.first
		}
	}
}

// Next implements gojq.Iter.
func (in *input) Next() (any, bool) {
	j := in.j
	if in.done {
		return nil, false
	}
	if in.raw == nil && in.files == nil {
		if j.o.On("R") {
			in.raw = j.c.Lines(j.c.Concat(in.names), '\n')
		} else {
			in.files = j.open(in.names)
		}
	}
	if in.raw != nil {
		line, ok := in.raw.Next()
		in.done = !ok
		in.count++
		return string(line), ok
	}
	if event, ok := in.walker.next(); ok {
		return event, true
	}
	j.c.Release(in.files.charged)
	in.files.charged = 0
	v, err := in.files.read()
	switch {
	case err == nil && j.o.On("stream"):
		in.walker.order = j.order
		if event, leaf := in.walker.start(v); leaf {
			return event, true
		}
		return in.walker.next()
	case err == nil:
		return v, true
	}
	in.done = true
	if err == io.EOF || errors.Is(err, command.ErrStopped) {
		return nil, false
	}
	in.err = fmt.Errorf("parse error: %s", command.Text(err))
	return in.err, true
}

// at is where jq says that an error came up: the last input's file and line.
func (in *input) at() string {
	name := "<stdin>"
	if len(in.names) > 0 {
		name = in.names[len(in.names)-1]
	}
	switch {
	case in.files != nil:
		return in.files.name + ":" + strconv.Itoa(in.files.lineNumber())
	case in.count > 0:
		return name + ":" + strconv.Itoa(in.count)
	case in.j.o.On("n"):
		return "<unknown>"
	}
	return name + ":0"
}
