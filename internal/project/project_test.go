package project

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

func TestView(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "p")
	plant(t, top, "outside/secret: s")
	plant(t, dir, `
		main.py: x
		.env: KEY=1
		.git/config: c
		src/.hidden/x: x
		src/a/b.txt: b
		node_modules/m/index.js: m
		src/__pycache__/a.pyc: c
		venv/pyvenv.cfg: v
		venv/lib/x: x
		env/settings.py: s
		cache/deno: d
		big.csv: c
		.gitignore: *.csv`)
	for name, target := range map[string]string{
		"in": "src/a", "src/up": "../main.py", "abs": filepath.Join(dir, "src"), "out": "../outside",
		"etc": "/etc", "hid": ".env", "gone": "nowhere", "loop": "loop", "src/far": "../../outside/secret",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	socket, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	v := view(t, dir, filepath.Join(dir, "cache"))
	want := []string{"abs", "env/settings.py", "in", "main.py", "src/a/b.txt", "src/up"}
	if got := files(t, v); !slices.Equal(got, want) {
		t.Errorf("sees %q, want %q", got, want)
	}
	for _, name := range []string{".env", "hid", "out", "out/secret", "in/b.txt/..", "src/far", "socket", "node_modules/m/index.js", "big.csv", "cache/deno", "../outside/secret", "/etc/passwd"} {
		if f, err := v.Open(name); err == nil {
			f.Close()
			t.Errorf("opens %s", name)
		}
	}
	for name, want := range map[string]string{"in": "src/a", "src/up": "../main.py", "abs": "src"} {
		if got, err := v.ReadLink(name); got != want {
			t.Errorf("link %s leads to %q, %v, want %q", name, got, err, want)
		}
	}
	v.Include(".env")
	v.Include("src/.hidden")
	v.Include("big.csv")
	want = append(want, ".env", "src/.hidden/x", "big.csv", "hid")
	slices.Sort(want)
	got := files(t, v)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("with what is named, sees %q, want %q", got, want)
	}
}

// TestMounted has a guest read through links, and a file that changes meanwhile.
func TestMounted(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, "src/a/b.txt: b\ngrows: 1234")
	if err := os.Symlink("src/a", filepath.Join(dir, "in")); err != nil {
		t.Fatal(err)
	}
	v := view(t, dir)
	fsys := memfs.New(memfs.Options{})
	if err := errors.Join(fsys.MkdirAll("/home/user", 0o755), fsys.MountCopy("/home/user", v)); err != nil {
		t.Fatal(err)
	}
	if got, err := fsys.ReadFile("/home/user/in/b.txt"); string(got) != "b" {
		t.Errorf("through a link: %q, %v", got, err)
	}
	f, e := fsys.Open(t.Context(), nil, "/home/user/grows", abi.O_RDONLY, 0)
	if e != abi.OK {
		t.Fatal(e)
	}
	defer f.Close()
	p := make([]byte, 2)
	if _, e := f.Read(t.Context(), p); e != abi.OK || string(p) != "12" {
		t.Errorf("read %q, %v", p, e)
	}
	if err := os.WriteFile(filepath.Join(dir, "grows"), []byte("123456789"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, e := f.Read(t.Context(), p); e != abi.ESTALE {
		t.Errorf("after a change: %q, %v", p, e)
	}
	if got, err := fsys.ReadFile("/home/user/grows"); string(got) != "123456789" {
		t.Errorf("opened again: %q, %v", got, err)
	}
	old, err := v.Open("grows")
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	next := filepath.Join(dir, "next")
	if err := errors.Join(os.WriteFile(next, []byte("new"), 0o644), os.Rename(next, filepath.Join(dir, "grows"))); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(io.NewSectionReader(old.(io.ReaderAt), 0, 100)); string(got) != "123456789" {
		t.Errorf("one that was replaced: %q, %v", got, err)
	}
	if err := os.Chtimes(filepath.Join(dir, "grows"), time.Now(), time.Unix(5, 0)); err != nil {
		t.Fatal(err)
	}
}

func TestMissed(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "p")
	plant(t, top, "p/.env: e\np/seen: s\np/big.csv: c\np/.gitignore: *.csv\nother/x: x")
	for _, c := range []struct {
		name, why string
		opens     bool
	}{
		{"/home/user/.env", "is hidden", true},
		{"/home/user/.env", "", false},
		{"/home/user/big.csv", "is ignored by version control", true},
		{"/home/user/nowhere", "", true},
		{"/home/user/seen", "", true}, // the program has removed it
		{"/home/other/x", "is outside of ", true},
		{"/home/other/x", "", false},
		{filepath.Join(top, "other/x"), "is outside of ", false},
		{"/etc/passwd", "", true},
	} {
		v := view(t, dir)
		v.Looked("/home/user", c.name, c.opens)
		m := v.Missed()
		if (m == nil) != (c.why == "") || m != nil && !strings.HasPrefix(m.Why, c.why) {
			t.Errorf("%s: %v, want %q", c.name, m, c.why)
		}
	}
}
