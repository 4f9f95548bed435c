package jsparse

import (
	"fmt"
	"strings"
	"testing"
)

func main(source string) *Program { return Parse(source, Options{Main: true}) }

// TestResultEdits has programs in which « and » stand where the value of the
// last expression is taken. Without them there is no value.
func TestResultEdits(t *testing.T) {
	for _, marked := range []string{
		"", ";", "// only a comment", "/* one */ /* two */",
		"«1»", "«1»;", "«1» ;; // end", "a = 1\n«a»", "a = 1;«a»", "a; b; «c»",
		"«a,\nb»", "«a\n.b\n.c()»", "«a\n(b)»", "«a\n[b]»", "«a\n`b`»", "«a\n+ b»", "«a\n/ b / c»", "«a\n? b\n: c»", "«a\nin b»", "«a\ninstanceof b»",
		"«x => x»", "const f = x =>\nx", "const f = x => {\nx\n}\n«f»", "«async () => { await 1 }»", "«async x => x»", "async function f() {}", "«async»",
		"«(function () {})()»", "(a)\n;«(b)»", "«!a»", "a\n«!b»", "a\n!= b\n«c»", "a\n«++b»", "«a++»", "a++\n«b»", "«a+++b»", "«-a»", "«a\n- b»", "a\n«--b»",
		"«new A»", "«new A()»", "«typeof a»", "«void 0»", "«delete a.b»", "«await f()»", "await using x = f()", "using x = f()", "«using»",
		"«import('x')»", "«import.meta.url»", "import 'x'", "import a from 'x'\n«a»", "import {a} from 'x'; «a»", "import { a }\nfrom 'x'", "import a from 'x' with { type: 'json' }\n«a»",
		"export const a = 1", "export default a", "export default\na", "export {a}", "export { a }\nfrom 'x'", "export * from 'x'\n«1»",
		"let a", "const a = 1", "var a = 1", "class A {}", "class A {}\n«new A»", "class A {} «A»", "@d class A {}", "@d\nclass A {}\n«A»", "class A\n{\n}\n«1»",
		"function f() {}", "function f() {} «f()»", "function f()\n{\n}\n«f()»", "function* g() { yield 1 }\n«g()»",
		"if (a) b", "if (a)\nb", "if (a) { b }", "if (a) { b } else { c }", "if (a) b\nelse\nc", "if (a) { b }\n«c»", "if (a) { b } «c»",
		"for (;;) a", "for (const a of b)\nc", "for await (const a of b)\nc", "while (a)\nb", "do a; while (b)", "do\na\nwhile (b);«c»", "do\na\nwhile (b)\nc",
		"switch (a) { case 1: b }", "try { a } catch { b }", "try { a }\nfinally { b }\n«c»", "throw a", "debugger", "a: b", "a: {\nb\n}", "{ a }", "{ a }\n«b»",
		"«({})»", "«({ a: 1 })»", "({ a } = b)\n«a»", "«[1, 2]»", "const a = 1\n[1]", "const a = 1;\n«[1]»", "const a = {}\n«b»", "const a = {}\n(b)", "f({\n})\n«g»",
		"«'use strict'»", "'use strict'\n«1»", "«`a`»", "«`a${b}c`»", "«`a${`b${c}`}\nd`»", "const a = `\nb\n`", "const a = `${\nb\n}`\n«a»", "«f`x`»", "«/re/g»", "«/[/]`'/.test(a)»", "a = /'/\n«a»", "a = b / c / d\n«a»", "«a[0] / 2»", "«f() / 2 / 3»", "if (a) /b'/.test(c)", "«x\n/y/z»",
		"«0x1e+5»", "«1e+5»", "«.5»", "«1..toString()»", "«1_000n»", "«a?.b»", "«a ?? b»", "«#x in a»", "«a.of / b.return / c»",
		// TypeScript
		"type A = string", "type A = {\na: 1\n}\n«1»", "interface A { a: 1 }", "interface A\nextends B {}", "class A\nimplements B {}", "interface A {}\n«1»", "enum A { a }", "const enum A { a }", "enum A { a } «A.a»", "namespace A { const b = 1 }", "module A {}", "declare const a: number", "declare module 'x' {}", "abstract class A {}", "declare global {}", "global {}",
		"«type»", "«type = 1»", "«a as any»", "«a\nas»", "«a!»", "«a! / b / c»", "«a!.b»", "«<any>a»", "«f<string>(a)»", "let a: Array<string>\n«a»", "let a: A<B<C>> = b\n«a»", "const a = <T,>(x: T) => x\n«a»", "«a satisfies B»", "let a: {\nb: 1\n}\n«a»", "type A = B\n| C\n«1»", "function f(a: string): a is 'x' { return true }\n«f»",
		"a\r\n«b»\r\n", "a\u2028«b»", "\ufeff«a»", "#!/usr/bin/env deno\n«a»", "a // b\n«c» // d", "a /* b\n */ «c»", "«a /* b */ + c» /* d */", "«é»", "a\n«日本»",
		// Deno refuses what was made of these, and then takes the program as it is.
		"if (a) {\n} else if (b)\nc",
	} {
		source := strings.NewReplacer("«", "", "»", "").Replace(marked)
		p := main(source)
		got := source
		switch len(p.edits) {
		case 0, 1: // export{}
		case 2:
			got = source[:p.edits[0].offset] + "«" + source[p.edits[0].offset:p.edits[1].offset] + "»" + source[p.edits[1].offset:]
		default:
			t.Errorf("%q: edits %+v", source, p.edits)
		}
		if got != marked {
			t.Errorf("%q, want %q", got, marked)
		}
	}
}

// TestUncertain has programs that the scanner gives up on.
func TestUncertain(t *testing.T) {
	for _, source := range []string{
		"(", ")", "(]", "`", "`${", "`${`", "'", "'a\n'", "\"", "/*", "/", "a = /", "a = /[/\n", "{}\n/a'/", "\\u0061", "a\\u{62}", "for (x of /a'/) {}", "<a>b</b", "<a b='>", "a = <b>{c</b>", "}", "'\\", "`\\",
	} {
		if p := main(source + ";1"); len(p.edits) > 0 {
			t.Errorf("%q: edits %+v, want none", source, p.edits)
		}
	}
}

func TestSpecifiers(t *testing.T) {
	source := `
import a from "a"; import "b"; import * as c from 'c'; import type { D } from "d"
export * from "e"; export { f } from "f";
const g = await import("g"), h = require("h"), i = await import("i", { with: { type: "json" } })
// import "no1"
/* import("no2") */ const s = "import 'no3'", t = ` + "`import 'no4' ${await import('j')}`" + `
x.import("no5"); x.require("no6"); from("no7"); import("no8" + s); import(s + "no9"); ({ from: "no10" }); x.from("no11")
import k from "a"
import z from "k"
import("k\n"); import ( /* c */ 'l' /* d */ ); if (/import "no12"/.test(s)) require('m');
`
	list := func(source string) string {
		var b strings.Builder
		for _, i := range main(source).Imports {
			b.WriteString(" " + i.Specifier)
			if i.Static {
				b.WriteString("!")
			}
			if i.Required {
				b.WriteString("?")
			}
		}
		return strings.TrimSpace(b.String())
	}
	if got, want := list(source), "a! b! c! d e! f! g h? i j k! l m?"; got != want {
		t.Errorf("specifiers %s, want %s", got, want)
	}
	jsx := "import React from 'react';\nconst a = <p>it's</p>;\n// see import 'c'\nimport 'd'\nimport {\n e\n} from \"b\"; await import('f'); a"
	if got, want := list(jsx), "react! d! b! f"; got != want {
		t.Errorf("specifiers with tags %s, want %s", got, want)
	}
	if got, want := list(jsx+" = /"), "react! d! b! f c"; got != want {
		t.Errorf("specifiers of a pattern %s, want %s", got, want)
	}
	types := "import type { A } from 'a'; import type from 'b'; export type { C } from 'c'; import type D from 'd'; import type from from 'e'; import { type F } from 'f'"
	if got, want := list(types), "a b! c d e f!"; got != want {
		t.Errorf("specifiers of types %s, want %s", got, want)
	}
}

// TestManyImports wants time in proportion to the size.
func TestManyImports(t *testing.T) {
	var b strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&b, "import 'p%d';require('q%d');", i, i)
	}
	if p := main(b.String()); len(p.Imports) != MaxImports {
		t.Errorf("%d imports, want %d", len(p.Imports), MaxImports)
	}
}

func TestMainEdit(t *testing.T) {
	for source, want := range map[string]string{
		"if (import.meta.main) {}":            "import.meta.main=true;if (import.meta.main) {}",
		"let a":                               "export{};let a",
		"#!x":                                 "#!xexport{};",
		"#!x\n// c\nimport.meta.main;if(1){}": "#!x\n// c\nimport.meta.main=true;import.meta.main;if(1){}",
		"const main = import.meta":            "const main = import.meta",
		"// import.meta.main\nlet a":          "// import.meta.main\nexport{};let a",
	} {
		if got := main(source).Edited(); got != want {
			t.Errorf("%q becomes %q, want %q", source, got, want)
		}
	}
}

func TestCommonJS(t *testing.T) {
	for source, want := range map[string]bool{
		"require('x')": true, "try { require('x') } catch {}": true, "f(), require('x')": true, "{ require.resolve('x') }": true,
		"import { require } from 'x'; require('y')": false, "let a, require; require('y')": false, "const require = 1; require": false, "a.require('x')": false,
	} {
		if got := strings.Contains(main(source).Edited(), "const require="); got != want {
			t.Errorf("%s declares require: %t, want %t", source, got, want)
		}
	}
}

// TestCommonJSPrograms has programs that stay CommonJS (0), and such that become
// modules with module and exports (1) or without (2).
func TestCommonJSPrograms(t *testing.T) {
	for source, want := range map[string]int{
		"module.exports = 1": 0, "exports.a = 1": 0, "if (require.main === module) f()": 0, "export = 1": 0, "{ exports.a = 1 }": 0, "const a = require('a'); exports['a'] = a": 0,
		"import a from 'a'; module.exports = a": 1, "exports.a = await b": 1, "export const a = 1; module.exports = a": 1,
		"const module = f(); module.exports": 2, "const { exports } = f(); exports.a()": 2, "a.module.exports": 2, "a.exports.b": 2, "const a = { exports: 1, module }": 2,
		"import a = require('a')": 2, "declare module 'a' {}": 2, "module A {}": 2, "a => { await b; module }": 2, "require('a').main": 2,
		"if (a) return\nb": 0, "a.return": 2, "function f() { return }": 2,
	} {
		edited := main(source).Edited()
		got := 2
		switch {
		case strings.Contains(edited, "module={exports:{}}"):
			got = 1
		case !strings.Contains(edited, "export{"):
			got = 0
		}
		if got != want {
			t.Errorf("%s becomes %s (%d), want %d", source, edited, got, want)
		}
	}
}

// TestDeclared has fields before which « stands where they are declared.
func TestDeclared(t *testing.T) {
	for _, marked := range []string{
		"class A { @d «a: string; @d() «b!: number\n@d.e({f: 1}) private «c?: Date\n @d\n@e «f }", "class A { @d readonly a = 1; @d public «readonly b: () => void; c: 1 }",
		"class A { @d a: string = ''; @d m() {} @d get g() { return 1 } @d static s: string; @d async n() {} b: string }", "@d class A { a: string }",
		"class A { constructor(@d private a: A) {} @d a = { b: 1 }; @d declare c: 1; @d f: () => void = g }", "class A { @d «a: Array<{ b: 1 }>\n  b: string }",
	} {
		source := strings.ReplaceAll(marked, "«", "")
		want := strings.ReplaceAll(marked, "«", "declare ")
		if got := Parse(source, Options{}).Declared().Edited(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestAsWritten has spellings that Deno does not take, and what becomes of them.
func TestAsWritten(t *testing.T) {
	const value, end = "const __coderunner_result__=(0,", `);export{__coderunner_result__ as "coderunner:result"};`
	for source, want := range map[string]string{
		"```ts\na\n```\n":                                             "     \n" + value + "a" + end + "\n   \n",
		"a\nreturn b":                                                 "a\n" + value + " b" + end,
		"import 'x'\nreturn {a: 1};":                                  "import 'x'\n" + value + " {a: 1}" + end + ";",
		"if (a) { return }\nb":                                        "if (a) { return }\nb", // CommonJS
		"try { a } catch (e) {\nreturn 1\n} b":                        "try { a } catch (e) {\nreturn 1\n} b",
		"for (;;) { if (b) { return }}":                               "for (;;) { if (b) { return }}",
		"if (a) return\nreturn 2":                                     "if (a) return\nreturn 2",
		"if (a) { (() => { return })() }":                             "export{};if (a) { (() => { return })() }",
		"class A { if(x) { return } }":                                "export{};class A { if(x) { return } }",
		"switch (a) { default: f(function () { return }) }":           "export{};switch (a) { default: f(function () { return }) }",
		"if (a) { function f() { return } }":                          "export{};if (a) { function f() { return } }",
		`let a = fs.readFileSync("/dev/stdin")`:                       `export{};let a = fs.readFileSync(0           )`,
		`let a = fs.createReadStream('/dev/stdin')`:                   `export{};let a = fs.createReadStream("",{fd:0,autoClose:false})`,
		`let f = ok ? "/dev/stdin" : "x", b = readFileSync(f)`:        `export{};let f = ok ? 0            : "x", b = readFileSync(f)`,
		`let w = fs.createWriteStream(x || "/dev/stdout")`:            `export{};let w = fs.createWriteStream(x || "",{fd:1,autoClose:false})`,
		`let e = (fs.writeFileSync("/dev/stderr", "x"), 1)`:           `export{};let e = (fs.writeFileSync(2            , "x"), 1)`,
		"class A {}\n[a]":                                             "class A {}\n" + value + "[a]" + end,
		"function f() {}\n(a)":                                        "function f() {}\n" + value + "(a)" + end,
		"let f = class {}\n[a]":                                       "export{};let f = class {}\n[a]",
		"async () => {}\n(a)":                                         value + "async () => {}\n(a)" + end,
		"!function () {}()":                                           "export{};!function () {}()",
		"for await (const a of b) { c }":                              "export{};for await (const a of b) { c }",
		"it('a', () => expect(1)); module.exports = 1":                `const module={exports:{}},exports=module.exports;import{it,expect}from"@jest/globals";it('a', () => expect(1)); const __coderunner_result__=((v)=>{})(module.exports = 1` + end,
		"describe(`a`, () => { it(b) }); before()":                    `import{describe,it,before}from"coderunner:tests";describe(` + "`a`, () => { it(b) }); " + value + "before()" + end,
		"describe.concurrent('a', () => { test.each([1])('b') }); 1;": `import{describe,test}from"coderunner:tests";describe.concurrent('a', () => { test.each([1])('b') }); ` + value + "1" + end + ";",
		"it('a', ({ test }) => f({ test: 1 })); test('b')":            `import{it,test}from"coderunner:tests";it('a', ({ test }) => f({ test: 1 })); ` + value + "test('b')" + end,
		"let a = 1, test = b; test('b')":                              "let a = 1, test = b; " + value + "test('b')" + end,
		"x.it('a'); function test() {} test('b')":                     "x.it('a'); function test() {} " + value + "test('b')" + end,
		"process.exitCode = a ? 3 : 0":                                "const __coderunner_result__=((v)=>{})(process.exitCode = a ? 3 : 0" + end,
		"a.b = 1, a":                                                  value + "a.b = 1, a" + end,
		"a.b == 1":                                                    value + "a.b == 1" + end,
		"global.it = a; it('b')":                                      "global.it = a; " + value + "it('b')" + end,
		"import {it} from 'vitest'; it('a'); test.skip('b')":          `import{test}from"coderunner:tests";import {it} from 'vitest'; it('a'); ` + value + "test.skip('b')" + end,
		"nextTick(a); // b":                                           value + "nextTick(a)" + end + turned + "; // b",
		"setImmediate(a);function b() {}":                             "export{};setImmediate(a);function b() {}" + turned,
		"await setImmediate(a)":                                       value + "await setImmediate(a)" + end,
		`let a = Deno.openSync("/dev/stdin"), readFile`:               `export{};let a = Deno.openSync("/dev/stdin"), readFile`,
	} {
		if got := main(source).Edited(); got != want {
			t.Errorf("%q: %q, want %q", source, got, want)
		}
	}
	for text, want := range map[string]string{
		"Here's it:\r\n```js\nlet a;\n```\nThat's `a`.\n":        "\n\nlet a;\n",
		"This is how it works.\n```js\nlet a;\n```\nThat's `a`.": "\n\nlet a;\n",
		"```js\nlet a;\n```\nThat's `a`.":                        "\nlet a;\n",
	} {
		if got := main(text).Source; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"const a = `\n```js\nlet a;\n```\n`", "// It's so:\n/*\n```js\nlet a;\n```\n*/ a", "let a;\ntype B = typeof c;\nf(`\n```js\na\n```\n`)"} {
		if got := main(text).Source; got != text {
			t.Errorf("%q: %q", text, got)
		}
	}
	mixed := Parse("import fs from 'fs'; import x = require('x'); export const a = fs", Options{})
	if got := mixed.Edited(); !strings.HasPrefix(got, importModule+"const require=") || !strings.HasSuffix(got, "; const  x = require('x'); export const a = fs") {
		t.Errorf("%q", got)
	}
}

func TestStandardDecorators(t *testing.T) {
	for source, want := range map[string]bool{
		"function d(a, context) {}": true, "function d(a, c: ClassMethodDecoratorContext) {}": true, "class A { @d accessor b }": true, "@d class A {}": false,
	} {
		if p := main(source); p.Standard != want {
			t.Errorf("%s: %t, want %t", source, p.Standard, want)
		}
	}
}

// TestWritten has programs whose value says how much they wrote (true), and others.
func TestWritten(t *testing.T) {
	for source, want := range map[string]bool{
		"a.write(b)": true, "await a.b.writeSync(c(d), e);": true, "a.write(b).c": false, "a.write(b).c()": false, "write(a)": false, "a.write": false, "a.write(b) + 1": false, "a.write(1); b": false,
		"localStorage.clear()": true, "sessionStorage.setItem('a', 1)": true, "localStorage.getItem('a')": false, "stack.clear()": false,
	} {
		if got := strings.Contains(main(source).Edited(), "typeof v"); got != want {
			t.Errorf("%s: %t, want %t", source, got, want)
		}
	}
}

func TestModuleEdits(t *testing.T) {
	for source, want := range map[string]string{
		`import a from "./a.json"`:                         `import a from "./a.json" with{type:"json"}`,
		"import a from './a.json' // b\nlet c":             "import a from './a.json' with{type:\"json\"} // b\nlet c",
		`import a from "./a.json" with { type: "json" }`:   `import a from "./a.json" with { type: "json" }`,
		`import a from "./a.json" assert { type: "json" }`: `import a from "./a.json" with   { type: "json" }`,
		`let a = await import("./a.json")`:                 `let a = await import("./a.json",{with:{type:"json"}})`,
		`import type a from "./a.json"`:                    `import type a from "./a.json"`,
		`import { a, b as c } from "./a.json"`:             `const  { a, b :  c } =    ((n)=>{return n.default})(await import("./a.json",{with:{type:"json"}}));`,
		`import d, { a, type B } from "./a.json"`:          `const  [d, { a,      B }] =    ((m)=>[m,m])(((n)=>{return n.default})(await import("./a.json",{with:{type:"json"}})));`,
		`import { a } from "./a.json" with {type: "json"}`: `import { a } from "./a.json" with {type: "json"}`,
		`import a = require("a"); export {}`:               `const  a = require("a"); export {}`,
	} {
		if got := main(source).Edited(); !strings.HasSuffix(got, want) {
			t.Errorf("%s becomes %s, want %s", source, got, want)
		}
	}
	if got, want := Parse(`import a from "./a.json"; a`, Options{}).Edited(), `import a from "./a.json" with{type:"json"}; a`; got != want {
		t.Errorf("a file becomes %s, want %s", got, want)
	}
}

func TestDestructured(t *testing.T) {
	source := "import { a,\n b as c } from 'x'\n(a, c); import { default as g } from 'x'; import { h } from 'y'"
	p := main(source).Destructured("x", false)
	if p == nil {
		t.Fatal("nothing is destructured")
	}
	edited := p.Edited()
	for _, want := range []string{"const  { a,\n b :  c } =    ((n)=>", "(await import('x'));\n", "import { default as g } from 'x'", "{ h } from 'y'", `["a","b"]`} {
		if !strings.Contains(edited, want) {
			t.Errorf("%q, want %q in it", edited, want)
		}
	}
	line, column := position(edited, strings.Index(edited, "c }"))
	if got, ours := p.Column(line, column); got != 7 || ours || line != 2 {
		t.Errorf("c is at %d:%d, %t", line, got, ours)
	}
	if p.Destructured("x", false) != nil || main(source).Destructured("z", false) != nil {
		t.Error("a program is destructured without a reason")
	}
	typed := main("import { a, type T, type as u, U, b, c as d } from 'x'; b(a as U)").Destructured("x", true).Edited()
	if !strings.Contains(typed, `["a","type","b","c"]`) {
		t.Errorf("%q, want only the names that are no types", typed)
	}
	whole := main("import a, { b } from 'y'; import * as c from 'x'; c.d").Destructured("x", false).Edited()
	if !strings.HasPrefix(whole, `import a, { b } from 'y'; const       c =    ((n)=>{const m=n["module.exports"]`) {
		t.Errorf("%q", whole)
	}
}

func TestTags(t *testing.T) {
	for _, marked := range []string{
		"«<a/>»", "«<a b='>' c={d} e=\"{\" />»", "«<a>it's {b} // c</a>»;", "const f = () => <a>{b.map((c) => <d key={c}>{`${c}`}</d>)}</a>\n«f()»", "«<><A.B/></>»",
		"const a = <b>\n</b>\n«c»", "const a = b < c;\n«<d></d>»", "function f() { return <a>{/* } */}</a> }\n«f»", "«<a b=<c/> {...d}>e</a>»",
		"const f = <T,>(a: T) => a, g = <T extends U>(a: T) => <i/>\n«g»", "«<A<B<C>> d={<e/>}/>»", "type F = <T>(a: T) => T;\n«<a/>»", "«a && <b/>»", "«<a // b\n/* > */ c/>»", "«<a>{b}</a> / c»", "function a() {}\n«<a/>»",
	} {
		source := strings.NewReplacer("«", "", "»", "").Replace(marked)
		p := main(source)
		got := ""
		if p.Tags && len(p.edits) == 2 {
			got = source[:p.edits[0].offset] + "«" + source[p.edits[0].offset:p.edits[1].offset] + "»" + source[p.edits[1].offset:]
		}
		if got != marked {
			t.Errorf("%q, want %q (%+v)", got, marked, p)
		}
	}
	for _, source := range []string{"a < b / c > d", "f(/</g, '</a>')", "const a = <T>b; '</a>'", "// </a>"} {
		if p := main(source); p.Tags || !p.Certain {
			t.Errorf("%s: %+v, want no tags", source, p)
		}
	}
	for source, want := range map[string]Program{
		"/** @jsxImportSource preact */\n<a/>": {TagSource: "preact"}, "/** @jsx h */\n<a/>": {Classic: true}, "// @jsxRuntime classic\n<a/>": {Classic: true},
		"<a/> // @jsx h": {}, "/* @jsxRuntime automatic */<a/>": {},
	} {
		if p := main(source); p.TagSource != want.TagSource || p.Classic != want.Classic {
			t.Errorf("%s: %q, %v, want %q, %v", source, p.TagSource, p.Classic, want.TagSource, want.Classic)
		}
	}
}

func TestDecorators(t *testing.T) {
	for source, want := range map[string][2]bool{
		"class A { @b c() {} }": {true, false}, "class A { constructor(@b c) {} }": {true, true}, "class A { f(a, @b c) {} }": {true, true},
		"function d(a, b, c: PropertyDescriptor) {}\n@d class A {}": {true, true}, "'@a'": {}, "const descriptor = 1": {false, true},
	} {
		if p := main(source); p.Standard || p.Decorated != want[0] || p.Legacy != want[1] {
			t.Errorf("%s: %v, %v, want %v", source, p.Decorated, p.Legacy, want)
		}
	}
}

// TestColumns maps each place of an edited program back.
func TestColumns(t *testing.T) {
	source := "import.meta.main; let é = '😀';\r\nlet b; é + b.c // d\n"
	p := main(source)
	edited := p.Edited()
	for _, word := range []string{"let é", "let b", "é +", "b.c"} {
		line, column := position(edited, strings.Index(edited, word))
		wantLine, want := position(source, strings.Index(source, word))
		if got, ours := p.Column(line, column); line != wantLine || got != want || ours {
			t.Errorf("%s is at %d:%d of the edited program, which becomes %d:%d, want %d:%d", word, line, column, line, got, wantLine, want)
		}
	}
}

func TestColumnsOfEdits(t *testing.T) {
	p := main("import.meta.main;\na")
	for place, want := range map[[2]int]bool{{1, 1}: true, {1, 22}: true, {1, 23}: false, {2, 1}: true, {2, 31}: true, {2, 32}: false, {2, 33}: true} {
		if _, ours := p.Column(place[0], place[1]); ours != want {
			t.Errorf("%v of %q is ours: %v, want %v", place, p.Edited(), ours, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("const a = `x${b /* c */ + '}'}` / 2\nawait import('npm:a')\n/re[/]/.test(a) // d")
	f.Add("import.meta.main; @d class A<T> { #x = 1n }\nnew A<string>()!.x++")
	f.Add("import d from './d.json'; const f = <T,>(x: T) => <A<T> b='}'>{x}</A>; module.exports = <></>\nrequire('npm:@a/b@1/c')")
	f.Add(";require")
	f.Add("text\n```ts\nimport { type a as b, c } from 'd'; const { e: f } = await import(`g`)\n```\n")
	f.Fuzz(func(t *testing.T, source string) {
		x := Scan(source)
		x.References()
		x.Loops()
		x.Find("", "(")
		x.Literals(func(text string) bool { return x.onlyMembers(text) || x.declares(text) })
		_, _ = Unclosed(source)
		for _, p := range []*Program{main(source), Parse(source, Options{Main: true, Script: true})} {
			source, last := p.Source, 0 // without fences
			for _, e := range p.edits {
				if e.offset < last || e.offset > len(source) || strings.ContainsAny(e.text, "\n\r") {
					t.Fatalf("edit %+v after %d in %d bytes", e, last, len(source))
				}
				last = e.offset
			}
			back := p.Edited()
			for _, e := range p.edits {
				back = back[:e.offset] + source[e.offset:e.offset+e.cut] + back[e.offset+len(e.text):]
			}
			if back != source {
				t.Errorf("without its edits the program is %q, want %q", back, source)
			}
			if len(p.Imports) > MaxImports {
				t.Errorf("%d specifiers", len(p.Imports))
			}
		}
	})
}
