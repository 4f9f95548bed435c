package python

import (
	"strings"
	"testing"

	"coderunner/runners"
	"coderunner/runners/python/wheel/wheeltest"
)

// utc is a time zone's data (RFC 8536): version 1, no transitions, one kind of
// time, 0 seconds from UTC.
const utc = "TZif" + "\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
	"\x00\x00\x00\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x01" + "\x00\x00\x00\x04" +
	"\x00\x00\x00\x00\x00\x00" + "UTC\x00"

func zones() wheeltest.Wheel {
	return pure("tzdata", "2026.1", map[string]string{
		"tzdata/__init__.py": "", "tzdata/zoneinfo/__init__.py": "",
		"tzdata/zoneinfo/Europe/__init__.py": "", "tzdata/zoneinfo/Europe/Nowhere": utc,
	})
}

// There is no system that has time zones, so who uses module zoneinfo gets
// them, be it the program or a package that asks for them where there are none.
func TestTimeZones(t *testing.T) {
	x := newIndex(t)
	x.add(zones())
	x.add(pure("zoned", "1.0", map[string]string{"zoned.py": "from zoneinfo import ZoneInfo\n"},
		`tzdata>=2020; sys_platform == "win32"`, `tzdata; platform_system == 'Windows' and extra == "x"`, `nowhere; sys_platform == "win32"`))
	x.module("alpha", "1.0")
	r := x.newRunner(base{}, false, t.TempDir())
	for code, want := range map[string]string{
		"from zoneinfo import ZoneInfo\nstr(ZoneInfo('Europe/Nowhere'))":                                       "tzdata 2026.1",
		"import datetime, zoneinfo\nimport alpha\nstr(zoneinfo.ZoneInfo('Europe/Nowhere'))":                    "alpha 1.0, tzdata 2026.1",
		"import zoned\nstr(zoned.ZoneInfo('Europe/Nowhere'))":                                                  "tzdata 2026.1, zoned 1.0",
		"import zoned\nfrom zoneinfo import ZoneInfo\nstr(ZoneInfo('Europe/Nowhere'))":                         "tzdata 2026.1, zoned 1.0",
		"zone = '''import zoneinfo'''\nimport alpha\nzone = str(__import__('datetime').UTC)\n'Europe/Nowhere'": "alpha 1.0",
	} {
		for range 2 { // the second time, on a snapshot or a plan of the first
			o := run(t, r, code)
			value(t, o, "'Europe/Nowhere'")
			if got := installed(o); got != want {
				t.Errorf("%s\nhas %s, want %s", code, got, want)
			}
		}
	}
	o := run(t, r, "import alpha, importlib\nimportlib.import_module(''.join(['zone', 'info'])).ZoneInfo('Europe/Nowhere')")
	if o.Error == nil || !strings.Contains(o.Error.Message, "\nTime zones are in the package tzdata: name it in") {
		t.Errorf("without them: %+v", o.Error)
	}

	none := newIndex(t).newRunner(base{}, false, t.TempDir())
	value(t, run(t, none, "import zoneinfo\n1"), "1")
	o = run(t, none, "import zoneinfo\nzoneinfo.ZoneInfo('Europe/Nowhere')")
	if o.Error == nil || !strings.Contains(o.Error.Message, "cannot be installed: there is no package of this name") {
		t.Errorf("where they cannot be had: %+v", o.Error)
	}
}

// Modules whose package does not have their name.
func TestSharedNames(t *testing.T) {
	x := newIndex(t)
	x.add(pure("google_cloud_one", "1.0", map[string]string{"google/cloud/one.py": "x = 1"}))
	x.add(pure("google_cloud_two", "1.0", map[string]string{"google/cloud/two.py": "x = 2"}))
	x.add(pure("setuptools", "81.0", map[string]string{"pkg_resources/__init__.py": "x = 3"}))
	x.add(pure("setuptools", "82.0", map[string]string{"setuptools/__init__.py": ""}))
	r := x.newRunner(base{}, false, t.TempDir())
	value(t, run(t, r, "from google.cloud import one, two as t\nfrom google.cloud.one import x\none.x + t.x + x"), "4")
	o := run(t, r, "import pkg_resources; pkg_resources.x")
	value(t, o, "3")
	if got := installed(o); got != "setuptools 81.0" {
		t.Errorf("packages are %s", got)
	}
}

// A name that no index has may be a slip.
func TestMeantModules(t *testing.T) {
	x := newIndex(t)
	x.add(wheeltest.Wheel{Filename: "maths-1.0-cp314-cp314-win_amd64.whl"})
	x.add(wheeltest.Wheel{Filename: "quaint-1.0-cp314-cp314-win_amd64.whl"})
	r := x.newRunner(base{}, false, t.TempDir())
	for _, test := range []struct{ code, hint string }{
		{"import maths", "Did you mean: 'math'?"},
		{"x = 1\nimport colections", "Did you mean: 'collections'?"},
		{"open('helper.py', 'w').close()\nimport hepler", "Did you mean: 'helper'?"},
		{"import quite_another", ""},
		{"try: import quaint\nexcept ImportError: raise", ""},
	} {
		if o := run(t, r, test.code); o.Status != runners.NotInstalled || o.Error.Hint != test.hint || o.Error.Line == 0 {
			t.Errorf("%s: %s %+v, want %q", test.code, o.Status, o.Error, test.hint)
		}
	}
}

// What Python says of a world that is not here is followed by what to do. Package hint has
// the cases that need no packages of their own.
func TestHints(t *testing.T) {
	x := newIndex(t)
	x.add(wheeltest.Wheel{Filename: "binary-1.0-cp314-cp314-win_amd64.whl"})
	x.add(wheeltest.Wheel{Filename: "pyarrow-1.0-cp314-cp314-win_amd64.whl"})
	x.add(pure("lazy", "1.0", map[string]string{
		"lazy.py": "def parquet():\n  try: import pyarrow\n  except ImportError: raise ImportError('Use pip or conda to install the pyarrow package.')\ndef f():\n  import gamma_ray\ndef binary():\n  try: import binary\n  except ImportError: raise ImportError('Use pip or conda to install the binary package.')\n",
		"gone.py": "import lazy.inside"}, `binary; extra == "binary"`, `pyarrow; extra == "parquet"`))
	x.add(pure("pynamed", "1.0", map[string]string{"named/__init__.py": "", "_private.py": "", "single.py": ""}))
	x.add(pure("hollow", "1.0", nil))
	x.add(pure("sounding", "1.0", map[string]string{"sounding.py": "import audioop"}))
	r := x.newRunner(base{}, false, t.TempDir())
	for _, test := range []struct{ code, want string }{
		{"import hollow", "The package hollow is here, but has no module of that name. Another version"},
		{"import pynamed", "The package pynamed is here, but has no module of that name; it has named, single. Another version or package goes into the argument packages"},
		{"import lazy\nlazy.f()", "name it in the argument packages (--package on the command line); it is most likely gamma-ray."},
		{"raise NotImplementedError('Do you have cryptography installed?')", "There is no pip here"},
		{"import sounding", "Where the server cannot fetch that, sounding cannot be used."},
		{"class App:\n  def run(self): self.items\napp = App()\napp.run()", ""},
		{"environ = {}\ndef f(): return {}['x']\nenviron[f()]", ""},
		{"len(range(10**10))", "len(), indexes and C's functions take at most sys.maxsize"},
		{"import subprocess\nsubprocess.run(['nothing'])", ""},
		{"open('convert')", ""},
		{"import os\nos.fork()", ""},
		{"import lazy\nlazy.binary()", "The package binary cannot be installed: no wheel for this runtime"},
		{"import lazy\nlazy.parquet()", "Instead of pyarrow, use CSV or JSON files."},
		{"raise LookupError(\"Resource 'punkt' not found: >>> nltk.download('punkt')\\n\")", "NLTK's data are no package"},
		{"open('/mnt/database')", ""},
		{"import hashlib\nhashlib.nothing", ""},
		{"1\nx y", ""},
		{"import lazy\nimport lazy.inside", "lazy is the package lazy 1.0 here. Another version or package goes into the argument packages (--package on the command line), a file of your own into files (--file)."},
		{"from lazy.inside import x", "a file of your own into files"},
		{"from lazy import settings", "a file of your own into files"},
		{"from named import settings\nimport pynamed", "named is the package pynamed 1.0 here"},
		{"import lazy\nlazy.settings", "a file of your own into files"},
		{"import lazy\nlazy.f.settings", ""},
		{"import lazy, gone", ""},
		{"from json import settings", ""},
		{"# /// script\n# dependencies = ['lazy']\n# ///\nfrom lazy import settings", ""},
		{"raise ModuleNotFoundError('no such thing')", ""},
		{"raise ValueError('pip')", ""},
	} {
		o := run(t, r, test.code)
		if o.Status != runners.Failed {
			t.Errorf("%s\ncame to %s %+v", test.code, o.Status, o.Error)
			continue
		}
		_, hint, _ := strings.Cut(o.Error.Message, "\n")
		if !strings.Contains(hint, test.want) || test.want == "" && hint != "" {
			t.Errorf("%s\nhas the hint %q, want %q", test.code, hint, test.want)
		}
		if !strings.HasSuffix(o.Error.Traceback, o.Error.Message+"\n") {
			t.Errorf("%s\nthe traceback does not end with %q:\n%s", test.code, o.Error.Message, o.Error.Traceback)
		}
	}
	// A cause in no line of the program whose message is quoted is not shown again.
	for code, causes := range map[string]int{
		"raise ConnectionError('refused (no net)') from OSError(13, 'no net')":                      0,
		"import urllib.request as u\nu.urlopen('http://a.example')":                                 0,
		"try:\n  {}['kk']\nexcept KeyError as e:\n  raise ValueError(f'no {e}') from e":             1,
		"import urllib.request as u\ntry:\n  u.urlopen('http://a.example')\nexcept OSError:\n  1/0": 1,
	} {
		if o := run(t, r, code); strings.Count(o.Error.Traceback, "exception:\n")+strings.Count(o.Error.Traceback, "occurred:\n") != causes {
			t.Errorf("%s\nwant %d causes:\n%s", code, causes, o.Error.Traceback)
		}
	}
	// The list of what is not here is the runtime's.
	missing := run(t, r, `import sys, importlib.util as u
sorted(n for n in sys.stdlib_module_names if not n.startswith('_') and n not in {'pydoc_data'} and u.find_spec(n) is None)`)
	if missing.Result == nil {
		t.Fatalf("%+v", missing.Error)
	}
	if want := "['curses', 'ensurepip', 'idlelib', 'msvcrt', 'nt', 'tkinter', 'turtle', 'turtledemo', 'venv', 'winreg', 'winsound']"; missing.Result.Text != want {
		t.Errorf("missing are %s, and rows are for %s", missing.Result.Text, want)
	}
}
