package jsparse

import (
	"fmt"
	"slices"
	"strings"
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
	before := a.s.src[:a.prev.start]
	bracket := strings.LastIndexAny(before, "()\n")
	caller := before[:max(bracket, 0)]
	switch {
	case bracket >= 0 && before[bracket] == '(' && (strings.HasSuffix(caller, "createReadStream") || strings.HasSuffix(caller, "createWriteStream")):
		if a.s.is(t, ')') {
			to = `"",{fd:` + number + `,autoClose:false}` // the program's own goes on
		}
	case takesFile(a.s.word(a.prev3)), !a.s.is(a.prev2, '(') && takesFile(a.s.src):
		to = number
	}
	if to != "" {
		size := a.prev.end - a.prev.start
		a.p.edits = append(a.p.edits, edit{offset: a.prev.start, cut: size, text: fmt.Sprintf("%-*s", size, to), form: true})
	}
}

// takesFile reports whether a text names a function that takes the descriptor of a file.
func takesFile(s string) bool {
	return strings.Contains(s, "readFile") || strings.Contains(s, "writeFile") || strings.Contains(s, "appendFile")
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

// legacySignature is the form of the parameters of a decorator before the standard, whatever
// their names.
var legacySignature = []string{"(", "", ":", "any|object|Object|unknown", ",", "", ":", "string|PropertyKey"}

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
