package deno

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"coderunner/cache"
	"coderunner/runners"
)

// TestRunDirs has runs leave their directories in all kinds of ways.
func TestRunDirs(t *testing.T) {
	all, err := openRunDirs(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer all.close()
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.Mkdir(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(outside, "kept")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, leave := range map[string]func(f *runDir) error{
		"nothing":          func(f *runDir) error { return nil },
		"files":            func(f *runDir) error { return os.WriteFile(filepath.Join(f.work(), "x"), nil, 0o600) },
		"temporary":        func(f *runDir) error { return os.MkdirAll(filepath.Join(f.temp(), "x", "y"), 0o700) },
		"report":           func(f *runDir) error { return os.WriteFile(f.report(), nil, 0o600) },
		"closed directory": func(f *runDir) error { return os.Mkdir(filepath.Join(f.work(), "x"), 0) },
		"closed":           func(f *runDir) error { return os.Chmod(f.work(), 0) },
		"open":             func(f *runDir) error { return os.Chmod(f.temp(), 0o777) },
		"more":             func(f *runDir) error { return os.Mkdir(filepath.Join(f.path, "x"), 0o700) },
		"less":             func(f *runDir) error { return os.Remove(f.temp()) },
		"link in it":       func(f *runDir) error { return os.Symlink(outside, filepath.Join(f.work(), "x")) },
		"link in its place": func(f *runDir) error {
			if err := os.Remove(f.work()); err != nil {
				return err
			}
			return os.Symlink(outside, f.work())
		},
		"another in its place": func(f *runDir) error {
			if err := os.Rename(f.work(), filepath.Join(f.temp(), "was")); err != nil {
				return err
			}
			return os.Mkdir(f.work(), 0o700)
		},
	} {
		for _, keep := range []bool{true, false} {
			f, err := all.take()
			if err != nil {
				t.Fatal(err)
			}
			if err := leave(f); err != nil {
				t.Fatal(err)
			}
			if err := f.giveBack(keep); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			again, err := all.take()
			if err != nil || again.path != f.path {
				t.Fatalf("%s: %v, %v", name, again, err)
			}
			for i, dir := range again.dirs() {
				info, err := os.Lstat(dir)
				if err != nil || info.Mode() != os.ModeDir|0o700 {
					t.Fatalf("%s: %v, %v", name, info, err)
				}
				entries, err := os.ReadDir(dir)
				if want := []int{3, 0, 0, 0}[i]; err != nil || len(entries) != want {
					t.Errorf("%s: %s has %v, %v", name, dir, entries, err)
				}
			}
			if err := again.giveBack(keep); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := os.Lstat(kept); err != nil {
		t.Errorf("what a link led to: %v", err)
	}
	if all.next != 1 {
		t.Errorf("%d names were used", all.next)
	}
}

// TestUnusableDirs has Deno told to work where it cannot.
func TestUnusableDirs(t *testing.T) {
	dirs := map[string]string{filepath.Join(t.TempDir(), "a,b"): "comma"}
	if runtime.GOOS == "linux" {
		if dir, err := os.MkdirTemp("/dev/shm", "coderunner-test-"); err == nil { // not every system has it
			defer os.RemoveAll(dir)
			dirs[dir] = "below /dev/"
		}
	}
	c, err := cache.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for dir, want := range dirs {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("TMPDIR", dir)
		r, err := New(Config{Cache: c})
		if err == nil {
			r.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "set TMPDIR") {
			t.Errorf("%s: %v, want it to say %q", dir, err, want)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); left != nil {
			t.Errorf("%q are left", left)
		}
	}
}

// TestStrangeDir has a temporary directory whose name is another one in a URL:
// errors say the same as ever.
func TestStrangeDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b %41 ü#?")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", dir)
	r := open(t, "", nil)
	for code, want := range map[string]string{
		"let a;\nlet a;":                            "SyntaxError: Identifier 'a' has already been declared",
		"1;\nconst x = ;":                           "SyntaxError: Expression expected",
		"\nimport './nope.ts'":                      `TypeError: Module not found "./nope.ts"; the argument files puts files beside the program (--file on the command line)`,
		"1;\n(() => { throw new Error('mine') })()": "Error: mine",
	} {
		o := run(t, r, runners.Request{Code: code})
		if o.Error == nil || o.Error.Type+": "+o.Error.Message != want || o.Error.Line != 2 || strings.Contains(o.Error.Traceback, "file:") {
			t.Errorf("%q: %+v, want %s in line 2", code, o.Error, want)
		}
	}
}
