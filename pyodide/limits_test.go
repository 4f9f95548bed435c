package pyodide_test

import (
	"strings"
	"testing"
	"time"

	"coderunner/pyodide"
)

// TestTimeLimit tries programs that do not end by themselves. What they get to
// see of their end, and where, is the promise; how fast is for benchmarks. So
// those that obey have as long for it as a busy machine takes.
func TestTimeLimit(t *testing.T) {
	for _, c := range []struct {
		name, code string
		want       pyodide.Ended
		line       int // of the traceback
	}{
		{"loop", "def f(n):\n    while True:\n        n += 1\nf(1)", pyodide.Interrupted, 4},
		{"sleep", "import time\ntime.sleep(1000)", pyodide.Interrupted, 3},
		{"regex", "import re\nre.match(r'(a+)+$', 'a'*60+'b')", pyodide.Interrupted, 3},
		{"big integer", "10**10**8", pyodide.Interrupted, 2},
		{"await", "import asyncio\nasync def f():\n  await asyncio.sleep(1000)\nawait f()", pyodide.Interrupted, 4},
		{"asyncio.run", "import asyncio\nasync def f():\n  await asyncio.sleep(1000)\nasyncio.run(f())", pyodide.Interrupted, 4},
		{"pipe", "import os\nr, w = os.pipe()\nos.read(r, 1)", pyodide.Interrupted, 4},
		{"C loop", "import itertools\nsum(itertools.repeat(1))", pyodide.Stopped, 0},
		{"swallowed", "print('half', end='')\nwhile True:\n try:\n  while True: pass\n except BaseException: pass", pyodide.Stopped, 5},
		{"caught", "try:\n while True: pass\nexcept KeyboardInterrupt:\n pass", pyodide.Interrupted, 3},
		{"caught task", "import asyncio\nasync def f():\n  await asyncio.sleep(1000)\ntry:\n asyncio.run(f())\nexcept KeyboardInterrupt:\n pass", pyodide.Interrupted, 4},
		{"at exit", "import atexit\n@atexit.register\ndef f():\n  while True: pass", pyodide.Interrupted, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			more := time.Minute
			if c.want == pyodide.Stopped {
				more = 0
			}
			res, stdout, _ := runEnduring(t, more, pyodide.Options{}, pyodide.Program{Code: "print('begun')\n" + c.code, Timeout: 3 * time.Second})
			out, _ := strings.CutSuffix(stdout, "half")
			line := 0
			if res.Exception != nil {
				line = res.Exception.Line
			}
			if c.want == pyodide.Stopped && line == 0 {
				line = c.line // on a busy machine, it cannot say it in time
			}
			if res.Ended != c.want || line != c.line || out != "begun\n" || (out != stdout) != (c.name == "swallowed") {
				t.Errorf("%v at line %d (%+v, %v), stdout %q; want %v at line %d", res.Ended, line, res.Exception, res.Cause, stdout, c.want, c.line)
			}
		})
	}
}

func TestMemoryCap(t *testing.T) {
	res, stdout, _ := run(t, pyodide.Options{Memory: 256 << 20}, pyodide.Program{Code: `
try:
    bytearray(10**9)
except MemoryError:
    print("refused")
x = bytearray(10**8)
len(x)`})
	if res.Ended != pyodide.Finished || stdout != "refused\n" || res.Value == nil || res.Value.Repr != "100000000" {
		t.Errorf("%+v, stdout %q", res, stdout)
	}
	if res.MemoryCapHit || res.PeakMemory < 1e8 || res.PeakMemory > 256<<20 {
		t.Errorf("MemoryCapHit %v, PeakMemory %d", res.MemoryCapHit, res.PeakMemory)
	}
	res, _, _ = run(t, pyodide.Options{Memory: 256 << 20}, pyodide.Program{Code: "x = bytearray(10**9)"})
	if res.Exception == nil || res.Exception.Type != "MemoryError" || !res.MemoryCapHit {
		t.Errorf("MemoryCapHit %v, %+v", res.MemoryCapHit, res.Exception)
	}
}

func TestDeepRecursion(t *testing.T) {
	for _, c := range []struct{ name, code, want string }{
		{"functions", "def f(): return f()\nf()", "RecursionError"},
		{"limit raised", "import sys\nsys.setrecursionlimit(10**9)\ndef f(): return f()\nf()", "RecursionError trap"}, // tb_dealloc uses nothing of the guest's stack
		{"json", "import json\njson.loads('['*10**7)", "RecursionError JSONDecodeError"},
		{"calls through C", "import functools, sys\nsys.setrecursionlimit(10**6)\nf = functools.cache(lambda n: f(n + 1))\nf(0)", "RecursionError"},
		{"comparisons", "import sys\nsys.setrecursionlimit(10**6)\nclass A:\n  def __eq__(self, other): return self == other\nA() == A()", "RecursionError"},
		{"source", "eval('('*10**5)", "SyntaxError MemoryError RecursionError"},
		{"pickle", "import pickle\nx=[]\nfor _ in range(10**5): x=[x]\npickle.dumps(x)", "RecursionError"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			res, _, _ := run(t, pyodide.Options{}, pyodide.Program{Code: c.code, Timeout: 2 * time.Minute})
			if res.Ended == pyodide.Trapped && strings.Contains(c.want, "trap") {
				t.Logf("the interpreter died, which is allowed: %.200v", res.Cause)
			} else if res.Exception == nil || !strings.Contains(c.want, res.Exception.Type) {
				t.Errorf("%v %+v, want %s", res.Ended, res.Exception, c.want)
			}
		})
	}
}
