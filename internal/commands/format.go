package commands

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// maxWidth bounds the widths and precisions of printf formats.
const maxWidth = 1 << 20

// directive is a conversion of a printf format.
type directive struct {
	flags               string
	width, precision    int // -1: none
	starWidth, starPrec bool
	verb                byte
	source              string
}

// nextDirective reads the directive at the start of s, which begins with "%".
// ok is false if it is not complete.
func nextDirective(s string) (d directive, rest string, ok bool) {
	d.width, d.precision = -1, -1
	i := 1
	for i < len(s) && strings.IndexByte("-+ #0'", s[i]) >= 0 {
		if s[i] != '\'' {
			d.flags += s[i : i+1]
		}
		i++
	}
	number := func() int {
		n := -1
		for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
			n = min(max(n, 0)*10+int(s[i]-'0'), maxWidth)
		}
		return n
	}
	if i < len(s) && s[i] == '*' {
		d.starWidth = true
		i++
	} else {
		d.width = number()
	}
	if i < len(s) && s[i] == '.' {
		i++
		if i < len(s) && s[i] == '*' {
			d.starPrec = true
			i++
		} else {
			d.precision = max(0, number())
		}
	}
	// Length modifiers, which may be conversions elsewhere.
	if end := len(strings.TrimLeft(s[i:], "hlLqjzt")); end > 0 && end < len(s[i:]) && strings.IndexByte("diouxXeEfFgGaAcs", s[len(s)-end]) >= 0 {
		i = len(s) - end
	}
	if i >= len(s) {
		return d, "", false
	}
	d.verb, d.source = s[i], s[:i+1]
	return d, s[i+1:], true
}

// star takes the argument of "*".
func (d *directive) star(width bool, n int) {
	n = max(-maxWidth, min(n, maxWidth))
	if !width {
		d.precision = n // negative: as if there were none
		return
	}
	if n < 0 {
		d.flags += "-"
		n = -n
	}
	d.width = n
}

func (d directive) verbFor(verb byte) string {
	b := "%" + d.flags
	if d.width >= 0 {
		b += strconv.Itoa(d.width)
	}
	if d.precision >= 0 {
		b += "." + strconv.Itoa(d.precision)
	}
	return b + string(rune(verb))
}

// formatString formats for s; formatInt, formatUint and formatFloat for the
// numeric conversions.
func (d directive) formatString(s string) string {
	d.flags = strings.ReplaceAll(d.flags, "0", "")
	return fmt.Sprintf(d.verbFor('s'), s)
}

func (d directive) formatInt(n int64) string {
	if d.precision >= 0 {
		d.flags = strings.ReplaceAll(d.flags, "0", "")
	}
	return fmt.Sprintf(d.verbFor('d'), n)
}

func (d directive) formatUint(n uint64) string {
	verb := d.verb
	if verb == 'u' {
		verb = 'd'
		d.flags = strings.NewReplacer("+", "", " ", "").Replace(d.flags)
	}
	if d.precision >= 0 {
		d.flags = strings.ReplaceAll(d.flags, "0", "")
	}
	if n == 0 {
		d.flags = strings.ReplaceAll(d.flags, "#", "")
	}
	return fmt.Sprintf(d.verbFor(verb), n)
}

func (d directive) formatFloat(f float64) string {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		s := strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(f, 'g', -1, 64)), "+")
		if math.IsNaN(f) && math.Signbit(f) {
			s = "-nan"
		}
		if d.verb < 'a' {
			s = strings.ToUpper(s)
		}
		if strings.Contains(d.flags, "+") && s[0] != '-' {
			s = "+" + s
		}
		d.precision = -1
		return d.formatString(s)
	}
	if d.precision < 0 {
		d.precision = 6
	}
	if d.precision == 0 && d.verb|32 == 'g' {
		d.precision = 1
	}
	return fmt.Sprintf(d.verbFor(d.verb), f)
}

// cEscape reads the escape at the start of s, which begins with a backslash.
// octal is how many octal digits follow at most, a leading 0 not counted.
func cEscape(s string, zero bool) (text string, n int, stop bool) {
	if len(s) < 2 {
		return `\`, 1, false
	}
	if at := strings.IndexByte(`abefnrtv\"`, s[1]); at >= 0 {
		return "\a\b\x1b\f\n\r\t\v\\\""[at : at+1], 2, false
	}
	number := func(from, most, base int, digits string) (string, int, bool) {
		v, i := 0, from
		for ; i < len(s) && i < from+most && strings.IndexByte(digits, s[i]|32) >= 0; i++ {
			d, _ := strconv.ParseInt(s[i:i+1], base, 32)
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
	const octal, hex = "01234567", "0123456789abcdef"

	switch {
	case s[1] == 'c':
		return "", 2, true
	case s[1] == '0' && zero:
		if len(s) == 2 || s[2] < '0' || s[2] > '7' {
			return "\x00", 2, false
		}
		return number(2, 3, 8, octal)
	case s[1] >= '0' && s[1] <= '7':
		return number(1, 3, 8, octal)
	case s[1] == 'x':
		return number(2, 2, 16, hex)
	case s[1] == 'u':
		return number(2, 4, 16, hex)
	case s[1] == 'U':
		return number(2, 8, 16, hex)
	}
	return s[:2], 2, false
}
