package deno

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"coderunner/internal/session"
	"coderunner/runners"
)

// TestPrintedPlaces has programs print the stacks of errors, which name their files and
// packages, in lines and columns of their own text, and no directory of ours.
func TestPrintedPlaces(t *testing.T) {
	r := open(t, "", nil)
	for _, tt := range []struct {
		name, code, stdout string
		language           runners.Language
		filename           string
	}{
		{"printed", "const f = (): never => { throw new Error('no') }\ntry { f() } catch (e) { console.log(e); console.error((e as Error).stack) }", "Error: no\n    at f (main.ts:1:32)\n    at main.ts:2:7\n", "", ""},
		{"the last statement", "console.log(new Error('a').stack)", "Error: a\n    at main.ts:1:13\n", "", ""},
		{"in an object", "console.log(1)\n;({ e: new Error('a') })", "1\n", "", ""},
		{"in JSON", "({ stack: new Error('a').stack })", "", "", ""},
		{"CommonJS", "const path = require('path'); const f = () => new Error(path.sep)\nconsole.log(f().stack.split('\\n').slice(0, 3).join('\\n'))", "Error: /\n    at f (a b.js:1:47)\n    at Object.<anonymous> (a b.js:2:13)\n", runners.JavaScript, "a b.js"},
		{"a package", "import _ from 'npm:lodash@4'\nconsole.log(_.attempt(() => { throw new Error('x') }).stack.split('\\n').slice(1, 3).join('\\n').replace(/js:\\d+:\\d+/, 'js:1:2'))", "    at main.ts:2:37\n    at apply (node_modules/lodash/lodash.js:1:2)\n", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var live, errors bytes.Buffer
			o := run(t, r, runners.Request{Code: tt.code, Language: tt.language, Filename: tt.filename, Stdout: &live, Stderr: &errors})
			if o.Status != runners.Succeeded || o.Stdout != tt.stdout || live.String() != tt.stdout {
				t.Errorf("%s, %+v, %q, live %q", o.Status, o.Error, o.Stdout, live.String())
			}
			all := o.Stdout + o.Stderr + live.String() + errors.String()
			if o.Result != nil {
				all += o.Result.Text + string(o.Result.JSON)
			}
			if strings.Contains(all, "file:") || strings.Contains(all, os.TempDir()) {
				t.Errorf("it names a directory:\n%s", all)
			}
		})
	}
}

// TestPlacesOfSession has errors in functions of earlier calls.
func TestPlacesOfSession(t *testing.T) {
	r := open(t, "", nil)
	run, _ := openSessions(t, &r)
	named := func(name string) func(*session.Call) {
		return func(c *session.Call) { c.Request.Filename = name }
	}
	run("a", "function f(x: number) { if (x > 2) throw new Error('big'); return x } const g = (x: number) => f(x)", named("one.ts"))
	run("a", "const h = () => g(3), k = () => new Error('k')", named("one.ts"))
	o := run("a", "h()", named("two.ts"))
	if want := "    at f (one.ts:1:42)\n    at g (one.ts:1:96)\n    at h (one.ts:1:17)\n    at two.ts:1:1"; o.Error == nil || !strings.Contains(o.Error.Traceback, want) || o.Error.Line != 1 {
		t.Errorf("%+v, want %s", o.Error, want)
	}
	o = run("a", "console.log(k().stack)", named("two.ts"))
	if want := "Error: k\n    at k (one.ts:1:33)\n    at two.ts:1:13\n"; o.Stdout != want {
		t.Errorf("%q, want %q", o.Stdout, want)
	}
}
