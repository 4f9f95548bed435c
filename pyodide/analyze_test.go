package pyodide_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"coderunner/pyodide"
	"coderunner/pyodide/pyodidetest"
)

// TestAnalyze: what a program has to install is what it imports and neither
// brings nor makes itself.
func TestAnalyze(t *testing.T) {
	type files = map[string]string
	tests := []struct {
		what, code string
		files      files
		want       string // imports, "?" after optional ones
		members    string
		installs   string // "!" after those without what they need
	}{
		{what: "imports", code: "import a.b, os\nfrom c.d import e\ndef f():\n  import g\ntry:\n  import h\nexcept ImportError:\n  pass", want: "a.b c.d g? h?"},
		{what: "members", code: "from a.b import c as d, e\nfrom os import path\nfrom . import x\ndef f():\n  from g import h", want: "a.b g?", members: "a.b:c a.b:e"},
		{what: "no program", code: "import a\nx y"},
		{what: "statements", code: "import numpy\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n  import foo\nclass C:\n  import klass\nmatch 1:\n  case 1:\n    import matched\nwhile False: pass\nelse:\n  import otherwise\ntry: pass\nexcept ValueError:\n  import handled\nfinally:\n  import final", want: "final foo? handled? klass matched? numpy otherwise"},
		{what: "conditions", code: "import contextlib, sys\nif sys.platform == 'win32':\n  import win\nelse:\n  import unix\nwith contextlib.suppress(ImportError):\n  import maybe\nwith open('a'):\n  import sure\ntry:\n  import fast\nexcept ImportError:\n  import slow\nelse:\n  import more\nfinally:\n  import last\nif __name__ == '__main__':\n  import main_only\nif True:\n  import always", want: "always fast? last main_only maybe? more? slow? sure unix? win?"},
		{what: "deep", code: "import a\n" + strings.Repeat("(", 5000)},
		{what: "time zones", code: "import zoneinfo", want: "tzdata?"},

		{what: "examples in docstrings", code: "import doctest\ndef f():\n  '''\n  >>> import a.b, os\n  >>> from c import (\n  ... d)\n  >>> from e import f; f()\n  '''\ndoctest.testmod()", want: "a.b? e?"},
		{what: "examples that nothing runs", code: "'''\n>>> import a\n'''"},

		{what: "itself", code: "import main, b", want: "b"},
		{what: "a file", code: "import a, b", files: files{"a.py": "import c"}, want: "b c"},
		{what: "a file on another path", code: "import sys\nsys.path.insert(0, 'src')\nimport lib, b", files: files{"src/lib/__init__.py": "import c", "src/lib/core.py": "import d"}, want: "b c d?"},
		{what: "a directory without __init__", code: "import lib.x", files: files{"lib/a/x.py": ""}},
		{what: "a directory without modules", code: "import lib", files: files{"lib/a.csv": ""}, want: "lib"},
		{what: "relative imports", code: "from lib import core", files: files{
			"src/lib/__init__.py": "from . import low", "src/lib/core.py": "import a", "src/lib/low.py": "from .deep import x", "src/lib/deep.py": "import b", "src/lib/other.py": "import c",
		}, want: "a b c?"},
		{what: "files that it may run", code: "1", files: files{"tests/test_a.py": "import a", "broken.py": "import ("}, want: "a?"},

		{what: "writes a module", code: "open('utils.py', 'w').write('')\nimport utils, b", want: "b"},
		{what: "writes a package", code: "from pathlib import Path\n(Path('pkg') / '__init__.py').write_text('')\nimport pkg.a"},
		{what: "writes a namespace", code: "import os\nos.makedirs('pkg/sub')\nfor n in 'ab': open(f'pkg/sub/{n}.py', 'w')\nimport pkg.sub.a"},
		{what: "computes a name", code: "for n, s in {'utils': 'x = 1'}.items():\n  open(n + '.py', 'w').write(s)\nimport utils, b", want: "b"},
		{what: "another computed name", code: "import os\nname = 'utils'\nopen(os.path.join(d, f'{name}.py'), 'w')\nimport utils"},
		{what: "only looks at files", code: "import b, glob\nprint('b', glob.glob('*.py'), p.suffix == '.py', 'b.py is a file')", want: "b"},
		{what: "computes other names", code: "import b, requests\nrequests.get(f'https://{host}.pypi.org/b'), name + '.pyc', 'b', 'requests'", want: "b requests"},
		{what: "writes what imports", code: "open('test_a.py', 'w').write('''\n  import c\n  ''')\nimport b", want: "b c?"},
		{what: "makes a module", code: "import sys, types\nm = types.ModuleType('one')\nsys.modules['two'] = m\nsys.modules.update({'three': m})\nimport one, two.x, three, b", want: "b"},
		{what: "looks for a module", code: "import sys\n'b' in sys.modules, sys.modules['b'], sys.modules.get('b')\nimport b", want: "b"},
		{what: "loads a file", code: "import importlib.util as u\ns = u.spec_from_file_location('one', path)\nimport one"},
		{what: "imitates a package", code: "from unittest.mock import patch\nwith patch.dict('sys.modules', {'boto3': None}, six=1):\n  import boto3, six"},
		{what: "has a finder", code: "import sys\nclass F:\n  def find_spec(self, name, *_):\n    return name == 'virtual'\nsys.meta_path.append(F())\nimport virtual, b", want: "b"},

		{what: "micropip", code: "import micropip\nawait micropip.install('six<1.16')\nimport six", want: "six", installs: "six<1.16"},
		{what: "a list", code: "import micropip as m\nlist = ['a', 'b>1']\nfor p in list:\n  m.install(p, deps=False)", installs: "a! b>1!"},
		{what: "a function", code: "from micropip import install\ndef f(p):\n  install(p)\nf('a')\nf(p='b')\nprint('c')", installs: "a b"},
		{what: "words", code: "import micropip\nmicropip.install('a b'.split())", installs: "a b"},
		{what: "computed", code: "import micropip\nv = '1'\nmicropip.install(f'six=={v}')\nmicropip.install('x' + v)\nmicropip.install('x' + open('y').read())"},
		{what: "another install", code: "import pip\npip.install('six')"},

		{what: "calls of pip", code: "import subprocess, sys, os, pip\nsubprocess.check_call([sys.executable, '-m', 'pip', 'install', '-q', 'a>=1', 'b'])\nos.system('pip3 install --upgrade c 2>&1')\npip.main(['install', 'd'])", installs: "a>=1 b c d"},
		{what: "a command in parts", code: "import subprocess as s, sys\ncmd = [sys.executable, '-m', 'pip', 'install'] + ['a']\ns.run(cmd)\nfor p in ('b', 'c>2'):\n  s.run(f'{sys.executable} -m pip install {p}', shell=True)\ndef get(x):\n  s.call('pip install ' + x)\nget('d')", installs: "a b c>2 d"},
		{what: "names pip", code: "import os\nprint('pip install a')\nos.system('echo pip install b')\n'''\n!pip install c\n'''\nraise ImportError('pip install d')"},
		{what: "a notebook", code: "!pip install -q a 'b>=2' # c\n%pip install d\nimport a\nif a:\n  !{sys.executable} -m pip install e\n%matplotlib inline\nx = '''\n!pip install no\n'''\npip install f", want: "a", installs: "a b>=2 d e f"},
		{what: "a fence", code: "\n```python\nimport a\n```\n", want: "a"},
		{what: "fences in prose", code: "First:\n```python\nimport a\n```\nthen this:\n```py\nimport b\n```\nIt prints\n```\nimport c\n```\nand so on", want: "a b"},
		{what: "prompts", code: "Python 3.13 on linux\n>>> import a\n>>> def f():\n...     import b\n...\n>>> 1\nimport c\n>>> f()\nIn", want: "a b?"},
		{what: "runs modules", code: "import subprocess, sys, os\nsubprocess.run([sys.executable, '-m', 'pytest', '-m', 'slow'])\nos.system('python3 -m black .')\nsubprocess.run(['git', 'commit', '-m', 'message'])\nsubprocess.run(['python', '-m', 'json.tool'])\nsubprocess.check_output('mypy --strict x.py', shell=True)\nsubprocess.run(['ls', 'pylint'])\nsubprocess.run(['sphinx-build', 'docs', 'out'])", want: "black? mypy? pytest? sphinx?"},
		{what: "runs modules that it computes", code: "import subprocess, sys\nfor tool in ['black', '-q'], ['flake8']:\n  subprocess.run([sys.executable, '-m', *tool, 'x.py'])", want: "black? flake8?"},
		{what: "no modules", code: "import subprocess\nsubprocess.run(['git', 'commit', '-m', message])\nprint('black')", want: ""},
		{what: "only tests", code: "def add(a, b): return a + b\ndef test_add():\n  assert add(1, 2) == 3", want: "pytest?"},
		{what: "tests and more", code: "def test_add(): assert 1\ntest_add()"},
		{what: "tests and what they need", code: "import sys, os, logging, random\nsys.path.insert(0, os.path.dirname(__file__))\nsys.path += ['src']\nlogging.basicConfig()\nrandom.seed(0)\nlog = logging.getLogger(__name__)\nif sys.version_info < (3, 11):\n  one = 2\nelse:\n  one = 1\ntry:\n  import sqlite3\n  has = True\nexcept ImportError:\n  has = False\nwith open(__file__) as f:\n  text = f.read()\ndef test_one(): assert one == 1", want: "pytest?"},
		{what: "tests that are methods", code: "from unittest import mock\nclass TestA:\n  def test_a(self):\n    m = mock.Mock()\n    m()\n    m.assert_called_once()", want: "pytest?"},
		{what: "tests and a value", code: "def test_add(): assert 1\nlen('a')"},
		{what: "tests that a loop calls", code: "def test_add(): assert 1\nfor t in [test_add]:\n  t()"},
		{what: "tests that are called for their values", code: "def test_add(): assert 1\nfound = [test_add()]"},
		{what: "tests that globals finds", code: "def test_add(): assert 1\nfor name, t in list(globals().items()):\n  if name.startswith('test_'):\n    t()"},
		{what: "tests that their class runs", code: "class TestA:\n  def test_a(self): assert 1\n  def all(self): self.test_a()\na = TestA()\na.all()\nx = 1"},
		{what: "tests that main runs", code: "def test_add(): assert 1\ndef main(): test_add()\nif __name__ == '__main__':\n  main()"},
		{what: "tests and a program", code: "import asyncio\ndef test_add(): assert 1\nasync def serve(): pass\nasyncio.run(serve())\nx = 1"},
		{what: "tests and what is written", code: "import sys\ndef test_add(): assert 1\nsys.stdout.write('x')\nx = 1"},
		{what: "a name like a test's", code: "def test_prime(n): return n > 1"},
		{what: "tests of unittest", code: "import unittest\nclass T(unittest.TestCase):\n  def test_a(self): assert 1"},
		{what: "options of plugins", code: "import pytest\npytest.main(['--cov=m', '-n', '2', '--no-cov-on-fail', '-s'])", want: "pytest pytest_cov? xdist?"},
		{what: "options of others", code: "import pytest\npytest.main(['-v', '-x', '--count-n', '--my--cov'])", want: "pytest"},
		{what: "plugins of pytest", code: "import pytest\n@pytest.mark.asyncio\nasync def test_a(mocker, freezer, tmp_path): pass\n@pytest.fixture\ndef freezer(): pass\nprint()", want: "pytest pytest_asyncio? pytest_mock?"},
		{what: "imports by name", code: "import importlib\nimportlib.import_module('a.b')\n__import__('c')\nimportlib.import_module(name + 'd')\ndef load(name):\n  return importlib.import_module(name)\nload('e')", want: "a.b? c? e?"},
	}
	rt := pyodidetest.Runtime(t)
	for _, test := range tests {
		s := pyodide.Source{Code: test.code, Name: "main.py"}
		for path, text := range test.files {
			s.Files = append(s.Files, pyodide.File{Path: path, Data: []byte(text)})
		}
		got, err := rt.Analyze(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		var imports, installs []string
		for _, i := range got.Imports {
			imports = append(imports, i.Name+suffix(i.Optional, "?"))
		}
		for _, i := range got.Installs {
			installs = append(installs, i.Requirement+suffix(i.Alone, "!"))
		}
		slices.Sort(imports)
		slices.Sort(installs)
		if got := strings.Join(imports, " "); got != test.want {
			t.Errorf("%s: imports %q, want %q", test.what, got, test.want)
		}
		if got := strings.Join(got.Members, " "); test.members != "" && got != test.members {
			t.Errorf("%s: members %q, want %q", test.what, got, test.members)
		}
		if got := strings.Join(installs, " "); got != test.installs {
			t.Errorf("%s: installs %q, want %q", test.what, got, test.installs)
		}
	}
}

func suffix(yes bool, text string) string {
	if yes {
		return text
	}
	return ""
}

// TestAnalyzeRunsNothing has programs whose text is all that may be looked at.
func TestAnalyzeRunsNothing(t *testing.T) {
	rt := pyodidetest.Runtime(t)
	for _, c := range []struct{ name, code, problem string }{
		{"output", "import six\nprint('x')\nraise SystemExit", ""},
		{"does not parse", "import six\n1 +", "SyntaxError"},
		{"NUL", "import six\n\x00", "SyntaxError"},
		{"surrogate", "import six\n'\\ud800'", ""},
		{"parentheses", "import six\n" + strings.Repeat("(", 1e5), "SyntaxError MemoryError RecursionError"},
		{"long name", "import " + strings.Repeat("x", 1e6), ""},
		{"many names", "import x" + strings.Repeat(",y", 1e4), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := rt.Analyze(context.Background(), pyodide.Source{Code: c.code, Name: "main.py"})
			if err != nil {
				t.Fatal(err)
			}
			if c.problem == "" && got.Problem != nil || got.Problem != nil && !strings.Contains(c.problem, got.Problem.Type) {
				t.Errorf("%+v, want %q", got.Problem, c.problem)
			}
			for _, i := range got.Imports {
				if len(i.Name) > 1000 {
					t.Errorf("a name of %d bytes", len(i.Name))
				}
			}
		})
	}
}

// TestAnalyzeEnds cancels the analysis of a text that takes long to parse.
func TestAnalyzeEnds(t *testing.T) {
	why := errors.New("long enough")
	ctx, cancel := context.WithTimeoutCause(context.Background(), 100*time.Millisecond, why)
	defer cancel()
	code := "import six\n" + strings.Repeat("x = [1, 2, (3, 4)]\n", 500_000)
	if _, err := pyodidetest.Runtime(t).Analyze(ctx, pyodide.Source{Code: code}); !errors.Is(err, why) {
		t.Errorf("%v, want %v", err, why)
	}
}
