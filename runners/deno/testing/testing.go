// Package testing has stand-ins for the test frameworks Jest, Vitest, Mocha and bun, which
// run tests in processes of their own, or not from within a program at all: modules on
// Deno.test, and the names by which a program's tests are recognized.
//
// Package jsparse finds the names in a program, which then imports the modules; package deps
// puts them into its import map; tests.js of the bootstrap prints how the tests went.
package testing

import (
	_ "embed"
	"net/url"
	"sync"
)

// The modules that a program imports instead of using a framework's globals: with expect, or
// without; that of a page; and that of a program whose tests replace modules.
const (
	TestModule   = "coderunner:tests"
	ExpectModule = "@jest/globals"
	PageModule   = "coderunner:page"
	MocksModule  = "coderunner:mocks"
)

// Frameworks are those with expect for which a module of ours stands.
var Frameworks = []string{ExpectModule, "vitest", "bun:test"}

// What frameworks define for the tests of a file: functions that register a test, others for
// tests, what is called in them, and forms of what registers a test.
var (
	Registers = []string{"describe", "it", "test"}
	Names     = []string{"describe", "it", "test", "context", "suite", "xdescribe", "xit", "fit", "before", "after", "beforeAll", "afterAll", "beforeEach", "afterEach"}
	Expecting = []string{"expect", "jest", "vi"}
	Forms     = []string{"each", "only", "skip", "todo", "concurrent", "sequential", "failing", "fails", "skipIf", "runIf"}
)

// The objects whose methods replace modules, those of the methods that frameworks move before
// the imports of a file, what shows all of them, and the frameworks that have them.
var (
	Mockers  = []string{"vi", "vitest", "jest", "mock"}
	Hoisted  = []string{"mock", "unmock", "deepUnmock", "hoisted", "module"}
	Replaces = []string{".mock(", ".mock<", ".doMock(", ".doMock<", "unmock(", "ockModule(", "mock.module(", ".importActual", ".requireActual", ".importMock(", ".resetModules(", ".isolateModules", ".createMockFromModule"}
	Mocking  = []string{"vitest", ExpectModule, "bun:test", "node:test"}
)

// The packages that test pages, and those that make them.
var (
	TestsPages = []string{"@testing-library/dom", "@testing-library/jest-dom", "@testing-library/preact", "@testing-library/react", "@testing-library/svelte", "@testing-library/user-event", "@testing-library/vue"}
	MakesPages = []string{"jsdom", "happy-dom", "global-jsdom", "jsdom-global", "linkedom"}
)

var (
	//go:embed tests.js
	tests string
	//go:embed expect.js
	expect string
	//go:embed mocks.js
	mocks string
	//go:embed page.js
	page string
)

// Module is a module that stands for one of a framework.
type Module struct {
	Address string
	Imports []string // those of ours that it imports
	Uses    []string // the packages that it imports
}

// For returns what stands for a module, nil if nothing does.
func For(specifier string) *Module { return modules()[specifier] }

var modules = sync.OnceValue(func() map[string]*Module {
	// shortly names a module in stacks, where its address would fill pages.
	const shortly = "//# sourceURL=coderunner:tests"
	of := func(source string, imports, uses []string) *Module {
		return &Module{"data:text/javascript," + url.PathEscape(source), imports, uses}
	}
	expecting := of(`export*from"`+TestModule+`";`+expect+shortly, []string{TestModule},
		[]string{"npm:expect@29", "npm:jest-mock@29", "npm:pretty-format@29"}) // the last whose expect has toThrowError and toBeCalled
	dom := of(`import*as m from"@testing-library/jest-dom";import{expect}from"`+ExpectModule+`";expect.extend(m)`,
		[]string{ExpectModule}, []string{"npm:@testing-library/jest-dom/matchers"})
	return map[string]*Module{
		TestModule: of(tests+shortly, nil, nil), ExpectModule: expecting, "vitest": expecting, "bun:test": expecting,
		MocksModule: of(mocks+shortly, []string{ExpectModule}, nil), PageModule: of(page, []string{TestModule}, []string{"npm:jsdom"}),
		"@testing-library/jest-dom": dom, "@testing-library/jest-dom/extend-expect": dom,
		"@testing-library/jest-dom/jest-globals": dom, "@testing-library/jest-dom/vitest": dom,
	}
})
