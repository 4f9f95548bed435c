package deno

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"coderunner/cache"
	"coderunner/runners"
	"coderunner/runners/deno/process"
)

// TestRunDirs has runs leave their directories in all kinds of ways.
func TestRunDirs(t *testing.T) {
	all, err := process.OpenRunDirs(nil, false)
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.Mkdir(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(outside, "kept")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, leave := range map[string]func(f *process.RunDir) error{
		"nothing":          func(f *process.RunDir) error { return nil },
		"files":            func(f *process.RunDir) error { return os.WriteFile(filepath.Join(f.Work(), "x"), nil, 0o600) },
		"temporary":        func(f *process.RunDir) error { return os.MkdirAll(filepath.Join(f.Temp(), "x", "y"), 0o700) },
		"report":           func(f *process.RunDir) error { return os.WriteFile(f.Report(), nil, 0o600) },
		"closed directory": func(f *process.RunDir) error { return os.Mkdir(filepath.Join(f.Work(), "x"), 0) },
		"closed":           func(f *process.RunDir) error { return os.Chmod(f.Work(), 0) },
		"open":             func(f *process.RunDir) error { return os.Chmod(f.Temp(), 0o777) },
		"more":             func(f *process.RunDir) error { return os.Mkdir(filepath.Join(f.Path, "x"), 0o700) },
		"less":             func(f *process.RunDir) error { return os.Remove(f.Temp()) },
		"link in it":       func(f *process.RunDir) error { return os.Symlink(outside, filepath.Join(f.Work(), "x")) },
		"link in its place": func(f *process.RunDir) error {
			if err := os.Remove(f.Work()); err != nil {
				return err
			}
			return os.Symlink(outside, f.Work())
		},
		"another in its place": func(f *process.RunDir) error {
			if err := os.Rename(f.Work(), filepath.Join(f.Temp(), "was")); err != nil {
				return err
			}
			return os.Mkdir(f.Work(), 0o700)
		},
	} {
		for _, keep := range []bool{true, false} {
			f, err := all.Take()
			if err == nil {
				err = f.Complete()
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := leave(f); err != nil {
				t.Fatal(err)
			}
			if err := f.GiveBack(keep); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			again, err := all.Take()
			if err != nil || again.Path != f.Path {
				t.Fatalf("%s: %v, %v", name, again, err)
			}
			if err := again.Complete(); err != nil {
				t.Fatal(err)
			}
			for i, dir := range again.Dirs() {
				info, err := os.Lstat(dir)
				if err != nil || info.Mode() != os.ModeDir|0o700 {
					t.Fatalf("%s: %v, %v", name, info, err)
				}
				entries, err := os.ReadDir(dir)
				if want := []int{3, 0, 0, 0}[i]; err != nil || len(entries) != want {
					t.Errorf("%s: %s has %v, %v", name, dir, entries, err)
				}
			}
			if err := again.GiveBack(keep); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := os.Lstat(kept); err != nil {
		t.Errorf("what a link led to: %v", err)
	}
	if all.Next != 1 {
		t.Errorf("%d names were used", all.Next)
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
		r, err := New(process.Config{Cache: c})
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

// TestTempDirNames has temporary directories whose names are those in a DENO_DIR, and others
// that Deno writes down in its own way: there is a place for compiled TypeScript.
func TestTempDirNames(t *testing.T) {
	address, runner := modules(t, map[string]string{"/a.js": "export const a = 1;"})
	runner(0) // what all tests share is made elsewhere
	for _, name := range []string{"work/npm/x", "file/gen/d0/r0", "https/remote", "a b", "c:d", strings.Repeat("d/", 40)} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("TMPDIR", dir)
		r := runner(1)
		for _, code := range []string{"const a: number = 1; ", "import { a } from '" + address + "/a.js'; "} {
			code += "import { b } from './sub/b.ts'; const { c } = require('./c.ts');\n[a, b, c]"
			for range 2 {
				o := run(t, r, runners.Request{Code: code, Files: []runners.File{
					{Path: "sub/b.ts", Data: []byte("export const b: number = 2;")},
					{Path: "c.ts", Data: []byte("export const c: number = 3;")},
				}})
				if o.Result == nil || o.Result.Text != "[ 1, 2, 3 ]" {
					t.Errorf("%s: %s %+v\n%s", name, o.Status, o.Error, o.Stderr)
				}
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(dir); len(left) != 0 {
			t.Errorf("%s: %v is left", name, left)
		}
	}
}
