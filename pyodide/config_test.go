package pyodide

import (
	"os"
	"path/filepath"
	"testing"
)

// TestIdentity: without a name, files are known by what is in them.
func TestIdentity(t *testing.T) {
	file := filepath.Join(t.TempDir(), "module")
	identity := func(c Config, text string) string {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		name, err := c.identity(file)
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	if a, b := identity(Config{}, "a"), identity(Config{}, "b"); a == b || a != identity(Config{}, "a") {
		t.Errorf("%q and %q", a, b)
	}
	if got := identity(Config{Identity: "verified"}, "a"); got != "verified" {
		t.Errorf("%q", got)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if name, err := (&Config{}).identity(file); err == nil {
		t.Errorf("a file that is gone is %q", name)
	}
}
