package commands

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"coderunner/pyodide/abi"
)

// sedAddress is what selects lines.
type sedAddress struct {
	kind    byte // 'n' a number, '$', '/' an expression, '~' first~step, '+' more lines, 'm' up to a multiple
	n, step int
	expr    pattern // nil: the last one used
}

// sedCommand is one command of a script.
type sedCommand struct {
	from, to *sedAddress
	not      bool
	name     byte
	text     string // of a, i, c; a label; a file name
	number   int    // of q, Q, l, L
	expr     pattern
	parts    []sedPart // the replacement of s
	global   bool
	nth      int
	show     int // how often s prints
	file     *bufio.Writer
	table    map[rune]rune // of y
	target   int           // of a branch or of "{"

	active bool // within its range
	end    int  // of the range, if it ends at a number
}

// sedPart is a piece of a replacement.
type sedPart struct {
	text  string
	group int  // -1: text
	shift byte // U, L, u, l, E: a change of case
}

// sedEditor runs a script over the input.
type sedEditor struct {
	c                      *call
	o                      *options
	script                 []*sedCommand
	last                   pattern
	quiet, extended, posix bool
	end                    byte
	files                  map[string]*bufio.Writer

	in        *lines
	names     []string // inputs to come
	closer    io.Closer
	name      string
	out       *bufio.Writer
	inPlace   *sedFile
	next      []byte // the line after the current one
	nextWhole bool
	hasNext   bool
	line      int

	space, hold []byte
	whole       bool // the line ended with a newline
	replaced    bool
	after       []func() // output of a, r and R for the end of the cycle
	quit        bool
	status      int
	reading     map[string]*lines
	charged     int64
	looking     bool // whether there is a next line, with a current one
}

// errSedQuit ends the script without another cycle.
var errSedQuit = errors.New("quit")

func sed(c *call) int {
	o, status := c.options("n,quiet,silent e,expression= f,file= E,r,regexp-extended i,in-place=? s,separate z,null-data u,unbuffered l,line-length= posix !debug b,binary !sandbox !follow-symlinks")
	if o == nil {
		return status
	}
	s := &sedEditor{
		c: c, o: o, quiet: o.on("n"), extended: o.on("E"), posix: o.on("posix"),
		end: lineEnd(o.on("z")), files: map[string]*bufio.Writer{}, reading: map[string]*lines{}, out: c.out, whole: true,
	}
	var source []sedSource
	for _, p := range o.set {
		switch p.name {
		case "e":
			source = append(source, sedSource{p.value, fmt.Sprintf("-e expression #%d", len(source)+1)})
		case "f":
			data, err := c.readFile(p.value)
			if err != nil {
				return c.die(1, "couldn't open file %s: %s", p.value, text(err))
			}
			source = append(source, sedSource{strings.TrimSuffix(string(data), "\n"), "file " + p.value})
		}
	}
	if source == nil {
		if len(o.args) == 0 {
			c.warnf("Usage: sed [OPTION]... {script-only-if-no-other-script} [input-file]...\n\n")
			return 1
		}
		source = []sedSource{{o.args[0], "-e expression #1"}}
		o.args = o.args[1:]
	}
	p := &sedParser{s: s}
	if err := p.parse(source); err != nil {
		var label errSedLabel
		if errors.As(err, &label) {
			return c.die(4, "%s", err)
		}
		return c.die(1, "%s", err)
	}
	s.names = o.args
	if len(s.names) == 0 {
		s.names = []string{"-"}
	}
	if err := s.run(); err != nil && !errors.Is(err, errStopped) && c.ctx.Err() == nil {
		return c.die(4, "%s", text(err))
	}
	for _, f := range s.files {
		f.Flush()
	}
	return max(c.status, s.status)
}

// run runs the script once for each line.
func (s *sedEditor) run() error {
	for !s.quit {
		if ok, err := s.read(); !ok || err != nil {
			return err
		}
		for again := true; again; {
			var err error
			if again, err = s.cycle(); err != nil {
				return err
			}
		}
	}
	return s.finishFile()
}

// cycle runs the script on the pattern space. again reports that D wants
// another cycle without another line.
func (s *sedEditor) cycle() (again bool, err error) {
	s.replaced = false
	deleted, again, err := s.execute()
	if err != nil && err != errSedQuit {
		return false, err
	}
	if err == errSedQuit {
		s.quit = true
	}
	if !deleted && !s.quiet {
		s.print(s.space)
	}
	s.flushAfter()
	if s.c.stopped() {
		return false, errStopped
	}
	return again && !s.quit, nil
}

func (s *sedEditor) flushAfter() {
	for _, f := range s.after {
		f()
	}
	s.after = nil
	if s.o.on("u") {
		s.out.Flush()
	}
}

// print writes a line; the last one of a file that lacks its newline stays so.
func (s *sedEditor) print(b []byte) {
	s.out.Write(b)
	if s.whole {
		s.out.WriteByte(s.end)
	}
}

// read reads the next line into the pattern space.
func (s *sedEditor) read() (bool, error) {
	if !s.hasNext {
		if err := s.fill(); err != nil {
			return false, err
		}
		if !s.hasNext {
			return false, nil
		}
	}
	s.space = append(s.space[:0], s.next...)
	s.whole = s.nextWhole
	s.line++
	s.hasNext = false
	return true, s.bound()
}

// bound charges the spaces to the memory budget.
func (s *sedEditor) bound() error {
	if held := int64(cap(s.space) + cap(s.hold)); held > s.charged+copySize {
		if err := s.c.reserve(held - s.charged); err != nil {
			return err
		}
		s.charged = held
	}
	return nil
}

// fill looks one line ahead, opening the next input at the end of one.
func (s *sedEditor) fill() error {
	for !s.hasNext {
		if s.in != nil {
			line, ok := s.in.next()
			if ok {
				s.next, s.nextWhole, s.hasNext = append(s.next[:0], line...), s.in.whole, true
				return nil
			}
			if s.in.err != nil {
				if !errors.Is(s.in.err, abi.EISDIR) {
					return s.in.err
				}
				s.c.errorf("couldn't edit %s: not a regular file", s.name)
			}
			if s.o.on("i") || s.o.on("s") {
				if s.looking {
					return nil // the file ends with the current line
				}
				if err := s.finishFile(); err != nil {
					return err
				}
			} else {
				s.closer.Close()
				s.in = nil
			}
		}
		if len(s.names) == 0 {
			return nil
		}
		if err := s.open(); err != nil {
			return err
		}
	}
	return nil
}

func (s *sedEditor) open() error {
	s.name, s.names = s.names[0], s.names[1:]
	r, err := s.c.open(s.name)
	switch {
	case errors.Is(err, abi.EISDIR) && s.o.on("i"):
		s.c.errorf("couldn't edit %s: not a regular file", s.name)
		s.status = 4
		return nil
	case errors.Is(err, abi.EISDIR):
		s.c.errorf("read error on %s: %s", s.name, text(err))
		s.status = 2
		return nil
	case err != nil:
		s.c.errorf("can't read %s: %s", s.name, text(err))
		s.status = 2
		return nil
	}
	s.closer, s.in = r, s.c.lines(r, s.end)
	if s.o.on("i") || s.o.on("s") {
		s.line = 0
	}
	if s.o.on("i") && s.name != "-" {
		return s.startInPlace()
	}
	return nil
}
