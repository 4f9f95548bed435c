// Package printf reads and applies directives of printf's formats, for the shell's
// printf and for awk, seq, stat and find.
package printf

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// MaxWidth bounds the widths and precisions of printf formats.
const MaxWidth = 1 << 20

// Directive is a conversion of a printf format.
type Directive struct {
	Flags               string
	Width, Precision    int // -1: none
	StarWidth, StarPrec bool
	Verb                byte
	Source              string
}

// NextDirective reads the directive at the start of s, which begins with "%".
// ok is false if it is not complete.
func NextDirective(s string) (d Directive, rest string, ok bool) {
	d.Width, d.Precision = -1, -1
	i := 1
	for i < len(s) && strings.IndexByte("-+ #0'", s[i]) >= 0 {
		if s[i] != '\'' {
			d.Flags += s[i : i+1]
		}
		i++
	}
	if strings.Contains(d.Flags, "-") {
		d.Flags = strings.ReplaceAll(d.Flags, "0", "") // there is nothing to fill
	}
	number := func() int {
		n := -1
		for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
			n = min(max(n, 0)*10+int(s[i]-'0'), MaxWidth)
		}
		return n
	}
	if i < len(s) && s[i] == '*' {
		d.StarWidth = true
		i++
	} else {
		d.Width = number()
	}
	if i < len(s) && s[i] == '.' {
		i++
		if i < len(s) && s[i] == '*' {
			d.StarPrec = true
			i++
		} else {
			d.Precision = max(0, number())
		}
	}
	// Length modifiers, which may be conversions elsewhere.
	if end := len(strings.TrimLeft(s[i:], "hlLjzt")); end > 0 && end < len(s[i:]) && strings.IndexByte("diouxXeEfFgGaAcs", s[len(s)-end]) >= 0 {
		i = len(s) - end
	}
	if i >= len(s) {
		return d, "", false
	}
	d.Verb, d.Source = s[i], s[:i+1]
	return d, s[i+1:], true
}

// Format passes a format on to write: its text, "%" for "%%", and for each directive what
// convert returns, which may take some bytes of the rest. Escapes are read where escape is
// not nil, and end the format where it says so.
func Format(format string, escape func(s string) (text string, n int, stop bool), write func(string), convert func(d Directive, rest string) (text string, taken int)) {
	special := "%"
	if escape != nil {
		special = `%\`
	}
	for {
		at := strings.IndexAny(format, special)
		if at < 0 {
			write(format)
			return
		}
		write(format[:at])
		if format = format[at:]; format[0] == '\\' {
			text, n, stop := escape(format)
			if stop {
				return
			}
			write(text)
			format = format[n:]
			continue
		}
		if strings.HasPrefix(format, "%%") {
			write("%")
			format = format[2:]
			continue
		}
		d, rest, ok := NextDirective(format)
		if !ok {
			write(format)
			return
		}
		text, taken := convert(d, rest)
		write(text)
		format = rest[taken:]
	}
}

// Star takes the argument of "*".
func (d *Directive) Star(width bool, n int) {
	n = max(-MaxWidth, min(n, MaxWidth))
	if !width {
		d.Precision = n // negative: as if there were none
		return
	}
	if n < 0 {
		d.Flags += "-"
		n = -n
	}
	d.Width = n
}

func (d Directive) verbFor(verb byte) string {
	b := "%" + d.Flags
	if d.Width >= 0 {
		b += strconv.Itoa(d.Width)
	}
	if d.Precision >= 0 {
		b += "." + strconv.Itoa(d.Precision)
	}
	return b + string(rune(verb))
}

// FormatString formats a string. Widths and precisions count bytes, as those of
// bash and mawk do.
func (d Directive) FormatString(s string) string {
	if d.Precision >= 0 {
		s = s[:min(d.Precision, len(s))]
	}
	pad := strings.Repeat(" ", max(0, d.Width-len(s)))
	if strings.Contains(d.Flags, "-") {
		return s + pad
	}
	return pad + s
}

// FormatInt formats a signed number.
func (d Directive) FormatInt(n int64) string {
	if d.Precision >= 0 {
		d.Flags = strings.ReplaceAll(d.Flags, "0", "")
	}
	return fmt.Sprintf(d.verbFor('d'), n)
}

// FormatUint formats an unsigned number, by the verb.
func (d Directive) FormatUint(n uint64) string {
	verb := d.Verb
	if verb == 'u' {
		verb = 'd'
		d.Flags = strings.NewReplacer("+", "", " ", "").Replace(d.Flags)
	}
	if d.Precision >= 0 {
		d.Flags = strings.ReplaceAll(d.Flags, "0", "")
	}
	if n == 0 {
		d.Flags = strings.ReplaceAll(d.Flags, "#", "")
	}
	if (verb == 'x' || verb == 'X') && strings.Contains(d.Flags, "#") && strings.Contains(d.Flags, "0") {
		d.Width = max(d.Width-len("0x"), -1) // Go's 0 fills the width beside it
	}
	return fmt.Sprintf(d.verbFor(verb), n)
}

// FormatFloat formats a number by a verb of floating point.
func (d Directive) FormatFloat(f float64) string { return d.formatFloat(f, f) }

// FormatLong formats a decimal text, whose value f is, but rounds it as C rounds a
// long double, as printf(1) and bash do: %.2f of 3.275 is 3.28.
func (d Directive) FormatLong(text string, f float64) string {
	if f != 0 && !math.IsInf(f, 0) && len(text) <= maxLong && !strings.Contains(d.Flags, "#") && d.Verb|32 != 'a' {
		if x, _, err := big.ParseFloat(text, 10, 64, big.ToNearestEven); err == nil {
			return d.formatFloat(f, x)
		}
	}
	return d.FormatFloat(f)
}

// maxLong bounds the texts whose digits beyond those of a double count.
const maxLong = 400

// formatFloat formats x, whose nearest double is f.
func (d Directive) formatFloat(f float64, x any) string {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		s := strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(f, 'g', -1, 64)), "+")
		if math.IsNaN(f) && math.Signbit(f) {
			s = "-nan"
		}
		if d.Verb < 'a' {
			s = strings.ToUpper(s)
		}
		if strings.Contains(d.Flags, "+") && s[0] != '-' {
			s = "+" + s
		}
		d.Precision = -1
		return d.FormatString(s)
	}
	if d.Precision < 0 {
		d.Precision = 6
	}
	if d.Precision == 0 && d.Verb|32 == 'g' {
		d.Precision = 1
	}
	verb := d.Verb
	switch verb { // Go's name of C's
	case 'a':
		verb = 'x'
	case 'A':
		verb = 'X'
	}
	return fmt.Sprintf(d.verbFor(verb), x)
}

// CEscape reads the escape at the start of s, which begins with a backslash.
// With zero set, three octal digits may follow \0. stop reports whether it is \c.
func CEscape(s string, zero bool) (text string, n int, stop bool) {
	if len(s) < 2 {
		return `\`, 1, false
	}
	if at := strings.IndexByte(`abefnrtv\"`, s[1]); at >= 0 {
		return "\a\b\x1b\f\n\r\t\v\\\""[at : at+1], 2, false
	}
	number := func(from, most, base int) (string, int, bool) {
		v, i := 0, from
		for ; i < len(s) && i < from+most; i++ {
			d, err := strconv.ParseUint(s[i:i+1], base, 8)
			if err != nil {
				break
			}
			v = v*base + int(d)
		}
		if i == from {
			return s[:from], from, false
		}
		if most > 3 {
			return string(rune(v)), i, false
		}
		return string([]byte{byte(v)}), i, false
	}
	switch {
	case s[1] == 'c':
		return "", 2, true
	case s[1] == '0' && zero:
		if len(s) == 2 || s[2] < '0' || s[2] > '7' {
			return "\x00", 2, false
		}
		return number(2, 3, 8)
	case s[1] >= '0' && s[1] <= '7':
		return number(1, 3, 8)
	case s[1] == 'x':
		return number(2, 2, 16)
	case s[1] == 'u':
		return number(2, 4, 16)
	case s[1] == 'U':
		return number(2, 8, 16)
	}
	return s[:2], 2, false
}

// FloatLen is the length of the number at the start of s.
func FloatLen(s string) int {
	i := 0
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	rest := strings.ToLower(s[i:min(len(s), i+8)])
	for _, word := range []string{"infinity", "inf", "nan"} {
		if strings.HasPrefix(rest, word) {
			return i + len(word)
		}
	}
	digits := 0
	for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		digits++
	}
	if i < len(s) && s[i] == '.' {
		for i++; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
			digits++
		}
	}
	if digits == 0 {
		return 0
	}
	if i < len(s) && s[i]|32 == 'e' {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		if j < len(s) && s[j] >= '0' && s[j] <= '9' {
			for i = j; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
			}
		}
	}
	return i
}

// LeadingFloat reads the longest number at the start of s, as strtod does.
func LeadingFloat(s string) (float64, bool) {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	end := FloatLen(s)
	v, err := strconv.ParseFloat(s[:end], 64)
	return v, end > 0 && (err == nil || math.IsInf(v, 0))
}
