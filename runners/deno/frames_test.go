package deno

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"coderunner/internal/session"
	"coderunner/runners"
	"coderunner/runners/deno/jsparse"
	"coderunner/runners/deno/stacktrace"
)

// TestPlaced has places come in pieces.
func TestPlaced(t *testing.T) {
	program := jsparse.Parse("const a = 1\na", jsparse.Options{Main: true})
	l := &stacktrace.Places{Work: "/w/r1/work", Cache: "/c", Main: "main.js", Scripts: map[string]stacktrace.Script{
		"main.js": stacktrace.NewScript("my prog.js", program), "sub/x y.js": stacktrace.NewScript("x y.js", jsparse.Plain("\n\n")), "call.js#2": stacktrace.NewScript("call.js", jsparse.Plain("\n\n")),
	}}
	long := strings.Repeat("x", 2*stacktrace.MaxPlace)
	for _, tt := range []struct {
		writes []string
		want   string
	}{
		{[]string{"a\n", "at (file:///w/r1/work/main.js:1:7)\n"}, "a\nat (my prog.js:1:7)\n"},
		{[]string{"at file:///w/r", "1/work/ma", "in.js:1", ":", "7", " b"}, "at my prog.js:1:7 b"},
		{[]string{"at file:///w/r1/work/main.js:2:31"}, "at my prog.js:2:1"}, // in an edit
		{[]string{"at file:///w/r1/work/main.js:9:9"}, "at my prog.js:2:1"},
		{[]string{"/w/r1/work/sub/x%20y.js:1:2 /w/r1/work/call.js%232:2:3"}, "x y.js:1:2 call.js:2:3"},
		{[]string{`{"stack":"at file:///w/r1/work/lib/a.ts:01:02\n"}`}, `{"stack":"at lib/a.ts:01:02\n"}`},
		{[]string{"file:///w/r1/work/main.js /w/r1/work/ 12:30:05"}, "file:///w/r1/work/main.js /w/r1/work/ 12:30:05"},
		{[]string{"(file:///c/deno/npm/host/@a/b/1.0.0/lib/c.js:3:4) file:///c/trees/x/node_modules/d/e.js:5:6"}, "(node_modules/@a/b/lib/c.js:3:4) node_modules/d/e.js:5:6"},
		{[]string{"file:///w/r2/work/main.js:1:1"}, "file:///w/r2/work/main.js:1:1"},
		{[]string{"file:///" + long, "y"}, "file:///" + long + "y"},
		{[]string{" at require (node:module:5:3510)\n    at file:///w/r1/work/main.js:7:9\nb"}, " at require (node:module:5:3510)\nb"},
		{[]string{"\xff\x00file://", ""}, "\xff\x00file://"},
	} {
		var got bytes.Buffer
		p := stacktrace.Writer{To: &got, Places: l}
		for _, text := range tt.writes {
			if _, err := p.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		if p.End(); got.String() != tt.want {
			t.Errorf("%.200q: %.200q, want %.200q", tt.writes, got.String(), tt.want)
		}
	}
}

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
		{"CommonJS", "const path = require('path'); const f = () => new Error(path.sep)\nconsole.log(f().stack.split('\\n').slice(0, 3).join('\\n'))", "Error: /\n    at f (a b.js:1:47)\n    at a b.js:2:13\n", runners.JavaScript, "a b.js"},
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
