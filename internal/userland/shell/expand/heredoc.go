package expand

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// HereDocument returns the text of a here-document.
func (ex *Expander) HereDocument(r *syntax.Redirect) (string, error) {
	quoted := false
	for _, p := range r.Word.Parts {
		lit, ok := p.(*syntax.Lit)
		quoted = quoted || !ok || strings.Contains(lit.Value, `\`)
	}
	w := r.Hdoc
	if w == nil {
		return "", nil
	}
	if r.Op == syntax.DashHdoc {
		w = untabbed(w)
	}
	if !quoted {
		return ex.Document(w)
	}
	var b strings.Builder
	for _, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok {
			b.WriteString(lit.Value)
		}
	}
	return b.String(), nil
}

// untabbed removes the tabs that lines begin with.
func untabbed(w *syntax.Word) *syntax.Word {
	out := &syntax.Word{}
	start := true
	for _, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok {
			lines := strings.SplitAfter(lit.Value, "\n")
			for i, l := range lines {
				if start || i > 0 {
					lines[i] = strings.TrimLeft(l, "\t")
				}
			}
			p = &syntax.Lit{ValuePos: lit.ValuePos, ValueEnd: lit.ValueEnd, Value: strings.Join(lines, "")}
			start = strings.HasSuffix(lit.Value, "\n")
		} else {
			start = false
		}
		out.Parts = append(out.Parts, p)
	}
	return out
}
