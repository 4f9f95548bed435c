package cache

import (
	"bytes"
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
	use(from, "c", nil)
	use(to, "c", func(c *Cache) { // of a section that has others
		if err := c.CopyFrom(t.Context(), from); err != nil {
			t.Fatal(err)
		}
	})
	if built != 3 {
		t.Errorf("built %d times, want 3", built)
	}
	if text, err := os.ReadFile(use(to, "b", nil)); string(text) != "b" || err != nil || built != 4 {
		t.Errorf("a damaged copy: %q, %v, built %d times", text, err, built)
	}
}

// TestCopyFromTools copies a tool's directory with the records of what is in it, or neither.
func TestCopyFromTools(t *testing.T) {
	from := t.TempDir()
	for _, name := range []string{"deno/a", "records/kind/key/data", "sessions/s/data", "locks/l.lock", "blobs/sha256/ab/abcd"} {
		name = filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, has := range []bool{false, true} {
		c, err := Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if has {
			if err := os.Mkdir(c.Path("deno"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.CopyFrom(t.Context(), from); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]bool{"deno/a": !has, "records/kind/key/data": !has, "sessions/s": false, "locks/l.lock": false, "blobs/sha256/ab/abcd": true} {
			if _, err := os.Stat(filepath.Join(c.Root(), name)); (err == nil) != want {
				t.Errorf("the cache has deno: %t; %s: %v", has, name, err)
			}
		}
	}
}

// TestCopyFile copies files of sizes that are copied in different ways.
func TestCopyFile(t *testing.T) {
	for _, size := range []int{0, 1000, 8<<20 - 1, 9<<20 + 1} {
		from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
		want := bytes.Repeat([]byte("0123456"), size/7+1)[:size]
		if err := os.WriteFile(from, want, 0o600); err != nil {
			t.Fatal(err)
		}
		err := CopyFile(from, to)
		got, rerr := os.ReadFile(to)
		if err != nil || rerr != nil || !bytes.Equal(got, want) {
			t.Errorf("a copy of %d bytes has %d, %v, %v", size, len(got), err, rerr)
		}
	}
}
