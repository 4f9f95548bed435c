package regex

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Character reads what stands after a backslash, if that gives a character by its number:
// \x1B everywhere, \033 where the dialect has octal numbers, elsewhere \o033, \d027 and
// \c[. The bytes of a character of UTF-8 come one after the other. The size is 0 if it is
// another escape.
func (d Dialect) Character(s string) (text string, size int) {
	b, size := d.number(s)
	if size == 0 {
		return "", 0
	}
	for text = string([]byte{b}); b >= utf8.RuneSelf && !utf8.FullRuneInString(text); text += string([]byte{b}) {
		rest, ok := strings.CutPrefix(s[size:], `\`)
		next, n := d.number(rest)
		if !ok || n == 0 || next < utf8.RuneSelf {
			break
		}
		b, size = next, size+1+n
	}
	return text, size
}

func (d Dialect) number(s string) (b byte, size int) {
	if s == "" {
		return 0, 0
	}
	base, most, at := 0, 3, 1
	switch ch := s[0]; {
	case ch == 'x':
		base, most = 16, 2
	case d.Octal:
		base, at = 8, 0
	case ch == 'o':
		base = 8
	case ch == 'd':
		base = 10
	case ch == 'c' && len(s) > 1 && s[1] < utf8.RuneSelf:
		return strings.ToUpper(s[1:2])[0] ^ 0x40, 2
	default:
		return 0, 0
	}
	n, end := 0, at
	for ; end < min(len(s), at+most); end++ {
		digit := strings.IndexByte("0123456789abcdef", s[end]|' ')
		if digit < 0 || digit >= base {
			break
		}
		n = n*base + digit
	}
	if end == at {
		return 0, 0
	}
	return byte(n), end
}

// numbered translates a character given by its number, which is never special.
func (t *translator) numbered() bool {
	if !t.Escapes {
		return false
	}
	text, size := t.Character(t.src[t.at+1:])
	if size == 0 {
		return false
	}
	t.at += 1 + size
	text = string([]rune{single(text)})
	t.add(regexp.QuoteMeta(text), true)
	t.text.WriteString(text)
	return true
}

// single is a character, or what stands for a byte that is none: the last of them for
// the last character, so that [\x80-\xFF] has all that are not ASCII.
func single(text string) rune {
	r, size := utf8.DecodeRuneInString(text)
	switch {
	case r != utf8.RuneError || size > 1:
		return r
	case text[0] == 0xff:
		return utf8.MaxRune
	}
	return rune(text[0])
}
