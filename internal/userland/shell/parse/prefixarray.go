package parse

import (
	"errors"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// quoteArray makes the array before a command, at which the parser failed, the text that
// it is to bash: x=(1 2) f, where the command is often a "}" or done whose ; was forgotten,
// which is the error then. With a subscript bash has no such variable.
func quoteArray(text string, err error) (string, bool) {
	pe, found := errors.AsType[syntax.ParseError](err)
	at := int(pe.Pos.Offset())
	if !found || pe.Text != "inline variables cannot be arrays" || at >= len(text) {
		return "", false
	}
	open := at + strings.IndexAny(text[at:], "[=")
	switch {
	case open < at:
		return "", false
	case text[open] == '[':
		return text[:open] + "''" + text[open:], true
	}
	var b strings.Builder
	b.WriteString(text[:open+1] + `\(`)
	array, end := arrayAt(text[at:])
	if array == nil {
		return "", false
	}
	for i, x := range array.Elems {
		if x.Index != nil || x.Value == nil || len(x.Comments) > 0 {
			return "", false
		}
		if i > 0 {
			b.WriteString("' '")
		}
		b.WriteString(text[at+int(x.Value.Pos().Offset()) : at+int(x.Value.End().Offset())])
	}
	// Its lines are kept for the places of what follows.
	end += at
	b.WriteString(`\)` + strings.Repeat("\\\n", strings.Count(text[at:end], "\n")-strings.Count(b.String()[at:], "\n")) + text[end:])
	return b.String(), true
}

// arrayAt returns the array that the variable at the start of a text is assigned, and
// where it ends.
func arrayAt(text string) (array *syntax.ArrayExpr, end int) {
	for n := 0; n < maxQuoted; n++ {
		i := strings.IndexByte(text[end:], ')')
		if i < 0 {
			break
		}
		end += i + 1
		f, err := newParser().Parse(&reader{s: text[:end] + "\n"}, "")
		if err != nil || len(f.Stmts) != 1 {
			continue
		}
		if c, ok := f.Stmts[0].Cmd.(*syntax.CallExpr); ok && len(c.Assigns) == 1 && len(c.Args) == 0 {
			return c.Assigns[0].Array, end
		}
	}
	return nil, 0
}
