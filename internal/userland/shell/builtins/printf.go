package builtins

import (
	"cmp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"coderunner/internal/lazyregexp"
	"coderunner/internal/machine/clock"
	"coderunner/internal/userland/glob"
	"coderunner/internal/userland/printf"
	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/quote"
	"coderunner/internal/userland/shell/vars"
)

// octal matches the escapes that printf's %b has and echo has not: \101 without a 0.
var octal = lazyregexp.New(`((?:^|[^\\])(?:\\\\)*)(\\[1-7])`)

func echo(sh Shell, args []string) int {
	newline, escapes := true, sh.Options().XpgEcho
	args = args[1:]
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0][1:], "neE") == "" {
		for _, c := range args[0][1:] {
			switch c {
			case 'n':
				newline = false
			case 'e':
				escapes = true
			case 'E':
				escapes = false
			}
		}
		args = args[1:]
	}
	size := 0
	for _, arg := range args {
		size += len(arg) + 1
	}
	if escapes {
		size *= 4 // two more texts, and what the first leaves
	}
	if !sh.Vars().Room(int64(2 * size)) {
		return failed(sh, "echo", vars.ErrMemory)
	}
	s := strings.Join(args, " ")
	if escapes {
		var stop bool
		if s, stop = quote.Unescape(octal.ReplaceAllString(s, `$1\$2`), true); stop {
			newline = false
		}
	}
	if newline {
		s += "\n"
	}
	return sh.Print("echo", s)
}

// formatted is the builtin, also into a variable.
func formatted(sh Shell, flags Flags, args []string) int {
	if len(args) == 0 {
		return Usage(sh, "printf", "")
	}
	into := flags.Value('v')
	f := &formatter{sh: sh, args: args[1:], out: vars.Builder{Memory: sh.Vars().Memory}}
	for f.once(args[0]); len(f.args) > 0 && f.used && !f.stop; f.once(args[0]) {
		f.used = false
	}
	text, err := f.out.String()
	if err != nil {
		sh.Report(err)
		return 1
	}
	if !flags.On('v') {
		return max(f.status, sh.Print("printf", text))
	}
	if name, _, _ := parse.CutSubscript(into); !parse.ValidName(name) {
		sh.Errorf("printf: `%s': not a valid identifier", into)
		return 2
	}
	if err := sh.Vars().SetNamed(into, text); err != nil {
		return failed(sh, "printf", err)
	}
	return f.status
}

// formatter formats printf's arguments.
type formatter struct {
	sh     Shell
	args   []string
	out    vars.Builder
	used   bool // a directive took an argument, or would have
	stop   bool // \c
	status int
}

func (f *formatter) next() (string, bool) {
	f.used = true
	if len(f.args) == 0 {
		return "", false
	}
	s := f.args[0]
	f.args = f.args[1:]
	return s, true
}

func (f *formatter) write(s string) {
	if f.out.Add(s); f.out.Full {
		f.stop = true
	}
}

// once goes through the format once.
func (f *formatter) once(format string) {
	for i := 0; i < len(format) && !f.stop; {
		switch c := format[i]; c {
		case '\\':
			if strings.HasPrefix(format[i:], `\c`) {
				f.stop = true
				return
			}
			s, n, _ := quote.UnescapeOne(format[i:], false)
			f.write(s)
			i += n
		case '%':
			n := f.directive(format[i:])
			i += n
		default:
			j := strings.IndexAny(format[i:], `\%`)
			if j < 0 {
				j = len(format) - i
			}
			f.write(format[i : i+j])
			i += j
		}
	}
}

// directive formats what format begins with and returns its length.
func (f *formatter) directive(format string) int {
	d, rest, ok := printf.NextDirective(format)
	if !ok {
		f.fail("`%s': missing format character", format)
		return len(format)
	}
	for _, star := range []struct{ there, width bool }{{d.StarWidth, true}, {d.StarPrec, false}} {
		if star.there {
			s, _ := f.next()
			n, _ := strconv.Atoi(s)
			d.Star(star.width, n)
		}
	}
	if d.Verb == '(' {
		layout, rest, ok := strings.Cut(rest, ")T")
		if !ok {
			f.fail("`%c': invalid format character", '(')
			return len(format)
		}
		f.write(d.FormatString(f.time(layout)))
		return len(format) - len(rest)
	}
	f.convert(d)
	return len(format) - len(rest)
}

func (f *formatter) fail(format string, args ...any) {
	f.sh.Errorf("printf: "+format, args...)
	f.status = 1
	if strings.Contains(format, "format character") {
		f.stop = true
	}
}

func (f *formatter) convert(d printf.Directive) {
	switch d.Verb {
	case '%':
		f.write("%")
	case 's':
		s, _ := f.next()
		f.write(d.FormatString(s))
	case 'b':
		s, _ := f.next()
		if !f.sh.Vars().Room(int64(len(s))) {
			f.out.Full, f.stop = true, true
			return
		}
		s, stop := quote.Unescape(s, true)
		f.write(d.FormatString(s))
		f.stop = f.stop || stop
	case 'q', 'Q':
		s, _ := f.next()
		d.Precision = -1
		f.write(d.FormatString(quote.Printf(s)))
	case 'c':
		s, _ := f.next()
		d.Precision = -1
		f.write(d.FormatString(s[:min(1, len(s))]))
	case 'd', 'i':
		f.write(d.FormatInt(f.integer(false)))
	case 'u', 'o', 'x', 'X':
		f.write(d.FormatUint(uint64(f.integer(true))))
	case 'e', 'E', 'f', 'F', 'g', 'G', 'a', 'A':
		x, text := f.float()
		if text != "" {
			f.write(d.FormatLong(text, x))
		} else {
			f.write(d.FormatFloat(x))
		}
	default:
		f.fail("`%c': invalid format character", d.Verb)
	}
}

// integer takes an argument as a number: also 0x1f, 017 and 'c. wide is for
// numbers without a sign, which may have 64 bits.
func (f *formatter) integer(wide bool) int64 {
	s, ok := f.next()
	if !ok || s == "" {
		return 0
	}
	if r, ok := f.character(s); ok {
		return int64(r)
	}
	t := strings.TrimLeft(s, " \t")
	n, err := strconv.ParseInt(t, 0, 64)
	if err != nil && wide && !strings.HasPrefix(t, "-") {
		var u uint64
		u, err = strconv.ParseUint(t, 0, 64)
		n = int64(u)
	}
	begin := cNumber.FindString(t)
	if err == nil && begin == t {
		return n
	}
	if numErr, ok := err.(*strconv.NumError); ok && numErr.Err == strconv.ErrRange {
		f.sh.Errorf("printf: warning: %s: Numerical result out of range", s)
		return n
	}
	kind := ""
	switch {
	case len(s) > 1 && s[0] == '0' && s[1] >= '0' && s[1] <= '9':
		kind = "octal "
	case strings.HasPrefix(s, "0x"):
		kind = "hex "
	}
	f.fail("%s: invalid %snumber", s, kind)
	n, _ = strconv.ParseInt(begin, 0, 64)
	return n
}

// cNumber is what C reads as a number; Go reads 0b11, 0o17 and 1_000, too.
var cNumber = lazyregexp.New(`^[+-]?(?:0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)`)

// character returns the character of 'c and "c.
func (f *formatter) character(s string) (rune, bool) {
	if s[0] != '\'' && s[0] != '"' {
		return 0, false
	}
	s = s[1:] + "\x00"
	r, _ := glob.DecodeRune(s)
	if r > unicode.MaxRune || r >= utf8.RuneSelf && f.sh.Expander().Bytes() {
		r = rune(s[0])
	}
	return r, true
}

// float takes an argument as a number of floating point, and returns its text, too,
// if it is decimal.
func (f *formatter) float() (x float64, text string) {
	s, ok := f.next()
	if !ok || s == "" {
		return 0, ""
	}
	if r, ok := f.character(s); ok {
		return float64(r), ""
	}
	text = strings.TrimLeft(s, " \t\n\v\f\r")
	if hex := strings.ToLower(strings.TrimLeft(text, "+-")); strings.HasPrefix(hex, "0x") {
		if !strings.Contains(hex, "p") {
			text += "p0"
		}
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			f.fail("%s: invalid hex number", s)
		}
		return x, ""
	}
	n := printf.FloatLen(text)
	if n < len(text) {
		f.fail("%s: invalid number", s)
	}
	x, _ = strconv.ParseFloat(text[:n], 64)
	return x, text[:n]
}

// time formats a time: -1 or none is now, -2 when the shell began.
func (f *formatter) time(format string) string {
	s, ok := f.next()
	n, err := strconv.ParseInt(s, 10, 64)
	at := time.Unix(n, 0)
	switch {
	case !ok || n == -1:
		at = time.Now()
	case n == -2:
		at = f.sh.State().Began
	case err != nil:
		f.fail("%s: invalid number", s)
	}
	return clock.Format(cmp.Or(format, "%X"), at.In(clock.Zone(f.sh.Vars().Get("TZ"))))
}
