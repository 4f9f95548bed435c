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

var (
	testsModule  = "data:text/javascript," + url.PathEscape(testsSource)
	expectModule = "data:text/javascript," + url.PathEscape(`export*from"`+jsparse.TestModule+`";`+expectSource)
)

// frameworks are the modules of test frameworks, which run tests in processes of their
// own or outside of a program not at all. A module of ours stands for them.
var frameworks = map[string]string{
	jsparse.TestModule:   testsModule,
	jsparse.ExpectModule: expectModule,
	"vitest":             expectModule,
	"bun:test":           expectModule,
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
	if module != expectModule {
		return true
	}
	r.d.Map.put(module, jsparse.TestModule, testsModule)
	for _, name := range []string{"expect", "jest-mock", "pretty-format"} {
		specifier := "npm:" + name + "@29" // the last whose expect has toThrowError and toBeCalled
		r.d.Map.put(module, name, specifier)
		n := r.target(specifier, name, scopedName{module, name})
		if i.Static {
			r.wants[file] = append(r.wants[file], n)
		}
	}
	return true
}
