package python

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"coderunner/runners"

	"github.com/google/go-cmp/cmp"
)

func TestHostFolders(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"data/a.txt": "a", "data/sub/b.txt": "b", "data/secret/key": "k", "other/c.txt": "c", "single": "s",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"data/out": "../other", "data/in": "secret", "data/up": "/etc/passwd"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	p, err := runners.ParsePolicy([]string{
		"--allow-read=" + filepath.Join(dir, "data") + "," + filepath.Join(dir, "single") + "," + filepath.Join(dir, "missing"),
		"--deny-read=" + filepath.Join(dir, "data", "secret"),
	})
	if err != nil {
		t.Fatal(err)
	}
	h, err := openHostFolders(p)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if len(h.trees) != 2 || h.trees[0].dir != filepath.ToSlash(filepath.Join(dir, "data")) || h.trees[1].dir != filepath.ToSlash(dir) {
		t.Fatalf("trees %+v", h.trees)
	}
	data := h.trees[0].tree
	if err := fstest.TestFS(data, "a.txt", "sub/b.txt"); err != nil {
		t.Error(err)
	}
	var seen []string
	for _, tree := range h.trees {
		err := fs.WalkDir(tree.tree, ".", func(name string, _ fs.DirEntry, err error) error {
			seen = append(seen, name)
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]string{".", "a.txt", "sub", "sub/b.txt", ".", "single"}, seen); diff != "" {
		t.Error(diff)
	}
	for _, hidden := range []string{"secret/key", "in/key", "out/c.txt", "up", "../other/c.txt", "missing"} {
		if b, err := fs.ReadFile(data, hidden); err == nil {
			t.Errorf("%s can be read: %q", hidden, b)
		}
	}
	if b, err := fs.ReadFile(h.trees[1].tree, "other/c.txt"); err == nil {
		t.Errorf("other/c.txt can be read: %q", b)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("CODERUNNER_TEST_A", "a")
	t.Setenv("CODERUNNER_TEST_B", "b")
	for flag, want := range map[string]map[string]string{
		"--allow-env=CODERUNNER_TEST_A,CODERUNNER_TEST_NONE": {"CODERUNNER_TEST_A": "a"},
		"--allow-env":   {},
		"--deny-env":    {},
		"--allow-env=B": {},
	} {
		p, err := runners.ParsePolicy([]string{flag})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, environment(p)); diff != "" {
			t.Errorf("%s: %s", flag, diff)
		}
	}
}
