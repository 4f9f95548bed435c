// Package text has the commands that transform text and bytes: cat, head, grep, cut, sort,
// tr, od and others.
package text

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/regex"
)

// Cat concatenates files to standard output.
func Cat(c *command.Call) int {
	o := c.Parse("A,show-all b,number-nonblank e E,show-ends n,number s,squeeze-blank t T,show-tabs u v,show-nonprinting")
	plain := len(o.Set) == 0 || len(o.Set) == 1 && o.On("u")
	s := catState{
		o: o, blank: o.On("b"), number: o.On("n") && !o.On("b"), squeeze: o.On("s"),
		ends: o.On("A") || o.On("e") || o.On("E"), tabs: o.On("A") || o.On("t") || o.On("T"),
		show: o.On("A") || o.On("e") || o.On("t") || o.On("v"), fresh: true,
	}
	if plain {
		c.Each(o.Args, func(_ string, r io.Reader) error {
			_, err := io.Copy(command.Unbuffered(c), r)
			return err
		})
	} else {
		c.EachLine(o.Args, '\n', func(line []byte, whole bool) { s.line(c, line, whole) })
	}
	return c.Status
}

type catState struct {
	o                                        *command.Options
	blank, number, squeeze, ends, tabs, show bool
	count, empty                             int
	fresh                                    bool // at the start of a line
}

func (s *catState) line(c *command.Call, line []byte, whole bool) {
	if s.fresh {
		if len(line) == 0 && whole {
			if s.empty++; s.squeeze && s.empty > 1 {
				return
			}
		} else {
			s.empty = 0
		}
		if s.number || s.blank && (len(line) > 0 || !whole) {
			s.count++
			c.Printf("%6d\t", s.count)
		}
	}
	for i, b := range line {
		switch {
		case b == '\t' && s.tabs:
			c.Print("^I")
		case b == '\r' && s.ends && !s.show && whole && i == len(line)-1:
			c.Print("^M")
		case b == '\t' || !s.show:
			c.Out.WriteByte(b)
		default:
			c.Print(command.Visible(b))
		}
	}
	if whole {
		if s.ends {
			c.Out.WriteByte('$')
		}
		c.Out.WriteByte('\n')
	}
	s.fresh = whole
}

// Tac writes each file to standard output, last line first.
func Tac(c *command.Call) int {
	o := c.Parse("b,before s,separator= !r,regex")
	sep := []byte(o.Value("s", "\n"))
	if len(sep) == 0 {
		sep = []byte{0}
	}
	c.Each(o.Args, func(name string, r io.Reader) error {
		data, err := c.ReadAll(r)
		for end := len(data); end > 0; {
			var start int
			if o.On("b") {
				start = max(0, bytes.LastIndex(data[:end], sep))
			} else if at := bytes.LastIndex(data[:max(0, end-len(sep))], sep); at >= 0 {
				start = at + len(sep)
			}
			c.Out.Write(data[start:end])
			end = start
		}
		return err
	})
	return c.Status
}

// Rev reverses the characters of each line.
func Rev(c *command.Call) int {
	o := c.Parse("0,zero")
	delim := command.LineEnd(o.On("0"))
	c.EachLine(o.Args, delim, func(line []byte, whole bool) {
		for len(line) > 0 {
			_, n := utf8.DecodeLastRune(line)
			c.Out.Write(line[len(line)-n:])
			line = line[:len(line)-n]
		}
		if whole {
			c.Out.WriteByte(delim)
		}
	})
	return c.Status
}

// Nl writes each file with line numbers.
func Nl(c *command.Call) int {
	o := c.Parse("b,body-numbering= h,header-numbering= f,footer-numbering= v,starting-line-number= i,line-increment= w,number-width= s,number-separator= n,number-format= p,no-renumber d,section-delimiter= !l,join-blank-lines=")
	start, ok1 := command.Atoi(o.Value("v", "1"))
	step, ok2 := command.Atoi(o.Value("i", "1"))
	width, ok3 := command.Atoi(o.Value("w", "6"))
	if !ok1 || !ok2 || !ok3 || width < 1 || width > 1000 {
		return c.Die(1, "invalid line number field width: %s", command.Quote(o.Value("w", "")))
	}
	format := map[string]string{"ln": "%-*d", "rn": "%*d", "rz": "%0*d"}[o.Value("n", "rn")]
	if format == "" {
		return c.Usage(1, "invalid line numbering format: %s", command.Quote(o.Value("n", "")))
	}
	sep, delim := o.Value("s", "\t"), o.Value("d", `\:`)
	if len(delim) == 1 {
		delim += ":"
	}
	styles := map[int]string{1: o.Value("f", "n"), 2: o.Value("b", "a-default"), 3: o.Value("h", "n")}
	section, n := 2, start
	l := c.Lines(c.Concat(o.Args), '\n')
	for line := range l.All() {
		if s := string(line); s == delim || s == delim+delim || s == delim+delim+delim {
			section = len(s) / len(delim)
			if !o.On("p") {
				n = start
			}
			c.Print("\n")
			continue
		}
		style, number := styles[section], false
		switch {
		case style == "a":
			number = true
		case style == "t" || style == "a-default":
			number = len(line) > 0
		case strings.HasPrefix(style, "p"):
			re, err := regex.CompileBasic(style[1:], false, regex.Limits{Ctx: c.Ctx})
			c.Must(err)
			number = re.Match(line)
		case style != "n":
			return c.Usage(1, "invalid body numbering style: %s", command.Quote(style))
		}
		if number {
			c.Printf(format+"%s%s\n", width, n, sep, line)
			n += step
		} else {
			c.Printf("%s%s\n", strings.Repeat(" ", width+len(sep)), line)
		}
	}
	return c.Status
}

// Tee copys standard input to each file and to standard output.
func Tee(c *command.Call) int {
	o := c.Parse("a,append i,ignore-interrupts p output-error=?")
	outs, names := []io.Writer{command.Unbuffered(c)}, []string{"standard output"}
	for _, name := range o.Args {
		f, err := c.CreateOr(name, o.On("a"))
		if err != nil {
			c.Failed(name, err)
			continue
		}
		c.Files = append(c.Files, f)
		outs, names = append(outs, f), append(names, name)
	}
	buf := make([]byte, command.CopySize)
	for r := c.In(); ; {
		n, err := r.Read(buf)
		for i := 0; i < len(outs); i++ {
			if _, err := outs[i].Write(buf[:n]); err != nil {
				c.Failed(names[i], err)
				outs, names = slices.Delete(outs, i, i+1), slices.Delete(names, i, i+1)
				i--
			}
		}
		if err != nil || len(outs) == 0 {
			return c.Status
		}
	}
}
