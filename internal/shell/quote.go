package shell

import (
	"coderunner/internal/glob"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// quote quotes a string as ${x@Q} does: in single quotes, or in $'…' where it has
// control characters.
func quote(s string) string {
	if needsAnsi(s) {
		return ansiQuote(s)
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// quotePrintf quotes a string as printf %q does: with backslashes.
func quotePrintf(s string) string {
	if s == "" {
		return "''"
	}
	if needsAnsi(s) {
		return ansiQuote(s)
	}
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if strings.IndexByte(" \t!\"$&'()*,;<>?[\\]^`{|}", c) >= 0 || (c == '#' || c == '~') && i == 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

// doubleQuote quotes a string as declare -p does.
func doubleQuote(s string) string {
	if needsAnsi(s) {
		return ansiQuote(s)
	}
	var b strings.Builder
	b.WriteByte('"')
	escape(&b, s, "\"\\$`")
	b.WriteByte('"')
	return b.String()
}

// quoteIfNeeded quotes what set and set -x show.
func quoteIfNeeded(s string) string {
	if s == "" {
		return "''"
	}
	if strings.ContainsAny(s, " \t\n!\"$&'()*;<>?[\\]^`{|}~#") || needsAnsi(s) {
		return quote(s)
	}
	return s
}

func needsAnsi(s string) bool {
	for i, r := range s {
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") || unicode.IsControl(r) {
			return true
		}
	}
	return false
}

func ansiQuote(s string) string {
	var b strings.Builder
	b.WriteString("$'")
	for i, n := 0, 0; i < len(s); i += n {
		var r rune
		r, n = glob.DecodeRune(s[i:])
		switch {
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == 27:
			b.WriteString(`\E`)
		case r < 32 && strings.IndexByte("\a\b\t\n\v\f\r", byte(r)) >= 0:
			b.WriteByte('\\')
			b.WriteByte("abtnvfr"[r-7])
		case r > unicode.MaxRune || r < 32 || r == 127:
			fmt.Fprintf(&b, `\%03o`, s[i])
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

// ansiC replaces the escapes of $'…', or with printf set those of printf %b and
// echo -e. stop reports whether \c ended the text.
func ansiC(s string, printf bool) (text string, stop bool) {
	if !strings.Contains(s, `\`) {
		return s, false
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		c := s[i]
		if at := strings.IndexByte("abtnvfr", c); at >= 0 {
			b.WriteByte("\a\b\t\n\v\f\r"[at])
			continue
		}
		switch {
		case c == 'e' || c == 'E':
			b.WriteByte(27)
		case c == '\\':
			b.WriteByte('\\')
		case !printf && strings.IndexByte(`'"?`, c) >= 0:
			b.WriteByte(c)
		case c == 'c' && printf:
			return b.String(), true
		case c == 'c' && i+1 < len(s):
			i++
			b.WriteByte(s[i] & 31)
		case c == 'x' || c == 'u' || c == 'U' || '0' <= c && c <= '7':
			i += number(&b, s[i:], printf) - 1
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String(), false
}

// number writes the character of \x41, \u00e9, \101 or \0101, and returns its length.
func number(b *strings.Builder, s string, printf bool) int {
	base, limit, start := 16, 2, 1
	switch {
	case s[0] == 'u':
		limit = 4
	case s[0] == 'U':
		limit = 8
	case s[0] != 'x':
		base, limit, start = 8, 3, 0
		if printf && s[0] == '0' {
			start = 1
		}
	}
	end := start
	for end < len(s) && end-start < limit {
		if _, err := strconv.ParseUint(s[end:end+1], base, 8); err != nil {
			break
		}
		end++
	}
	n, err := strconv.ParseUint(s[start:end], base, 32)
	switch {
	case err != nil && base == 8: // \0 alone
		b.WriteByte(0)
	case err != nil:
		b.WriteByte('\\')
		b.WriteByte(s[0])
	case s[0] == 'u' || s[0] == 'U':
		b.WriteRune(rune(n))
	default:
		b.WriteByte(byte(n))
	}
	return end
}

// unquoteIn removes the backslashes before some characters, and both where the
// character is a line's end.
func unquoteIn(s, chars string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte(chars, s[i+1]) >= 0 {
			if i++; s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
