package jsparse

import (
	"strings"
	"testing"
)

// TestScript has programs that Node runs as scripts, and others.
func TestScript(t *testing.T) {
	for source, want := range map[string]string{
		"x = 1":                    `return{[Symbol.for("coderunner:result")]:(0,x = 1)};`,
		"f(a)":                     `return{[Symbol.for("coderunner:result")]:(0,f(a))};`,
		"let a;\n// f\na // g":     "let a;\n// f\n" + `return{[Symbol.for("coderunner:result")]:(0,a)}; // g`,
		"if (a) return;\nlet b":    "if (a) return;\nlet b",
		"let a;\nreturn a":         "let a;\n" + `return{[Symbol.for("coderunner:result")]:(0, a)};`,
		"setImmediate(a)":          `return{[Symbol.for("coderunner:result")]:(0,setImmediate(a))};`,
		"import('a')":              `return{[Symbol.for("coderunner:result")]:(0,import('a'))};`,
		"with (o) { a }":           "with (o) { a }",
		"module.exports = 1":       "", // CommonJS, for which Deno makes a module
		"require.main === module":  "",
		"import a from 'a'; x":     "",
		"await a":                  "",
		"import.meta.main":         "",
		"f(await a)":               "",
		"f({ a: await b })":        "",
		"for (a of b) { await a }": "",
		"for (a of b) { c.d(async () => { await a }) }": "for (a of b) { c.d(async () => { await a }) }",
		"async function f() { g({ a: await b }) }":      "async function f() { g({ a: await b }) }",
		"class A { async f() { await b } }":             "class A { async f() { await b } }",
		"@d class A {}":                                 "",
	} {
		p := Parse(source, Options{Main: true, Script: true})
		if p.Script != (want != "") || want != "" && p.Edited() != want {
			t.Errorf("%q: %t, %q, want %q", source, p.Script, p.Edited(), want)
		}
	}
	p := Parse("'use strict'; const a = require('a')", Options{Main: true, Script: true})
	if got := p.Edited(); !strings.HasPrefix(got, "'use strict';((M,i)=>") || !strings.Contains(got, `(require("module"),__coderunner_meta__);; const a`) {
		t.Errorf("%q", got)
	}
	if plain := p.Valueless().Edited(); !strings.HasPrefix(plain, "export{};") {
		t.Errorf("%q", plain)
	}
}

// TestMentioned has names that Deno takes time for, and their words elsewhere.
func TestMentioned(t *testing.T) {
	for source, want := range map[string]string{
		"process.nextTick(f)": "turn", "setImmediate(f)": "turn", "// setImmediate(f)": "", "'nextTick('": "", "new Worker(a)": "workers", "/* Worker */ `Worker`": "",
		"import.meta.url": "own", "process.argv[2]": "own", "if (require.main === m) f()": "own", "import('./call_1.js')": "own", "`./call_${n}.js`": "own", "a.meta + '__filename' // argv": "",
	} {
		p, got := main(source), ""
		if p.Turn {
			got = "turn"
		}
		if p.Workers {
			got += "workers"
		}
		if p.Own {
			got += "own"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", source, got, want)
		}
	}
}
