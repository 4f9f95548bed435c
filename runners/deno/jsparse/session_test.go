package jsparse

import "testing"

// TestSession: what a session's program becomes for V8's REPL mode, line by line.
func TestSession(t *testing.T) {
	const strict = `"use strict";`
	for _, c := range []struct{ in, want string }{
		{"const x = 1;\nx", strict + "let x = 1;\nx"},
		{"import a from 'm'", strict + "let  {default:a} = await  __coderunner__.names('m');"},
		{"import { a, b as c, type T } from \"m\";\na", strict + "let  { a, b : c,  T } = await  __coderunner__.names(\"m\");;\na"},
		{"import d, { a } from 'm'", strict + "let  {default:d,  a } = await  __coderunner__.names('m');"},
		{"import * as n from 'm'", strict + "let    n = await  __coderunner__.whole('m');"},
		{"import d, * as n from 'm'", strict + "let     n = await  __coderunner__.whole('m'),{default:d}=n;"},
		{"import './m.ts'", strict + "await  __coderunner__.import('./m.ts');"},
		{"import type { T } from 'm'", strict + "import type { T } from 'm'"},
		{"import j from './d.json'", strict + `let  {default:j} = await  __coderunner__.names('./d.json',{with:{type:"json"}});`},
		{"import j from './d.json' with { type: 'json' };", strict + `let  {default:j} = await  __coderunner__.names('./d.json' ,{with: { type: 'json' }});;`},
		{"await import('m')", strict + "await __coderunner__.import('m')"},
		{"import.meta.url", strict + "__coderunner__.meta.url"},
		{"export const a = 1\nexport default a", strict + " let a = 1\n let __default__= a"},
		{"export { a };\nexport * from 'm'", strict + "   ;\n   "},
		{"function f(): void;\nfunction f(x?: number) { return x }", strict + `let f=__coderunner__.named(f$fn,"f");` + "function f$fn(): void;\nfunction f$fn(x?: number) { return x }"},
		{"export default async function* g() {}", strict + `let g=__coderunner__.named(g$fn,"g");` + "  async function* g$fn() {}"},
		{"export default function () {}", strict + " let __default__= function () {}"},
		{"var a = 1, b; if (b) { var c }", strict + "let a = 1, b; if (b) { var c }"},
		{"var a = a || {}; var b = 1; var b = 2", strict + "var a = a || {}; var b = 1; var b = 2"},
		{"module.exports = 1", "let module={exports:{}},exports=module.exports;module.exports = 1"},
	} {
		p := Parse(c.in, Options{Main: true, Session: true})
		if got := p.Edited(); got != c.want {
			t.Errorf("Parse(%q)\n got %q\nwant %q", c.in, got, c.want)
		}
	}
	if got := Parse("n = 1", Options{Main: true, Session: true, Script: true}).Edited(); got != "n = 1" {
		t.Errorf("a name that nobody declares: %q", got)
	}
	for in, want := range map[string]bool{"1 + 1": true, "const a = 1": false, "if (a) b": false, "f()": true} {
		if got := Parse(in, Options{Main: true, Session: true}).Value; got != want {
			t.Errorf("Parse(%q).Value = %v, want %v", in, got, want)
		}
	}
}
