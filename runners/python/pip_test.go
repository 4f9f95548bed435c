package python

import (
	"regexp"
	"strings"
	"testing"

	"coderunner/runners"
)

// What a program installs by pip, in whatever way, is installed before it begins,
// and the call succeeds.
func TestPip(t *testing.T) {
	x := newIndex(t)
	x.module("alpha", "1.0", "beta")
	x.module("alpha", "2.0")
	x.module("beta", "1.0")
	r := x.newRunner(base{}, false, t.TempDir())
	const rest = "\nimport alpha\nalpha.version"
	for what, code := range map[string]string{
		"a notebook's line":    "!pip install -q 'alpha<2'" + rest,
		"a magic":              "%pip install alpha==1.0 # old" + rest,
		"a shell's line":       "pip install 'alpha<2'" + rest,
		"a notebook's block":   "if True:\n    !{sys.executable} -m pip install \\\n      'alpha<2'" + rest,
		"a process":            "import subprocess, sys\nsubprocess.check_call([sys.executable, '-m', 'pip', 'install', 'alpha<2'])" + rest,
		"its output":           "import subprocess as s, sys\nr = s.run(['pip', 'install', 'alpha<2'], capture_output=True, text=True)\nassert r.returncode == 0 and 'already satisfied: alpha<2' in r.stdout and r.stderr == '', r" + rest,
		"its output, in bytes": "from subprocess import *\np = Popen('pip install \"alpha<2\" 2>&1', shell=True, stdout=PIPE, stderr=STDOUT)\nassert p.communicate() == (b'Requirement already satisfied: alpha<2\\n', None) and p.wait() == 0" + rest,
		"a shell":              "import os\nassert os.system('python -m pip install \"alpha<2\" && pip install beta') == 0\nimport beta" + rest,
		"the module":           "import pip\nassert pip.main(['install', 'alpha<2']) == 0" + rest,
		"its insides":          "from pip._internal.cli.main import main as pipmain\nassert pipmain(['install', 'alpha<2']) == 0" + rest,
		"a function":           "import subprocess, sys\ndef get(*names):\n  subprocess.run([sys.executable, '-m', 'pip', 'install', *names], check=True)\nget('alpha<2')" + rest,
		"one of several":       "import os\nassert os.system('pip install \"alpha<2\"; pip list | grep -q alpha; python3 -m pip show alpha') == 0" + rest,
		"beside micropip":      "import micropip, os\nassert os.system('pip install \"alpha<2\"') == 0" + rest,
	} {
		t.Run(what, func(t *testing.T) { value(t, run(t, r, code), "'1.0'") })
	}

	o := run(t, r, "import os, subprocess\nprint(os.system('pip install nowhere'))\nsubprocess.run('pip install nowhere', shell=True, check=True)")
	if o.Status != runners.Failed || o.Stdout != "256\n" || o.Error.Type != "CalledProcessError" || strings.Count(o.Stderr, "there is no package of this name") != 2 {
		t.Errorf("%+v, stdout %q, stderr %q", o.Error, o.Stdout, o.Stderr)
	}
	o = run(t, r, "import subprocess, alpha\nsubprocess.run(['nothing'])")
	if o.Status != runners.Failed || o.Error.Type != "FileNotFoundError" {
		t.Errorf("another program: %+v", o.Error)
	}
}

// Lines that only a notebook understands are skipped or refused, each with its
// number; a program that has them in a text is left alone.
func TestNotebook(t *testing.T) {
	r := newIndex(t).newRunner(base{}, false, t.TempDir())
	for code, want := range map[string]string{
		"%matplotlib inline\n%load_ext autoreload\n1 + 1":                                                    "2",
		"%%time\nx = 2\n%time y = x + 1\nx * y":                                                              "6",
		"1. Save it:\n\n   ```py\n   def f():\n       return 5\n   f()\n   ```\n2. Run it.\n":                "5",
		"```python\nx = 1\nx + 2":                                                                            "3",
		"x = 1\nx + 3\n```\n":                                                                                "4",
		"```python\nx = 1\nx + 1\n```":                                                                       "2",
		"\n\n```\nimport inspect\ninspect.currentframe().f_lineno\n```\n\n":                                  "5",
		"Here is it:\n\n```py\nx = 1\nx + 1\n```\n\nIt adds `1`.\n":                                          "2",
		"First:\n```python\nx = 1\n```\nThen:\n```python\nx + 2\n```\nThis prints:\n```\n4\n```\n":           "3",
		"Python 3.13 on linux\n>>> x = 1\n>>> x\n1\n>>> def f(x):\n...     return x + 1\n...\n>>> f(x)\n5\n": "2",
		"    async def f(x):\n        return x + 1\n\n    await f(1)\n":                                      "2",
		"In [1]: def f():\n   ...:     return 7\n   ...:\n\nIn [2]: f()\nOut[2]: 8\n":                        "7",
		"```\nx = '''\n```\n'''\nlen(x)\n```\n":                                                              "5",
		"x = '''\n!pip install six\n```\n%cd /\n'''\nlen(x.split())":                                         "6",
		"import asyncio\nasync def f(x):\n  return x\nasync def g():\n  try: asyncio.run(c := f(1))\n  except RuntimeError: return await c\n" +
			"t = asyncio.create_task(g())\n[await f(2), asyncio.run(f(3)), await t]": "[2, 3, 1]",
		"x = (7\n% 4\n)\nx": "3",
		"x = 7 \\\n% 4\nx":  "3",
	} {
		value(t, run(t, r, code), want)
	}
	for code, want := range map[string]string{
		"%timeit -n 10 -r 2 1 + 1":           `\A\S+ \S+ ± \S+ \S+ per loop \(mean ± std. dev. of 2 runs, 10 loops each\)\n\z`,
		"%%timeit x = 2\ny = x * x\n":        `\A\S+ \S+ ± .* of 7 runs, 1,?0.*\n\z`,
		"%time x = 3\nprint(x)":              `\ACPU times: total: .*\nWall time: .*\n3\n\z`,
		"%%time\nprint(1)\n# %%\nprint(2)\n": `\A1\nCPU times: .*\nWall time: .*\n2\n\z`,
		"%%time\nprint(1)":                   `\A1\nCPU times: .*\nWall time: .*\n\z`,
		"%%capture out\nprint(1)\n!echo 2\n# %%\nprint(out.stdout.split())":                             `\A\['1', '2'\]\n\z`,
		"%%capture --no-stdout\nprint(1)\nimport sys\nprint(2, file=sys.stderr)":                        `\A1\n\z`,
		"if 1:\n  get_ipython().run_line_magic('pwd', '')\nx = get_ipython().getoutput('ls')\nprint(x)": `\A/home/user\n\['main.py'\]\n\z`,
		"get_ipython().run_cell_magic('capture', 'out', 'x = 3\\nprint(x)\\n')\nprint(x, out.stdout)":   `\A3 3\n\n\z`,
		"try: get_ipython()\nexcept NameError: print('\\\nget_ipython().system(1)')":                    `\Aget_ipython\(\).system\(1\)\n\z`,
		"%%writefile own.py\nimport nowhere\nx = '7'\n# %%\n!pip install\n":                             `\AWriting own.py\n\z`,
		"%%writefile own.py\nimport os\nx = 7\n# %%\n%run own.py\nprint(x)":                             `\AWriting own.py\n7\n\z`,
		"%%writefile n.ipynb\n" + `{"cells": [{"cell_type": "code", "source": ["x = 7\n", "x"]}, {"cell_type": "code", "source": "await __import__('asyncio').sleep(0, 8)"}]}` +
			"\n# %%\n%run n.ipynb\nprint(x)": `\AWriting n.ipynb\n7\n8\n7\n\z`,
		"%%writefile own.py\nimport sys\nprint(__name__, sys.argv)\n# %%\n%run own a\n%run -n own.py\n": `\AWriting own.py\n__main__ \['own.py', 'a'\]\nown \['own.py'\]\n\z`,
		"%env A=1\n%env A\n%pwd\nprint(2)":                                                `\Aenv: A=1\n1\n/home/user\n2\n\z`,
		"import os\nos.mkdir('d')\n%cd d\n%ls ..\n%who":                                   `\A/home/user/d\nd\nmain.py\nInteractive namespace is empty.\n\z`,
		"print(1)\n!ls | tr a-z A-Z":                                                      `\A1\nMAIN.PY\n\z`,
		"n = 2\n!echo {n + 1} $n $HOME | awk '{print $1, $2, $3}'":                        `\A3 2 /home/user\n\z`,
		"def f(x):\n  found = !echo $x; echo b\n  return found\nprint(f('a'))":            `\A\['a', 'b'\]\n\z`,
		"%%bash\nfor i in 1 2; do echo $i; done\n# %%\nprint(3)":                          `\A1\n2\n3\n\z`,
		"%mkdir -p d/e\n!python -c 'print(4)'\n!false\nimport os\nprint(os.listdir('d'))": `\A4\n\['e'\]\n\z`,
		">>> # text\n>>> ('a' + 'b')  # joined\n'ab'\n>>>\n>>> print(2)\n2\n>>> x = 3":    `\A'ab'\n2\n\z`,
		"len?": `\AHelp on built-in function len`,
	} {
		o := run(t, r, code)
		if o.Status != runners.Succeeded || !regexp.MustCompile(want).MatchString(o.Stdout) {
			t.Errorf("%q: %s %+v printed %q, want %s", code, o.Status, o.Error, o.Stdout, want)
		}
	}
	value(t, run(t, r, "%time 6 * 7"), "42")
	for code, want := range map[string]string{
		"x = 1\n!git clone u\nx":               "2: !git is not available: give the files in the argument files",
		"if 1:\n  %prun f()\n":                 "2: %prun is not available: use cProfile.run(...)",
		"%nothing":                             "1: %nothing is not available: this is a Python program, not a notebook",
		"!pip install six\nx = (\n1 +":         "2: '(' was never closed",
		"```python\nx = \n```":                 "2: invalid syntax",
		"x = '''\n```\n1\n```\n'''\nx x":       "6: invalid syntax",
		"print(\n```\n1\n```\n":                "1: '(' was never closed",
		"text = '''\n!ls\n'''\n!apt install u": "4: !apt is not available: only Python packages can be installed",
	} {
		o := run(t, r, code)
		if o.Status != runners.Failed || o.Error.Type != "SyntaxError" {
			t.Errorf("%q: %s %+v", code, o.Status, o.Error)
			continue
		}
		if strings.Contains(o.Error.Traceback, "During handling") {
			t.Errorf("%q: %s", code, o.Error.Traceback)
		}
		line, message, _ := strings.Cut(want, ": ")
		if first, _, _ := strings.Cut(o.Error.Message, "\n"); first != message || line != string(rune('0'+o.Error.Line)) {
			t.Errorf("%q: line %d: %s, want %s", code, o.Error.Line, first, want)
		}
	}
}
