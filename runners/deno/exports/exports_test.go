package exports

import (
	"os"
	"path/filepath"
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
		if got := (Module{text: []byte(text), esm: true}).hasDefault(); got != want {
			t.Errorf("%s: %t, want %t", text, got, want)
		}
	}
	m := Module{text: []byte("export { a, b as c };\nexport class D {}\nconst e = 1;\nexports.f = 1;\nObject.defineProperty(exports, \"g\", {})"), esm: true}
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

// TestModuleEndings has paths within a package as Node finds their files.
func TestModuleEndings(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"package.json": "{}", "a.js": "", "b.mjs": "", "b/package.json": `{"main": "../a"}`, "c/index.js": "", "d/package.json": `{"main": "./e"}`, "d/e.js": "",
		"exports/package.json": `{"exports": {}}`, "exports/a.js": "",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{"/a": ".js", "/a.js": "", "/b": ".mjs", "/c": "/index.js", "/d": "/e.js", "/nothing": ""} {
		if got := EndingOf(dir, path); got != want {
			t.Errorf("%s ends with %q, want %q", path, got, want)
		}
	}
	if got := EndingOf(filepath.Join(dir, "exports"), "/a"); got != "" {
		t.Errorf("with exports the ending is %q", got)
	}
}
