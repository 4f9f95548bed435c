package jsparse

import (
	"slices"

	"coderunner/internal/order"
)

const (
	fieldNone fieldState = iota
	fieldDecorated
	fieldNamed
	fieldTyped
)

// fields notes where fields with decorators and without a value begin.
func (a *analysis) fields(t token) {
	f := &a.field
	w := a.s.word(t)
	switch {
	case f.state == fieldNone || t.depth < f.depth:
		if f.state >= fieldNamed && a.s.is(t, '}') {
			a.declares()
		}
		*f = field{}
		if n := len(a.s.open); a.s.is(t, '@') && n > 0 && a.s.open[n-1].char == '{' {
			*f = field{state: fieldDecorated, depth: t.depth, at: -1}
		}
	case t.depth > f.depth:
	case f.state == fieldDecorated:
		switch {
		case a.s.is(t, '@'), a.s.is(a.prev, '@'), a.s.is(t, '.'), a.s.is(a.prev, '.'), a.s.is(t, '('), a.s.is(t, ')'):
		case slices.Contains([]string{"public", "private", "protected", "override"}, w):
		case w == "readonly":
			f.at = t.start
		case w == "" || slices.Contains([]string{"static", "declare", "abstract", "accessor", "async", "get", "set", "class", "export", "default"}, w):
			*f = field{}
		default:
			if f.at < 0 {
				f.at = t.start
			}
			f.state = fieldNamed
		}
	case a.s.is(t, ';'), t.newline && a.prev.operand:
		a.declares()
		a.fields(t)
	case a.s.is(t, '=') && (f.state == fieldNamed || t.end == len(a.s.src) || a.s.src[t.end] != '>'), f.state == fieldNamed && a.s.is(t, '('):
		*f = field{}
	case a.s.is(t, ':'):
		f.state = fieldTyped
	}
}

// declares ends a field without a value.
func (a *analysis) declares() {
	a.p.fields = append(a.p.fields, edit{offset: a.field.at, text: "declare ", form: true})
	a.field = field{}
}

// Declared returns the program with its decorated fields that have no value declared,
// as the decorators before the standard want them.
func (p *Program) Declared() *Program {
	if len(p.fields) == 0 {
		return p
	}
	changed := *p
	changed.edits = slices.Concat(p.edits, p.fields)
	changed.fields = nil
	order.Stably(changed.edits, byOffset)
	return &changed
}
