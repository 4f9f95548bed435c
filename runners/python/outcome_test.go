package python

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"coderunner/runners"
)

// TestStatusIsTheHosts runs programs that forge what their interpreter reports,
// or end it in ways that are their own fault.
func TestStatusIsTheHosts(t *testing.T) {
	r := newIndex(t).newRunner(base{}, false, t.TempDir())
	const forge = "import _coderunner\n_coderunner._encode = lambda report: "
	for _, c := range []struct {
		name, code string
		want       runners.Status
		kind       string
	}{
		{"timed_out", forge + `'{"exit_code":1,"interrupted":true,"type":"X"}'`, runners.Failed, "X"},
		{"crashed", forge + `'no JSON'`, runners.Failed, "NoReport"},
		{"out_of_memory", forge + `'{"type":"MemoryError","message":"x","no_memory":true}'`, runners.Failed, "MemoryError"},
		{"not_installed", "import _coderunner\n_coderunner.call('imports', [['nobody-has-this', False, False]])", runners.Failed, "HostError"},
		{"nested lists", "import json\njson.loads('[' * 10**6)", runners.Failed, "RecursionError"},
		{"a long file name", "open('x' * 10**5, 'w')", runners.Failed, "OSError"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, err := r.Run(t.Context(), runners.Request{Language: runners.Python, Code: c.code, Limits: runners.Limits{Timeout: time.Minute}})
			if err != nil {
				t.Fatal(err)
			}
			if o.Status != c.want || o.Error == nil || o.Error.Type != c.kind || o.ExitCode == 0 {
				t.Errorf("%s, %+v; want %s, %s", o.Status, o.Error, c.want, c.kind)
			}
		})
	}
}

// TestNestedBlocks has 900 blocks in one another, half a megabyte of spaces, refused soon.
func TestNestedBlocks(t *testing.T) {
	r := newIndex(t).newRunner(base{}, false, t.TempDir())
	var code strings.Builder
	for i := range 900 {
		code.WriteString(strings.Repeat(" ", i) + "if 1:\n")
	}
	o, err := r.Run(t.Context(), runners.Request{Language: runners.Python, Code: code.String() + strings.Repeat(" ", 900) + "print(1)", Limits: runners.Limits{Timeout: time.Minute}})
	if err != nil || o.Error == nil || !strings.Contains(o.Error.Message, "too many levels of indentation") {
		t.Fatalf("%+v, %v", o, err)
	}
	if o.Usage.CPUMS > 1500 { // 200 when nothing else runs; with a search for commands that went back at each space, 3,000
		t.Errorf("it took %d ms of the processor", o.Usage.CPUMS)
	}
}

// TestRounds has a recursion through two functions: the rounds are counted, and the
// error is there.
func TestRounds(t *testing.T) {
	r := newIndex(t).newRunner(base{}, false, t.TempDir())
	o, err := r.Run(t.Context(), runners.Request{Language: runners.Python, Code: `
def even(n): return odd(n - 1)
def odd(n): return even(n - 1)
even(5)`})
	if err != nil || o.Error == nil || !regexp.MustCompile(`(?s)\ATraceback.*line 4, in <module>.*line 2, in even.*\[Previous 2 calls repeated \d+ more times\]\nRecursionError: `).MatchString(o.Error.Traceback) || strings.Count(o.Error.Traceback, "in odd") != 3 {
		t.Errorf("%+v, %v", o.Error, err)
	}
}

// TestWaitsWithinItsLimit has a program that installs packages for ever: it
// waits for them no longer than it may run.
func TestWaitsWithinItsLimit(t *testing.T) {
	r := newIndex(t).newRunner(base{}, false, t.TempDir())
	const limit = 2 * time.Second
	begun := time.Now()
	o, err := r.Run(t.Context(), runners.Request{Language: runners.Python, Limits: runners.Limits{Timeout: limit}, Code: `
import micropip
n = 0
while True:
    n += 1
    try:
        micropip.install(f"nobody-has-{n}")
    except ValueError:
        pass
`})
	if err != nil || o.Status != runners.TimedOut {
		t.Fatalf("%+v, %v", o, err)
	}
	if took := time.Since(begun); took > 2*limit+20*time.Second { // a busy machine; without a budget it took minutes
		t.Errorf("it took %v", took)
	}
}

// A program that waits for clients which cannot come is told who could.
func TestServerTimesOut(t *testing.T) {
	r := newIndex(t).newRunner(base{}, false, t.TempDir())
	const called = `
import socket
listener = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(listener.getsockname())
while True: pass`
	const pair = "import asyncio, socket\nsocket.socketpair()\nasyncio.run(asyncio.sleep(1000))"
	for _, test := range []struct {
		code string
		want bool
	}{
		{"import socketserver\nsocketserver.TCPServer(('127.0.0.1', 0), None).serve_forever()", true},
		{"import socket\ns = socket.create_server(('127.0.0.1', 0))\nwhile True:\n  client, _ = s.accept()", true},
		{called, false},
		{pair, false},
	} {
		o, err := r.Run(t.Context(), runners.Request{Language: runners.Python, Limits: runners.Limits{Timeout: time.Second}, Code: test.code})
		if err != nil || o.Status != runners.TimedOut || strings.Contains(o.Error.Message, "call it at 127.0.0.1") != test.want {
			t.Errorf("%s\n%s %+v, %v", test.code, o.Status, o.Error, err)
		}
	}
}

// A server that catches the interrupt, and logs that its tasks were cancelled, is
// told the program's line.
func TestCaughtServerTimesOut(t *testing.T) {
	r := newIndex(t).newRunner(base{}, false, t.TempDir())
	o, err := r.Run(t.Context(), runners.Request{Language: runners.Python, Limits: runners.Limits{Timeout: 3 * time.Second}, Code: `
import asyncio, logging
async def lifespan():
    try:
        await asyncio.sleep(1000)
    except asyncio.CancelledError:
        logging.getLogger("server").error("Traceback")
        raise
async def serve_forever():
    await asyncio.gather(lifespan())
try:
    asyncio.run(serve_forever())
except KeyboardInterrupt:
    pass`})
	if err != nil || o.Status != runners.TimedOut || o.Error.Line != 10 || o.Stderr != "" || !strings.Contains(o.Error.Traceback, "line 12, in <module>") {
		t.Errorf("%s %+v %q, %v", o.Status, o.Error, o.Stderr, err)
	}
}

// TestProgramIsAFile has a program look for itself, as pytest does.
func TestProgramIsAFile(t *testing.T) {
	r := newIndex(t).newRunner(base{}, false, t.TempDir())
	value(t, run(t, r, "open(__file__).read()[:4], __import__('main') is not __import__('__main__') if __name__ == '__main__' else 0"), "('open', True)")
}

// TestNamesake has a program's file stand in the way of a module of the library.
func TestNamesake(t *testing.T) {
	r := newIndex(t).newRunner(base{}, false, t.TempDir())
	const file = "import random\nrandom.randint(1, 3)"
	for _, test := range []struct{ code, want string }{
		{"import random", "module 'random' has no attribute 'randint' (consider renaming '/home/user/random.py' since it has the same name as the standard library module named 'random' and the import system gives it precedence)"},
		{"import math\nmath.root", "module 'math' has no attribute 'root'"},
	} {
		o, err := r.Run(t.Context(), runners.Request{Language: runners.Python, Code: test.code, Files: []runners.File{{Path: "random.py", Data: []byte(file)}}})
		if err != nil || o.Error == nil || o.Error.Message != test.want {
			t.Errorf("%s: %+v %v, want %s", test.code, o, err, test.want)
		}
	}
}

// value checks that a program succeeded with a value.
func value(t *testing.T, o *runners.Outcome, want string) {
	t.Helper()
	if o.Status != runners.Succeeded || o.Result == nil || o.Result.Text != want {
		b, _ := json.MarshalIndent(o, "", " ")
		t.Errorf("want the value %s, the outcome is %s", want, b)
	}
}

// refused checks that a package cannot be installed, and why.
func refused(t *testing.T, o *runners.Outcome, name string, reasons ...string) {
	t.Helper()
	if o.Status == runners.NotInstalled {
		for _, p := range o.Error.Packages {
			if p.Name != name {
				continue
			}
			for _, reason := range reasons {
				if !strings.Contains(p.Reason, reason) {
					t.Errorf("the reason of %s is %q, want %q in it", name, p.Reason, reason)
				}
			}
			return
		}
	}
	b, _ := json.MarshalIndent(o, "", " ")
	t.Errorf("want %s refused (%v), the outcome is %s", name, reasons, b)
}

// installed returns the packages of an outcome as "name version" texts.
func installed(o *runners.Outcome) string {
	var list []string
	for _, p := range o.Packages {
		list = append(list, p.Name+" "+p.Version)
	}
	return strings.Join(list, ", ")
}
