package shell

import (
	"errors"
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// strayElse returns the error of an else without if, which the parser takes for a
// command.
func strayElse(st *syntax.Stmt) (err error) {
	syntax.Walk(st, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok && len(c.Assigns) == 0 && len(c.Args) > 0 && c.Args[0].Lit() == "else" {
			err = syntax.ParseError{Pos: c.Pos(), Text: "`else` can only be used in an `if`"}
		}
		return err == nil
	})
	return err
}

// maxElse bounds the places that earlierElse tries, each of which costs a parse.
const maxElse = 100

// wordElse matches an else where a command may begin.
var wordElse = regexp.MustCompile(`(?m)(?:^|[;&|({])[ \t]*(else)(?:[ \t;]|$)`)

// earlierElse moves the error of a fi to an else before it whose if or elif has no then:
// the parser takes that for a command of the condition.
func earlierElse(text string, err error) error {
	pe, ok := errors.AsType[syntax.ParseError](err)
	if !ok || !strings.HasPrefix(pe.Text, "`fi` can only be used") || int(pe.Pos.Offset()) > len(text) {
		return err
	}
	for _, m := range wordElse.FindAllStringSubmatchIndex(text[:pe.Pos.Offset()], maxElse) {
		closed := text[:m[2]] + "fi  " + text[m[3]:] // an error, too, where no if can end
		for _, e := range newParser().StmtsSeq(&watched{closed}) {
			if other, ok := errors.AsType[syntax.ParseError](e); ok && other.Pos.Offset() == uint(m[2]) {
				return syntax.ParseError{Pos: other.Pos, Text: "`else` can only follow a `then`"}
			}
		}
	}
	return err
}
