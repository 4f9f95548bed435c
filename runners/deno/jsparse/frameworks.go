package jsparse

import (
	"slices"
	"strings"
)

// The modules that a program imports instead of using a test framework's globals: with
// expect, or without.
const (
	TestModule   = "coderunner:tests"
	ExpectModule = "@jest/globals"
)

// What test frameworks define for the tests of a file: functions that register a test,
// others for tests, and what is called in them.
var (
	registers = []string{"describe", "it", "test"}
	testNames = []string{"describe", "it", "test", "context", "suite", "xdescribe", "xit", "fit", "before", "after", "beforeAll", "afterAll", "beforeEach", "afterEach"}
	expecting = []string{"expect", "jest", "vi"}
)

// framework finds the globals of a test framework that a program uses.
type framework struct {
	used, declared []string
	tests          bool // one is called with a test's name
}

// take handles a token before the analysis does. A name counts as declared wherever it
// is not called and has no member, as in globalThis.it = a.
func (f *framework) take(a *analysis, t token) {
	name := a.s.word(a.prev)
	if (t.kind == text || t.kind == template) && a.s.is(a.prev, '(') && slices.Contains(registers, a.s.word(a.prev2)) {
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
// if it registers no tests by them, and the module that it imports.
func (f *framework) declares() (text, module string) {
	var names []string
	module = TestModule
	for _, name := range f.used {
		if slices.Contains(f.declared, name) {
			continue
		}
		names = append(names, name)
		if slices.Contains(expecting, name) {
			module = ExpectModule
		}
	}
	if !f.tests || !slices.ContainsFunc(names, func(name string) bool { return slices.Contains(registers, name) }) {
		return "", ""
	}
	return "import{" + strings.Join(names, ",") + `}from"` + module + `";`, module
}
