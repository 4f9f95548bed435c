package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coderunner/runners"
)

// TestPackageImports: a program gets the files that "imports" of its package.json maps
// its imports to, and no others.
func TestPackageImports(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "app")
	for name, text := range map[string]string{
		"package.json": `{"name": "x", "imports": {"#lib/*": "./lib/*.js", "#src/*": "./src/*", "#one": {"node": "./one.ts", "default": ["./other.ts"]},
			"#deep/*.js": "./src/*/index.ts", "#out/*": "./../*", "#up": "../secret", "#env": "./.env", "#zod": "zod", "#none": null}}`,
		"lib/a.js": "import '#src/b.ts'", "lib/c.js": "", "src/b.ts": "", "src/x/index.ts": "", "one.ts": "", "other.ts": "", ".env": "", "../secret": "",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for code, want := range map[string]string{
		"import '#lib/a'":                           "lib/a.js package.json src/b.ts",
		"import '#lib/c'; require('#src/b.ts')":     "lib/c.js package.json src/b.ts",
		"import '#src/b'; import '#src/x'":          "package.json src/b.ts src/x/index.ts",
		"import '#one'":                             "one.ts other.ts package.json",
		"import '#deep/x.js'; import '#deep/x'":     "package.json src/x/index.ts",
		"import '#lib/'; import '#zod'":             "package.json",
		"import '#out/secret'; import '#up'":        "package.json",
		"import '#src/../../secret'; import '#env'": "package.json",
	} {
		var warnings strings.Builder
		files, err := filesFor(runOptions{}, filepath.Join(dir, "main.js"), false, code, runners.JavaScript, nil, &warnings)
		if got := paths(files); err != nil || got != want {
			t.Errorf("%s: files %q, %v, want %q (%s)", code, got, err, want, warnings.String())
		}
	}
}
