package jsparse

import (
	"fmt"
	"slices"
	"strings"

	"coderunner/runners/deno/testing"
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
	case (t.kind == text || t.kind == template) && a.s.is(a.prev, '(') && slices.Contains(testing.Registers, a.s.word(a.prev2)):
		f.tests = true
	case a.s.is(a.prev, '.') && slices.Contains(testing.Registers, a.s.word(a.prev2)) && !a.s.is(a.prev3, '.') && slices.Contains(testing.Forms, a.s.word(t)):
		f.tests = true
	}
	if name == "" || a.s.is(a.prev2, '.') && !a.s.is(t, '=') || !slices.Contains(testing.Names, name) && !slices.Contains(testing.Expecting, name) {
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
// if it testing.Registers no tests by them nor by what it imports of a framework, and the module
// that it imports. A file of the program may only expect, for tests of others.
func (f *framework) declares(source string, imports, main bool) (text, module string) {
	var names []string
	module = testing.TestModule
	for _, name := range f.used {
		if slices.Contains(f.declared, name) && Scan(source).declares(name) {
			continue
		}
		names = append(names, name)
		if slices.Contains(testing.Expecting, name) {
			module = testing.ExpectModule
		}
	}
	if !main && slices.Contains(names, "expect") {
		f.tests, imports = true, true
	}
	if !f.tests || len(names) == 0 || !imports && !slices.ContainsFunc(names, func(name string) bool { return slices.Contains(testing.Registers, name) }) {
		return "", ""
	}
	return "import{" + strings.Join(names, ",") + `}from"` + module + `";`, module
}

// required follows a call of require, from its name to its end. What stands for a framework
// is a module, which require does not find: the program imports it instead.
func (f *framework) required(source, specifier string, name, end token) {
	module := specifier
	before, assigned := strings.CutSuffix(strings.TrimSpace(source[:name.start]), "=")
	switch {
	case slices.Contains(testing.Frameworks, specifier):
	case specifier == "mocha" && assigned && strings.HasSuffix(strings.TrimSpace(before), "}"):
		module = testing.TestModule
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
		return !i.Required && (i.Specifier == "mocha" || slices.Contains(testing.Frameworks, i.Specifier))
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
		a.p.note(Import{Specifier: testing.PageModule, Static: true})
		text = `import"` + testing.PageModule + `";` + text
	}
	if text == "" {
		return
	}
	a.form(a.p.begins, text)
	a.p.edits = append(a.p.edits, a.tests.requires...)
	a.esm = true
}

// testsPage reports whether a program has tests that frameworks are configured to run on a
// page, and makes none itself.
func (a *analysis) testsPage() bool {
	if !a.tests.tests || a.importsOf(testing.MakesPages) {
		return false
	}
	_, environment, _ := strings.Cut(a.s.src[:a.p.begins], "-environment ")
	environment = strings.TrimLeft(environment, " \t")
	return a.importsOf(testing.TestsPages) || strings.HasPrefix(environment, "jsdom") || strings.HasPrefix(environment, "happy-dom")
}

// importsOf reports whether the program imports one of some packages.
func (a *analysis) importsOf(packages []string) bool {
	return slices.ContainsFunc(a.p.Imports, func(i Import) bool {
		name := withoutVersion(strings.TrimPrefix(i.Specifier, "npm:"))
		return slices.ContainsFunc(packages, func(of string) bool { return name == of || strings.HasPrefix(name, of+"/") })
	})
}
