package cache

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestListed has the names of a tree's manifest be those that its directories have, also below
// a directory that looks like an entry itself.
func TestListed(t *testing.T) {
	c, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tree, err := c.Dir(t.Context(), "test", "key", func(_ context.Context, dir string) error {
		for _, name := range []string{"a.py", "b/__init__.py", "b/c/d.py", "b/c.py", "b-c/x", "b/manifest", "b/data/e/f", "b/data/g"} {
			name = filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				return err
			}
			if err := os.WriteFile(name, []byte(name), 0o600); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = fs.WalkDir(DirFS(tree), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		n++
		dir := filepath.Join(tree, filepath.FromSlash(name))
		want, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		got, err := fromManifest(dir)
		if err != nil || len(got) != len(want) {
			t.Errorf("%s has %v, %v, want %v", name, got, err, want)
			return nil
		}
		for i := range want {
			if got[i].Name() != want[i].Name() || got[i].Type() != want[i].Type() {
				t.Errorf("%s has %v, want %v", name, got[i], want[i])
			}
		}
		return nil
	})
	if err != nil || n != 6 {
		t.Errorf("%d directories, %v", n, err)
	}
	file, err := c.File(t.Context(), "test", "file", func(_ context.Context, w io.Writer) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if list, err := fromManifest(filepath.Dir(file)); err != nil || len(list) != 1 || list[0].Name() != filepath.Base(file) {
		t.Errorf("the entry of a file has %v, %v", list, err)
	}
	if list, err := fromManifest(t.TempDir()); err == nil {
		t.Errorf("a directory of no entry has %v", list)
	}
}
