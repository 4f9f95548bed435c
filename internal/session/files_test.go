package session_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"coderunner/internal/session"
	"coderunner/runners"
)

func TestFileTools(t *testing.T) {
	s, ctx := open(t, session.Options{}), t.Context()
	if err := s.WriteFile(ctx, "s", "./deep/er/a.txt", []byte("one two two")); err != nil {
		t.Fatal(err)
	}
	_, err := s.EditFile(ctx, "s", "deep/er/a.txt", "two", "2", false)
	refused(t, err, "2 times")
	_, err = s.EditFile(ctx, "s", "deep/er/a.txt", "three", "3", true)
	refused(t, err, "does not have this text")
	if n, err := s.EditFile(ctx, "s", "deep/er/a.txt", "two", "2", true); n != 2 || err != nil {
		t.Error(n, err)
	}
	if b, err := s.ReadFile(ctx, "s", "/home/user/deep/er/a.txt"); string(b) != "one 2 2" || err != nil {
		t.Errorf("%q %v", b, err)
	}
	for _, path := range []string{"../x", "/etc/passwd", "a/../../x", "", ".", "x\x00", "deep", "deep/er/a.txt/b", "a\\b", strings.Repeat("x", 300)} {
		if err := s.WriteFile(ctx, "s", path, nil); err == nil {
			t.Errorf("wrote %q", path)
		}
		if _, err := s.ReadFile(ctx, "s", path); err == nil {
			t.Errorf("read %q", path)
		}
	}
	if n, err := s.DeleteFile(ctx, "s", "deep"); n != 3 || err != nil {
		t.Error(n, err)
	}
	_, err = s.DeleteFile(ctx, "s", "deep")
	refused(t, err, "no file")
	refused(t, s.WriteFile(ctx, "../s", "x", nil), "must be a name")
	if _, err := s.Rewind(ctx, "s", 2); err != nil {
		t.Fatal(err)
	}
	if files, err := s.Files(ctx, "s"); err != nil || len(files) != 3 || files[2].Path != "deep/er/a.txt" {
		t.Errorf("%v %v", files, err)
	}
}

// TestHistoryOfFiles: what succeeds after a program that failed is not marked as failed.
func TestHistoryOfFiles(t *testing.T) {
	s, ctx := open(t, session.Options{}), t.Context()
	call(t, s, "s", func(string, map[string]string) (string, runners.Status) { return "x", runners.Failed })
	for _, change := range []func() error{
		func() error { return s.WriteFile(ctx, "s", "a", []byte("1")) },
		func() error { _, err := s.EditFile(ctx, "s", "a", "1", "2", false); return err },
		func() error { _, err := s.DeleteFile(ctx, "s", "a"); return err },
		func() error { _, err := s.Rewind(ctx, "s", 1); return err },
		func() error { return s.Fork(ctx, "s", "copy", 0) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
	}
	info, err := s.Describe("s")
	if err != nil {
		t.Fatal(err)
	}
	for _, past := range info.History {
		if failed := past.Status == runners.Failed; failed != strings.HasPrefix(past.Action, "python") {
			t.Errorf("%+v", past)
		}
	}
	if text := session.HistoryText(info); strings.Count(text, "(failed)") != 1 {
		t.Error(text)
	}
}

// TestLinks keeps links that stay in the directory, wherever others lead.
func TestLinks(t *testing.T) {
	s := open(t, session.Options{})
	links := map[string]bool{"a": true, "../a": false, "/etc/passwd": false, "b/../../x": false, "..": false, "": false, "a/": false}
	out := call(t, s, "s", func(_ string, files map[string]string) (string, runners.Status) {
		i := 0
		for target := range links {
			files[fmt.Sprintf("link%d", i)] = "-> " + target
			i++
		}
		files["d/up"] = "-> ../a"
		files["d/top"] = "-> .."
		files["d/out"] = "-> ../../a"
		return "", runners.Succeeded
	})
	files, err := s.Files(t.Context(), "s")
	var kept []string
	for _, f := range files {
		if f.Mode&fs.ModeSymlink != 0 {
			kept = append(kept, f.Target)
		}
	}
	slices.Sort(kept)
	if !slices.Equal(kept, []string{"..", "../a", "a"}) || err != nil {
		t.Errorf("kept %q, %v", kept, err)
	}
	if len(out.Files) != 7 {
		t.Errorf("links that are not kept: %v", out.Files)
	}
}

// TestOthersDirectory refuses a directory in which another user of the machine could have
// made the sessions.
func TestOthersDirectory(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes do not say who may write here")
	}
	for _, sub := range []string{".", "default"} {
		dir := t.TempDir()
		name := filepath.Join(dir, sub)
		if err := errors.Join(os.MkdirAll(name, 0o700), os.Chmod(name, 0o777|fs.ModeSticky)); err != nil {
			t.Fatal(err)
		}
		if _, err := session.Open(session.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "everybody can write to "+name) {
			t.Errorf("%s: %v", sub, err)
		}
	}
}
