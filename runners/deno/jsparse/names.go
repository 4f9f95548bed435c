package jsparse

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"coderunner/internal/order"
)

// names follows the tokens of a static import.
func (a *analysis) names(t token) {
	if a.s.word(a.prev) == "import" && a.prev.depth == 0 && !a.s.is(a.prev2, '.') {
		a.clause = []token{a.prev}
	}
	switch {
	case len(a.clause) == 0:
	case t.kind == mark && strings.IndexByte("(;.=", a.s.src[t.start]) >= 0, t.kind == none, t.depth > 1, len(a.clause) == maxStatement:
		a.clause = nil
	case t.kind != text:
		a.clause = append(a.clause, t)
	default:
		if a.s.word(a.prev) == "from" && len(a.clause) > 2 && len(a.p.clauses) < MaxImports {
			a.named(a.clause, t)
		}
		a.clause = nil
	}
}

// named keeps an import of names, of which t has the tokens up to "from".
func (a *analysis) named(t []token, specifier token) {
	n := named{start: t[0], from: t[len(t)-1], text: specifier, specifier: a.s.src[specifier.start+1 : specifier.end-1]}
	t = t[1 : len(t)-1]
	bound := a.s.bindings(t)
	a.p.clauses = append(a.p.clauses, clause{n.specifier, bound})
	brace := 0
	if len(t) > 2 && a.s.is(t[1], ',') {
		n.all, brace = t[0], 2
	}
	switch first := t[brace]; {
	case a.s.is(first, '*') && brace == 0 && len(t) == 3:
		n.whole, n.brace = true, t[2]
		n.blank(first, " ")
		n.blank(t[1], "  ")
	case a.s.is(first, '{'):
		n.brace = t[len(t)-1]
		for i := brace + 1; i < len(t); i++ {
			switch w := a.s.word(t[i]); {
			case w == "as":
				n.blank(t[i], ": ")
			case w == "type" && a.s.word(t[i-1]) != "as" && !slices.ContainsFunc(bound, func(b Name) bool { return b.at == t[i] }):
				n.blank(t[i], "    ")
			}
		}
	default:
		return
	}
	worker := false
	for _, b := range bound {
		if b.at != n.all && b.Of == "default" {
			return
		}
		worker = worker || b.Of == "Worker"
		if b.at != n.all && b.Of != "*" {
			n.names = append(n.names, b.Of)
		}
	}
	if worker && strings.TrimPrefix(n.specifier, "node:") == "worker_threads" {
		// The exports of Node's modules stay Deno's; the runner replaces what is in the object
		// of them all.
		a.p.edits = append(a.p.edits, n.destructuring("return n.default", "")...)
		return
	}
	a.p.named = append(a.p.named, n)
}

// blank replaces a token by a text of its length.
func (n *named) blank(t token, text string) {
	n.words = append(n.words, edit{offset: t.start, cut: len(text), text: text, form: true})
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

// Names returns what a program imports from a module by its name, "*" for all of it.
func (p *Program) Names(specifier string) (names []string) {
	for _, n := range p.named {
		if n.specifier == specifier {
			names = append(names, n.names...)
		}
		if n.specifier == specifier && n.whole {
			names = append(names, "*")
		}
	}
	return names
}

// Destructured returns the program with its imports of names from a specifier taken
// from what a CommonJS module exports, nil if it has none. It throws Deno's error for a
// name that is not there, but for TypeScript's names with a capital that are not called: they
// may be types.
func (p *Program) Destructured(specifier string, typed bool) *Program {
	changed := *p
	changed.edits, changed.named = slices.Clone(p.edits), nil
	for _, n := range p.named {
		if n.specifier == specifier {
			changed.edits = append(changed.edits, n.destructuring(n.exported(p.Source, typed), "")...)
		} else {
			changed.named = append(changed.named, n)
		}
	}
	if len(changed.named) == len(p.named) {
		return nil
	}
	order.Stably(changed.edits, byOffset)
	return &changed
}

// OnlyNames reports whether all imports of a module are of names.
func (p *Program) OnlyNames(specifier string) bool {
	found := false
	for _, c := range p.clauses {
		if c.specifier == specifier {
			if found = true; slices.ContainsFunc(c.names, func(n Name) bool { return n.Of == "default" }) {
				return false
			}
		}
	}
	return found
}

// Namespaced returns the program with the default import of a module taken for all that
// the module exports, nil if there is none or if it is used other than for its members.
// Newer versions of many packages, such as js-yaml, have only names.
func (p *Program) Namespaced(specifier string) *Program {
	at, end := p.defaultImport(specifier)
	if at == end || !p.onlyMembers(p.Source[at:end]) || p.edited(at) {
		return nil
	}
	return p.with(edit{offset: at, text: "* as ", form: true})
}

// Braced returns the program with the default import of a module taken for the export of
// the same name, nil if the module has none, as import LRUCache from "lru-cache".
func (p *Program) Braced(specifier string, has func(name string) bool) *Program {
	at, end := p.defaultImport(specifier)
	if at == end || p.edited(at) || !has(p.Source[at:end]) {
		return nil
	}
	return p.with(edit{offset: at, text: "{", form: true}, edit{offset: end, text: "}", form: true})
}

// Defaulted returns the name of a module's only default import, "" if there is none or
// more, and whether it is used only for its members.
func (p *Program) Defaulted(specifier string) (name string, members bool) {
	at, end := p.defaultImport(specifier)
	name = p.Source[at:end]
	return name, name != "" && p.onlyMembers(name)
}

// onlyMembers reports whether a name is neither called, made, extended nor handed on.
func (p *Program) onlyMembers(name string) bool { return Scan(p.Source).onlyMembers(name) }

// defaultImport returns the place of the name of a module's only default import, nothing
// if there are more: a file of the program may have another.
func (p *Program) defaultImport(specifier string) (at, end int) {
	for _, c := range p.clauses {
		if c.specifier != specifier || len(c.names) != 1 || c.names[0].Of != "default" || c.names[0].As == "default" {
			continue
		}
		if end > 0 {
			return 0, 0
		}
		at, end = c.names[0].at.start, c.names[0].at.end
	}
	return at, end
}

// edited reports whether there is an edit at an offset.
func (p *Program) edited(offset int) bool {
	return slices.ContainsFunc(p.edits, func(e edit) bool { return e.offset == offset })
}

// with returns the program with further edits.
func (p *Program) with(edits ...edit) *Program {
	changed := *p
	changed.edits = append(slices.Clone(p.edits), edits...)
	order.Stably(changed.edits, byOffset)
	return &changed
}

// exported returns the body of a function that returns what a CommonJS module n exports,
// and throws if a name is not there.
func (n named) exported(source string, typed bool) string {
	if n.whole {
		return `const m=n["module.exports"],o=Object(m);return m!==o||typeof m==="object"&&Object.keys(m).every((k)=>k in n)?n:new Proxy(m,{get:(m,k)=>k in m?m[k]:n[k]})`
	}
	names := slices.DeleteFunc(slices.Clone(n.names), func(name string) bool {
		isType := typed && name[0] >= 'A' && name[0] <= 'Z' && !strings.Contains(source, name+"(")
		return isType || strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf || !letter(byte(r)) && !digit(byte(r)) })
	})
	list, _ := json.Marshal(names)
	message, _ := json.Marshal("The requested module '" + n.specifier + "' does not provide an export named '")
	return `const m=n["module.exports"]??n;for(const k of` + string(list) + `)if(!(k in Object(m)))throw SyntaxError(` + string(message) + `+k+"'");return m`
}
