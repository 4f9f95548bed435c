package hostdirs

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/pyodide"
	"coderunner/runners"
)

// files stands for an interpreter: it has nothing but files.
type files struct{ fsys *memfs.FS }

func (f files) MountHostDir(dir string, hostDir *pyodide.HostDir) error {
	if err := f.fsys.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return f.fsys.MountHostDir(dir, hostDir)
}

// hostFiles makes files below a new directory, whose name is put in place of DIR
// in the flags, and gives what programs see under that policy.
func hostFiles(t *testing.T, contents, links map[string]string, cache string, flags ...string) (dir string, fsys *memfs.FS) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range contents {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range links {
		if err := os.Symlink(strings.ReplaceAll(target, "DIR", dir), filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range flags {
		flags[i] = strings.ReplaceAll(flags[i], "DIR", dir)
	}
	p, err := runners.ParsePolicy(flags)
	if err != nil {
		t.Fatal(err)
	}
	if cache != "" {
		cache = filepath.Join(dir, cache)
	}
	h, err := Open(p, cache)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	fsys = memfs.New(memfs.Options{})
	if err := h.Mount(files{fsys}); err != nil {
		t.Fatal(err)
	}
	return dir, fsys
}

func read(fsys *memfs.FS, name string) string {
	b, err := fsys.ReadFile(name)
	if err != nil {
		return "error: " + err.(*fs.PathError).Err.Error()
	}
	return string(b)
}

// write is what a program's open(name, "w") and write come to.
func write(fsys *memfs.FS, name, text string) abi.Errno {
	f, e := fsys.Open(context.Background(), nil, name, abi.O_WRONLY|abi.O_CREAT|abi.O_TRUNC, 0o644)
	if e == abi.OK {
		defer f.Close()
		_, e = f.Write(context.Background(), []byte(text))
	}
	return e
}

func TestDirs(t *testing.T) {
	const none = "error: ENOENT"
	dir, fsys := hostFiles(t,
		map[string]string{"data/a.txt": "a", "data/sub/b.txt": "b", "data/secret/key": "k", "data/sub/key": "s", "other/c.txt": "c", "single": "s", "real/d": "d"},
		map[string]string{"data/out": "../other", "data/in": "secret", "data/up": "/etc/passwd", "data/fine": "sub/../a.txt",
			"data/to": "../single", "linked": "real", "twice": "data/secret"},
		"", "--allow-read=DIR/data,DIR/single,DIR/missing,DIR/linked,DIR/twice", "--deny-read=DIR/data/secret,DIR/data/sub/key")
	for name, want := range map[string]string{
		"data/a.txt": "a", "data/sub/b.txt": "b", "data/fine": "a", "single": "s", "data/to": "s", "linked/d": "d",
		"data/secret/key": none, "data/in/key": none, "data/out/c.txt": none, "data/up": none, "data/sub/key": none,
		"other/c.txt": none, "missing": none, "data/../other/c.txt": none, "twice/key": none, "real/d": "d",
	} {
		if got := read(fsys, dir+"/"+name); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"/data/a.txt", "/data/new", "/single"} {
		if e := write(fsys, dir+name, "x"); e != abi.EROFS {
			t.Errorf("write %s: %v", name, e)
		}
	}
	if got := read(fsys, dir+"/data/a.txt"); got != "a" {
		t.Errorf("a.txt has become %q", got)
	}
}

func TestDirsWrite(t *testing.T) {
	dir, fsys := hostFiles(t,
		map[string]string{"w/a": "a", "w/keep/x": "x", "w/hidden/y": "y", "w/deep/er/z": "z", "cache/blob": "b", "r/x": "x"},
		map[string]string{"w/keep2": "keep", "w/cache": "../cache"}, "cache",
		"--allow-read=DIR/w,DIR/r,DIR/cache,DIR/new.txt", "--allow-write=DIR/w,DIR/cache,DIR/only,DIR/new.txt",
		"--deny-write=DIR/w/keep,DIR/w/deep/er", "--deny-read=DIR/w/hidden")
	for name, want := range map[string]abi.Errno{
		"w/a": abi.OK, "w/b": abi.OK, "new.txt": abi.OK, "r/x": abi.EROFS,
		"w/keep/x": abi.EROFS, "w/keep/new": abi.EROFS, "w/keep2/x": abi.EROFS, "cache/blob": abi.EROFS, "w/cache/new": abi.EROFS,
		"w/hidden/y": abi.ENOENT, "w/hidden": abi.EROFS, "w/deep/er/z": abi.EROFS, "w/deep/z": abi.OK, "only/x": abi.ENOENT,
	} {
		if got := write(fsys, dir+"/"+name, "new"); got != want {
			t.Errorf("write %s: %v, want %v", name, got.Name(), want.Name())
		}
		b, err := os.ReadFile(filepath.Join(dir, name))
		if want == abi.OK && string(b) != "new" {
			t.Errorf("%s on the host: %q, %v", name, b, err)
		}
		if want != abi.OK && string(b) == "new" {
			t.Errorf("%s was written", name)
		}
	}
	for _, r := range [][2]string{{"w/keep", "w/kept"}, {"w/deep", "w/moved"}, {"w/deep/er", "w/moved"}, {"w/hidden", "w/shown"}, {"w/b", "r/b"}, {"w/b", "w/keep/b"}, {"w/b", "w/hidden"}} {
		if e := fsys.Rename(nil, dir+"/"+r[0], nil, dir+"/"+r[1], 0); e == abi.OK {
			t.Errorf("%s can be renamed to %s", r[0], r[1])
		}
	}
	if e := fsys.Symlink("/etc/passwd", nil, dir+"/w/link"); e != abi.EPERM {
		t.Errorf("a link on the host: %v", e)
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
		if diff := cmp.Diff(want, Environment(p)); diff != "" {
			t.Errorf("%s: %s", flag, diff)
		}
	}
}
