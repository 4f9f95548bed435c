package parse

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
func refused(d Dialect, line []*syntax.Stmt, extended bool) error {
	for _, st := range line {
		if err := aliases(d.Aliases(), st); err != nil {
			return err
		}
		if extended && !d.ExtGlob() {
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
