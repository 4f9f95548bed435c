package pyodide

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestSweepTemp wants only what is old, and ours by its name, to be removed.
func TestSweepTemp(t *testing.T) {
	parent := t.TempDir()
	t.Setenv("TMPDIR", parent)
	long := time.Now().Add(-2 * tempAge)
	for name, when := range map[string]time.Time{tempPrefix + "old": long, tempPrefix + "new": time.Now(), "other": long} {
		dir := filepath.Join(parent, name)
		if err := os.MkdirAll(filepath.Join(dir, "wazero"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(dir, when, when); err != nil {
			t.Fatal(err)
		}
	}
	sweepTemp()
	left, err := os.ReadDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 2 || left[0].Name() != tempPrefix+"new" || left[1].Name() != "other" {
		t.Errorf("left: %v", left)
	}
}
