package python

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coderunner/internal/session"
	"coderunner/runners"
)

// calls runs programs in a session of a store, by a runner that may change
// between them.
type calls struct {
	t     *testing.T
	store *session.Store
	r     *Runner
}

func (c *calls) run(name, code string) *runners.Outcome {
	c.t.Helper()
	o, err := c.store.Run(c.t.Context(), session.Call{Session: name, Request: runners.Request{Language: runners.Python, Code: code}}, c.r.Run)
	if err != nil {
		c.t.Fatalf("%s: %v", code, err)
	}
	return o
}

// want runs a program and compares its value and where its variables came from.
func (c *calls) want(name, code, repr string, origin runners.Origin) {
	c.t.Helper()
	o := c.run(name, code)
	if o.Result == nil && repr != "" || o.Result != nil && o.Result.Text != repr || o.Continued.Origin != origin || !o.Continued.Kept || o.Continued.Unsaved != "" {
		c.t.Errorf("%s: %+v %+v %+v\n%s, want %s, %s", code, o.Result, o.Error, o.Continued, o.Stderr, repr, origin)
	}
}

// TestSession has programs go on where others ended: in the same interpreter, in
// one that another runner restores, in a fork, and after a rewind.
func TestSession(t *testing.T) {
	x := newIndex(t)
	x.module("six", "1.0")
	x.module("attr-like", "2")
	x.module("writer", "3")
	x.add(pure("frame", "1.0", map[string]string{"frame.py": "def to_excel():\n  import writer\n  return writer.version"}, `writer; extra == "excel"`))
	dir := t.TempDir()
	store, err := session.Open(session.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c := &calls{t, store, x.newRunner(base{}, false, dir)}
	const (
		fresh, live, restored = runners.OriginFresh, runners.OriginLive, runners.OriginRestored
	)
	c.want("s", `
import os, six, sys, random
class Point:
    def __init__(self, x): self.x = x
def fail(): raise ValueError("of the first call")
p = Point(1); random.seed(1); random.random()
os.environ["SET"] = "1"
os.makedirs("d"); open("d/a.txt", "w").write("one")
open("/mnt/data/helper.py", "w").write("value = 7")
log = open("log.txt", "w+"); log.write("x\n"); log.flush()
sys.stdin.read(), six.version`, "('', '1.0')", fresh)
	c.want("s", "import helper\np.x += helper.value\nPoint(2).x + p.x, os.environ['SET'], open('d/a.txt').read(), sorted(os.listdir())",
		"(10, '1', 'one', ['d', 'helper.py', 'log.txt'])", live)
	o := c.run("s", "y = 3\nfail()")
	if o.Error == nil || !strings.Contains(o.Error.Traceback, `File "call_1.py", line 5, in fail`) || !strings.Contains(o.Error.Traceback, `def fail(): raise`) || o.Error.Line != 2 || o.Continued.State != 3 {
		t.Errorf("%+v %+v", o.Error, o.Continued)
	}
	c.run("tasks", "import asyncio\nt = asyncio.create_task(asyncio.sleep(0))\nawait asyncio.sleep(0)\nt = asyncio.create_task(asyncio.sleep(9))")
	if o := c.run("tasks", "await t"); o.Error == nil || !strings.Contains(o.Error.Traceback, "A call's tasks end with it") {
		t.Errorf("a task of an earlier call: %+v", o.Error)
	}
	if o := c.run("s", "%%time\npass"); !strings.Contains(o.Stdout, "Wall time:") {
		t.Errorf("a timed cell: %q %+v", o.Stdout, o.Error)
	}
	var names []string
	for _, v := range o.Continued.Variables {
		names = append(names, v.Name+" "+v.Type)
	}
	if got := strings.Join(names, ", "); !strings.HasPrefix(got, "Point type, fail function, helper module, log TextIOWrapper") || !strings.Contains(got, "y int") {
		t.Errorf("variables: %s", got)
	}
	// What a package imports when it is used is there also in calls that import nothing.
	c.want("lazy", "import frame\n1", "1", fresh)
	c.want("lazy", "frame.to_excel()", "'3'", live)
	if err := store.Fork(t.Context(), "s", "fork", 0); err != nil {
		t.Fatal(err)
	}
	c.want("fork", "p.x, y, log.write('fork'), log.flush()", "(8, 3, 4, None)", restored)
	c.want("s", "p.x, y, open('log.txt').read()", `(8, 3, 'x\n')`, live)
	if _, err := store.Rewind(t.Context(), "s", 1); err != nil {
		t.Fatal(err)
	}
	c.want("s", "p.x, 'y' in globals()", "(1, False)", restored)
	c.r = x.newRunner(base{}, false, dir) // which has none of the other's interpreters
	c.want("fork", "import six\nlog.seek(0)\nlog.read(), six.version, p.x, random.random() == random.Random(1).random()", `('x\nfork', '1.0', 8, False)`, restored)
	c.want("fork", "import attr_like\nattr_like.version", "'2'", live)
}

// TestSessionInput has calls with and without input that read it or do not: each finds its own.
func TestSessionInput(t *testing.T) {
	x := newIndex(t)
	dir := t.TempDir()
	store, err := session.Open(session.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	r := x.newRunner(base{}, false, dir)
	for i, call := range []struct{ input, code, want string }{
		{"a", "import sys\nfirst = sys.stdin", ""},
		{"b\nrest", "input()", "'b'"},
		{"c", "first is sys.stdin, sys.stdin.read()", "(False, 'c')"},
		{"", "sys.stdin.read()", "''"},
		{"d", "1", "1"},
		{"e", "sys.stdin.close()", ""},
		{"f", "sys.stdin.read()", "'f'"},
		{"", "raw = sys.stdin.detach()", ""},
		{"g", "sys.stdin.read()", "'g'"},
		{"h", "2", "2"},
		{"another", "", ""},
		{"i", "sys.stdin.read()", "'i'"},
	} {
		if call.input == "another" {
			r = x.newRunner(base{}, false, dir) // which restores the session
			continue
		}
		out, err := store.Run(t.Context(), session.Call{Session: "s", Request: runners.Request{Language: runners.Python, Code: call.code, Stdin: strings.NewReader(call.input)}}, r.Run)
		if err != nil {
			t.Fatal(err)
		}
		if out.Error != nil || (out.Result == nil) != (call.want == "") || out.Result != nil && out.Result.Text != call.want {
			t.Errorf("call %d: %+v %+v, want %s", i+1, out.Result, out.Error, call.want)
		}
	}
}

// TestSessionModules changes the files of modules between calls: the changed ones and
// those that import them are read again, others keep what they are.
func TestSessionModules(t *testing.T) {
	x := newIndex(t)
	dir := t.TempDir()
	store, err := session.Open(session.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c := &calls{t, store, x.newRunner(base{}, false, dir)}
	const fresh, live, restored = runners.OriginFresh, runners.OriginLive, runners.OriginRestored
	c.want("s", `
import os
def write(path, text): open(path, "w").write(text)
os.mkdir("pkg")
write("helper.py", "def f(): return 1"); write("other.py", "n = 0")
write("pkg/__init__.py", ""); write("pkg/a.py", "from helper import f\nA = f()"); write("pkg/b.py", "B = 1")
import helper, other, pkg.a, pkg.b
from helper import f
other.n = pkg.b.B = 5
f()`, "1", fresh)
	c.want("s", `write("helper.py", "def f(): return 2"); write("other.py", "n = 0"); helper.f()`, "1", live)
	c.want("s", "helper.f(), pkg.a.A, pkg.b.B, other.n, f()", "(2, 2, 5, 5, 1)", live)
	c.want("s", `from helper import f; write("helper.py", "def f(): return 3"); f()`, "2", live)
	c.want("s", "import importlib\nimportlib.reload(helper).f(), helper.f(), pkg.a.A", "(3, 3, 3)", live)
	c.want("s", `write("helper.py", "def f(): return 0")`, "", live)
	c.want("s", "helper.f()", "0", live)
	if o := c.run("s", `write("helper.py", "def f(): return 4\ng = 1"); helper.g`); o.Error == nil || !strings.Contains(o.Error.Traceback, "helper was changed after its import") {
		t.Errorf("used before it is read again: %+v", o.Error)
	}
	c.r = x.newRunner(base{}, false, dir)
	c.want("s", "import sys\ndel sys.modules['helper']\nimport helper as h\nh.f(), helper.f()", "(4, 0)", restored)
	c.want("s", `write("helper.py", "def f(): return 5 / 0"); write("pkg/b.py", "B =")`, "", live)
	for code, traceback := range map[string]string{"h.f()": "helper.py\", line 1, in f\n    def f(): return 5 / 0", "pkg.b.B": "pkg/b.py\", line 1\n    B =\n"} {
		if o := c.run("s", code); o.Error == nil || o.Error.Line != 1 || !strings.Contains(o.Error.Traceback, traceback) {
			t.Errorf("%s: %+v", code, o.Error)
		}
	}
	// As in a REPL, what lies where the session went can be imported.
	c.want("d", "import os\nos.mkdir('src'); os.chdir('src'); open('inner.py', 'w').write('n = 1')", "", fresh)
	c.want("d", "import inner\ninner.n, inner.__file__", "(1, '/home/user/src/inner.py')", live)
	c.want("d", "open('inner.py', 'w').write('n = 2\\n')", "", live)
	c.want("d", "inner.n", "2", live)
}

// TestSessionPackagesOffline goes on without a network, by another runner, with packages that
// the cache has: under other requirements than the session's.
func TestSessionPackagesOffline(t *testing.T) {
	x := newIndex(t)
	x.add(pure("alpha", "1.0", map[string]string{"alpha.py": "import beta\nn = [1]\n"}, "beta"))
	x.add(pure("beta", "1.0", map[string]string{"beta.py": ""}))
	dir := t.TempDir()
	store, err := session.Open(session.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c := &calls{t, store, x.newRunner(base{}, false, dir)}
	c.want("s", "import alpha\nalpha.n.append(2)\nalpha.n", "[1, 2]", runners.OriginFresh)
	c.r = x.newRunner(base{}, true, dir)
	c.want("s", "import beta\nalpha.n", "[1, 2]", runners.OriginRestored)
	if err := os.RemoveAll(filepath.Join(dir, "trees")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "blobs")); err != nil {
		t.Fatal(err)
	}
	c.r = x.newRunner(base{}, true, dir)
	if o := c.run("s", "1"); o.Continued.Origin != runners.OriginLost || !strings.Contains(o.Continued.Lost, "offline") {
		t.Errorf("without the packages: %+v", o.Continued)
	}
}

// TestSessionHostDirectory goes on with a directory of the host, whose files are
// never in what was saved.
func TestSessionHostDirectory(t *testing.T) {
	x := newIndex(t)
	host, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(host, "a.txt"), []byte("first"), 0o600); err != nil {
		t.Fatal(err)
	}
	store, err := session.Open(session.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	policy, err := runners.ParsePolicy([]string{"--allow-read=" + host, "--allow-write=" + host})
	if err != nil {
		t.Fatal(err)
	}
	c := &calls{t: t, store: store}
	restart := func(p runners.Policy) {
		c.r = x.newRunner(base{}, false, dir)
		c.r.cfg.Policy = p
	}
	restart(policy)
	c.want("s", fmt.Sprintf("import os\nos.chdir(%q)\nopen('b.txt', 'w').write('of the program')\nx = open('a.txt').read()\nx", host), "'first'", runners.OriginFresh)
	c.want("s", "x, sorted(os.listdir()), os.path.lexists('/mnt/data')", "('first', ['a.txt', 'b.txt'], False)", runners.OriginLive)
	restart(policy)
	if err := os.WriteFile(filepath.Join(host, "a.txt"), []byte("second"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.want("s", "x, open('a.txt').read(), open('b.txt').read(), os.getcwd() != '/home/user'", "('first', 'second', 'of the program', True)", runners.OriginRestored)
	if o := c.run("s", "f = open('a.txt')"); !strings.Contains(o.Continued.Unsaved, "a file of the host") {
		t.Errorf("%+v", o.Continued)
	}
	if o := c.run("s", "f.close(); os.chdir('/home/user')"); o.Continued.Unsaved != "" {
		t.Errorf("%+v", o.Continued)
	}
	restart(runners.Policy{}) // which grants nothing any more
	c.want("s", fmt.Sprintf("x, os.path.exists(%q), os.readlink('/mnt/data')", filepath.Join(host, "a.txt")), "('first', False, '/home/user')", runners.OriginRestored)
}

// TestSessionEnds has programs end in other ways than by their last line.
func TestSessionEnds(t *testing.T) {
	x := newIndex(t)
	store, err := session.Open(session.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c := &calls{t, store, x.newRunner(base{}, false, t.TempDir())}
	c.run("s", "n = 1")
	run := func(code string, change func(*session.Call)) *runners.Outcome {
		t.Helper()
		call := session.Call{Session: "s", Request: runners.Request{Language: runners.Python, Code: code}}
		change(&call)
		o, err := store.Run(t.Context(), call, c.r.Run)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	limit := func(c *session.Call) { c.Request.Limits.Timeout = time.Second }
	for _, test := range []struct {
		code   string
		change func(*session.Call)
		status runners.Status
		kept   bool
		origin runners.Origin
		after  string // of n, and of whether f is there
	}{
		{"n = 2; open('f', 'w').write('x'); import sys; sys.exit(3)", func(*session.Call) {}, runners.Failed, true, runners.OriginLive, "(2, True)"},
		{"n = 3; import os; os.remove('f'); os._exit(0)", func(*session.Call) {}, runners.Succeeded, false, runners.OriginLive, "(2, False)"},
		{"n = 4\nwhile True: pass", limit, runners.TimedOut, true, runners.OriginLive, "(4, False)"},
		{"n = 5\nwhile True:\n  try:\n    while True: pass\n  except BaseException: pass", limit, runners.TimedOut, false, runners.OriginLive, "(4, False)"},
		{"n = 6; open('f', 'w').write('x'); 1 / 0", func(c *session.Call) { c.Rollback = true }, runners.Failed, false, runners.OriginLive, "(4, False)"},
		{"n = 7; open('f', 'w').write('x')", func(c *session.Call) { c.Rollback = true }, runners.Succeeded, true, runners.OriginLive, "(7, True)"},
		{"n = 8; x = (", func(*session.Call) {}, runners.Failed, true, runners.OriginLive, "(7, True)"},
	} {
		o := run(test.code, test.change)
		if o.Status != test.status || o.Continued.Kept != test.kept || o.Continued.Origin != test.origin {
			t.Errorf("%s: %s %+v %+v", test.code, o.Status, o.Error, o.Continued)
		}
		o = c.run("s", "import os; n, os.path.exists('f')")
		if o.Result == nil || o.Result.Text != test.after {
			t.Errorf("after %s: %+v %+v, want %s", test.code, o.Result, o.Error, test.after)
		}
	}
	run("import threading, time\nt = threading.Thread(target=time.sleep, args=(60,), daemon=True); t.start()", func(*session.Call) {})
	if o := run("while True: pass", limit); !strings.Contains(o.Error.Message, "ended with those calls") {
		t.Errorf("a time-out after a thread was ended: %+v", o.Error)
	}
	o := c.run("s", "import os; pipe = os.pipe()")
	if k := o.Continued; !k.Kept || !strings.Contains(k.Unsaved, "pipe") {
		t.Errorf("%+v", k)
	}
	if o := c.run("s", "n, pipe is not None"); o.Result == nil || o.Result.Text != "(7, True)" {
		t.Errorf("%+v %+v", o.Result, o.Continued)
	}
	o = c.run("s", "import subprocess, sys\nfor _ in range(2): subprocess.Popen([sys.executable, '-c', 'while True: pass'])")
	if k := o.Continued; !k.Kept || k.ProcessesEnded != 2 {
		t.Errorf("processes: %+v %+v", k, o.Error)
	}
	if err := store.Fork(t.Context(), "s", "fork", 0); err != nil {
		t.Fatal(err)
	}
	if o := c.run("fork", "import os; 'n' in globals(), os.path.exists('f')"); o.Result == nil || o.Result.Text != "(False, True)" || o.Continued.Origin != runners.OriginLost || o.Continued.Lost == "" {
		t.Errorf("%+v %+v %+v", o.Result, o.Error, o.Continued)
	}
}
