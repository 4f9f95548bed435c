package deps

import (
	_ "embed"
	"net/url"

	"coderunner/runners/deno/jsparse"
)

//go:embed tests.js
var testsSource string

//go:embed expect.js
var expectSource string

//go:embed mocks.js
var mocksSource string

//go:embed page.js
var pageSource string

var (
	testsModule  = "data:text/javascript," + url.PathEscape(testsSource+shortly)
	expectModule = "data:text/javascript," + url.PathEscape(`export*from"`+jsparse.TestModule+`";`+expectSource+shortly)
	domModule    = "data:text/javascript," + url.PathEscape(`import*as m from"@testing-library/jest-dom";import{expect}from"`+jsparse.ExpectModule+`";expect.extend(m)`)
	mocksModule  = "data:text/javascript," + url.PathEscape(mocksSource+shortly)
	pageModule   = "data:text/javascript," + url.PathEscape(pageSource)
)

// shortly names such a module in stacks, where its address would fill pages.
const shortly = "//# sourceURL=coderunner:tests"

// frameworks are the modules of test frameworks, which run tests in processes of their
// own or outside of a program not at all. A module of ours stands for them.
var frameworks = map[string]string{
	jsparse.TestModule:   testsModule,
	jsparse.ExpectModule: expectModule,
	jsparse.MocksModule:  mocksModule,
	jsparse.PageModule:   pageModule,
	"vitest":             expectModule,
	"bun:test":           expectModule,

	"@testing-library/jest-dom":               domModule,
	"@testing-library/jest-dom/extend-expect": domModule,
	"@testing-library/jest-dom/jest-globals":  domModule,
	"@testing-library/jest-dom/vitest":        domModule,
}

// uses are the packages that such a module imports.
var uses = map[string][]Package{
	expectModule: {{Registry: "npm", Name: "expect", Version: "29"}, {Registry: "npm", Name: "jest-mock", Version: "29"}, {Registry: "npm", Name: "pretty-format", Version: "29"}}, // the last whose expect has toThrowError and toBeCalled
	domModule:    {{Registry: "npm", Name: "@testing-library/jest-dom", Path: "/matchers"}},
	pageModule:   {{Registry: "npm", Name: "jsdom"}},
}

// framework adds what stands for a test framework. It reports whether an import of a file
// is of one: of mocha, names alone, as its default export runs files.
func (r *resolution) framework(m Module, i jsparse.Import) bool {
	file, module := m.Path, frameworks[i.Specifier]
	if i.Specifier == "mocha" && m.OnlyNames("mocha") {
		module = testsModule
	}
	if module == "" || i.Required {
		return false
	}
	r.d.Map.set("", i.Specifier, module)
	switch module {
	case expectModule, pageModule:
		r.d.Map.put(module, jsparse.TestModule, testsModule)
	case domModule, mocksModule:
		r.d.Map.put(module, jsparse.ExpectModule, expectModule)
		r.framework(m, jsparse.Import{Specifier: jsparse.ExpectModule, Static: i.Static})
	}
	for _, p := range uses[module] {
		r.d.Map.put(module, p.Name, p.String())
		n := r.target(p.String(), p.Name, scopedName{module, p.Name})
		if i.Static {
			r.wants[file] = append(r.wants[file], n)
		}
	}
	return true
}
