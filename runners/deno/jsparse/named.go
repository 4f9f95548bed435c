package jsparse

import (
	"encoding/json"
	"slices"
	"strings"
)

// names follows the tokens of an import of names.
func (a *analysis) names(t token) {
	n := &a.naming
	switch w := a.s.word(t); {
	case t.depth == 0 && a.s.is(t, '{') && a.s.word(a.prev) == "import" && a.prev.depth == 0:
		*n = named{start: a.prev}
	case t.depth == 0 && a.s.is(t, '{') && a.s.is(a.prev, ',') && a.s.word(a.prev3) == "import" && a.prev3.depth == 0:
		*n = named{start: a.prev3, all: a.prev2}
	case n.start.kind == none:
	case t.depth == 1 && t.kind == word:
		n.odd = n.odd || w == "default"
		n.worker = n.worker || w == "Worker"
		if w == "as" {
			n.words = append(n.words, edit{offset: t.start, cut: len(w), text: ": ", form: true})
		} else if a.s.word(a.prev) == "type" {
			n.words = append(n.words, edit{offset: a.prev.start, cut: len("type"), text: "    ", form: true})
		}
	case t.depth == 0 && a.s.is(t, '}'):
		n.brace = t
	case t.depth == 0 && w == "from":
		n.from = t
	case t.kind == text && n.from.kind == word && !n.odd:
		n.text, n.specifier = t, a.s.src[t.start+1:t.end-1]
		switch {
		case strings.TrimPrefix(n.specifier, "node:") == "worker_threads" && n.worker:
			// The exports of Node's modules stay Deno's; the runner replaces what is
			// in the object of them all.
			a.p.edits = append(a.p.edits, n.destructuring("return n.default", "")...)
		case len(a.p.named) < MaxImports:
			a.p.named = append(a.p.named, *n)
		}
		*n = named{}
	case t.depth != 1:
		*n = named{}
	}
}

// destructuring returns the edits that make of it a declaration, with each name in
// its place: const { a, b : c } = ((n)=>BODY)(await import("d" OPTIONS)). Body returns
// what has the names, of the module n.
func (n named) destructuring(body, options string) []edit {
	edits := append(slices.Clone(n.words),
		edit{offset: n.start.start, cut: len("import"), text: "const ", form: true},
		edit{offset: n.from.start, cut: len("from"), text: "=   ", form: true})
	before, after := "((n)=>{"+body+"})(await import(", options+"))"
	if n.all.kind != none {
		before, after = "((m)=>[m,m])("+before, after+")"
		edits = append(edits, edit{offset: n.all.start, text: "[", form: true}, edit{offset: n.brace.end, text: "]", form: true})
	}
	return append(edits, edit{offset: n.text.start, text: before, form: true}, edit{offset: n.text.end, text: after + ";", form: true})
}

// Destructured returns the program with its imports of names from a specifier taken
// from what a CommonJS module exports, nil if it has none. Name is the one that
// Deno did not find.
func (p *Program) Destructured(specifier, name string) *Program {
	quoted, _ := json.Marshal(name)
	message, _ := json.Marshal("The requested module '" + specifier + "' does not provide an export named '" + name + "'")
	body := `const m=n["module.exports"]??n;if(` + string(quoted) + ` in Object(m))return m;throw SyntaxError(` + string(message) + `)`
	changed := *p
	changed.edits, changed.named = slices.Clone(p.edits), nil
	for _, n := range p.named {
		if n.specifier == specifier {
			changed.edits = append(changed.edits, n.destructuring(body, "")...)
		} else {
			changed.named = append(changed.named, n)
		}
	}
	if len(changed.named) == len(p.named) {
		return nil
	}
	slices.SortStableFunc(changed.edits, byOffset)
	return &changed
}
