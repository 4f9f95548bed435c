package shell

import (
	"errors"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// hasExtended reports whether a text may hold an extended operator.
func hasExtended(text string) bool {
	for i := range text {
		if text[i] == '(' && i > 0 && strings.IndexByte("?*+@!", text[i-1]) >= 0 {
			return true
		}
	}
	return false
}

// refused returns the error of statements of a line that the parser takes and bash does not,
// or not as they are.
func (sh *shell) refused(line []*syntax.Stmt, extended bool) error {
	for _, st := range line {
		if err := sh.aliases(st); err != nil {
			return err
		}
		if extended && !sh.opts.extglob {
			if err := extendedOff(st); err != nil {
				return err
			}
		}
	}
	return nil
}

// negatedSubshell is the error of a !( at the beginning of a command, which is a subshell
// where extended operators are off.
const negatedSubshell = "! begins a subshell"

// extendedOff returns the error of the first extended operator of a statement: the parser
// always takes them, bash only where extglob is on, and behind [[.
func extendedOff(st *syntax.Stmt) (err error) {
	syntax.Walk(st, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.TestClause, *syntax.ParamExp:
			return false
		case *syntax.CallExpr:
			if len(n.Args) > 0 && len(n.Args[0].Parts) > 0 && err == nil {
				if g, ok := n.Args[0].Parts[0].(*syntax.ExtGlob); ok && g.Op == syntax.GlobExcept {
					err = syntax.ParseError{Pos: g.Pos(), Text: negatedSubshell}
				}
			}
		case *syntax.ExtGlob:
			if at := n.Pos(); err == nil {
				err = syntax.ParseError{Pos: syntax.NewPos(at.Offset()+1, at.Line(), at.Col()+1), Text: "`(` can only follow an operator where extglob is on"}
			}
		}
		return err == nil
	})
	return err
}

// spaceNegation separates the ! from a subshell.
func spaceNegation(text string, err error) (string, bool) {
	pe, _ := errors.AsType[syntax.ParseError](err)
	at := int(pe.Pos.Offset()) + 1
	if pe.Text != negatedSubshell || at >= len(text) {
		return "", false
	}
	return text[:at] + " " + text[at:], true
}

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
	for w, err := range newParser().WordsSeq(&watched{text.String() + "\n"}) {
		if err != nil {
			b.add(s, false)
			return
		}
		f, err := b.sh.field(w, false)
		if err != nil {
			b.fail(err)
		}
		for _, piece := range f {
			b.add(piece.text, piece.quoted)
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
