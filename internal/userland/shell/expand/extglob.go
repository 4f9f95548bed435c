package expand

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/userland/shell/parse"
)

// extGlob adds an extended operator, whose patterns are expanded.
func (b *builder) extGlob(p *syntax.ExtGlob) {
	b.add(p.Op.String(), false)
	b.alternatives(p.Pattern.Value)
	b.add(")", false)
}

// alternatives adds what stands in the parentheses of an extended operator: words, and
// between them the operators | ( ).
func (b *builder) alternatives(s string) {
	from := 0
	flush := func(to int) {
		if from < to {
			b.alternative(s[from:to])
		}
		from = to
	}
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '|', '(', ')':
			flush(i)
			b.add(s[i:i+1], false)
			from++
		default:
			i += max(1, quotedLen(s[i:])) - 1
		}
	}
	flush(len(s))
}

// alternative adds a word of an extended operator, in which blanks are letters.
func (b *builder) alternative(s string) {
	if !strings.ContainsAny(s, "$`'\"\\") {
		b.add(s, false)
		return
	}
	var text strings.Builder
	for i := 0; i < len(s); {
		n := max(1, quotedLen(s[i:]))
		if n == 1 && strings.IndexByte(" \t\n<>&;#~", s[i]) >= 0 {
			text.WriteByte('\\')
		}
		text.WriteString(s[i : i+n])
		i += n
	}
	for w, err := range parse.Words(text.String() + "\n") {
		if err != nil {
			b.add(s, false)
			return
		}
		f, err := b.ex.Field(w, false)
		if err != nil {
			b.fail(err)
		}
		for _, piece := range f {
			b.add(piece.Text, piece.Quoted)
		}
	}
}

// quotedLen returns the length of the quotes or the expansion that a text begins with, 0
// without one.
func quotedLen(s string) int {
	end := s[:1]
	switch {
	case s[0] == '\\':
		return min(2, len(s))
	case strings.HasPrefix(s, "$("):
		end = ")"
	case strings.HasPrefix(s, "${"):
		end = "}"
	case s[0] != '\'' && s[0] != '"' && s[0] != '`':
		return 0
	}
	from := 1
	if s[0] == '$' {
		from = 2
	}
	nests := func(c byte) bool {
		switch s[0] {
		case '\'':
			return false
		case '"':
			return c != '\''
		case '`':
			return c == '\\'
		}
		return true
	}
	for i := from; i < len(s); i++ {
		if s[i:i+1] == end {
			return i + 1
		}
		if nests(s[i]) {
			i += max(1, quotedLen(s[i:])) - 1
		}
	}
	return 0
}
