package deno

import (
	"slices"
	"testing"
)

// TestModuleExports has texts of modules, and what they are seen to export.
func TestModuleExports(t *testing.T) {
	for text, want := range map[string]bool{
		"export default class A {}":            true,
		"const a = 1; export { a as default }": true,
		"export { a, default } from './b.js'":  true,
		"export{a as default,b}":               true,
		"export { a, b }; f({ default: a })":   false,
		"export const a = { b, default: 1 }":   true, // it may be a list
		"export function load() {}":            false,
		"switch (a) { default: } export { b }": false,
	} {
		if got := (module{text: []byte(text), esm: true}).hasDefault(); got != want {
			t.Errorf("%s: %t, want %t", text, got, want)
		}
	}
	m := module{text: []byte("export { a, b as c };\nexport class D {}\nconst e = 1;\nexports.f = 1;\nObject.defineProperty(exports, \"g\", {})"), esm: true}
	var got []string
	for _, name := range []string{"a", "c", "D", "e", "h"} {
		if m.declares(name) {
			got = append(got, name)
		}
	}
	if want := []string{"a", "c", "D"}; !slices.Equal(got, want) {
		t.Errorf("%q are exported, want %q", got, want)
	}
	if !m.shows("f") || !m.shows("g") || m.shows("a") {
		t.Error("the names of CommonJS are not seen")
	}
}
