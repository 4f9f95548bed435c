package python

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coderunner/runners"
	"coderunner/runners/python/wheel/wheeltest"
	"coderunner/runners/runnertest"
)

func pure(name, version string, files map[string]string, requires ...string) wheeltest.Wheel {
	return wheeltest.Wheel{Filename: name + "-" + version + "-py3-none-any.whl", Files: files, Requires: requires}
}

// The lock file's packages come from its base, in its versions, unless the
// request says otherwise or they cannot be installed there.
func TestLockFile(t *testing.T) {
	x := newIndex(t)
	x.module("alpha", "2.0")
	x.module("gone", "3.0")
	x.module("wrong", "3.0")
	x.module("half", "2.0")
	b := newBase(t, map[string][]string{"alpha": {"beta"}, "half": {"native"}},
		pure("alpha", "1.0", map[string]string{"alpha_module.py": "import beta_module as b\nversion = '1.0'\n"}),
		pure("beta", "1.0", map[string]string{"beta_module.py": ""}),
		pure("gone", "1.0", nil), pure("wrong", "1.0", nil), pure("half", "1.0", nil),
		wheeltest.Wheel{Filename: "native-1.0-cp313-cp313-pyemscripten_2025_0_wasm32.whl"},
	)
	if err := os.Remove(filepath.Join(b.dir, "gone-1.0-py3-none-any.whl")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "wrong-1.0-py3-none-any.whl"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := x.newRunner(b, false, t.TempDir())
	o := run(t, r, "import alpha_module; alpha_module.version")
	value(t, o, "'1.0'")
	if got := installed(o); got != "alpha 1.0, beta 1.0" || o.Packages[0].Source != "pyodide" {
		t.Errorf("packages are %s, %+v", got, o.Packages)
	}
	for packages, want := range map[string]string{
		"alpha>=2": "alpha 2.0", // asked for by the request
		"gone":     "gone 3.0",  // not in the directory
		"wrong":    "wrong 3.0", // another file than the lock file says
		"half":     "half 2.0",  // needs something that cannot be loaded
	} {
		if got := installed(run(t, r, "1", packages)); got != want {
			t.Errorf("%s came to %q, want %q", packages, got, want)
		}
	}
	refused(t, run(t, r, "import native_module"), "native", "no package of this name")
}

// A package may be had without what it needs, and others besides it.
func TestAlone(t *testing.T) {
	x := newIndex(t)
	x.module("alpha", "1.0", "nowhere")
	x.module("beta", "1.0")
	r := x.newRunner(base{}, false, t.TempDir())
	o := run(t, r, "import micropip\nmicropip.install('alpha', deps=False)\nmicropip.install('beta')\nimport alpha, beta\nsorted(micropip.list())")
	value(t, o, "['alpha', 'beta']")
	if o = run(t, r, "import micropip\nmicropip.install('alpha')"); o.Error == nil || !strings.Contains(o.Error.Message, "nowhere") {
		t.Errorf("with what it needs: %+v", o.Error)
	}
}

// A wheel of a project that works without its extension module is used for
// its Python, whatever it was built for.
func TestWithoutNatives(t *testing.T) {
	x := newIndex(t)
	x.add(wheeltest.Wheel{
		Filename: "markupsafe-3.0-cp314-cp314-manylinux_2_17_x86_64.whl",
		Files: map[string]string{
			"markupsafe/__init__.py":                     "try:\n  from ._speedups import x\nexcept ImportError:\n  x = 'pure'\n",
			"markupsafe/_speedups.cpython-314-x86_64.so": "\x7fELF",
		},
	})
	x.addBytes("markupsafe-3.0-cp314-cp314-win_amd64.whl", []byte("x"))
	r := x.newRunner(base{}, false, t.TempDir())
	value(t, run(t, r, "import markupsafe, os; markupsafe.x, os.listdir(os.path.dirname(markupsafe.__file__))"),
		"('pure', ['__init__.py', '__pycache__'])")

	// psutil's is needed: one in Python is in its place.
	x.add(wheeltest.Wheel{
		Filename: "psutil-7.2.2-cp36-abi3-manylinux2010_x86_64.whl",
		Files: map[string]string{
			"psutil/__init__.py":           "from . import _common, _psutil_linux as cext\nfound = _common.LINUX, cext.version, cext.net_if_addrs()[0][0]\n",
			"psutil/_common.py":            "LINUX = False\n",
			"psutil/_psutil_linux.abi3.so": "\x7fELF",
		},
	})
	o := run(t, r, "import psutil; psutil.found")
	value(t, o, "(True, 722, 'lo')")
	if len(o.Packages) != 1 || !o.Packages[0].Adapted {
		t.Errorf("that it has no machine code is not said: %+v", o.Packages)
	}
}

// TestPrograms has programs in the format of package runnertest, and packages for them.
func TestPrograms(t *testing.T) {
	x := newIndex(t)
	x.module("alpha", "1.0")
	x.module("alpha", "2.0")
	x.module("beta", "1.0")
	x.add(pure("python_dotenv", "1.0", map[string]string{"dotenv/__init__.py": "x = 'alias'"}))
	x.add(pure("google_thing", "1.0", map[string]string{"google/thing/__init__.py": "x = 'shared'"}))
	x.add(pure("broken", "1.0", map[string]string{"broken.py": "x = 1", "broken_2.py": "print 'old'", "deepest/x.py": "y = 3", "deep.py": strings.Repeat("(", 5000)}))
	x.add(pure("shadow", "1.0", map[string]string{"json.py": "x = 'shadow'", "micropip/__init__.py": "x = 'shadow'", "shadow.py": ""}))
	r := x.newRunner(base{}, false, t.TempDir())
	cases, err := runnertest.Load(os.DirFS("testdata"), "programs")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			o, err := r.Run(t.Context(), c.Request(runners.Python))
			if err != nil {
				t.Fatal(err)
			}
			wrong, err := c.Check(runners.Python, o)
			if err != nil || len(wrong) > 0 {
				t.Errorf("%s\n%v %v\nthe outcome: %+v, error %+v", c.Promise, wrong, err, o, o.Error)
			}
		})
	}
	// Others have imported it before: it is compiled.
	value(t, run(t, r, "import alpha\nalpha.__cached__.rpartition('/')[2], __import__('os').path.exists(alpha.__cached__)"), "('alpha.cpython-314.pyc', True)")
	refused(t, run(t, r, "import nowhere.inside"), "nowhere", "give its name in packages")
}

func TestRequestErrors(t *testing.T) {
	x := newIndex(t)
	r := x.newRunner(base{}, false, t.TempDir())
	for _, test := range []struct {
		req      runners.Request
		argument string
		want     string
	}{
		{runners.Request{Packages: []string{"a b"}}, "packages", `"a b" is not a Python requirement`},
		{runners.Request{Packages: []string{"npm:zod"}}, "packages", "javascript"},
		{runners.Request{Packages: []string{"alpha; os_name = 5"}}, "packages", "alpha; os_name = 5"},
		{runners.Request{Code: "# /// script\n# dependencies = [\n# ///\n"}, "code", "TOML"},
		{runners.Request{Code: "# /// script\n# dependencies = ['a b']\n# ///\n"}, "code", "script block"},
		{runners.Request{Code: "# /// script\n# requires-python = '<3.9'\n# ///\n"}, "code", "wants Python <3.9, this is 3.14"},
		{runners.Request{Files: []runners.File{{Path: "../x"}}}, "files", "\"../x\", which must be relative"},
		{runners.Request{Files: []runners.File{{Path: "/x"}}}, "files", "\"/x\", which must be relative"},
		{runners.Request{Files: []runners.File{{Path: "a"}, {Path: "a"}}}, "files", "twice"},
		{runners.Request{Files: []runners.File{{Path: "a"}, {Path: "a/b"}}}, "files", "both a file and a directory"},
		{runners.Request{Args: []string{"a\x00"}}, "args", "NUL"},
		{runners.Request{Language: runners.TypeScript}, "language", "use python"},
	} {
		if test.req.Language == "" {
			test.req.Language = runners.Python
		}
		_, err := r.Run(context.Background(), test.req)
		bad, ok := errors.AsType[*runners.RequestError](err)
		if !ok || bad.Argument != test.argument || !strings.Contains(bad.Message, test.want) {
			t.Errorf("%+v: %v, want a RequestError for %s with %q", test.req, err, test.argument, test.want)
		}
	}
}

// A run can be cancelled while its packages are prepared, and the next one is
// none the worse for it.
func TestCancelled(t *testing.T) {
	x := newIndex(t)
	r := x.newRunner(base{}, false, t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o, err := r.Run(ctx, runners.Request{
		Language: runners.Python, Packages: []string{"alpha"}, Code: "1",
		Progress: func(p runners.Progress) {
			if p.Phase == "resolve" {
				cancel()
			}
		},
	})
	if err != nil || o.Status != runners.Cancelled {
		t.Errorf("%+v, %v, want cancelled", o, err)
	}
	o, err = r.Run(ctx, runners.Request{Language: runners.Python, Code: "print(1)"})
	if err != nil || o.Status != runners.Cancelled || o.Stdout != "" {
		t.Errorf("%+v, %v, want cancelled before it began", o, err)
	}
	x.module("alpha", "1.0")
	value(t, run(t, r, "import alpha; alpha.version"), "'1.0'")
}

// A file that takes any Emscripten for a browser is replaced, where the wheel
// has it.
func TestOverlay(t *testing.T) {
	x := newIndex(t)
	x.add(pure("httpx2_jsfetch", "1.0", map[string]string{"httpx2_jsfetch/__init__.py": "import js\n"}))
	x.module("httpcore2", "1.0")
	x.add(pure("httpx2", "1.0", map[string]string{
		"httpx2/__init__.py": "", "httpx2/_transports/__init__.py": "from httpx2_jsfetch import JavascriptFetchTransport as HTTPTransport\n",
		"httpx2/_transports/default.py": "class HTTPTransport:\n  import httpcore2\nclass AsyncHTTPTransport: pass\n",
	}, "httpx2-jsfetch; sys_platform == 'emscripten'", "httpcore2; sys_platform != 'emscripten'"))
	x.add(pure("elsewhere", "1.0", map[string]string{"elsewhere.py": "x = 1"}, "nowhere; sys_platform != 'emscripten'"))
	r := x.newRunner(base{}, false, t.TempDir())
	o := run(t, r, "import elsewhere\nfrom httpx2._transports import HTTPTransport\nHTTPTransport.httpcore2.version")
	value(t, o, "'1.0'")
	if got := installed(o); got != "elsewhere 1.0, httpcore2 1.0, httpx2 1.0, httpx2-jsfetch 1.0" {
		t.Errorf("packages are %s", got)
	}
}

// Python's turtle draws in a window: a package that draws SVG is in its place.
func TestTurtle(t *testing.T) {
	x := newIndex(t)
	x.add(pure("basthon_turtle", "1.0", map[string]string{
		"turtle.py": "import sys\nfrom basthon import turtle\nsys.modules[__name__] = turtle\n",
		"basthon/turtle/__init__.py": `class Screen:
  one = None
  def __new__(cls):
    cls.one = cls.one or object.__new__(cls)
    return cls.one
  def animation(self, how): self.how = how
  def turtles(self): return [1]
  def show_scene(self): self.how += ", shown"
  def svg(self): return f"<svg>{self.how}</svg>"
`}))
	o := run(t, x.newRunner(base{}, false, t.TempDir()), "import turtle\nturtle.Screen().setup(9, 9)\nturtle.Screen().window_width()")
	value(t, o, "640")
	if len(o.Displays) != 1 || o.Displays[0].MIME != "image/svg+xml" || string(o.Displays[0].Data) != "<svg>off, shown</svg>" {
		t.Errorf("it shows %q", o.Displays)
	}
}

// What a library imports only when a function needs it is prepared if the program's
// text has a word of the extra, and installed when the function imports it.
func TestExtras(t *testing.T) {
	x := newIndex(t)
	x.module("sheet", "1.0", "sheet-core")
	x.module("sheet-core", "1.0")
	x.module("markup", "1.0")
	x.module("unused", "1.0")
	x.module("numbers-core", "1.0")
	x.add(wheeltest.Wheel{
		Filename: "frames-1.0-py3-none-any.whl",
		Files: map[string]string{
			"frames/__init__.py": "try:\n  import sheet\nexcept ImportError:\n  sheet = None\ndef to_excel():\n  from frames import _excel\n  return _excel.sheet.version\ndef to_html():\n  import markup\n",
			"frames/_excel.py":   "import sheet, sheet_core",
			"frames/express.py":  "import numbers_core",
		},
		Requires: []string{`sheet; extra == "excel"`, `markup; python_version > "3" and extra == "html"`, `unused; extra == "all"`, `unused; extra == "other"`, `native; extra == "excel"`, `numbers-core; extra == "express"`},
		Headers:  []string{"Provides-Extra: excel", "Provides-Extra: html", "Provides-Extra: all", "Provides-Extra: other"},
	})
	x.module("pandas", "1.0")
	x.add(pure("plotly", "1.0", map[string]string{"plotly/__init__.py": "", "plotly/express.py": "def bar():\n  import pandas\n  return pandas.version\n"}))
	x.module("httpx2", "1.0")
	x.module("httpx", "1.0")
	x.module("python-multipart", "1.0")
	x.add(wheeltest.Wheel{
		Filename: "starlette-1.0-py3-none-any.whl",
		Files:    map[string]string{"starlette/__init__.py": "", "starlette/testclient.py": "try:\n  import httpx2 as httpx\nexcept ImportError:\n  import httpx\nTestClient = httpx.__name__"},
		Requires: []string{`httpx; extra == "full"`, `httpx2; extra == "full"`, `python-multipart; extra == "full"`, `unused; extra == "full"`},
	})
	x.add(wheeltest.Wheel{
		Filename: "sqlalchemy-2.1-py3-none-any.whl",
		Files:    map[string]string{"sqlalchemy/__init__.py": "def create_async_engine(url): return __import__('sheet'), __import__('markup')"},
		Requires: []string{`greenlet; extra == "asyncio"`, `sheet; extra == "driver"`},
	})
	x.module("greenlet", "1.0")
	x.module("numpy", "1.0")
	x.module("scipy", "1.0")
	x.module("beside", "1.0")
	x.add(wheeltest.Wheel{
		Filename: "networkx-3.0-py3-none-any.whl",
		Files:    map[string]string{"networkx/__init__.py": "def pagerank():\n  import numpy, scipy\n  return scipy.version"},
		Requires: []string{`numpy; extra == "default"`, `scipy; extra == "default"`, `beside; extra == "default"`},
	})
	x.add(wheeltest.Wheel{
		Filename: "qrcode-8.0-py3-none-any.whl",
		Files:    map[string]string{"qrcode/__init__.py": "def make(data):\n  import markup"},
		Requires: []string{`markup; extra == "pil"`},
	})
	x.module("matplotlib", "1.0")
	x.module("sympy", "1.0")
	x.add(wheeltest.Wheel{
		Filename: "PyJWT-2.0-py3-none-any.whl",
		Files:    map[string]string{"jwt/__init__.py": "def encode(data, algorithm):\n  import cryptography"},
		Requires: []string{`cryptography; extra == "crypto"`},
	})
	x.module("cryptography", "1.0")
	x.addBytes("native-1.0-cp314-cp314-win_amd64.whl", []byte("x"))
	r := x.newRunner(base{}, false, t.TempDir())
	for _, test := range []struct{ what, code, want, installed string }{
		{"in no extra", "import sympy\nif 0: sympy.plot_implicit\n1", "1", "matplotlib 1.0, sympy 1.0"},
		{"in no extra, by a text", "import sympy\nif 0: sympy.lambdify(1, 2, 'numpy')\n1", "1", "numpy 1.0, sympy 1.0"},
		{"an algorithm's package", "import jwt\njwt.encode(1, 'RS256')", "", "cryptography 1.0, pyjwt 2.0"},
		{"another algorithm", "import jwt\nif 0: jwt.encode(1, 'HS256')\n1", "1", "pyjwt 2.0"},
		{"in no extra and not used", "import sympy\nif 0: sympy.solve\n1", "1", "sympy 1.0"},
		{"used", "import frames\nframes.sheet, frames.to_excel()", "(None, '1.0')", "frames 1.0, sheet 1.0, sheet-core 1.0"},
		{"not reached", "import frames\nif not frames: frames.to_excel()\n1", "1", "frames 1.0"},
		{"not a word of it", "import frames\ngetattr(frames, 'to_' + 'excel').__name__", "'to_excel'", "frames 1.0"},
		{"a submodule of its name", "import frames.express as fx\nfx.numbers_core.version", "'1.0'", "frames 1.0, numbers-core 1.0"},
		{"a submodule of its name, as a member", "from frames import express\nexpress.numbers_core.version", "'1.0'", "frames 1.0, numbers-core 1.0"},
		{"used by a submodule", "import plotly.express as px\npx.bar()", "'1.0'", "pandas 1.0, plotly 1.0"},
		{"used by another submodule", "import plotly\n1", "1", "plotly 1.0"},
		{"named", "import frames\nprint('markup')\nframes.sheet", "", "frames 1.0, markup 1.0"},
		{"a test client", "from starlette.testclient import TestClient\nTestClient", "'httpx2'", "httpx2 1.0, starlette 1.0"},
		{"a test client's package, by the program", "import httpx\nfrom starlette.testclient import TestClient\nTestClient", "'httpx'", "httpx 1.0, starlette 1.0"},
		{"a form", "import starlette\nstarlette or starlette.Form\n1", "1", "python-multipart 1.0, starlette 1.0"},
		{"the driver of a URL", "import sqlalchemy\nu = f'db+sheet://{1}:x@y'\nu", "'db+sheet://1:x@y'", "sheet 1.0, sheet-core 1.0, sqlalchemy 2.1"},
		{"an asynchronous engine", "from sqlalchemy import create_async_engine as c\n1", "1", "greenlet 1.0, sqlalchemy 2.1"},
		{"a function that needs two", "import networkx\nnetworkx.pagerank()", "'1.0'", "networkx 3.0, numpy 1.0, scipy 1.0"},
		{"a word that is every extra's", "import networkx\ndefault = 1\ndefault", "1", "networkx 3.0"},
		{"a function that another word means", "import networkx\nif 0: networkx.adjacency_matrix\n1", "1", "networkx 3.0, scipy 1.0"},
		{"a word of another extra", "import qrcode\nqrcode.make('x')", "", "markup 1.0, qrcode 8.0"},
		{"asked for by the program itself", "import frames\nx = frames.to_excel\nimport importlib\nimportlib.util.find_spec('she' + 'et')", "", "frames 1.0"},
	} {
		x.asked()
		o := run(t, r, test.code)
		if test.want != "" {
			value(t, o, test.want)
		}
		if got := installed(o); o.Status != runners.Succeeded || got != test.installed {
			t.Errorf("%s: %s with %s, want %s (%v)", test.what, o.Status, got, test.installed, o.Error)
		}
		if asked := x.asked(); slices.ContainsFunc(asked, func(path string) bool { return strings.Contains(path, "/beside") }) {
			t.Errorf("%s: the index was asked for %v", test.what, asked)
		}
	}
	// What a running program does changes nothing of what the index is asked for.
	var asked [2][]string
	for i, secret := range []string{"", "1"} {
		other := x.newRunner(base{}, false, t.TempDir())
		_, asked[i] = runFiles(t, x, other, "import frames\nif open('secret').read(): frames.to_excel()\nelse: frames.to_html", map[string]string{"secret": secret})
	}
	if !slices.Equal(asked[0], asked[1]) || !slices.Contains(asked[0], "sheet") {
		t.Errorf("the index was asked for %v and for %v", asked[0], asked[1])
	}
	locked, err := r.Lock(t.Context(), runners.Request{Language: runners.Python, Code: "import frames\nframes.to_excel()"})
	if err != nil || !strings.Contains(locked.Text, "sheet-core") {
		t.Fatalf("%+v, %v", locked, err)
	}
	o, err := r.Run(t.Context(), runners.Request{Language: runners.Python, Code: locked.Text, Locked: true})
	if err != nil {
		t.Fatal(err)
	}
	value(t, o, "'1.0'")
}
