package text

import (
	"bytes"
	"io"
	"strconv"

	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/regex"
)

// grepFile is the search of one file.
type grepFile struct {
	g        *grepper
	name     string
	count    int
	number   int   // of the line, from 1
	offset   int64 // of the line
	kept     []keptLine
	trailing int // lines of context left to print
	printed  int // the number of the last line printed
	binary   bool
}

type keptLine struct {
	text   []byte
	number int
	offset int64
}

func (f *grepFile) run(r io.Reader) error {
	g, o := f.g, f.g.o
	l := g.c.Lines(r, g.end)
	if !o.On("a") && o.Value("binary-files", "") != "text" {
		start, _ := l.R.Peek(32 << 10)
		f.binary = bytes.IndexByte(start, 0) >= 0 && g.end != 0
		if f.binary && (o.On("I") || o.Value("binary-files", "") == "without-match") {
			return nil
		}
	}
	lists := o.On("l") || o.On("L") || o.On("q")
	quiet := lists || o.On("c")
	if p, ok := g.literal(); ok && !quiet && g.most > 1<<62 {
		if err := f.skip(l, p); err != nil {
			return err
		}
	}
	for f.count < g.most || f.trailing > 0 {
		line, ok := l.Next()
		if !ok {
			break
		}
		f.number++
		if f.count < g.most && g.matches(line) != g.invert {
			f.count++
			if lists || f.binary && !quiet {
				break
			}
			if !quiet {
				f.selected(line)
			}
		} else if !quiet {
			f.other(line)
		}
		f.offset += int64(len(line)) + 1
	}
	f.summary()
	return l.Err
}

// literal returns the one fixed string that is searched for.
func (g *grepper) literal() (regex.Fixed, bool) {
	if len(g.patterns) != 1 || g.invert || g.words || g.whole || g.before+g.after > 0 || g.o.On("n") || g.o.On("b") {
		return nil, false
	}
	p, ok := g.patterns[0].(regex.Fixed)
	return p, ok && bytes.IndexByte(p, g.end) < 0
}

// skip discards the lines of whole buffers that do not have the literal.
func (f *grepFile) skip(l *command.Lines, p regex.Fixed) error {
	for !f.binary {
		block, err := l.R.Peek(l.R.Size())
		if err != nil {
			return nil // the rest goes line by line
		}
		for {
			at := bytes.Index(block, p)
			end := bytes.LastIndexByte(block, f.g.end)
			if at >= 0 {
				end = bytes.LastIndexByte(block[:at], f.g.end)
			}
			if n, _ := l.R.Discard(end + 1); at < 0 && n == 0 {
				return nil // a long line
			}
			if at < 0 {
				break
			}
			line, ok := l.Next()
			if !ok {
				return l.Err
			}
			f.count++
			f.selected(line)
			block, _ = l.R.Peek(l.R.Buffered())
			if bytes.IndexByte(block, f.g.end) < 0 {
				break
			}
		}
	}
	return nil
}

func (f *grepFile) summary() {
	g, o, c := f.g, f.g.o, f.g.c
	some := f.count > 0
	g.found = g.found || some
	if o.On("L") {
		if !some {
			f.fileName()
		}
		return
	}
	switch {
	case o.On("q"):
	case o.On("l"):
		if some {
			f.fileName()
		}
	case o.On("c"):
		if g.names {
			c.Print(f.name)
			if o.On("Z") {
				c.Out.WriteByte(0)
			} else {
				c.Print(":")
			}
		}
		c.Printf("%d\n", f.count)
	case f.binary && some:
		c.Warnf("grep: %s: binary file matches\n", f.name)
	}
}

func (f *grepFile) fileName() {
	f.g.c.Print(f.name)
	if f.g.o.On("Z") {
		f.g.c.Out.WriteByte(0)
	} else {
		f.g.c.Print("\n")
	}
}

// selected prints a line that was selected, after its context.
func (f *grepFile) selected(line []byte) {
	g := f.g
	if g.only {
		if g.invert {
			return
		}
		for _, m := range g.parts(line) {
			f.prefix(':', f.number, f.offset+int64(m[0]))
			f.paint(line[m[0]:m[1]])
			g.c.Out.WriteByte(g.end)
		}
		return
	}
	f.gap(f.number - len(f.kept))
	for _, k := range f.kept {
		f.print('-', k.text, k.number, k.offset)
	}
	f.kept = f.kept[:0]
	f.print(':', line, f.number, f.offset)
	f.trailing = g.after
	if g.o.On("line-buffered") {
		g.c.Out.Flush()
	}
}

// other takes a line that was not selected.
func (f *grepFile) other(line []byte) {
	g := f.g
	switch {
	case g.only:
	case f.trailing > 0:
		f.trailing--
		f.print('-', line, f.number, f.offset)
	case g.before > 0:
		if len(f.kept) == g.before {
			f.kept = append(f.kept[:0], f.kept[1:]...)
		}
		f.kept = append(f.kept, keptLine{bytes.Clone(line), f.number, f.offset})
	}
}

// gap prints the separator between groups of lines that do not touch.
func (f *grepFile) gap(first int) {
	g := f.g
	if g.before+g.after > 0 && (f.printed > 0 && first > f.printed+1 || f.printed == 0 && g.found) && !g.o.On("no-group-separator") {
		g.c.Print(g.o.Value("group-separator", "--"))
		g.c.Out.WriteByte('\n')
	}
}

func (f *grepFile) print(mark byte, line []byte, number int, offset int64) {
	f.prefix(mark, number, offset)
	if f.g.color && mark == ':' && !f.g.invert {
		end := 0
		for _, m := range f.g.parts(line) {
			f.g.c.Out.Write(line[end:m[0]])
			f.paint(line[m[0]:m[1]])
			end = m[1]
		}
		line = line[end:]
	}
	f.g.c.Out.Write(line)
	f.g.c.Out.WriteByte(f.g.end)
	f.printed = number
}

// paint prints a match, in red if there are colours.
func (f *grepFile) paint(b []byte) {
	if f.g.color {
		f.g.c.Print("\x1b[01;31m\x1b[K")
		f.g.c.Out.Write(b)
		f.g.c.Print("\x1b[m\x1b[K")
		return
	}
	f.g.c.Out.Write(b)
}

// prefix prints what stands before a line.
func (f *grepFile) prefix(mark byte, number int, offset int64) {
	g, out := f.g, f.g.c.Out
	part := func(color, s string, null bool) {
		if g.color {
			s = "\x1b[" + color + "m\x1b[K" + s + "\x1b[m\x1b[K"
		}
		out.WriteString(s)
		switch {
		case null:
			out.WriteByte(0)
		case g.color:
			out.WriteString("\x1b[36m\x1b[K" + string(rune(mark)) + "\x1b[m\x1b[K")
		default:
			out.WriteByte(mark)
		}
	}
	if g.names {
		part("35", f.name, g.o.On("Z"))
	}
	if g.o.On("n") {
		part("32", strconv.Itoa(number), false)
	}
	if g.o.On("b") {
		part("32", strconv.FormatInt(offset, 10), false)
	}
	if g.o.On("T") && (g.names || g.o.On("n") || g.o.On("b")) {
		out.WriteByte('\t')
	}
}
