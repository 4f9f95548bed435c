package runners_test

import (
	"io/fs"
	"slices"
	"testing"

	"coderunner/runners"
)

func TestChanges(t *testing.T) {
	file := func(path, digest string) runners.SessionFile {
		return runners.SessionFile{Path: path, Mode: 0o644, SHA256: digest}
	}
	dir := func(path string) runners.SessionFile {
		return runners.SessionFile{Path: path, Mode: fs.ModeDir | 0o755}
	}
	have := []runners.SessionFile{file("a", "1"), dir("d"), file("d/x", "1"), dir("gone"), file("gone/y", "1"), file("same", "1")}
	want := []runners.SessionFile{dir("a"), file("a/b", "2"), dir("d"), file("d/x", "2"), file("same", "1")}
	remove, write := runners.Changes(have, want)
	if !slices.Equal(remove, []string{"gone/y", "gone", "a"}) {
		t.Errorf("remove %q", remove)
	}
	var paths []string
	for _, f := range write {
		paths = append(paths, f.Path)
	}
	if !slices.Equal(paths, []string{"a", "a/b", "d/x"}) {
		t.Errorf("write %q", paths)
	}
}
