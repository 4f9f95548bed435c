package pyodide_test

import (
	"strings"
	"testing"
	"time"

	"coderunner/pyodide"
)

// TestReportIsAClaim runs programs that replace the part of their interpreter
// that reports how they went. What the host says of the end is what it saw.
func TestReportIsAClaim(t *testing.T) {
	const forge = "import _coderunner\n_coderunner._encode = lambda report: "
	for _, c := range []struct {
		name, code string
		want       pyodide.Ended
	}{
		{"interrupted", forge + `'{"exit_code":0,"interrupted":true,"type":"X"}'`, pyodide.Finished},
		{"no JSON", forge + `'nope'`, pyodide.Unreported},
		{"no text", forge + `7`, pyodide.Unreported},
		{"nothing", forge + `None`, pyodide.Unreported},
		{"an exception", forge + `1/0`, pyodide.Unreported},
		{"deep", forge + `'['*10**6`, pyodide.Unreported},
		{"long", forge + `'{"message":"'+'x'*10**8+'"}'`, pyodide.Unreported},
		{"long within the limit", forge + `'{"message":"'+'x'*10**6+'"}'`, pyodide.Finished},
		{"wrong types", forge + `'{"line":"1"}'`, pyodide.Unreported},
		{"exit code", forge + `'{"exit_code":-1}'`, pyodide.Unreported},
		{"type", forge + `'{"type":"' + 'x'*1000 + '"}'`, pyodide.Unreported},
		{"run itself", "import _coderunner\ndef f(request): raise KeyboardInterrupt\n_coderunner.run.__code__ = f.__code__\n_coderunner._finish = None", pyodide.Finished},
		{"time", "import _coderunner\ntry:\n    _coderunner.call('stopping')\nfinally:\n    raise _coderunner._Interrupt", pyodide.Finished},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			res, _, _ := run(t, pyodide.Options{}, pyodide.Program{Code: c.code, Timeout: 5 * time.Minute})
			if res.Ended != c.want {
				t.Errorf("%v (%.200v), want %v", res.Ended, res.Cause, c.want)
			}
		})
	}
}

// TestReportOfHonestPrograms has exceptions with odd and large parts.
func TestReportOfHonestPrograms(t *testing.T) {
	for _, c := range []struct{ name, code, message string }{
		{"long message", "raise ValueError('x' * 10**7)", "xxx"},
		{"message that is none", "raise SyntaxError(5)", "5"},
		{"line that is none", "e = SyntaxError('a')\ne.filename = 'main.py'\ne.lineno = 'b'\nraise e", "a"},
		{"name", "raise type('x' * 10**6, (Exception,), {})('y')", "y"},
		{"syntax of another text", "eval('3 *')", "invalid syntax"},
		{"surrogate", "raise ValueError('\\ud800')", "\ufffd"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			res, _, _ := run(t, pyodide.Options{}, pyodide.Program{Code: c.code})
			if res.Ended != pyodide.Finished || res.Exception == nil || !strings.HasPrefix(res.Exception.Message, c.message) || len(res.Exception.Message) > 60_000 || len(res.Exception.Traceback) > 60_000 {
				t.Errorf("%v %.300v %.100v", res.Ended, res.Exception, res.Cause)
			}
		})
	}
}

// TestFramesOfDecorators shows what a program executes, but no function that a
// decorator of networkx or of the package decorator made, nor what SQLAlchemy generated.
func TestFramesOfDecorators(t *testing.T) {
	code := `def f(name, g):
    d = {"g": g}
    exec(compile("def made(): g()", name, "exec"), d)
    return d["made"]
def fails(): raise ValueError
f("<class 'networkx.utils.decorators.argmap'> compilation 3", f("<decorator-gen-4>",
  f("<sqlalchemy generated _go() wrapper for sqlalchemy.orm.session.SessionTransaction.commit>", f("<string>", fails))))()`
	res, _, _ := run(t, pyodide.Options{}, pyodide.Program{Code: code})
	if res.Exception == nil {
		t.Fatal(res)
	}
	var files []string
	for line := range strings.Lines(res.Exception.Traceback) {
		if file, ok := strings.CutPrefix(line, "  File "); ok {
			files = append(files, strings.Split(file, ",")[0])
		}
	}
	if got, want := strings.Join(files, " "), `"main.py" "<string>" "main.py"`; got != want {
		t.Errorf("frames of %s, want %s", got, want)
	}
}

// TestForgottenAwait has a coroutine as a program's value, which nothing awaits.
func TestForgottenAwait(t *testing.T) {
	for code, want := range map[string]string{
		"async def main(): pass\n\nmain()":                               "main.py:3: RuntimeWarning: coroutine 'main' was never awaited: write await main()\n  main()\n",
		"async def main(): pass\nawait main()":                           "",
		"async def main(): pass\nc = main()\nimport asyncio\nawait c\nc": "",
	} {
		if _, _, stderr := run(t, pyodide.Options{}, pyodide.Program{Code: code}); stderr != want {
			t.Errorf("%q: stderr %q, want %q", code, stderr, want)
		}
	}
}

// TestInterruptBeforeTheLast has an interrupt between the two code objects of a program: the
// traceback has the line that comes next.
func TestInterruptBeforeTheLast(t *testing.T) {
	res, _, _ := run(t, pyodide.Options{}, pyodide.Program{Code: `import _thread, functools
class Signal:  # which is sent where CPython does not look for one
    __getitem__ = staticmethod(functools.partial(_thread.interrupt_main))
s = Signal()
s[2]
2 + 2`})
	const want = "Traceback (most recent call last):\n  File \"main.py\", line 6, in <module>\n    2 + 2\nKeyboardInterrupt\n"
	if e := res.Exception; e == nil || e.Traceback != want || res.ExitCode != 130 {
		t.Errorf("%+v, exit code %d, want %q", e, res.ExitCode, want)
	}
}
