package install

import (
	"os"
	"path/filepath"
	"testing"

	"coderunner/runners/deno/process"
)

// TestForgo has optional packages that the registry lacks, which a program does without.
func TestForgo(t *testing.T) {
	i := &Installation{Installer: &Installer{Tool: &process.Tool{DenoDir: t.TempDir()}}}
	write := func(name, about string) string {
		file := filepath.Join(i.RegistryDir(), PackagePath(name), "registry.json")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(about), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	changed := map[string]string{
		write("a", `{"name":"a","versions":{"1.0.0":{"dependencies":{"gone":"1","kept":"1"},"optionalDependencies":{"gone":"1","@a/b":"2"}},"2.0.0":{"dependencies":{"gone":"2"}}}}`): `{"name":"a","versions":{"1.0.0":{"dependencies":{"kept":"1"},"optionalDependencies":{}},"2.0.0":{"dependencies":{"gone":"2"}}}}`,
		write("@a/b", `{"versions":{"1.0.0":{"optionalDependencies":{"@a/gone-linux-x64":"^1"}}}}`):                                                                                   `{"versions":{"1.0.0":{"optionalDependencies":{}}}}`,
		write("broken", `{"optionalDependencies":"gone","versions":[`):                                                                                                                `{"optionalDependencies":"gone","versions":[`,
		write("odd", `{"versions":{"1":7,"2":{"optionalDependencies":["gone"]}}}`):                                                                                                    `{"versions":{"1":7,"2":{"optionalDependencies":["gone"]}}}`,
	}
	for _, tt := range []struct {
		message string
		want    bool
	}{
		{"error: npm package 'gone' does not exist.", true},
		{"error: npm package 'gone' does not exist.", false}, // nobody asks for it as optional
		{"error: Could not find npm package '@a/gone-linux-x64' matching '^1'.", true},
		{"error: Could not find npm package 'kept' matching '1'.", false},
		{"error: something else about 'gone'", false},
	} {
		if got := i.Forgo(tt.message); got != tt.want {
			t.Errorf("%s: forgone %t, want %t", tt.message, got, tt.want)
		}
	}
	for file, want := range changed {
		if b, err := os.ReadFile(file); err != nil || string(b) != want {
			t.Errorf("%s has %s, %v, want %s", file, b, err, want)
		}
	}
}
