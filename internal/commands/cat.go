package commands

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"coderunner/pyodide/abi"
)

func cat(c *call) int {
	o, status := c.options("A,show-all b,number-nonblank e E,show-ends n,number s,squeeze-blank t T,show-tabs u v,show-nonprinting")
	if o == nil {
		return status
	}
	plain := len(o.set) == 0 || len(o.set) == 1 && o.on("u")
	s := catState{
		o: o, blank: o.on("b"), number: o.on("n") && !o.on("b"), squeeze: o.on("s"),
		ends: o.on("A") || o.on("e") || o.on("E"), tabs: o.on("A") || o.on("t") || o.on("T"),
		show: o.on("A") || o.on("e") || o.on("t") || o.on("v"), fresh: true,
	}
	c.each(o.args, func(name string, r io.Reader) error {
		if plain {
			_, err := io.Copy(flusher{c}, r)
			return err
		}
		l := c.lines(r, '\n')
		for line, ok := l.next(); ok; line, ok = l.next() {
			s.line(c, line, l.whole)
		}
		return l.err
	})
	return c.status
}

// flusher is standard output, flushed at every write so that whoever reads the
// pipe sees it at once.
type flusher struct{ c *call }

func (f flusher) Write(b []byte) (int, error) {
	n, err := f.c.out.Write(b)
	if err == nil {
		err = f.c.out.Flush()
	}
	return n, err
}

type catState struct {
	o                                        *options
	blank, number, squeeze, ends, tabs, show bool
	count, empty                             int
	fresh                                    bool // at the start of a line
}

func (s *catState) line(c *call, line []byte, whole bool) {
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
			c.printf("%6d\t", s.count)
		}
	}
	for i, b := range line {
		switch {
		case b == '\t' && s.tabs:
			c.print("^I")
		case b == '\r' && s.ends && !s.show && whole && i == len(line)-1:
			c.print("^M")
		case b == '\t' || !s.show:
			c.out.WriteByte(b)
		default:
			c.print(visible(b))
		}
	}
	if whole {
		if s.ends {
			c.out.WriteByte('$')
		}
		c.out.WriteByte('\n')
	}
	s.fresh = whole
}

// visible is a byte in the notation of cat -v.
func visible(b byte) string {
	prefix := ""
	if b >= 0x80 {
		prefix, b = "M-", b-0x80
	}
	switch {
	case b < 0x20:
		return prefix + "^" + string(rune(b+0x40))
	case b == 0x7f:
		return prefix + "^?"
	}
	return prefix + string(rune(b))
}

func tac(c *call) int {
	o, status := c.options("b,before s,separator= !r,regex")
	if o == nil {
		return status
	}
	sep := []byte(o.value("s", "\n"))
	if len(sep) == 0 {
		sep = []byte{0}
	}
	c.each(o.args, func(name string, r io.Reader) error {
		data, err := c.readAll(r)
		for end := len(data); end > 0; {
			var start int
			if o.on("b") {
				start = max(0, bytes.LastIndex(data[:end], sep))
			} else if at := bytes.LastIndex(data[:max(0, end-len(sep))], sep); at >= 0 {
				start = at + len(sep)
			}
			c.out.Write(data[start:end])
			end = start
		}
		return err
	})
	return c.status
}

func rev(c *call) int {
	o, status := c.options("0,zero")
	if o == nil {
		return status
	}
	var delim byte = '\n'
	if o.on("0") {
		delim = 0
	}
	c.each(o.args, func(name string, r io.Reader) error {
		l := c.lines(r, delim)
		for line, ok := l.next(); ok; line, ok = l.next() {
			for rest := line; len(rest) > 0; {
				_, n := utf8.DecodeLastRune(rest)
				c.out.Write(rest[len(rest)-n:])
				rest = rest[:len(rest)-n]
			}
			if l.whole {
				c.out.WriteByte(delim)
			}
		}
		return l.err
	})
	return c.status
}

func nl(c *call) int {
	o, status := c.options("b,body-numbering= h,header-numbering= f,footer-numbering= v,starting-line-number= i,line-increment= w,number-width= s,number-separator= n,number-format= p,no-renumber d,section-delimiter= !l,join-blank-lines=")
	if o == nil {
		return status
	}
	start, ok1 := atoi(o.value("v", "1"))
	step, ok2 := atoi(o.value("i", "1"))
	width, ok3 := atoi(o.value("w", "6"))
	if !ok1 || !ok2 || !ok3 || width < 1 || width > 1000 {
		return c.die(1, "invalid line number field width: %s", quote(o.value("w", "")))
	}
	format := map[string]string{"ln": "%-*d", "rn": "%*d", "rz": "%0*d"}[o.value("n", "rn")]
	if format == "" {
		return c.usage(1, "invalid line numbering format: %s", quote(o.value("n", "")))
	}
	sep, delim := o.value("s", "\t"), o.value("d", `\:`)
	if len(delim) == 1 {
		delim += ":"
	}
	styles := map[int]string{1: o.value("f", "n"), 2: o.value("b", "a-default"), 3: o.value("h", "n")}
	section, n := 2, start
	l := c.lines(c.concat(o.args), '\n')
	for line, ok := l.next(); ok; line, ok = l.next() {
		if s := string(line); s == delim || s == delim+delim || s == delim+delim+delim {
			section = len(s) / len(delim)
			if !o.on("p") {
				n = start
			}
			c.print("\n")
			continue
		}
		style, number := styles[section], false
		switch {
		case style == "a":
			number = true
		case style == "t" || style == "a-default":
			number = len(line) > 0
		case strings.HasPrefix(style, "p"):
			re, err := compileBasic(style[1:], false)
			if err != nil {
				return c.die(1, "%s", err)
			}
			number = re.Match(line)
		case style != "n":
			return c.usage(1, "invalid body numbering style: %s", quote(style))
		}
		if number {
			c.printf(format+"%s%s\n", width, n, sep, line)
			n += step
		} else {
			c.printf("%s%s\n", strings.Repeat(" ", width+len(sep)), line)
		}
	}
	return c.status
}

// atoi is strconv.Atoi with a yes or no.
func atoi(s string) (int, bool) {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	return n, err == nil
}

func tee(c *call) int {
	o, status := c.options("a,append i,ignore-interrupts p output-error=?")
	if o == nil {
		return status
	}
	flags := abi.O_WRONLY | abi.O_CREAT | abi.O_TRUNC
	if o.on("a") {
		flags = abi.O_WRONLY | abi.O_CREAT | abi.O_APPEND
	}
	outs, names := []io.Writer{flusher{c}}, []string{"standard output"}
	for _, name := range o.args {
		f, err := c.openFile(name, flags, 0o644)
		if err != nil {
			c.failed(name, err)
			continue
		}
		c.files = append(c.files, f)
		outs, names = append(outs, f), append(names, name)
	}
	buf := make([]byte, copySize)
	for r := c.in(); ; {
		n, err := r.Read(buf)
		for i := 0; i < len(outs); i++ {
			if _, err := outs[i].Write(buf[:n]); err != nil {
				c.failed(names[i], err)
				outs, names = slices.Delete(outs, i, i+1), slices.Delete(names, i, i+1)
				i--
			}
		}
		if err != nil || len(outs) == 0 {
			return c.status
		}
	}
}
