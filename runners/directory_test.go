package runners

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestDirectory has files replace what a program left in their places, and nothing
// outside change.
func TestDirectory(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.Symlink(outside, in("link")),
		os.MkdirAll(in("directory/with/files"), 0o700),
		os.Symlink(filepath.Dir(outside), in("elsewhere")),
		os.WriteFile(in("file"), []byte("old, and longer"), 0o400),
	} {
		if err != nil {
			t.Skip(err) // some systems restrict links
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	d := Directory{Root: root}
	for _, name := range []string{"link", "directory", "file", "new/a/b"} {
		if err := d.Write(File{Path: name, Data: []byte("new")}); err != nil {
			t.Error(err)
		}
		if b, err := os.ReadFile(in(name)); err != nil || string(b) != "new" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if err := d.Write(File{Path: "elsewhere/outside", Data: []byte("new")}); err == nil {
		t.Error("wrote through a link that leads out")
	}
	if b, err := os.ReadFile(outside); err != nil || string(b) != "kept" {
		t.Errorf("outside: %q, %v", b, err)
	}

	sum := sha256.Sum256([]byte("kept"))
	want := []SessionFile{
		{Path: "d", Mode: fs.ModeDir | 0o750},
		{Path: "d/f", Mode: 0o640, SHA256: hex.EncodeToString(sum[:]), Source: outside},
		{Path: "l", Mode: fs.ModeSymlink | fs.ModePerm, Target: "d/f"},
	}
	if err := d.Arrange([]SessionFile{{Path: "file", Mode: 0o600}}, want); err != nil {
		t.Fatal(err)
	}
	if b, err := fs.ReadFile(d, "l"); err != nil || string(b) != "kept" {
		t.Errorf("the session's link: %q, %v", b, err)
	}
	if info, err := d.Lstat("d/f"); err != nil || info.Mode() != 0o640 {
		t.Errorf("the session's file: %v, %v", info, err)
	}
	if _, err := d.Lstat("file"); err == nil {
		t.Error("a file that the session does not have is still there")
	}
	want[1].SHA256 = hex.EncodeToString(make([]byte, 32))
	if err := d.Arrange(nil, want); err == nil {
		t.Error("a damaged file of the session was written")
	}
}
