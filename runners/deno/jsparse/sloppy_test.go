package jsparse

import (
	"strings"
	"testing"
)

// TestSloppy has programs that mean something else in a module, and those that seem to.
func TestSloppy(t *testing.T) {
	for source, want := range map[string]bool{
		"for (i = 0; i < 3; i++) a()": true,
		"for (k in o) a(k)":           true,
		"function f() { n = 0 }":      true,
		"x = 1":                       true,
		"Object.freeze(o)":            true,
		"defineProperty(o, 'a', { writable: false })":         true,
		"var print = this.print || a":                         true,
		"class A { b() { this.c } }; function f() { this.d }": false,
		"let a = b = 1":                                                     true,
		"f(x => g(a = x, 1))":                                               true,
		"for (let i = 0, j = 1;;) j = 2":                                    false,
		"var a = 1,\n b = 2\nb = 3":                                         false,
		"const f = ({ a = 1, b = [] } = {}) => a":                           false,
		"<!-- a\nb":                                                         true,
		"with (o) { a }":                                                    true,
		"class A { get b() {} }; a.b = 1":                                   true,
		"class A { get b() {} set b(v) {} }; a.b = 1":                       false,
		"'use strict'; x = 1":                                               false,
		"function f(a) { arguments[0] = 1 }":                                true,
		"f(017, 0.5, 0, 0x1)":                                               true,
		"f(0.5, 0, 0x1, '017')":                                             false,
		"'use strict'; a(this)":                                             true,
		"await 1; x = 1":                                                    false,
		"import a from 'a'; x = 1":                                          false,
		"const { produce } = require('immer'); produce(a).b = 1":            true,
		"const { a } = require('immerse'); a.b = 1":                         false,
		"let a, b; b = 1":                                                   false,
		"const {\n a,\n b\n} = c; a = 1":                                    false,
		"function f(a, b) {\n a = 1; b = 2 }":                               false,
		"const f = (a, b = 1) => {\n a = 1; b = 2 }":                        false,
		"const f = a => {\n a = 1 }; try {} catch (e) {\n e = 1 }":          false,
		"let a; if (b == 1) a.b = 2; x += 1":                                false,
		"for (const a of b) c; for (let i = 0;;) i = 1":                     false,
		"const f = (a, i) => i; for (let i = 0;;) f(i); for (i = 0;;) f(i)": true,
		"f(2 * n); n = 1":                                                   true,
		"for (const k of a) b(k); for (k in o) b(k)":                        true,
		"for (let i = 0;;) i = 1; (i) => {\n i = 2 }":                       false,
		"var i; for (i = 0;;) f(i); for (let i = 0;;) f(i)":                 false,
		"for (var i = 0;;) f(i); for (i = 0;;) f(i)":                        false,
		"const o = { f() { return this.n } }; const g = o.f; g()":           true,
		"const o = { f: function () { return this.n } }; o.f(); o.f.call()": false,
		"const o = { f() { return this.n } }; const { f } = o; f()":         true,
		"const o = { f() { return `${this.n}` } }\nconst g = o.f\ng()":      true,
		"const o = { f: () => this.n }; o.f()":                              true,
		"a.forEach(function (b) { this.n = b })":                            true,
		"a.forEach(function (b) { f.apply(this, b) })":                      false,
		"function A() { this.n = 1 }; new A()":                              false,
		"function A() { this.n = 1 }; A()":                                  true,
		"function f() { if (a) { return this } }; g(f, 1)":                  true,
		"class A { f() { return this.n } }; const g = new A().f; g()":       false,
		"class A extends B { f() { [].map(function () { this.n }) } }":      false,
		"const o = { get f() { return this.n } }; g(o.f)":                   false,
		"'use strict'; const o = { f() { this.n } }; g(o.f)":                false,
		"import a from 'a'; const o = { f() { this.n } }; g(o.f)":           false,
		"const a = require('a'), o = { f() { this.n } }; g(o.f)":            false,
		"const a = require('util'), o = { f() { this.n } }; g(o.f)":         true,
		"x = 1; module.exports = x":                                         false, // CommonJS anyway
	} {
		p := Parse(source, Options{Main: true, Sloppy: true})
		if got := !p.module && p.Certain; got != want && !strings.Contains(source, "module.exports") {
			t.Errorf("%q: %v, want %v", source, got, want)
		}
	}
	p := Parse("const o = { f() { return this.name } }; g(o.f)", Options{Main: true, Session: true, Sloppy: true})
	if got := p.Edited(); !strings.HasPrefix(got, `"use strict";`) || strings.Contains(got, "delete") {
		t.Errorf("a session: %q", got)
	}
	p = Parse("'use strict'; require('a'); a(this)", Options{Main: true, Sloppy: true})
	if got := p.Edited(); !strings.HasPrefix(got, "'use strict';((M,i)") {
		t.Errorf("%q", got)
	}
	p = Parse("const a = require('a'); b = 1; a.c", Options{Main: true, Sloppy: true})
	if got := p.Edited(); !strings.HasSuffix(got, `b = 1; module.exports[Symbol.for("coderunner:result")]=(0,a.c);`) || strings.Contains(got, "export{") {
		t.Errorf("%q", got)
	}
}
