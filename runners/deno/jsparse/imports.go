package jsparse

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
)

// imports adds t to the imports if it is a specifier.
func (a *analysis) imports(t token) {
	if a.called != "" {
		if a.s.is(t, ')') || a.s.is(t, ',') { // nothing is added to it
			a.p.note(Import{Specifier: a.called, Required: a.caller == "require"})
		}
		if a.s.is(t, ')') && a.caller == "require" {
			a.tests.required(a.s.src, a.called, a.prev3, t)
		}
		if a.s.is(t, ')') && a.caller == "import" && strings.HasSuffix(a.called, ".json") {
			a.form(a.prev.end, `,{with:{type:"json"}}`)
		}
		a.called = ""
	}
	if a.plain {
		switch w := a.s.word(t); {
		case w == "assert" && !t.newline: // its name before the standard
			a.p.edits = append(a.p.edits, edit{offset: t.start, cut: len(w), text: "with  ", form: true})
		case w == "with":
		case len(a.p.named) > 0 && a.p.named[len(a.p.named)-1].text == a.prev && !a.p.named[len(a.p.named)-1].whole:
			a.p.edits = append(a.p.edits, a.p.named[len(a.p.named)-1].destructuring("return n.default", `,{with:{type:"json"}}`)...)
		default:
			a.form(a.prev.end, ` with{type:"json"}`)
		}
		a.plain = false
	}
	if t.kind != text {
		return
	}
	before, further := a.prev, a.prev2
	call := a.s.is(before, '(')
	if call {
		before, further = a.prev2, a.prev3
	}
	if a.s.is(further, '.') {
		return // a method of that name
	}
	switch a.s.word(before) {
	case "import":
	case "from":
		if call {
			return
		}
	case "require":
		if !call {
			return
		}
	default:
		return
	}
	spec := a.s.src[t.start+1 : t.end-1]
	if call {
		a.called, a.caller = spec, a.s.word(before)
		return
	}
	static := t.depth == 0 && !a.typesOnly(further)
	a.p.note(Import{Specifier: spec, Static: static})
	a.plain = static && a.session == nil && strings.HasSuffix(spec, ".json")
}

// devices are the descriptors of the standard streams by their names.
var devices = map[string]string{"/dev/stdin": "0", "/dev/stdout": "1", "/dev/stderr": "2"}

var (
	whole    = regexp.MustCompile(`(?:read|write|append)File(?:Sync)?\b`)
	streamed = regexp.MustCompile(`create(?:Read|Write)Stream\([^()\n]*$`)
)

// device has fs.readFileSync("/dev/stdin"), fs.createWriteStream("/dev/stdout") and
// their like use the descriptor: Deno opens no device for a confined program. T
// follows the name.
func (a *analysis) device(t token) {
	if a.prev.kind != text {
		return
	}
	number, ok := devices[a.s.src[a.prev.start+1:a.prev.end-1]]
	if !ok {
		return
	}
	to := ""
	if before := a.s.src[max(a.prev.start-200, 0):a.prev.start]; streamed.MatchString(before) {
		if a.s.is(t, ')') {
			to = `"",{fd:` + number + `,autoClose:false}` // the program's own goes on
		}
	} else if caller := a.s.word(a.prev3); whole.MatchString(caller) || !a.s.is(a.prev2, '(') && whole.MatchString(a.s.src) {
		to = number
	}
	if to != "" {
		size := a.prev.end - a.prev.start
		a.p.edits = append(a.p.edits, edit{offset: a.prev.start, cut: size, text: fmt.Sprintf("%-*s", size, to), form: true})
	}
}

// typesOnly reports whether the statement is an "import type … from", which the
// compiler removes. Before is the token before "from".
func (a *analysis) typesOnly(before token) bool {
	if a.s.word(a.last.second) != "type" {
		return false
	}
	// In import type from "x", type is what is imported.
	return before.start != a.last.second.start
}

// module looks for what only a module has, and for import.meta.main.
func (a *analysis) module(t token) {
	dot, before := a.s.is(a.prev, '.'), a.prev
	if dot && a.s.word(t) == "main" && a.s.word(a.prev2) == "meta" && a.s.is(a.prev3, '.') {
		a.meta = true
	}
	if a.s.is(a.prev2, '.') || before.depth > 0 && !a.s.is(t, '.') {
		return
	}
	switch a.s.word(before) {
	case "import":
		a.linked = a.linked || !a.s.is(t, '(')
	case "export":
		a.linked = a.linked || !a.s.is(t, '=')
	case "await":
		a.awaits = a.awaits || before.depth == 0
	}
	a.esm = a.esm || a.linked || a.awaits
}

// Names in the signatures of decorators before the standard, and of the standard's.
var (
	legacyWords   = []string{"PropertyDescriptor", "TypedPropertyDescriptor", "propertyKey", "descriptor"}
	targetWords   = []string{"target", "Function"}
	standardWords = []string{"context", "ctx", "kind", "accessor", "addInitializer"}
)

// legacySignature matches the parameters of a decorator before the standard, whatever
// their names.
var legacySignature = regexp.MustCompile(`\(\s*\w+\s*:\s*(any|object|Object|unknown)\s*,\s*\w+\s*:\s*(string|PropertyKey)\b`)

// decorators looks for decorators, and of which kind they are. Only those before
// the standard may stand in front of a parameter.
func (a *analysis) decorators(t token) {
	w := a.s.word(t)
	switch {
	case a.s.is(t, '@'):
		a.p.Decorated = true
		a.p.Legacy = a.p.Legacy || a.s.is(a.prev, '(') || a.s.is(a.prev, ',')
	case slices.Contains(legacyWords, w):
		a.p.Legacy = true
	case slices.Contains(targetWords, w):
		a.p.Target = true
	case slices.Contains(standardWords, w) || strings.HasSuffix(w, "DecoratorContext"):
		a.p.Standard = true
	}
}

// names follows the tokens of an import of names.
func (a *analysis) names(t token) {
	n := &a.naming
	switch w := a.s.word(t); {
	case t.depth == 0 && a.s.is(t, '{') && a.s.word(a.prev) == "import" && a.prev.depth == 0:
		*n = named{start: a.prev}
	case t.depth == 0 && a.s.is(t, '{') && a.s.is(a.prev, ',') && a.s.word(a.prev3) == "import" && a.prev3.depth == 0:
		*n = named{start: a.prev3, all: a.prev2}
	case t.depth == 0 && a.s.is(t, '*') && a.s.word(a.prev) == "import":
		*n = named{start: a.prev, whole: true, words: []edit{{offset: t.start, cut: 1, text: " ", form: true}}}
	case n.start.kind == none:
	case n.whole && a.s.is(a.prev, '*') && w == "as":
		n.words = append(n.words, edit{offset: t.start, cut: len(w), text: "  ", form: true})
	case n.whole && a.s.word(a.prev) == "as":
		n.brace = t
	case t.depth == 1 && t.kind == word:
		n.odd = n.odd || w == "default"
		n.worker = n.worker || w == "Worker"
		switch before := a.s.word(a.prev); {
		case w == "as":
			n.words = append(n.words, edit{offset: t.start, cut: len(w), text: ": ", form: true})
		case before == "type":
			n.words = append(n.words, edit{offset: a.prev.start, cut: len("type"), text: "    ", form: true})
			n.names = slices.DeleteFunc(n.names, func(name string) bool { return name == "type" })
		case before != "as":
			n.names = append(n.names, w)
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
	slices.SortStableFunc(changed.edits, byOffset)
	return &changed
}

// OnlyNames reports whether all imports of a module are of names.
func (p *Program) OnlyNames(specifier string) bool {
	of := func(n named) bool { return n.specifier == specifier }
	return slices.ContainsFunc(p.named, of) && !slices.ContainsFunc(p.named, func(n named) bool { return of(n) && n.all.kind != none }) &&
		!regexp.MustCompile(`\bimport\s+[\w$*][^;"'{]*\sfrom\s*["']`+regexp.QuoteMeta(specifier)+`["']`).MatchString(p.Source)
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
func (p *Program) onlyMembers(name string) bool {
	name = regexp.QuoteMeta(name)
	return !regexp.MustCompile(`(?:^|[^.\w$"'/-])` + name + `\s*(?:[(\x60,;)\]}]|$)|\b(?:new|extends)\s+` + name + `\s*(?:[^.\s\w]|$)`).MatchString(p.Source)
}

// ImportPlace returns the line and the column of a name in the import of it from a module,
// of "default" those of the import, 0 if there is none.
func (p *Program) ImportPlace(specifier, name string) (line, column int) {
	if name != "default" {
		name = `[^;"'()]*?[{,\s](` + regexp.QuoteMeta(name) + `)(?:[\s,}][^;"'()]*)?`
	} else {
		name = `\s+([\w$]+)[^;"'()]*?`
	}
	m := regexp.MustCompile(`(?m)(?:^|;)[ \t]*(?:import|export)` + name + `\bfrom\s*["']` + regexp.QuoteMeta(specifier) + `["']`).FindStringSubmatchIndex(p.Source)
	if m == nil {
		return 0, 0
	}
	before := p.Source[:m[2]]
	begin := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, len(utf16.Encode([]rune(before[begin:]))) + 1
}

// defaultImport returns the place of the name of a module's only default import, nothing
// if there are more: a file of the program may have another.
func (p *Program) defaultImport(specifier string) (at, end int) {
	all := regexp.MustCompile(`(?m)(?:^|;)[ \t]*import\s+([\w$]+)\s+from\s*["']`+regexp.QuoteMeta(specifier)+`["']`).FindAllStringSubmatchIndex(p.Source, -1)
	if len(all) != 1 {
		return 0, 0
	}
	return all[0][2], all[0][3]
}

// edited reports whether there is an edit at an offset.
func (p *Program) edited(offset int) bool {
	return slices.ContainsFunc(p.edits, func(e edit) bool { return e.offset == offset })
}

// with returns the program with further edits.
func (p *Program) with(edits ...edit) *Program {
	changed := *p
	changed.edits = append(slices.Clone(p.edits), edits...)
	slices.SortStableFunc(changed.edits, byOffset)
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
		return isType || !asciiName.MatchString(name)
	})
	list, _ := json.Marshal(names)
	message, _ := json.Marshal("The requested module '" + n.specifier + "' does not provide an export named '")
	return `const m=n["module.exports"]??n;for(const k of` + string(list) + `)if(!(k in Object(m)))throw SyntaxError(` + string(message) + `+k+"'");return m`
}

var asciiName = regexp.MustCompile(`^[\w$]{1,100}$`)
