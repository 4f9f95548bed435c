package pyodide_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coderunner/pyodide"
	"coderunner/pyodide/pyodidetest"
)

// parksAlways lets a session's program be parked.
var parksAlways = pyodide.Program{Session: true, Parks: func() bool { return true }}

// TestPark parks a program in the middle of a function, a loop, a with and a try, again and
// again, and has it go on each time in an interpreter made of a snapshot, in another runtime.
func TestPark(t *testing.T) {
	ctx := context.Background()
	rt, err := pyodidetest.Open(t, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	var out bytes.Buffer
	in, err := pyodidetest.Runtime(t).New(ctx, pyodide.Options{Stdout: &out, Stderr: &out})
	if err != nil {
		t.Fatal(err)
	}
	base := in.Base().Name()
	p := parksAlways
	p.Code = `
import random, threading, time, uuid
from contextlib import contextmanager
from _coderunner import park

@contextmanager
def entered(n):
    print("enter", n)
    yield n
    print("leave", n)

class Error(Exception): pass

def deep(n, *args, **options):
    return deep(n - 1, *args, **options) if n else (park(), args, options)

def pairs():
    for n in range(3):
        yield n, "x" * n

def work(total):
    first = uuid.uuid4(), random.random(), time.time()
    kept = list(first)
    for n, text in pairs():
        with open("log", "a") as log, entered(n):
            log.write(f"{n} ")
            try:
                parked, args, options = deep(40, text, of=n)
                assert parked and args == (text,) and options == {"of": n}
                if n == 1:
                    raise Error("one")
            except Error as e:
                assert park()
                print("caught", e)
            finally:
                total += n
    assert kept == list(first)
    return total

ended = []
t = threading.Thread(target=ended.append, args=(1,))
t.start()
t.join()
x = work(100)
t = threading.Thread(target=ended.append, args=(2,))
t.start()
t.join()
assert ended == [1, 2]
try:
    assert park()
    raise KeyError("last")
except KeyError:
    print([park() for _ in range(2)])
print(open("log").read(), sorted([3, 1, 2], key=lambda n: (park(), n)))
x
`
	res, err := in.Run(ctx, p)
	times := 0
	for ; err == nil && res.Ended == pyodide.Parked; times++ {
		path := filepath.Join(t.TempDir(), "snapshot")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(in.Snapshot(f, false, nil), f.Close()); err != nil {
			t.Fatal(err)
		}
		home := homeOf(t, in)
		defer in.Close()
		if times%3 == 2 { // the same interpreter
			res, err = in.Unpark(ctx, p)
			if err != nil {
				t.Fatal(err)
			}
			continue
		}
		z, err := rt.OpenSnapshot(path, "", base, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		if in, err = rt.New(ctx, pyodide.Options{From: z, Populate: home, Stdout: &out, Stderr: &out}); err != nil {
			t.Fatal(err)
		}
		if _, err := in.Run(ctx, p); err == nil {
			t.Fatal("it runs another program")
		}
		if res, err = in.Unpark(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	const want = "enter 0\nleave 0\nenter 1\ncaught one\nleave 1\nenter 2\nleave 2\n[True, True]\n0 1 2  [1, 2, 3]\n"
	if err != nil || times != 7 || out.String() != want || res.Value == nil || res.Value.Repr != "103" {
		t.Fatalf("%v, %d times, %q, %+v", err, times, out.String(), res)
	}
	var names []string
	for _, v := range res.Variables {
		names = append(names, v.Name)
	}
	if got := strings.Join(names, " "); !strings.Contains(got, "entered") || !strings.HasSuffix(got, "x") {
		t.Errorf("variables %s", got)
	}
	deepest := pyodide.Program{Session: true, Code: "def f(n):\n    try: return f(n + 1)\n    except RecursionError: return n\nf(0)"}
	fresh, _, _ := run(t, pyodide.Options{}, deepest)
	res, err = in.Run(ctx, deepest)
	if err != nil || res.Value == nil || res.Value.Repr != fresh.Value.Repr {
		t.Errorf("the next program: %v, %+v, want depth %s", err, res.Value, fresh.Value.Repr)
	}
}

// TestParkWhere asks to be parked where that is possible, and where it is not.
func TestParkWhere(t *testing.T) {
	for name, code := range map[string]string{
		"top level":     "park()",
		"method":        "class A:\n    def f(self): return park()\nA().f()",
		"lambda":        "(lambda *a, **o: park())(1, x=2)",
		"arguments":     "def f(*a, **o): return park()\nf(*[1], **{'x': 2})",
		"decorator":     "import functools\ndef d(f):\n    @functools.wraps(f)\n    def g(*a, **o): return f(*a, **o)\n    return g\n@d\ndef f(n): return park()\nf(1)",
		"comprehension": "[(i, park()) for i in range(3)]",
		"context":       "class A:\n    def __enter__(self): return park()\n    def __exit__(self, *e): pass\nwith A() as a: pass",
		"except":        "try:\n    1 / 0\nexcept ZeroDivisionError:\n    try:\n        raise KeyError\n    finally:\n        park()",
		"match":         "match [1, 2]:\n    case [a, b]: print(f'{park()} {a}')",
		"display":       "def f(): return park()\nx = {'a': f()}",
		"open file":     "f = open('x', 'w')\nf.write('x')\npark()",
		"old thread":    "import threading\nt = threading.Thread(target=print)\nt.start(); t.join()\npark()",
		"traced":        "import sys\nsys.settrace(lambda *_: None)\ndef f(): return park()\nf()",
	} {
		p := parksAlways
		p.Code = "from _coderunner import park\n" + code
		if res, _, _ := run(t, pyodide.Options{}, p); res.Ended != pyodide.Parked {
			t.Errorf("%s: %+v %+v", name, res, res.Exception)
		}
	}
	for name, code := range map[string]string{
		"__init__":   "class A:\n    def __init__(self): self.x = park()\nA().x",
		"property":   "class A:\n    x = property(lambda _: park())\nA().x",
		"generator":  "next(park() for _ in range(1))",
		"class":      "class A: x = park()\nA.x",
		"partial":    "import functools\nfunctools.partial(lambda: park())()",
		"callback":   "list(map(lambda _: park(), [1]))[0]",
		"method":     "class A:\n    def __call__(self): return park()\nA()()",
		"exec":       "exec('x = park()')\nx",
		"asyncio":    "import asyncio\nasync def f(): return park()\nasyncio.run(f())",
		"await":      "import asyncio\nawait asyncio.sleep(0)\npark()",
		"destructor": "class A:\n    def __del__(self):\n        global x; x = park()\nA()\nx",
		"thread":     "import threading\nend = threading.Event()\nt = threading.Thread(target=end.wait)\nt.start()\nx = park()\nend.set(); t.join()\nx",
		"in thread":  "import threading\ndef f():\n    global x; x = park()\nt = threading.Thread(target=f)\nt.start(); t.join()\nx",
		"socket":     "import socket\ns = socket.socket()\nx = park()\ns.close()\nx",
		"pipe":       "import os\np = os.pipe()\nx = park()\nx",
	} {
		p := parksAlways
		p.Code = "from _coderunner import park\n" + code
		if res, _, _ := run(t, pyodide.Options{}, p); res.Value == nil || res.Value.Repr != "False" {
			t.Errorf("%s: %+v %+v", name, res, res.Exception)
		}
	}
	for name, parks := range map[string]func() bool{"never": nil, "not now": func() bool { return false }} {
		if res, _, _ := run(t, pyodide.Options{}, pyodide.Program{Parks: parks, Code: "from _coderunner import park\npark()"}); res.Value == nil || res.Value.Repr != "False" {
			t.Errorf("%s: %+v", name, res)
		}
	}
}

// TestParkOffsets compares the numbers of park.go with those that CPython has for debuggers.
func TestParkOffsets(t *testing.T) {
	in, err := pyodidetest.Runtime(t).New(t.Context(), pyodide.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if ours, its, err := in.ParkOffsets(); err != nil || ours != its {
		t.Errorf("%v, %v, want %v", err, ours, its)
	}
}
