package jsparse

import (
	"fmt"
	"slices"
	"strings"

	"coderunner/runners/deno/testing"
)

// mocksObject is the default export of testing.MocksModule, by which a program imports whose
// tests replace modules.
const mocksObject = "__coderunner_mocks__"

// mocking finds how tests replace modules: vi.mock("./api", factory) and its like, which
// frameworks move before the imports of a file, and spyOn of "import * as api". The program
// then imports dynamically, after these calls, which become functions where they stand: so
// each line stays what it is.
type mocking struct {
	session // for its edits of imports
	imports [][]token
	hoisted [][]token
	dynamic []token // import of import()
	spied   []string
	certain bool // it replaces modules, and not only may spy on one
}

// mayMock returns what follows a program that may replace modules, else nil.
func mayMock(source string) *mocking {
	contains := func(s string) bool { return strings.Contains(source, s) }
	m := &mocking{session: session{object: mocksObject}, certain: slices.ContainsFunc(testing.Replaces, contains)}
	if m.certain || contains("spyOn(") && contains("* as ") {
		return m
	}
	return nil
}

// take handles a token after the analysis has.
func (m *mocking) take(a *analysis, t token) {
	switch {
	case a.s.is(t, '(') && a.s.word(a.prev) == "import" && !a.s.is(a.prev2, '.') && a.s.word(a.prev2) != "typeof" &&
		!a.s.is(a.prev2, '<') && !a.s.is(a.prev2, ':') && !a.s.is(a.prev2, '|'): // else it is a type, mostly
		m.dynamic = append(m.dynamic, a.prev)
	case a.s.is(t, ',') && a.s.is(a.prev2, '(') && a.s.word(a.prev3) == "spyOn":
		m.spied = append(m.spied, a.s.word(a.prev))
	}
	if t.kind == none || t.start == a.last.start {
		m.flush(a)
		m.statement = m.statement[:0]
	}
	if t.depth > 0 || !a.s.is(t, ';') {
		m.statement = append(m.statement, t)
	}
	if len(m.statement) == maxStatement {
		m.statement = m.statement[:1] // it is no import, and no call that is short enough to be moved
	}
}

// flush keeps the statement that has ended, if it is to be edited.
func (m *mocking) flush(a *analysis) {
	switch {
	case len(m.statement) < 2:
	case a.s.word(m.statement[0]) == "import":
		m.imports = append(m.imports, slices.Clone(m.statement))
	case m.call(a) >= 0:
		m.hoisted = append(m.hoisted, slices.Clone(m.statement))
	}
}

// call returns the index in the statement at which vi.mock or its like is called, -1 if that
// is not what the statement does.
func (m *mocking) call(a *analysis) int {
	at := 0
	if slices.Contains([]string{"const", "let", "var"}, a.s.word(m.statement[0])) {
		equals := slices.IndexFunc(m.statement, func(t token) bool { return t.depth == 0 && a.s.is(t, '=') })
		if equals < 0 {
			return -1
		}
		at = equals + 1
	}
	if at < len(m.statement) && a.s.word(m.statement[at]) == "await" {
		at++
	}
	if at+3 >= len(m.statement) || !a.s.is(m.statement[at+1], '.') {
		return -1
	}
	object, name := a.s.word(m.statement[at]), a.s.word(m.statement[at+2])
	if !slices.Contains(testing.Mockers, object) || !slices.Contains(testing.Hoisted, name) || (object == "mock") != (name == "module") ||
		at > 1 && name != "hoisted" {
		return -1
	}
	return at
}

// finish edits a program that replaces modules.
func (m *mocking) finish(a *analysis) {
	framework := slices.ContainsFunc(testing.Mocking, func(name string) bool { _, ok := a.p.seen[name]; return ok })
	spies := m.spies(a)
	if !framework || !m.certain && spies == "" {
		return
	}
	a.p.note(Import{Specifier: testing.MocksModule, Static: true})
	_, vitest := a.p.seen["vitest"]
	vitest = vitest || slices.Contains(a.tests.used, "vi")
	begin := fmt.Sprintf("import %[1]s from%[2]q;%[1]s.begin(import.meta,(s,o)=>import(s,o),%[3]t);%[4]s", mocksObject, testing.MocksModule, vitest, spies)
	if _, bun := a.p.seen["bun:test"]; !bun { // node:test's mock.module stays where it is
		m.hoisted = slices.DeleteFunc(m.hoisted, func(t []token) bool { return a.s.word(t[0]) == "mock" })
	}
	a.form(a.p.begins, "")
	for n, t := range m.hoisted {
		begin += m.hoist(a, n, t)
	}
	for _, t := range m.imports {
		if !m.static(a, t) {
			begin, end := t[0].start, t[len(t)-1].end
			a.p.edits = slices.DeleteFunc(a.p.edits, func(e edit) bool { // those of a static import
				return begin < e.offset && e.offset <= end || e.offset == begin && e.cut > 0
			})
			m.session.statement = t
			m.session.dynamic(a)
			for _, x := range t {
				if at, ok := a.p.seen[strings.Trim(a.s.src[x.start:x.end], `"'`)]; ok && x.kind == text {
					a.p.Imports[at].Static = false // what replaces a package does without it
				}
			}
		}
	}
	for _, t := range m.dynamic {
		a.replace(t, mocksObject+".import")
	}
	first := slices.IndexFunc(a.p.edits, func(e edit) bool { return e.offset == a.p.begins && e.cut == 0 && e.text == "" })
	a.p.edits[first].text = begin + "await " + mocksObject + ".ready();"
	a.p.named, a.esm, a.linked = nil, true, true
}

// static reports whether an import stays what it is: of a framework, which has no mock.
func (m *mocking) static(a *analysis, t []token) bool {
	last := slices.IndexFunc(t, func(t token) bool { return t.kind == text })
	if last < 0 {
		return true
	}
	spec := a.s.src[t[last].start+1 : t[last].end-1]
	return slices.Contains(testing.Mocking, spec) || spec == "mocha"
}

// spies returns statements for the modules that the program spies on.
func (m *mocking) spies(a *analysis) string {
	text := ""
	for _, t := range m.imports {
		star := slices.IndexFunc(t, func(t token) bool { return a.s.is(t, '*') })
		if star > 0 && star+4 < len(t) && slices.Contains(m.spied, a.s.word(t[star+2])) && !m.static(a, t) {
			text += mocksObject + ".spies(" + a.s.src[t[star+4].start:t[star+4].end] + ");"
		}
	}
	return text
}

// hoist makes a function of a statement, and returns what calls it:
//
//	const { a } = vi.hoisted(f)  →  function __coderunner_mock0__(){const { a } = vi.hoisted(f);return{a}}
func (m *mocking) hoist(a *analysis, n int, t []token) string {
	if t[0].start == a.last.start {
		a.last.start = -1 // it has no value
	}
	var names []string
	if declaration := a.s.word(t[0]); declaration == "const" || declaration == "let" || declaration == "var" {
		names = m.declared(a, t[1:])
	}
	if len(t) > 7 && a.s.is(t[3], '(') && a.s.word(t[4]) == "import" && a.s.is(t[5], '(') { // vi.mock(import("./api"))
		for _, i := range []int{4, 5, 7} {
			a.replace(t[i], "")
		}
		m.dynamic = slices.DeleteFunc(m.dynamic, func(d token) bool { return d.start == t[4].start })
	}
	call := fmt.Sprintf("__coderunner_mock%d__", n)
	begin, end := "function "+call+"(){", "}"
	call += "();"
	if slices.ContainsFunc(t[:min(len(t), 100)], func(t token) bool { return t.depth == 0 && a.s.word(t) == "await" }) {
		begin, call = "async "+begin, "await "+call
	}
	if len(names) > 0 {
		list := strings.Join(names, ",")
		call, end = "const{"+list+"}="+call, ";return{"+list+"}}"
	}
	a.form(t[0].start, begin)
	a.form(t[len(t)-1].end, end)
	return call
}

// declared returns the names of a declaration, of which t begins with the pattern.
func (m *mocking) declared(a *analysis, t []token) (names []string) {
	for i, x := range t {
		if x.depth == 0 && (a.s.is(x, '=') || a.s.is(x, ':')) {
			break
		}
		key := i+1 < len(t) && a.s.is(t[i+1], ':') && x.depth > 0
		if x.kind == word && !key && (i == 0 || !a.s.is(t[i-1], '=')) {
			names = append(names, a.s.word(x))
		}
	}
	return names
}
