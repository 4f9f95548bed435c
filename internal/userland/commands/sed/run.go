package sed

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/regex"
)

// match reports whether an address is the current line's.
func (s *editor) match(a *address) bool {
	switch a.kind {
	case 'n':
		return s.line == a.n
	case '~':
		if a.step <= 0 {
			return s.line == a.n
		}
		return s.line >= a.n && (s.line-a.n)%a.step == 0
	case '$':
		return s.isLast()
	case '/':
		return s.use(a.expr).Match(s.space)
	}
	return false
}

// use returns an expression, or the last one for an empty one.
func (s *editor) use(p regex.Pattern) regex.Pattern {
	if p != nil {
		s.last = p
	}
	if s.last == nil {
		s.last = regex.Fixed("")
	}
	return s.last
}

// selects reports whether a command applies to the current line.
func (s *editor) selects(cmd *instruction) bool {
	switch {
	case cmd.from == nil:
		return true
	case cmd.to == nil:
		return s.match(cmd.from)
	case cmd.active:
		return s.inRange(cmd)
	}
	if cmd.from.kind == 'n' && cmd.from.n == 0 {
		if s.line != 1 || cmd.end < 0 {
			return false
		}
		cmd.active, cmd.end = true, -1
		return s.inRange(cmd)
	}
	if cmd.from.kind == 'n' { // begins late where n or d took the line
		if cmd.begun || s.line < cmd.from.n {
			return false
		}
		if cmd.begun = true; cmd.to.kind == 'n' && s.line > cmd.to.n {
			return s.line == cmd.from.n
		}
	} else if !s.match(cmd.from) {
		return false
	}
	cmd.active = true
	switch cmd.to.kind {
	case 'n':
		cmd.end = cmd.to.n
	case '+':
		cmd.end = s.line + cmd.to.n
	case 'm':
		cmd.end = s.line
		if cmd.to.n > 0 {
			cmd.end = (s.line + cmd.to.n - 1) / cmd.to.n * cmd.to.n
		}
	case '$':
		cmd.active = !s.isLast()
		return true
	default:
		return true
	}
	cmd.active = s.line < cmd.end
	return true
}

// inRange looks for the end of a range that has begun.
func (s *editor) inRange(cmd *instruction) bool {
	switch cmd.to.kind {
	case '/', '~':
		cmd.active = !s.match(cmd.to)
	case '$':
		cmd.active = !s.isLast()
	default:
		if s.line > cmd.end {
			cmd.active = false
			return false
		}
		cmd.active = s.line < cmd.end
	}
	return true
}

// execute runs the script. deleted reports that the pattern space is not to be
// printed, again that the cycle restarts without reading.
func (s *editor) execute() (deleted, again bool) {
	for at, steps := 0, 0; at < len(s.script); {
		cmd := s.script[at]
		at++
		if steps++; steps&0xff == 0 {
			s.c.Proceed()
		}
		if s.selects(cmd) == cmd.not {
			if cmd.name == '{' {
				at = cmd.target
			}
			continue
		}
		switch cmd.name {
		case 'b':
			at = cmd.target
		case 't', 'T':
			if s.replaced == (cmd.name == 't') {
				at = cmd.target
			}
			s.replaced = false
		case 'd':
			return true, false
		case 'D':
			if nl := bytes.IndexByte(s.space, '\n'); nl >= 0 {
				s.space = append(s.space[:0], s.space[nl+1:]...)
				return true, true
			}
			return true, false
		case 'c':
			if cmd.to == nil || cmd.not || !cmd.active {
				s.begin().WriteString(cmd.text)
			}
			return true, false
		case 'n', 'N':
			if !s.nextLine(cmd.name == 'N') {
				return cmd.name == 'n' || s.posix, false
			}
		case 'q', 'Q':
			s.status, s.quit = cmd.number, true
			return cmd.name == 'Q', false
		default:
			s.simple(cmd)
		}
	}
	return false, false
}

// nextLine is n and N. It reports whether there is a next line.
func (s *editor) nextLine(add bool) bool {
	last := s.isLast()
	if !add && !s.quiet {
		s.print(s.space)
	}
	if last {
		s.quit = len(s.names) == 0 // with -i and -s, another file follows
		return false
	}
	s.flushAfter()
	if add {
		s.space = append(append(s.space, s.end), s.next...)
	} else {
		s.space = append(s.space[:0], s.next...)
	}
	s.whole, s.hasNext = s.nextWhole, false
	s.line++
	s.bound()
	return true
}

// simple runs a command that does not change the flow.
func (s *editor) simple(cmd *instruction) {
	switch cmd.name {
	case 'a':
		s.later(func() { s.begin().WriteString(cmd.text) })
	case 'i':
		s.begin().WriteString(cmd.text)
	case 'p':
		s.print(s.space)
	case 'P':
		first, _, _ := bytes.Cut(s.space, []byte{s.end})
		s.begin().Write(first)
		s.out.WriteByte(s.end)
	case 'g':
		s.space = append(s.space[:0], s.hold...)
	case 'G':
		s.c.Check(s.c.Room(len(s.space) + len(s.hold)))
		s.space = append(append(s.space, s.end), s.hold...)
	case 'h':
		s.hold = append(s.hold[:0], s.space...)
	case 'H':
		s.c.Check(s.c.Room(len(s.space) + len(s.hold)))
		s.hold = append(append(s.hold, s.end), s.space...)
	case 'x':
		s.space, s.hold = s.hold, s.space
	case 'z':
		s.space = s.space[:0]
	case '=':
		fmt.Fprintf(s.begin(), "%d\n", s.line)
	case 'F':
		fmt.Fprintf(s.begin(), "%s\n", s.name)
	case 'l':
		s.list(cmd.number)
	case 'r':
		s.later(func() { s.insertFile(cmd.text) })
	case 'R':
		s.later(func() { s.insertLine(cmd.text) })
	case 'w':
		cmd.file.Write(s.space)
		cmd.file.WriteByte(s.end)
	case 'W':
		first, _, _ := bytes.Cut(s.space, []byte{s.end})
		cmd.file.Write(first)
		cmd.file.WriteByte(s.end)
	case 'y':
		s.space = bytes.Map(func(r rune) rune {
			if to, ok := cmd.table[r]; ok {
				return to
			}
			return r
		}, s.space)
	case 's':
		s.substitute(cmd)
	}
	s.bound()
}

// laterCost is what an output for the end of the cycle takes.
const laterCost = 64

// later has something put out at the end of the cycle.
func (s *editor) later(f func()) {
	s.c.Check(s.c.Reserve(laterCost))
	s.after = append(s.after, f)
}

func (s *editor) insertFile(name string) {
	if f, err := s.c.OpenFile(name, abi.O_RDONLY, 0); err == nil {
		for _, w := range s.files {
			w.Flush()
		}
		io.Copy(s.begin(), s.c.Guarded(f))
		f.Close()
	}
}

func (s *editor) insertLine(name string) {
	l := s.reading[name]
	if l == nil {
		f, err := s.c.OpenFile(name, abi.O_RDONLY, 0)
		if err != nil {
			return
		}
		s.c.Files = append(s.c.Files, f)
		l = s.c.Lines(f, s.end)
		s.reading[name] = l
	}
	if line, ok := l.Next(); ok {
		s.begin().Write(line)
		s.out.WriteByte(s.end)
	}
}

// list prints the pattern space in the notation of l.
func (s *editor) list(width int) {
	if width == 0 {
		width = 70
		if n, ok := command.Atoi(s.o.Value("l", "70")); ok {
			width = n
		}
	}
	column := 0
	s.begin()
	put := func(t string) {
		if width > 1 && column+len(t) > width-1 {
			s.out.WriteString("\\\n")
			column = 0
		}
		s.out.WriteString(t)
		column += len(t)
	}
	for i := 0; i < len(s.space); {
		if i&0xffff < 4 && s.c.Stopped() {
			return
		}
		r, size := utf8.DecodeRune(s.space[i:])
		b := s.space[i]
		switch at := strings.IndexByte("\\\a\b\f\n\r\t\v", b); {
		case at >= 0:
			put(`\` + `\abfnrtv`[at:at+1])
		case b >= ' ' && b < 0x7f:
			put(string(rune(b)))
		case size > 1 && unicode.IsPrint(r):
			for _, b := range s.space[i : i+size] {
				put(fmt.Sprintf(`\%03o`, b))
			}
			i += size - 1
		default:
			put(fmt.Sprintf(`\%03o`, b))
		}
		i++
	}
	s.out.WriteString("$\n")
}
