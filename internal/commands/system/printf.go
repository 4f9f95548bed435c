package system

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"coderunner/internal/commands/command"
	"coderunner/internal/commands/printf"
)

// Printf is printf(1): the format is used again while arguments are left.
func Printf(c *command.Call) int {
	args := c.Args
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return c.Usage(1, "missing operand")
	}
	if len(args) == 1 && (args[0] == "--help" || args[0] == "--version") {
		c.About(args[0][2:])
		return 0
	}
	p := &printer{c: c, args: args[1:]}
	for {
		before := len(p.args)
		stop := p.once(args[0])
		switch {
		case stop || len(p.args) == 0 || c.Stopped():
			return c.Status
		case len(p.args) == before:
			c.Warnf("printf: warning: ignoring excess arguments, starting with %s\n", command.Quote(p.args[0]))
			return c.Status
		}
	}
}

type printer struct {
	c    *command.Call
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

// once formats the arguments once, and reports whether \c ended the output.
func (p *printer) once(format string) (stop bool) {
	c := p.c
	for format != "" {
		at := strings.IndexAny(format, `%\`)
		if at < 0 {
			c.Print(format)
			break
		}
		c.Print(format[:at])
		format = format[at:]
		if format[0] == '\\' {
			text, n, stop := printf.CEscape(format, false)
			if stop {
				return true
			}
			c.Print(text)
			format = format[n:]
			continue
		}
		if strings.HasPrefix(format, "%%") {
			c.Print("%")
			format = format[2:]
			continue
		}
		d, rest, complete := printf.NextDirective(format)
		if !complete {
			c.Exit(1, "%s: invalid conversion specification", format)
		}
		format = rest
		if d.StarWidth {
			n, _ := strconv.Atoi(p.take())
			d.Star(true, n)
		}
		if d.StarPrec {
			n, _ := strconv.Atoi(p.take())
			d.Star(false, n)
		}
		if p.convert(d) {
			return true
		}
	}
	return false
}

// convert prints one argument, and reports whether \c ended the output.
func (p *printer) convert(d printf.Directive) (stop bool) {
	c := p.c
	switch d.Verb {
	case 's':
		c.Print(d.FormatString(p.take()))
	case 'b':
		return escaped(c, p.take())
	case 'q':
		c.Print(shellQuote(p.take()))
	case 'c':
		s := p.take()
		c.Print(d.FormatString(s[:min(1, len(s))]))
	case 'd', 'i':
		c.Print(d.FormatInt(int64(p.integer(true))))
	case 'o', 'u', 'x', 'X':
		c.Print(d.FormatUint(p.integer(false)))
	case 'e', 'E', 'f', 'F', 'g', 'G', 'a', 'A':
		c.Print(d.FormatFloat(p.float()))
	default:
		c.Exit(1, "%s: invalid conversion specification", d.Source)
	}
	return false
}

// shellQuote quotes an argument for a shell, if it needs that.
func shellQuote(s string) string {
	if q := command.Quotef(s); q != s {
		return command.Quote(s)
	}
	return s
}

// number takes an argument that is to be a number. ok reports that it is one
// already: none, or the character after a quote.
func (p *printer) number() (arg string, r rune, ok bool) {
	if arg = p.take(); arg == "" {
		return "", 0, true
	}
	if arg[0] == '\'' || arg[0] == '"' {
		r, _ = utf8.DecodeRuneInString(arg[1:])
		return arg, r, true
	}
	return arg, 0, false
}

// integer reads an argument as C's strtoimax does, or "'c" as a character.
func (p *printer) integer(signed bool) uint64 {
	arg, r, ok := p.number()
	if ok {
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
		p.c.Fail("%s: expected a numeric value", command.Quote(arg))
		return 0
	case err != nil || signed && n > math.MaxInt64:
		p.c.Fail("%s: Numerical result out of range", command.Quote(arg))
		if n = math.MaxUint64; signed {
			n = math.MaxInt64
		}
	case end < len(number):
		p.c.Fail("%s: value not completely converted", command.Quote(arg))
	}
	if negative {
		return -n
	}
	return n
}

func (p *printer) float() float64 {
	arg, r, ok := p.number()
	if ok {
		return float64(r)
	}
	if f, err := strconv.ParseFloat(arg, 64); err == nil {
		return f
	}
	f, ok := printf.LeadingFloat(arg)
	if !ok {
		p.c.Fail("%s: expected a numeric value", command.Quote(arg))
	} else {
		p.c.Fail("%s: value not completely converted", command.Quote(arg))
	}
	return f
}
