package parse

import (
	"errors"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/order"
)

// aliasUse is the error of a statement whose text has aliases: they are replaced in the text,
// which is parsed again, since an alias may be a pipeline or begin a quote.
type aliasUse []splice

// splice is a word of a text and what replaces it.
type splice struct {
	from, to int
	text     string
}

func (aliasUse) Error() string { return "aliases" }

// aliases returns the aliases that a statement begins commands with, nil without one. As in
// bash they are those that there are when the line is read.
func aliases(all map[string]string, st *syntax.Stmt) error {
	if len(all) == 0 {
		return nil
	}
	var use aliasUse
	syntax.Walk(st, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok {
			for i := 0; i < len(c.Args); i++ {
				s, ok := aliased(all, c.Args[i])
				if !ok {
					break
				}
				if use = append(use, s); !strings.HasSuffix(s.text, " ") && !strings.HasSuffix(s.text, "\t") {
					break
				}
			}
		}
		return true
	})
	if use == nil {
		return nil
	}
	order.By(use, func(a, b splice) int { return a.from - b.from })
	return use
}

// aliased returns what replaces a word that is an alias. An alias that begins with its own
// name means the command.
func aliased(all map[string]string, w *syntax.Word) (splice, bool) {
	name := w.Lit()
	text, ok := all[name]
	if !ok || name == "" {
		return splice{}, false
	}
	seen := []string{name}
	for { // those that it begins with
		first, rest := text, ""
		if i := strings.IndexAny(text, " \t\n;&|<>()"); i >= 0 {
			first, rest = text[:i], text[i:]
		}
		next, is := all[first]
		if slices.Contains(seen, first) {
			text = `\` + text
		}
		if !is || slices.Contains(seen, first) {
			break
		}
		seen, text = append(seen, first), next+rest
	}
	return splice{int(w.Pos().Offset()), int(w.End().Offset()), text}, true
}

// replaceAliases replaces the aliases that a statement was refused for.
func replaceAliases(text string, err error) (string, bool) {
	use, ok := errors.AsType[aliasUse](err)
	if !ok {
		return "", false
	}
	var b strings.Builder
	at := 0
	for _, s := range use {
		if s.from < at || s.to > len(text) {
			continue
		}
		b.WriteString(text[at:s.from] + s.text)
		at = s.to
	}
	return b.String() + text[at:], true
}
