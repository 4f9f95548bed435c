package deno

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"coderunner/runners/deno/install"
	"coderunner/runners/deno/process"
)

// TestSkip has packages for other systems, which a program does without.
func TestSkip(t *testing.T) {
	i := &install.Installation{Installer: &install.Installer{Tool: &process.Tool{DenoDir: t.TempDir()}}, Overrides: map[string]string{}}
	for name, about := range map[string]string{
		"@a/here":  `{"versions": {"1.0.0": {"os": ["` + runtime.GOOS + `"]}}}`,
		"@a/there": `{"versions": {"1.0.0": {"os": ["plan9"]}, "1.0.1": {"os": ["plan9"]}}}`,
		"@a/far":   `{"versions": {"1.0.0": {"cpu": ["pdp11"]}}}`,
		"@a/both":  `{"versions": {"1.0.0": {"os": ["plan9"]}, "2.0.0": {}}}`,
		"@a/none":  `{"versions": {}}`,
	} {
		dir := filepath.Join(i.RegistryDir(), install.PackagePath(name))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "registry.json"), []byte(about), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name string
		want bool
	}{{"@a/here", false}, {"@a/both", false}, {"@a/none", false}, {"@a/unknown", false}, {"@a/there", true}, {"@a/there", false}, {"@a/far", false}} {
		message := "error: Could not find npm package '" + tt.name + "' matching '1.0.2'."
		if got := i.Skip(message); got != tt.want {
			t.Errorf("%s is skipped: %t, want %t", tt.name, got, tt.want)
		}
	}
	if want := map[string]string{"@a/there": "*", "@a/far": "*"}; !maps.Equal(i.Overrides, want) {
		t.Errorf("overrides %v, want %v", i.Overrides, want)
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
		if got := install.EndingOf(dir, path); got != want {
			t.Errorf("%s ends with %q, want %q", path, got, want)
		}
	}
	if got := install.EndingOf(filepath.Join(dir, "exports"), "/a"); got != "" {
		t.Errorf("with exports the ending is %q", got)
	}
}
