// Package quote quotes text as bash does, and reads its escapes. It knows no shell.
package quote

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"coderunner/internal/userland/glob"
	"coderunner/internal/userland/printf"
)

// Word quotes a string as ${x@Q} does: in single quotes, or in $'…' where it has
// control characters.
func Word(s string) string {
	if NeedsANSI(s) {
		return ANSI(s)
	}
	return Single(s)
}

// Single quotes a string in single quotes, whatever it has.
func Single(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Printf quotes a string as printf %q does: with backslashes.
func Printf(s string) string {
	if s == "" {
		return "''"
	}
	if NeedsANSI(s) {
		return ANSI(s)
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

// Double quotes a string as declare -p does.
func Double(s string) string {
	if NeedsANSI(s) {
		return ANSI(s)
	}
	var b strings.Builder
	b.WriteByte('"')
	Escape(&b, s, "\"\\$`")
	b.WriteByte('"')
	return b.String()
}

// IfNeeded quotes what set shows.
func IfNeeded(s string) string {
	if s == "" {
		return "''"
	}
	if HasMetas(s) || NeedsANSI(s) {
		return Word(s)
	}
	return s
}

// Value quotes what set shows of a value, which is nothing for "".
func Value(s string) string {
	if s == "" {
		return ""
	}
	return IfNeeded(s)
}

// HasMetas reports whether a text has characters that mean something to the shell.
func HasMetas(s string) bool {
	return strings.ContainsAny(s, " \t\n!\"$&'()*;<>?[\\]^`{|}") || strings.HasPrefix(s, "#") ||
		strings.HasPrefix(s, "~") || strings.Contains(s, "=~") || strings.Contains(s, ":~")
}

// NeedsANSI reports whether a text has characters that only $'…' shows.
func NeedsANSI(s string) bool {
	for i, r := range s {
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") || unicode.IsControl(r) {
			return true
		}
	}
	return false
}

// ANSI quotes a string in $'…'.
func ANSI(s string) string {
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

// Unescape replaces the escapes of $'…', or with printfs set those of printf %b and
// echo -e. stop reports whether \c ended the text.
func Unescape(s string, printfs bool) (text string, stop bool) {
	var b strings.Builder
	b.Grow(len(s))
	for s != "" && !stop {
		at := strings.IndexByte(s, '\\')
		if at < 0 {
			at = len(s)
		}
		b.WriteString(s[:at])
		if s = s[at:]; s != "" {
			var n int
			text, n, stop = UnescapeOne(s, printfs)
			b.WriteString(text)
			s = s[n:]
		}
	}
	return b.String(), stop
}

// UnescapeOne reads the escape at the start of s, which begins with a backslash.
func UnescapeOne(s string, printfs bool) (text string, n int, stop bool) {
	if len(s) < 2 {
		return s, len(s), false
	}
	switch c := s[1]; {
	case c == 'E':
		return "\x1b", 2, false
	case !printfs && strings.IndexByte(`'"?`, c) >= 0:
		return s[1:2], 2, false
	case printfs && c == '"', !printfs && c == 'c' && len(s) == 2:
		return s[:2], 2, false
	case !printfs && c == 'c':
		return string(rune(s[2] & 31)), 3, false
	}
	return printf.CEscape(s, printfs)
}

// Strip removes the backslashes before some characters, and both where the
// character is a line's end.
func Strip(s, chars string) string {
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

// Traced quotes a value as a trace does, where set would write $'…' for a tab.
func Traced(s string) string {
	switch {
	case HasMetas(s):
		return Single(s)
	case NeedsANSI(s):
		return ANSI(s)
	}
	return s
}

// Escape writes s with a backslash before each of chars.
func Escape(b *strings.Builder, s, chars string) {
	for i := range len(s) {
		if strings.IndexByte(chars, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
}
