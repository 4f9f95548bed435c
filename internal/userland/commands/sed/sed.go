// Package sed is the stream editor: a parser of scripts and the machine that runs
// them.
package sed

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/regex"
)

// address is what selects lines.
type address struct {
	kind    byte // 'n' a number, '$', '/' an expression, '~' first~step, '+' more lines, 'm' up to a multiple
	n, step int
	expr    regex.Pattern // nil: the last one used
}

// instruction is one command of a script.
type instruction struct {
	from, to *address
	not      bool
	name     byte
	text     string // of a, i, c; a label; a file name
	number   int    // of q, Q, l, L
	expr     regex.Pattern
	parts    []part // the replacement of s
	global   bool
	nth      int
	show     int // how often s prints
	file     *bufio.Writer
	table    map[rune]rune // of y
	target   int           // of a branch or of "{"

	active bool // within its range
	begun  bool // the range has begun that starts at a line's number
	end    int  // of the range, if it ends at a number
}

// part is a piece of a replacement.
type part struct {
	text  string
	group int  // -1: text
	shift byte // U, L, u, l, E: a change of case
}

// editor runs a script over the input.
type editor struct {
	c                      *command.Call
	o                      *command.Options
	script                 []*instruction
	last                   regex.Pattern
	quiet, extended, posix bool
	end                    byte
	files                  map[string]*bufio.Writer

	in        *command.Lines
	names     []string // inputs to come
	closer    io.Closer
	name      string
	out       *bufio.Writer
	inPlace   *inPlaceFile
	next      []byte // the line after the current one
	nextWhole bool
	hasNext   bool
	line      int

	space, hold []byte
	whole       bool // the line ended with a newline
	unended     bool // the output's last line lacks its newline
	replaced    bool
	after       []func() // output of a, r and R for the end of the cycle
	quit        bool
	status      int
	reading     map[string]*command.Lines
	charged     int64
	looking     bool // whether there is a next line, with a current one
}

// Main is sed: it edits a stream by a script.
func Main(c *command.Call) int {
	o := c.Parse("n,quiet,silent e,expression= f,file= E,r,regexp-extended i,in-place=? s,separate z,null-data u,unbuffered l,line-length= posix !debug b,binary !sandbox !follow-symlinks")
	s := &editor{
		c: c, o: o, quiet: o.On("n"), extended: o.On("E"), posix: o.On("posix"),
		end: command.LineEnd(o.On("z")), files: map[string]*bufio.Writer{}, reading: map[string]*command.Lines{}, out: c.Out, whole: true,
	}
	var source []piece
	for _, p := range o.Set {
		switch p.Name {
		case "e":
			source = append(source, piece{p.Value, fmt.Sprintf("-e expression #%d", len(source)+1)})
		case "f":
			data, err := c.ReadFile(p.Value)
			c.Need(err, 1, "couldn't open file %s", p.Value)
			source = append(source, piece{strings.TrimSuffix(string(data), "\n"), "file " + p.Value})
		}
	}
	if source == nil {
		if len(o.Args) == 0 {
			c.Warnf("Usage: sed [OPTION]... {script-only-if-no-other-script} [input-file]...\n\n")
			return 1
		}
		source = []piece{{o.Args[0], "-e expression #1"}}
		o.Args = o.Args[1:]
	}
	p := &parser{s: s}
	p.parse(source)
	if s.names = o.Operands("-"); o.On("i") && len(o.Args) == 0 {
		return c.Die(4, "no input files")
	}
	if err := c.Catch(s.run); err != nil && !errors.Is(err, command.ErrStopped) && c.Ctx.Err() == nil {
		return c.Die(4, "%s", command.Text(err))
	}
	for _, f := range s.files {
		f.Flush()
	}
	return max(c.Status, s.status)
}

// run runs the script once for each line.
func (s *editor) run() {
	for !s.quit && s.read() {
		for s.cycle() {
		}
	}
	s.finishFile()
}

// cycle runs the script on the pattern space, and reports whether D wants another cycle
// without another line.
func (s *editor) cycle() (again bool) {
	s.replaced = false
	deleted, again := s.execute()
	if !deleted && !s.quiet {
		s.print(s.space)
	}
	s.flushAfter()
	s.c.Proceed()
	return again && !s.quit
}

func (s *editor) flushAfter() {
	for i, f := range s.after {
		if i&0xff == 0xff && s.c.Stopped() {
			break
		}
		f()
	}
	s.c.Release(laterCost * int64(len(s.after)))
	s.after = nil
	if s.o.On("u") {
		s.out.Flush()
	}
}

// print writes a line; the last one of a file that lacks its newline stays so unless
// more follows.
func (s *editor) print(b []byte) {
	s.begin().Write(b)
	if s.unended = !s.whole; s.whole {
		s.out.WriteByte(s.end)
	}
}

// begin ends the output's last line and returns the output.
func (s *editor) begin() *bufio.Writer {
	if s.unended {
		s.out.WriteByte(s.end)
		s.unended = false
	}
	return s.out
}

// read reads the next line into the pattern space.
func (s *editor) read() bool {
	s.fill()
	if !s.hasNext {
		return false
	}
	s.space = append(s.space[:0], s.next...)
	s.whole = s.nextWhole
	s.line++
	s.hasNext = false
	s.bound()
	return true
}

// bound charges the spaces to the memory budget.
func (s *editor) bound() {
	if held := int64(cap(s.space) + cap(s.hold)); held > s.charged+command.CopySize {
		s.c.Check(s.c.Reserve(held - s.charged))
		s.charged = held
	}
}

// fill looks one line ahead, opening the next input at the end of one.
func (s *editor) fill() {
	for !s.hasNext {
		if s.in != nil {
			line, ok := s.in.Next()
			if ok {
				s.next, s.nextWhole, s.hasNext = append(s.next[:0], line...), s.in.Whole, true
				return
			}
			if errors.Is(s.in.Err, abi.EISDIR) {
				s.c.Errorf("couldn't edit %s: not a regular file", s.name)
			} else {
				s.c.Check(s.in.Err)
			}
			if !s.o.On("i") && !s.o.On("s") {
				s.closer.Close()
				s.in = nil
			} else if s.looking {
				return // the file ends with the current line
			} else {
				s.finishFile()
			}
		}
		if len(s.names) == 0 {
			return
		}
		s.open()
	}
}

func (s *editor) open() {
	s.name, s.names = s.names[0], s.names[1:]
	r, err := s.c.Open(s.name)
	if err != nil {
		s.status = 2
		switch {
		case errors.Is(err, abi.EISDIR) && s.o.On("i"):
			s.c.Errorf("couldn't edit %s: not a regular file", s.name)
			s.status = 4
		case errors.Is(err, abi.EISDIR):
			s.c.Errorf("read error on %s: %s", s.name, command.Text(err))
		default:
			s.c.Errorf("can't read %s: %s", s.name, command.Text(err))
		}
		return
	}
	s.closer, s.in = r, s.c.Lines(r, s.end)
	if s.o.On("i") || s.o.On("s") {
		s.line = 0
		for _, cmd := range s.script {
			cmd.begun = false
		}
	}
	if s.o.On("i") && s.name != "-" {
		s.startInPlace()
	}
}
