package python

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coderunner/runners"
	"coderunner/runners/python/lockfile"
	"coderunner/runners/python/wheel/wheeltest"
)

// What an outcome lists, given back with ==, gives the same, whatever is new.
func TestPinnedAgain(t *testing.T) {
	x := newIndex(t)
	x.module("alpha", "1.0", "beta")
	x.module("beta", "1.0")
	first := run(t, x.newRunner(base{}, false, t.TempDir()), "import alpha")
	x.module("alpha", "2.0", "beta")
	x.module("beta", "2.0")
	var pins []string
	for _, p := range first.Packages {
		pins = append(pins, p.Name+"=="+p.Version)
	}
	r := x.newRunner(base{}, false, t.TempDir())
	if got := installed(run(t, r, "import alpha")); got != "alpha 2.0, beta 2.0" {
		t.Errorf("without pins: %s", got)
	}
	again := run(t, r, "import alpha", pins...)
	if installed(first) != "alpha 1.0, beta 1.0" || installed(again) != installed(first) {
		t.Fatalf("first %s, again %s", installed(first), installed(again))
	}
	for i, p := range again.Packages {
		if q := first.Packages[i]; p.SHA256 != q.SHA256 || p.Source != q.Source || p.SHA256 == "" {
			t.Errorf("%+v became %+v", q, p)
		}
	}
}

// A locked program gets what its lock says, and nothing else.
func TestLocked(t *testing.T) {
	x := newIndex(t)
	x.module("alpha", "1.0", "beta")
	x.module("beta", "1.0")
	x.module("other", "1.0")
	r := x.newRunner(base{}, false, t.TempDir())
	const code = "import alpha, sys\nsys.exit(3)\n"
	lock := func(code string) (*runners.Locked, error) {
		return r.Lock(t.Context(), runners.Request{Language: runners.Python, Code: code})
	}
	l, err := lock(code)
	if err != nil || installed(&runners.Outcome{Packages: l.Packages}) != "alpha 1.0, beta 1.0" {
		t.Fatalf("locked %+v, %v", l, err)
	}
	locked := l.Text
	_, err = lock("import nowhere")
	if missing, ok := errors.AsType[*runners.NotInstalledError](err); !ok || missing.Packages[0].Name != "nowhere" {
		t.Errorf("without its package: %v", err)
	}
	if l, err := lock("x = 1 / 0"); err != nil || !strings.Contains(l.Text, "# lock = [\n# ]\n") {
		t.Errorf("without packages: %+v, %v", l, err)
	}
	installs, err := lock("import micropip\nmicropip.install('other')\nimport alpha, other\n[alpha.version, other.version]\n")
	if err != nil || installed(&runners.Outcome{Packages: installs.Packages}) != "alpha 1.0, beta 1.0, other 1.0" {
		t.Fatalf("with what it installs: %+v, %v", installs, err)
	}
	x.module("alpha", "2.0", "beta")
	r = x.newRunner(base{}, false, t.TempDir())
	runLocked := func(code string, packages ...string) (*runners.Outcome, error) {
		return r.Run(t.Context(), runners.Request{Language: runners.Python, Code: code, Packages: packages, Locked: true})
	}
	o, err := runLocked(locked)
	if err != nil || o.ExitCode != 3 || installed(o) != "alpha 1.0, beta 1.0" {
		t.Errorf("locked: %+v, %v", o, err)
	}
	if o, err := runLocked(installs.Text); err != nil || o.Result == nil || o.Result.Text != "['1.0', '1.0']" {
		t.Errorf("locked, and installs: %+v, %v", o, err)
	}
	for _, test := range []struct{ code, packages, name, reason string }{
		{locked + "import other\n", "", "other", "in the program's lock"},
		{locked, "other", "other", "in the program's lock"},
		{locked, "alpha>=2", "alpha>=2", "no version is >=2"},
		{strings.ReplaceAll(locked, o.Packages[1].SHA256, strings.Repeat("0", 64)), "", "beta", "no file of it with the SHA-256"},
	} {
		var packages []string
		if test.packages != "" {
			packages = []string{test.packages}
		}
		o, err := runLocked(test.code, packages...)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		refused(t, o, test.name, test.reason)
	}
	o, err = runLocked("import micropip\ntry:\n  micropip.install('other')\nexcept ValueError as e:\n  print(e)\n" + locked)
	if err != nil || o.ExitCode != 3 || !strings.Contains(o.Stdout, "in the program's lock") {
		t.Errorf("micropip: %+v, %v", o, err)
	}
	_, err = runLocked(code)
	if bad, ok := errors.AsType[*runners.RequestError](err); !ok || !strings.Contains(bad.Message, "coderunner lock") {
		t.Errorf("without a lock: %v", err)
	}
}

// emptyLibrary is the smallest shared library: a module that needs nothing.
const emptyLibrary = "\x00asm\x01\x00\x00\x00" + "\x00\x0f\x08dylink.0\x01\x04\x00\x00\x00\x00"

// Libraries of the lock file's packages are found by those that need them.
func TestSharedLibraries(t *testing.T) {
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	w, err := z.CreateHeader(&zip.FileHeader{Name: "libdemo.so", Method: zip.Store})
	if err == nil {
		_, err = w.Write([]byte(emptyLibrary))
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	b := newBase(t, map[string][]string{"linked": {"libdemo"}}, pure("linked", "1.0", map[string]string{
		"linked_module.py": "import ctypes\nlib = ctypes.CDLL('libdemo.so')\n",
	}))
	b.lock.ByName["libdemo"] = lockfile.Package{
		Name: "libdemo", Version: "7", FileName: "libdemo-7.zip", SHA256: wheeltest.SHA256(buf.Bytes()), Type: "shared_library",
	}
	file := filepath.Join(b.dir, "libdemo-7.zip")
	if err := os.WriteFile(file, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	x := newIndex(t)
	o := run(t, x.newRunner(b, false, t.TempDir()), "import os, linked_module\n(os.listdir('/usr/lib'), linked_module.lib._name)")
	value(t, o, "(['libdemo.so'], 'libdemo.so')")
	if got := installed(o); got != "libdemo 7, linked 1.0" {
		t.Errorf("packages are %s", got)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	refused(t, run(t, x.newRunner(b, false, t.TempDir()), "import linked_module"), "linked", "Pyodide's own build of linked 1.0 needs libdemo", "cannot be fetched")
}

// What a package of the lock file needs on this platform by its own metadata is
// installed, and a lock that has Pyodide's own build says so where that cannot be
// fetched.
func TestLockFileOfAnotherPlace(t *testing.T) {
	framed := pure("framed", "1.0", map[string]string{"framed_module.py": "import more, tzdata\nvalue = 1"},
		`tzdata>=1; sys_platform == "win32"`, `more; sys_platform == "emscripten"`, "other", `never; sys_platform == "win32"`)
	b := newBase(t, nil, framed)
	x := newIndex(t)
	x.module("more", "1.0")
	x.module("tzdata", "1.0")
	x.add(pure("framed", "1.0", map[string]string{"framed_module.py": "value = 2"}))
	o := run(t, x.newRunner(b, false, t.TempDir()), "import framed_module as f\nf.value")
	value(t, o, "1")
	if got := installed(o); got != "framed 1.0, more 1.0, tzdata 1.0" {
		t.Errorf("packages are %s", got)
	}
	locked, err := x.newRunner(b, false, t.TempDir()).Lock(t.Context(), runners.Request{Language: runners.Python, Code: "import framed_module as f\nf.value"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(b.dir); err != nil {
		t.Fatal(err)
	}
	o, err = x.newRunner(b, false, t.TempDir()).Run(t.Context(), runners.Request{Language: runners.Python, Code: locked.Text, Locked: true})
	if err != nil {
		t.Fatal(err)
	}
	refused(t, o, "framed", "the program's lock was written where Pyodide's own build of framed 1.0 could be fetched", "write it anew here")
}
