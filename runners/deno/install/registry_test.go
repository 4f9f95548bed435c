package install

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"coderunner/runners/deno/process"
)

// TestSkip has packages for other systems, which a program does without.
func TestSkip(t *testing.T) {
	i := &Installation{Installer: &Installer{Tool: &process.Tool{DenoDir: t.TempDir()}}, Overrides: map[string]string{}}
	for name, about := range map[string]string{
		"@a/here":  `{"versions": {"1.0.0": {"os": ["` + runtime.GOOS + `"]}}}`,
		"@a/there": `{"versions": {"1.0.0": {"os": ["plan9"]}, "1.0.1": {"os": ["plan9"]}}}`,
		"@a/far":   `{"versions": {"1.0.0": {"cpu": ["pdp11"]}}}`,
		"@a/both":  `{"versions": {"1.0.0": {"os": ["plan9"]}, "2.0.0": {}}}`,
		"@a/none":  `{"versions": {}}`,
	} {
		dir := filepath.Join(i.RegistryDir(), PackagePath(name))
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
