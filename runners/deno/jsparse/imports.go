package jsparse

import (
	"regexp"
	"slices"
	"strings"
)

// imports adds t to the imports if it is a specifier.
func (a *analysis) imports(t token) {
	if a.called != "" {
		if a.s.is(t, ')') || a.s.is(t, ',') { // nothing is added to it
			a.p.note(Import{Specifier: a.called, Required: a.caller == "require"})
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
		case len(a.p.named) > 0 && a.p.named[len(a.p.named)-1].text == a.prev:
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

// stdin has fs.readFileSync("/dev/stdin") and fs.createReadStream("/dev/stdin") read
// descriptor 0: Deno opens no device for a confined program. T follows the name.
func (a *analysis) stdin(t token) {
	if a.prev.kind != text || a.s.src[a.prev.start+1:a.prev.end-1] != "/dev/stdin" || !strings.Contains(a.s.src, "readFile") && !strings.Contains(a.s.src, "createReadStream") {
		return
	}
	to := ""
	if caller := a.s.word(a.prev3); !a.s.is(a.prev2, '(') || strings.HasPrefix(caller, "readFile") {
		to = "0           "
	} else if caller == "createReadStream" && a.s.is(t, ')') {
		to = `"",{fd:0}   `
	}
	if to != "" {
		a.p.edits = append(a.p.edits, edit{offset: a.prev.start, cut: a.prev.end - a.prev.start, text: to, form: true})
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
		a.esm = a.esm || !a.s.is(t, '(')
	case "export":
		a.esm = a.esm || !a.s.is(t, '=')
	case "await":
		a.esm = a.esm || before.depth == 0
	}
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
