package glob

import (
	"slices"
	"strings"
	"unicode"
)

// bracket is a bracket expression: [a-z_], [!0-9], [[:alpha:]].
type bracket struct {
	negated bool
	ranges  [][2]rune
	classes []func(rune) bool
}

// classes are POSIX's character classes, of ASCII and Unicode alike.
var classes = map[string]func(rune) bool{
	"alpha": unicode.IsLetter,
	"digit": func(r rune) bool { return '0' <= r && r <= '9' },
	"alnum": func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) },
	"upper": unicode.IsUpper,
	"lower": unicode.IsLower,
	"space": unicode.IsSpace,
	"blank": func(r rune) bool { return r == ' ' || r == '\t' },
	"punct": func(r rune) bool { return r < 128 && (unicode.IsPunct(r) || unicode.IsSymbol(r)) },
	"cntrl": unicode.IsControl,
	"print": unicode.IsPrint,
	"graph": func(r rune) bool { return unicode.IsGraphic(r) && r != ' ' },
	"ascii": func(r rune) bool { return r < 128 },
	"xdigit": func(r rune) bool {
		return '0' <= r && r <= '9' || 'a' <= r && r <= 'f' || 'A' <= r && r <= 'F'
	},
	"word": func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) },
}

// parseBracket parses the bracket expression that text begins with, and returns
// its length, 0 if it is none.
func parseBracket(text string) (*bracket, int) {
	set, i := &bracket{}, 1
	if i < len(text) && (text[i] == '!' || text[i] == '^') {
		set.negated = true
		i++
	}
	for first := true; i < len(text); first = false {
		if text[i] == ']' && !first {
			return set, i + 1
		}
		if strings.HasPrefix(text[i:], "[:") {
			if name, _, ok := strings.Cut(text[i+2:], ":]"); ok && classes[name] != nil {
				set.classes = append(set.classes, classes[name])
				i += len(name) + 4
				continue
			}
		}
		from, n := bracketRune(text[i:])
		if n == 0 {
			return nil, 0
		}
		i += n
		to := from
		if i+1 < len(text) && text[i] == '-' && text[i+1] != ']' {
			if to, n = bracketRune(text[i+1:]); n == 0 {
				return nil, 0
			}
			i += 1 + n
		}
		set.ranges = append(set.ranges, [2]rune{from, to})
	}
	return nil, 0
}

// bracketRune is the character at the start of text, which may be escaped.
func bracketRune(text string) (rune, int) {
	escape := 0
	if text[0] == '\\' && len(text) > 1 {
		escape = 1
	}
	r, n := DecodeRune(text[escape:])
	return r, n + escape
}

func (set *bracket) has(r rune, fold bool) bool {
	if fold {
		return set.holds(unicode.ToLower(r)) != set.negated || set.holds(unicode.ToUpper(r)) != set.negated
	}
	return set.holds(r) != set.negated
}

func (set *bracket) holds(r rune) bool {
	return slices.ContainsFunc(set.ranges, func(x [2]rune) bool { return x[0] <= r && r <= x[1] }) ||
		slices.ContainsFunc(set.classes, func(is func(rune) bool) bool { return is(r) })
}
