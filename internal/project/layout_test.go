package project

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLayout copies what fits, links what does not, and leaves out what cannot be shown without
// what is hidden in it.
func TestLayout(t *testing.T) {
	if testing.Short() {
		t.Skip("makes 15,000 files")
	}
	dir, work := t.TempDir(), t.TempDir()
	plant(t, dir, "a/b.txt: b\n.env: e\nclean/sub/f: f\nmixed/.env: e\nmixed/sub/f: f\nfull/.env: e")
	if err := os.Symlink("a/b.txt", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]int{"clean/sub": maxCopied, "mixed/sub": maxCopied, "full": maxCopied} {
		for i := range n {
			plant(t, dir, fmt.Sprintf("%s/%d: ", name, i))
		}
	}
	if err := os.Truncate(filepath.Join(dir, "a/b.txt"), 10); err != nil {
		t.Fatal(err)
	}
	plant(t, dir, "big: x")
	if err := os.Truncate(filepath.Join(dir, "big"), maxCopiedBytes); err != nil {
		t.Fatal(err)
	}
	l := NewLayout(view(t, dir))
	if all := 3*maxCopied + 6; l.looked > all { // no directory is read for each of those above it, too
		t.Errorf("looked at %d entries of at most %d", l.looked, all)
	}
	spent := &Layout{view: l.view, looked: maxLooked + 1}
	if spent.inPlace(unlisted{dir: "clean"}) || spent.looked != maxLooked+1 || !slices.Equal(spent.omitted, []string{"clean"}) {
		t.Errorf("with nothing left to look at: looked at %d entries, omitted %q", spent.looked-maxLooked-1, spent.omitted)
	}
	root, err := os.OpenRoot(work)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	placed, err := l.Place(root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, name := range l.Grants() {
		rel, _ := filepath.Rel(dir, name)
		got = append(got, rel)
	}
	if want := []string{"big", "clean/sub", "mixed/sub"}; !slices.Equal(got, want) {
		t.Errorf("reads %q in place, want %q", got, want)
	}
	if !strings.Contains(l.Note, "full") {
		t.Errorf("note %q", l.Note)
	}
	for name, want := range map[string]bool{"a/b.txt": true, "big": true, "clean/sub/f": true, "mixed/sub/f": true, "link": true, "mixed/.env": false, ".env": false, "full/1": false} {
		if _, err := os.Stat(filepath.Join(work, name)); (err == nil) != want {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	if err := os.WriteFile(filepath.Join(work, "a/b.txt"), []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	plant(t, work, "a/made: x")
	var changed []string
	err = fs.WalkDir(placed.Changed(os.DirFS(work)), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			changed = append(changed, name)
		}
		return err
	})
	if want := []string{"a/b.txt", "a/made"}; err != nil || !slices.Equal(changed, want) {
		t.Errorf("changed %q, %v, want %q", changed, err, want)
	}
}
