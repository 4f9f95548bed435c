package cache

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// TestCopyFrom copies a cache, and looks whether the copy is trusted as far as it is right.
func TestCopyFrom(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	built := 0
	use := func(root string, key string, before func(c *Cache)) string {
		t.Helper()
		c, err := Open(root)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if before != nil {
			before(c)
		}
		dir, err := c.Dir(t.Context(), "kind", key, func(_ context.Context, dir string) error {
			built++
			return os.WriteFile(filepath.Join(dir, "run"), []byte(key), 0o755)
		})
		if err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, "run")
	}
	copied := func(c *Cache) {
		t.Helper()
		for range 2 { // the second time everything is there
			if err := c.CopyFrom(t.Context(), from); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(to, "trees", "kind", "b", "data", "run"), []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	use(from, "a", nil)
	use(from, "b", nil)
	file := use(to, "a", copied)
	if built != 2 {
		t.Errorf("built %d times, want 2", built)
	}
	if info, err := os.Stat(file); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("%v, %v: not executable", info, err)
	}
	if text, err := os.ReadFile(use(to, "b", nil)); string(text) != "b" || err != nil || built != 3 {
		t.Errorf("a damaged copy: %q, %v, built %d times", text, err, built)
	}
}
