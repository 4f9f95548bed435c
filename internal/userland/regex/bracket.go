package regex

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// posixClasses are the character classes inside brackets.
var posixClasses = map[string]string{
	"alpha": `\p{L}`, "digit": `0-9`, "alnum": `\p{L}\p{Nd}`, "upper": `\p{Lu}`, "lower": `\p{Ll}`,
	"space": `\s\v`, "blank": ` \t`, "punct": "!-/:-@\\[-`{-~\\p{P}", "print": ` -~\p{L}\p{M}\p{N}\p{P}\p{S}`,
	"graph": `!-~\p{L}\p{M}\p{N}\p{P}\p{S}`, "cntrl": `\x00-\x1f\x7f`, "xdigit": `0-9A-Fa-f`,
}

var errBracket = errors.New("Unmatched [, [^, [:, [., or [=")

// bracket translates a bracket expression.
func (t *translator) bracket() error {
	s := t.src
	i := t.at + 1
	var b strings.Builder
	b.WriteByte('[')
	if i < len(s) && s[i] == '^' {
		b.WriteByte('^')
		i++
	}
	for first := true; ; first = false {
		if i >= len(s) {
			return errBracket
		}
		if s[i] == ']' && !first {
			break
		}
		if name, rest, ok := Bracket(s[i:], ':'); ok {
			class := posixClasses[name]
			if class == "" {
				return errors.New("Invalid character class name")
			}
			b.WriteString(t.class(name, class))
			i = len(s) - len(rest)
			continue
		}
		from, next, err := t.member(i)
		if err != nil {
			return err
		}
		i = next
		to := from
		if i+1 < len(s) && s[i] == '-' && s[i+1] != ']' {
			if to, next, err = t.member(i + 1); err != nil {
				return err
			}
			i = next
		}
		if to < from {
			return errors.New("Invalid range end")
		}
		writeRune(&b, from)
		if to != from {
			b.WriteByte('-')
			writeRune(&b, to)
		}
	}
	b.WriteByte(']')
	t.add(b.String(), false)
	t.at = i + 1
	return nil
}

// BracketLen returns the length of the bracket expression that s begins with, 0 if its
// line does not close it. With escapes a backslash quotes what follows it.
func BracketLen(s string, escapes bool) int {
	members, marks := strings.TrimPrefix(strings.TrimPrefix(s[1:], "^"), "]"), ":.="
	for members != "" && members[0] != '\n' {
		if members[0] == ']' {
			return len(s) - len(members) + 1
		}
		n := 1
		switch {
		case len(members) == 1:
		case escapes && members[0] == '\\':
			n = 2
		case members[0] == '[' && strings.IndexByte(marks, members[1]) >= 0:
			if _, rest, ok := Bracket(members, members[1]); ok {
				n = len(members) - len(rest)
			} else { // nor is another one closed
				marks = strings.Replace(marks, members[1:2], "", 1)
			}
		}
		members = members[n:]
	}
	return 0
}

// class is a class for an expression that may ignore case.
func (t *translator) class(name, class string) string {
	if t.Fold && (name == "upper" || name == "lower") {
		return posixClasses["alpha"]
	}
	return class
}

// member reads a character of a bracket expression.
func (t *translator) member(i int) (r rune, next int, err error) {
	s := t.src
	if i >= len(s) {
		return 0, 0, errBracket
	}
	for _, mark := range []byte{'=', '.'} {
		if name, rest, ok := Bracket(s[i:], mark); ok {
			r, size := utf8.DecodeRuneInString(name)
			if size != len(name) {
				return 0, 0, errors.New("Invalid collation character")
			}
			return r, len(s) - len(rest), nil
		}
	}
	if s[i] == '\\' && t.Escapes && i+1 < len(s) {
		// awk has more of them than sed, where "[&/\]" is a whole expression.
		if at := strings.IndexByte(`afnrtv\b]/"`, s[i+1]); at >= 0 && (at < len(`afnrtv\`) || t.Octal) {
			return rune("\a\f\n\r\t\v\\\b]/\""[at]), i + 2, nil
		}
		if text, size := t.Character(s[i+1:]); size > 0 {
			return single(text), i + 1 + size, nil
		}
	}
	r, size := utf8.DecodeRuneInString(s[i:])
	return r, i + size, nil
}

// writeRune writes a character as a member of a class.
func writeRune(b *strings.Builder, r rune) {
	if r < utf8.RuneSelf && !WordByte(byte(r)) && r >= ' ' {
		b.WriteByte('\\')
	}
	b.WriteRune(r)
}

// Classes are the character classes by their names, [:alpha:] and the like, of the bytes in
// the C locale.
var Classes = map[string]func(b int) bool{
	"lower":  func(b int) bool { return b >= 'a' && b <= 'z' },
	"upper":  func(b int) bool { return b >= 'A' && b <= 'Z' },
	"alpha":  func(b int) bool { return b|32 >= 'a' && b|32 <= 'z' },
	"digit":  func(b int) bool { return b >= '0' && b <= '9' },
	"alnum":  func(b int) bool { return b|32 >= 'a' && b|32 <= 'z' || b >= '0' && b <= '9' },
	"space":  func(b int) bool { return b == ' ' || b >= 9 && b <= 13 },
	"blank":  func(b int) bool { return b == ' ' || b == '\t' },
	"cntrl":  func(b int) bool { return b < 32 || b == 127 },
	"print":  func(b int) bool { return b >= 32 && b < 127 },
	"graph":  func(b int) bool { return b > 32 && b < 127 },
	"punct":  func(b int) bool { return b > 32 && b < 127 && !(b|32 >= 'a' && b|32 <= 'z' || b >= '0' && b <= '9') },
	"xdigit": func(b int) bool { return b >= '0' && b <= '9' || b|32 >= 'a' && b|32 <= 'f' },
}

// Bracket reads "[:name:]rest".
func Bracket(s string, mark byte) (name, rest string, ok bool) {
	if len(s) < 4 || s[0] != '[' || s[1] != mark {
		return "", "", false
	}
	return strings.Cut(s[2:], string(mark)+"]")
}
