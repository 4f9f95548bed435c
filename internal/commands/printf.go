package commands

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

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
