package project

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// plant makes files of the text of a listing: "path: contents" a line.
func plant(t *testing.T, dir, listing string) {
	t.Helper()
	for line := range strings.Lines(listing) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), ":")
		text = strings.TrimPrefix(text, " ")
		if name == "" {
			continue
		}
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(strings.ReplaceAll(text, `\n`, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// files lists all files of a view.
func files(t *testing.T, v *View) (names []string) {
	t.Helper()
	err := fs.WalkDir(v, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func view(t *testing.T, dir string, hides ...string) *View {
	t.Helper()
	v, err := Open(dir, hides...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return v
}

// TestIgnored compares what a view shows with what Git does not ignore.
func TestIgnored(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	const tree = `
		.gitignore: *.log\n!keep.log\n/top\nbuild/\ndocs/**/*.pdf\n**/gen/x\na/**\n!a/b\n# c\n\\#odd\nsp ace \nq?z\n[!m]1\nfoo/*.c\nsub/*\n!sub/in\n\\!bang\ncrlf\r\n**/deep/**/end\n/x/y\n
		.git/info/exclude: secret*\n
		sub/in/.gitignore: local\n!*.log\n/anch\nq1\n
		other/.gitignore: *\n!.gitignore\n!kept/\n!kept/**\n
		a.log: 
		keep.log: 
		top: 
		z/top: 
		build/x: 
		z/build/y: 
		z/buildx: 
		docs/a.pdf: 
		docs/p/q/a.pdf: 
		z/docs/a.pdf: 
		gen/x: 
		z/gen/x: 
		z/gen/y: 
		a/b: 
		a/c/d: 
		#odd: 
		sp ace: 
		qaz: 
		n1: 
		m1: 
		foo/a.c: 
		foo/b/a.c: 
		sub/x: 
		sub/in/local: 
		sub/in/z.log: 
		sub/in/anch: 
		sub/in/d/anch: 
		sub/in/d/q1: 
		!bang: 
		crlf: 
		deep/end: 
		deep/a/b/end: 
		deep/a/b/ende: 
		x/y: 
		z/x/y: 
		secret.txt: 
		z/secrets/a: 
		other/a: 
		other/kept/b: 
		other/kept/c/d: `
	top := t.TempDir()
	git := func(dir string, args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(args, err)
		}
		return string(bytes.TrimRight(out, "\x00"))
	}
	git(top, "init", "-q")
	plant(t, top, tree)
	for _, dir := range []string{".", "sub/in", "z", "z/gen", "other/kept", "deep/a", "build"} {
		at := filepath.Join(top, dir)
		var want []string
		if dir != "build" {
			want = strings.Split(git(at, "ls-files", "-z", "--others", "--exclude-standard"), "\x00")
		} else {
			want = []string{"x"} // ignored, but named
		}
		want = slices.DeleteFunc(want, func(name string) bool { return filepath.Base(name) == ".gitignore" })
		got := files(t, view(t, at))
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("in %s: sees %q, want %q", dir, got, want)
		}
	}
	tree2 := filepath.Join(t.TempDir(), "work")
	git(top, "-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-q", "--allow-empty", "-m", "x")
	git(top, "worktree", "add", "-q", tree2)
	plant(t, tree2, "secret.txt: \nseen: ")
	if got := files(t, view(t, tree2)); !slices.Equal(got, []string{"seen"}) {
		t.Errorf("in a work tree: sees %q", got)
	}
}
