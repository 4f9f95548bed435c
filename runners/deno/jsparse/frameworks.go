package jsparse

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The modules that a program imports instead of using a test framework's globals: with
// expect, or without; and those of a page.
const (
	TestModule   = "coderunner:tests"
	ExpectModule = "@jest/globals"
	PageModule   = "coderunner:page"
)

// standIns are the frameworks with expect for which a module of ours stands.
var standIns = []string{ExpectModule, "vitest", "bun:test"}

// What test frameworks define for the tests of a file: functions that register a test,
// others for tests, and what is called in them.
var (
	registers = []string{"describe", "it", "test"}
	testNames = []string{"describe", "it", "test", "context", "suite", "xdescribe", "xit", "fit", "before", "after", "beforeAll", "afterAll", "beforeEach", "afterEach"}
	expecting = []string{"expect", "jest", "vi"}
	forms     = []string{"each", "only", "skip", "todo", "concurrent", "sequential", "failing", "fails", "skipIf", "runIf"} // of what registers a test
)

// framework finds the globals of a test framework that a program uses.
type framework struct {
	used, declared []string
	tests          bool // one is called with a test's name

	requires []edit // of calls of require that return a framework
	modules  []standIn
}

// standIn is what a program imports instead of what it requires.
type standIn struct{ asked, module string }

// take handles a token before the analysis does. A name counts as declared wherever it
// is not called and has no member, as in globalThis.it = a.
func (f *framework) take(a *analysis, t token) {
	name := a.s.word(a.prev)
	switch {
	case (t.kind == text || t.kind == template) && a.s.is(a.prev, '(') && slices.Contains(registers, a.s.word(a.prev2)):
		f.tests = true
	case a.s.is(a.prev, '.') && slices.Contains(registers, a.s.word(a.prev2)) && !a.s.is(a.prev3, '.') && slices.Contains(forms, a.s.word(t)):
		f.tests = true
	}
	if name == "" || a.s.is(a.prev2, '.') && !a.s.is(t, '=') || !slices.Contains(testNames, name) && !slices.Contains(expecting, name) {
		return
	}
	list := &f.declared
	if before := a.s.word(a.prev2); (a.s.is(t, '(') || a.s.is(t, '.')) && before != "function" {
		list = &f.used
	}
	if !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
}

// declares returns an import of the globals that a program uses and does not declare, ""
// if it registers no tests by them nor by what it imports of a framework, and the module
// that it imports. A file of the program may only expect, for tests of others.
func (f *framework) declares(source string, imports, main bool) (text, module string) {
	var names []string
	module = TestModule
	for _, name := range f.used {
		if slices.Contains(f.declared, name) && declaration(name).MatchString(source) {
			continue
		}
		names = append(names, name)
		if slices.Contains(expecting, name) {
			module = ExpectModule
		}
	}
	if !main && slices.Contains(names, "expect") {
		f.tests, imports = true, true
	}
	if !f.tests || len(names) == 0 || !imports && !slices.ContainsFunc(names, func(name string) bool { return slices.Contains(registers, name) }) {
		return "", ""
	}
	return "import{" + strings.Join(names, ",") + `}from"` + module + `";`, module
}

// declaration matches what may declare a name at the top level of a program, or assign to
// it. A key or a parameter of the name does not.
func declaration(name string) *regexp.Regexp {
	return regexp.MustCompile("\\b(?:const|let|var|function|class|import)\\b[^;()='\"`]*\\b" + name + `\b|\b` + name + `\s*=[^=>]`)
}

// destructures matches the text before what a pattern takes apart.
var destructures = regexp.MustCompile(`\}\s*=\s*$`)

// required follows a call of require, from its name to its end. What stands for a framework
// is a module, which require does not find: the program imports it instead.
func (f *framework) required(source, specifier string, name, end token) {
	module := specifier
	switch before := source[max(name.start-100, 0):name.start]; {
	case slices.Contains(standIns, specifier):
	case specifier == "mocha" && destructures.MatchString(before):
		module = TestModule
	default:
		return
	}
	if strings.Contains(source[name.start:end.end], "\n") {
		return
	}
	n := slices.IndexFunc(f.modules, func(m standIn) bool { return m.asked == specifier })
	if n < 0 {
		n = len(f.modules)
		f.modules = append(f.modules, standIn{specifier, module})
	}
	f.requires = append(f.requires, edit{offset: name.start, cut: end.end - name.start, text: frameworkName(n), form: true})
}

func frameworkName(n int) string { return fmt.Sprintf("__coderunner_tests%d__", n) }

// frameworks has a program that may be a module import the frameworks that it uses or
// requires.
func (a *analysis) frameworks(main bool) {
	text, module := a.tests.declares(a.p.Source, slices.ContainsFunc(a.p.Imports, func(i Import) bool {
		return !i.Required && (i.Specifier == "mocha" || slices.Contains(standIns, i.Specifier))
	}), main)
	if module != "" {
		a.p.note(Import{Specifier: module, Static: true})
	}
	for n, m := range a.tests.modules {
		if at, ok := a.p.seen[m.asked]; ok {
			a.p.Imports[at] = Import{Specifier: m.module, Static: true}
		}
		text += "import*as " + frameworkName(n) + ` from"` + m.module + `";`
	}
	if a.testsPage() {
		a.p.note(Import{Specifier: PageModule, Static: true})
		text = `import"` + PageModule + `";` + text
	}
	if text == "" {
		return
	}
	a.form(a.p.begins, text)
	a.p.edits = append(a.p.edits, a.tests.requires...)
	a.esm = true
}

var (
	environment = regexp.MustCompile(`@(?:vitest|jest)-environment\s+(?:jsdom|happy-dom)\b`)
	testsPages  = regexp.MustCompile(`^@testing-library/(?:dom|jest-dom|preact|react|svelte|user-event|vue)\b`)
	makesPages  = regexp.MustCompile(`^(?:npm:)?(?:jsdom|happy-dom|global-jsdom|jsdom-global|linkedom)\b`)
)

// testsPage reports whether a program has tests that frameworks are configured to run on a
// page, and makes none itself.
func (a *analysis) testsPage() bool {
	imports := func(of *regexp.Regexp) bool {
		return slices.ContainsFunc(a.p.Imports, func(i Import) bool { return of.MatchString(i.Specifier) })
	}
	return a.tests.tests && !imports(makesPages) && (imports(testsPages) || environment.MatchString(a.s.src[:a.p.begins]))
}
