package commands

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

func succeed(c *call) int {
	if len(c.args) == 1 && (c.args[0] == "--help" || c.args[0] == "--version") {
		c.about(c.args[0][2:])
	}
	return 0
}

func failing(*call) int { return 1 }

// echo is the program echo of coreutils.
func echo(c *call) int {
	newline, escapes := true, false
	args := c.args
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0][1:], "neE") == "" {
		for _, f := range args[0][1:] {
			newline = newline && f != 'n'
			escapes = f == 'e' || escapes && f != 'E'
		}
		args = args[1:]
	}
	s := strings.Join(args, " ")
	if !escapes {
		c.print(s)
	} else if c.escaped(s) {
		return 0
	}
	if newline {
		c.print("\n")
	}
	return 0
}

// escaped prints a string with escapes and reports whether \c ended it.
func (c *call) escaped(s string) (stop bool) {
	for s != "" {
		at := strings.IndexByte(s, '\\')
		if at < 0 {
			c.print(s)
			return false
		}
		c.print(s[:at])
		text, n, stop := cEscape(s[at:], true)
		if stop {
			return true
		}
		c.print(text)
		s = s[at+n:]
	}
	return false
}

// printfCommand is printf(1): the format is used again while arguments are left.
func printfCommand(c *call) int {
	args := c.args
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return c.usage(1, "missing operand")
	}
	if len(args) == 1 && (args[0] == "--help" || args[0] == "--version") {
		c.about(args[0][2:])
		return 0
	}
	p := &printer{c: c, args: args[1:]}
	for {
		before := len(p.args)
		stop, ok := p.once(args[0])
		switch {
		case !ok:
			return 1
		case stop || len(p.args) == 0 || c.stopped():
			return c.status
		case len(p.args) == before:
			c.warnf("printf: warning: ignoring excess arguments, starting with %s\n", quote(p.args[0]))
			return c.status
		}
	}
}

type printer struct {
	c    *call
	args []string
}

func (p *printer) take() string {
	if len(p.args) == 0 {
		return ""
	}
	arg := p.args[0]
	p.args = p.args[1:]
	return arg
}

// once formats the arguments once.
func (p *printer) once(format string) (stop, ok bool) {
	c := p.c
	for format != "" {
		at := strings.IndexAny(format, `%\`)
		if at < 0 {
			c.print(format)
			break
		}
		c.print(format[:at])
		format = format[at:]
		if format[0] == '\\' {
			text, n, stop := cEscape(format, false)
			if stop {
				return true, true
			}
			c.print(text)
			format = format[n:]
			continue
		}
		if strings.HasPrefix(format, "%%") {
			c.print("%")
			format = format[2:]
			continue
		}
		d, rest, complete := nextDirective(format)
		if !complete {
			c.fail("%s: invalid conversion specification", format)
			return false, false
		}
		format = rest
		if d.starWidth {
			n, _ := strconv.Atoi(p.take())
			d.star(true, n)
		}
		if d.starPrec {
			n, _ := strconv.Atoi(p.take())
			d.star(false, n)
		}
		if stop, ok := p.convert(d); stop || !ok {
			return stop, ok
		}
	}
	return false, true
}

func (p *printer) convert(d directive) (stop, ok bool) {
	c := p.c
	switch d.verb {
	case 's':
		c.print(d.formatString(p.take()))
	case 'b':
		return c.escaped(p.take()), true
	case 'q':
		c.print(shellQuote(p.take()))
	case 'c':
		s := p.take()
		c.print(d.formatString(s[:min(1, len(s))]))
	case 'd', 'i':
		c.print(d.formatInt(int64(p.integer(true))))
	case 'o', 'u', 'x', 'X':
		c.print(d.formatUint(p.integer(false)))
	case 'e', 'E', 'f', 'F', 'g', 'G', 'a', 'A':
		c.print(d.formatFloat(p.float()))
	default:
		c.fail("%s: invalid conversion specification", d.source)
		return false, false
	}
	return false, true
}

// shellQuote quotes an argument for a shell, if it needs that.
func shellQuote(s string) string {
	if q := quotef(s); q != s {
		return quote(s)
	}
	return s
}

// integer reads an argument as C's strtoimax does, or "'c" as a character.
func (p *printer) integer(signed bool) uint64 {
	arg := p.take()
	if arg == "" {
		return 0
	}
	if arg[0] == '\'' || arg[0] == '"' {
		r, _ := utf8.DecodeRuneInString(arg[1:])
		return uint64(r)
	}
	s := strings.TrimLeft(arg, " \t")
	number := strings.TrimLeft(s, "+-")
	negative := strings.HasPrefix(s, "-")
	base, digits := 10, "0123456789"
	switch {
	case len(number) > 2 && number[0] == '0' && number[1]|32 == 'x':
		base, digits, number = 16, "0123456789abcdefABCDEF", number[2:]
	case len(number) > 1 && number[0] == '0':
		base, digits = 8, "01234567"
	}
	end := 0
	for end < len(number) && strings.IndexByte(digits, number[end]) >= 0 {
		end++
	}
	n, err := strconv.ParseUint(number[:end], base, 64)
	switch {
	case end == 0:
		p.c.fail("%s: expected a numeric value", quote(arg))
		return 0
	case err != nil || signed && n > math.MaxInt64:
		p.c.fail("%s: Numerical result out of range", quote(arg))
		if n = math.MaxUint64; signed {
			n = math.MaxInt64
		}
	case end < len(number):
		p.c.fail("%s: value not completely converted", quote(arg))
	}
	if negative {
		return -n
	}
	return n
}

func (p *printer) float() float64 {
	arg := p.take()
	if arg == "" {
		return 0
	}
	if arg[0] == '\'' || arg[0] == '"' {
		r, _ := utf8.DecodeRuneInString(arg[1:])
		return float64(r)
	}
	if f, err := strconv.ParseFloat(arg, 64); err == nil {
		return f
	}
	f, ok := leadingFloat(arg)
	if !ok {
		p.c.fail("%s: expected a numeric value", quote(arg))
	} else {
		p.c.fail("%s: value not completely converted", quote(arg))
	}
	return f
}

func seq(c *call) int {
	// Negative numbers are operands.
	var args []string
	for i, a := range c.args {
		if a == "" || a[0] != '-' {
			args = append(args, c.args[i:]...)
			break
		}
		if len(a) > 1 && (a[1] >= '0' && a[1] <= '9' || a[1] == '.') {
			args = append(args, "--")
			args = append(args, c.args[i:]...)
			break
		}
		args = append(args, a)
	}
	c.args = args
	o, status := c.options("+ f,format= s,separator= w,equal-width")
	if o == nil {
		return status
	}
	switch {
	case len(o.args) == 0:
		return c.usage(1, "missing operand")
	case len(o.args) > 3:
		return c.extra(o.args[3])
	}
	n := []float64{1, 1, 0}
	precision := 0
	width := 0
	for i, a := range o.args {
		v, err := strconv.ParseFloat(a, 64)
		if err != nil || math.IsNaN(v) {
			return c.usage(1, "invalid floating point argument: %s", quote(a))
		}
		slot := i
		if len(o.args) == 1 || i == len(o.args)-1 {
			slot = 2
		}
		n[slot] = v
		_, part, point := strings.Cut(a, ".")
		if point && slot < 2 && !strings.ContainsAny(a, "eE") {
			precision = max(precision, len(part))
		}
	}
	if n[1] == 0 {
		return c.usage(1, "invalid Zero increment value: %s", quote(o.args[1]))
	}
	d := directive{verb: 'f', width: -1, precision: min(precision, 100)}
	format := func(v float64) string { return d.formatFloat(v) }
	if o.on("w") {
		width = max(len(format(n[0])), len(format(n[2])))
		d.width, d.flags = width, "0"
	}
	if f := o.value("f", ""); f != "" {
		at := strings.IndexByte(strings.ReplaceAll(f, "%%", "\x00\x00"), '%')
		if at < 0 {
			return c.die(1, "format %s has no %% directive", quote(f))
		}
		fd, rest, ok := nextDirective(f[at:])
		if !ok || strings.IndexByte("efgEFGaA", fd.verb) < 0 {
			return c.die(1, "format %s has unknown %%%c directive", quote(f), fd.verb)
		}
		before := strings.ReplaceAll(f[:at], "%%", "%")
		rest = strings.ReplaceAll(rest, "%%", "%")
		format = func(v float64) string { return before + fd.formatFloat(v) + rest }
	}
	sep := o.value("s", "\n")
	some := false
	for i := 0.0; ; i++ {
		v := n[0] + i*n[1]
		// A sum of decimal fractions may be past the end by a rounding.
		if over := (v - n[2]) * n[1]; over > 0 && format(v) != format(n[2]) || over > math.Abs(n[1]*n[1])/2 {
			break
		}
		if some {
			c.print(sep)
		}
		some = true
		if precision == 0 && d.width < 0 && !o.on("f") && math.Abs(v) < 1e15 {
			c.out.Write(strconv.AppendInt(c.out.AvailableBuffer(), int64(v), 10))
		} else {
			c.print(format(v))
		}
		if int(i)&0xff == 0 && c.stopped() {
			return 1
		}
	}
	if some {
		c.print("\n")
	}
	return 0
}

func yes(c *call) int {
	line := strings.Join(c.args, " ") + "\n"
	if len(c.args) == 0 {
		line = "y\n"
	}
	block := []byte(strings.Repeat(line, max(1, 8192/len(line))))
	for !c.stopped() {
		c.out.Write(block)
	}
	return 0
}

func basename(c *call) int {
	o, status := c.options("+ a,multiple s,suffix= z,zero")
	if o == nil {
		return status
	}
	names, suffix := o.args, o.value("s", "")
	switch {
	case len(names) == 0:
		return c.missing(o)
	case o.on("a") || o.on("s"):
	case len(names) > 2:
		return c.extra(names[2])
	case len(names) == 2:
		names, suffix = names[:1], names[1]
	}
	for _, n := range names {
		b := base(n)
		if t := strings.TrimSuffix(b, suffix); t != "" {
			b = t
		}
		c.print(b)
		c.out.WriteByte(lineEnd(o.on("z")))
	}
	return 0
}

// base is the last component of a path, as basename has it.
func base(name string) string {
	t := strings.TrimRight(name, "/")
	if t == "" && name != "" {
		return "/"
	}
	return t[strings.LastIndexByte(t, '/')+1:]
}

func dirname(c *call) int {
	o, status := c.options("z,zero")
	if o == nil {
		return status
	}
	if len(o.args) == 0 {
		return c.missing(o)
	}
	for _, n := range o.args {
		c.print(dir(n))
		c.out.WriteByte(lineEnd(o.on("z")))
	}
	return 0
}

// dir is all but the last component of a path, as dirname has it.
func dir(name string) string {
	t := strings.TrimRight(name, "/")
	at := strings.LastIndexByte(t, '/')
	switch {
	case t == "" && name != "":
		return "/"
	case at < 0:
		return "."
	}
	if t = strings.TrimRight(t[:at], "/"); t == "" {
		return "/"
	}
	return t
}
