package deno

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coderunner/internal/session"
	"coderunner/runners"
	"coderunner/runners/deno/ending"
)

// openSessions returns a function that runs programs of sessions, and where it puts
// the key of the session that it ran last.
func openSessions(t *testing.T, r **Runner) (run func(name, code string, change ...func(*session.Call)) *runners.Outcome, key *string) {
	t.Helper()
	store, err := session.Open(session.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	key = new(string)
	return func(name, code string, change ...func(*session.Call)) *runners.Outcome {
		t.Helper()
		c := session.Call{Session: name, Request: runners.Request{Language: runners.TypeScript, Code: code}}
		for _, f := range change {
			f(&c)
		}
		o, err := store.Run(t.Context(), c, func(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
			*key = req.Session.Key
			return (*r).Run(ctx, req)
		})
		if err != nil {
			t.Fatalf("%s: %v", code, err)
		}
		return o
	}, key
}

// TestSession has one program after another: what is left of each, and where
// errors are.
func TestSession(t *testing.T) {
	r := open(t, "", nil)
	run, _ := openSessions(t, &r)
	for _, c := range []struct{ code, want string }{
		{"const x: number = 1; let y = x + 1\ny", "2"},
		{"const x = 5\nx + y", "7"}, // declared again
		{"y++; y", "3"},
		{"function inner() { return 1 }\nfunction outer() { return inner() }\nouter()", "1"},
		{"const inner = () => 2\nouter()", "2"}, // a function becomes a constant
		{"function inner() { return 3 }\n;[outer(), inner.name]", `[ 3, "inner" ]`},
		{"class A { n = 1 }\nclass B extends A {}", ""},
		{"class A { n = 2 }\n;[new A().n, new B().n]", "[ 2, 1 ]"},
		{"enum Color { Red, Green }\ninterface P { a: number }\nconst { a, b: [c] }: any = await Promise.resolve({ a: 1, b: [2] })", ""},
		{"[a, c, Color.Green]", "[ 1, 2, 1 ]"},
		{"var v = 1; for (var i = 0; i < 3; i++) v += i", ""},
		{"let v2 = v; v = 10;[v, v2, i]", "[ 10, 4, 3 ]"},
		{"const v = 7\nv", "7"}, // a var becomes a constant
		{"export const e = 1\nexport default 2\nexport { e as f }\ne", "1"},
		{"if (x) { x }", ""},
		{"JSON.stringify({ a })", `'{"a":1}'`},
		{"Promise.resolve(8)", "8"},
		{"import { join } from 'node:path'\nimport fs, { existsSync } from 'node:fs'\nimport * as os from 'node:os'", ""},
		{"[join('a', 'b'), typeof fs.readFileSync, typeof existsSync, typeof os.EOL]", `[ "a/b", "function", "function", "string" ]`},
		{"const { basename } = require('node:path')\nbasename(import.meta.filename) === basename(__filename)", "true"},
		{"Deno.writeTextFileSync('lib.ts', 'export const n: number = 41')", ""},
		{"import { n } from './lib.ts'\nn + 1", "42"},
		{"(await import('./lib.ts')).n", "41"},
		{"this is not a program", "SyntaxError:1"},
		{"const broken = (() => {\n  throw new TypeError('no')\n})()", "TypeError:2"},
		{"typeof x + x", "number5"},
		{"const broken = 1\nbroken", "1"},
		{"interface Q {\n  a: 1\n}\nenum E2 { A }\nfunction boom(q?: Q) {\n  throw new RangeError('far')\n}\nnull!.x", "TypeError:8"},
		{"\n\nboom()", "RangeError:3"},
		{"setTimeout(() => { throw new Error('later') }, 1)", "Error:1"},
		{"Promise.reject(new Error('unhandled'))\n1", "Error:1"},
		{"setTimeout(() => console.log('late'), 20); 1", "1late\n"},
		{"setInterval(() => {}, 1000); Deno.exit(3)", "exit 3"},
		{"x = 6", "6"},
		{"zz = 6", "ReferenceError:1"},
		{"await new Promise(() => {})", "Error:1"},
		{"[x, y, typeof zz]", `[ 6, 3, "undefined" ]`},
		{"import { nope } from 'node:path'", "SyntaxError:1"},
		{"\nimport { a } from './none.ts'", "TypeError:2"},
		{"\nimport { a } from '../none.ts'", "TypeError:2"},
		{"[...Deno.readDirSync('.')].map((e) => e.name).join()", "lib.ts"},
		{"const own = Deno.readTextFileSync(import.meta.filename)\nown.includes('own')", "true"},
	} {
		o := run("s", c.code)
		got := ""
		if o.Result != nil {
			got = strings.Trim(o.Result.Text, `"`)
		}
		got += o.Stdout
		switch {
		case o.Error != nil:
			got = o.Error.Type + ":" + string(rune('0'+o.Error.Line))
		case o.ExitCode != 0:
			got = "exit " + string(rune('0'+o.ExitCode))
		}
		if got != c.want || o.Continued == nil || !o.Continued.Kept {
			t.Errorf("%s\n got %q, want %q; %+v %s %+v", c.code, got, c.want, o.Error, o.Stderr, o.Continued.Kept)
		}
	}
}

// TestSessionNamed has programs of one name, as a file that is run again and again.
func TestSessionNamed(t *testing.T) {
	r := open(t, "", nil)
	run, _ := openSessions(t, &r)
	for i, code := range []string{"function f() {\n  throw new Error('a')\n}", "const b = 1;\n  f()", "const b = 2;\n  f()"} {
		o := run("s", code, func(c *session.Call) { c.Request.Filename = "a b.ts" })
		if i > 0 && (o.Error == nil || o.Error.Line != 2 || !strings.Contains(o.Error.Traceback, "a b.ts:2:3") || strings.Contains(o.Error.Traceback, "%")) {
			t.Errorf("%s: %+v", code, o.Error)
		}
	}
}

// TestSessionAsleep has a session go on in another Runner, as after a restart.
func TestSessionAsleep(t *testing.T) {
	r := open(t, "", nil)
	run, _ := openSessions(t, &r)
	js := func(c *session.Call) { c.Request.Language = runners.JavaScript }
	file := func(c *session.Call) {
		c.Request.Files = []runners.File{{Path: "in.txt", Data: []byte("data")}}
		c.Request.Args = []string{"one"}
	}
	run("s", "const text = Deno.readTextFileSync('in.txt'); const arg = Deno.args[0]; Deno.writeTextFileSync('log', 'x', { append: true }); console.log('again')", file)
	run("s", "const input = await new Response(Deno.stdin.readable).text()", func(c *session.Call) { c.Request.Stdin = strings.NewReader("typed") })
	run("s", "const partial = 1; throw new Error('half')", js)
	run("lost", "let n = 0; if (Deno.readTextFileSync('in.txt') !== 'data') throw 1", file)
	run("lost", "Deno.removeSync('in.txt')")

	r = open(t, "", nil)
	for _, c := range []struct {
		name, code, want string
		origin           runners.Origin
	}{
		{"s", "[text, arg, input, partial, Deno.readTextFileSync('log')].join()", "data,one,typed,1,x", runners.OriginReplayed},
		{"s", "text + Deno.args.length", "data0", runners.OriginLive},
		{"lost", "typeof n", "undefined", runners.OriginLost},
		{"lost", "typeof n", "undefined", runners.OriginLive},
	} {
		o := run(c.name, c.code)
		if o.Result == nil || strings.Trim(o.Result.Text, `"`) != c.want || o.Stdout != "" || o.Continued.Origin != c.origin || (o.Continued.Lost != "") != (c.origin == runners.OriginLost) {
			t.Errorf("%s: %s\n got %+v %q %+v %+v", c.name, c.code, o.Result, o.Stdout, o.Error, o.Continued)
		}
	}
}

// TestSessionLimits has programs run into limits, and others that go on after them.
func TestSessionLimits(t *testing.T) {
	r := open(t, "", nil)
	run, key := openSessions(t, &r)
	limits := func(c *session.Call) { c.Request.Limits.Timeout = 3 * time.Second }
	run("s", "let n = 1")
	if o := run("s", "n = 2; for (;;) {}", limits); o.Status != runners.TimedOut || o.Continued.Kept {
		t.Errorf("a loop: %s %+v", o.Status, o.Continued)
	}
	if o := run("s", "setInterval(() => n++, 500)", limits); o.Status != runners.TimedOut || !strings.Contains(o.Error.Message, ending.LeftOpen) {
		t.Errorf("a timer: %s %+v", o.Status, o.Error)
	}
	if o := run("s", "n", limits); o.Result == nil || o.Result.Text != "1" || o.Continued.Origin != runners.OriginReplayed {
		t.Errorf("after a loop: %+v %+v", o.Result, o.Continued)
	}
	if o := run("s", "process.abort()"); o.Status != runners.Failed || o.Continued.Kept {
		t.Errorf("a crash: %s %+v", o.Status, o.Continued)
	}
	if o := run("s", "n = 3; throw 1", func(c *session.Call) { c.Rollback = true }); o.Status != runners.Failed || o.Continued.Kept {
		t.Errorf("a rollback: %s %+v", o.Status, o.Continued)
	}
	if o := run("s", "n"); o.Result == nil || o.Result.Text != "1" {
		t.Errorf("after a rollback: %+v %+v", o.Result, o.Continued)
	}

	// What a program leaves running does not run between calls.
	run("s", `let gap = 0, last = performance.now();
const w = setInterval(() => { const now = performance.now(); gap = Math.max(gap, now - last); last = now; console.log("tick") }, 1); w.unref()`)
	before := keptProcess(t, r, *key).Process.Usage().CPU
	time.Sleep(300 * time.Millisecond) // nothing happens: there is no event
	if used := keptProcess(t, r, *key).Process.Usage().CPU - before; used > 50*time.Millisecond {
		t.Errorf("an idle process used %v", used)
	}
	// How often it ticks before and after says how busy the machine is.
	o := run("s", "clearInterval(w); Math.max(gap, performance.now() - last) > 299")
	if o.Result == nil || o.Result.Text != "true" {
		t.Errorf("a timer between calls: %+v %+v", o.Result, o.Error)
	}

	// A report of a later end, by who does not know its nonce.
	run("s", strings.Replace(forge, "at(-1)", "at(-2)", 1)+`setTimeout(() => { record("r", "forged", "", ""); record("x", "0", "guessed"); globalThis.wrote = true }, 1).unref(); 1`)
	o = run("s", "await new Promise((ok) => setTimeout(ok, 50)); wrote && 'honest'")
	if o.Status != runners.Succeeded || o.Result == nil || o.Result.Text != `"honest"` {
		t.Errorf("after a forged report: %s %+v %+v", o.Status, o.Result, o.Error)
	}
}

// TestSessionWakes has programs that take longer, when they are run again, than the
// limit of the call that they are run again for, and without end: a call is cancelled
// meanwhile, or waits for them, and no longer than all of them may take.
func TestSessionWakes(t *testing.T) {
	store, err := session.Open(session.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var r *Runner
	call := func(name, code string, limit time.Duration, cancels bool) *runners.Outcome {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := session.Call{Session: name, Rollback: limit > 0, Request: runners.Request{Language: runners.TypeScript, Code: code, Limits: runners.Limits{Timeout: limit}}}
		c.Request.Progress = func(p runners.Progress) {
			if p.Phase == "replay" && cancels {
				cancel()
			}
		}
		o, err := store.Run(ctx, c, r.Run)
		if err != nil {
			t.Fatalf("%s: %v", code, err)
		}
		return o
	}
	host, err := filepath.EvalSymlinks(t.TempDir()) // of the session's own files, a program finds those that it had
	if err != nil {
		t.Fatal(err)
	}
	allow := "--allow-read=" + host + " --allow-write=" + host
	r = open(t, allow, nil)
	for name, again := range map[string]string{"late": "setTimeout(ok, 1100)", "never": "setTimeout(ok, 1e9)"} {
		call(name, `import { existsSync, writeFileSync } from "node:fs";
let n = 1, ran = "`+host+`/`+name+`"; if (existsSync(ran)) await new Promise((ok) => `+again+`); writeFileSync(ran, "")`, 0, false)
	}
	r = open(t, allow, nil)
	if o := call("never", "n", 0, true); o.Status != runners.Cancelled {
		t.Errorf("cancelled: %s %+v", o.Status, o.Continued)
	}
	// Whether the program itself ends within its second, only the machine knows.
	if o := call("late", "n", time.Second, false); o.Continued.Origin != runners.OriginReplayed {
		t.Errorf("%s %+v %+v", o.Status, o.Error, o.Continued)
	}
	if o := call("late", "n", 0, false); o.Result == nil || o.Result.Text != "1" {
		t.Errorf("%s %+v %+v", o.Status, o.Error, o.Continued)
	}
	r.replayLimit = time.Second
	if o := call("never", "typeof n", 0, false); o.Result == nil || o.Result.Text != `"undefined"` || !strings.Contains(o.Continued.Lost, "together they may take 1s") {
		t.Errorf("%s %+v %+v", o.Status, o.Error, o.Continued)
	}
}

// TestSessionReplay has programs run again that find what they had found, and not what they or
// later ones have left.
func TestSessionReplay(t *testing.T) {
	var r *Runner
	run, _ := openSessions(t, &r)
	for name, calls := range map[string][][2]string{
		"files": {
			{"import fs from 'fs';\nconst list: string[] = fs.existsSync('todo.json') ? JSON.parse(fs.readFileSync('todo.json', 'utf8')) : [];\nlist.push('milk'); fs.writeFileSync('todo.json', JSON.stringify(list)); fs.mkdirSync('d')", ""},
			{"fs.appendFileSync('d/log', 'a'); list.length", "1"},
			{"[list.length, fs.readFileSync('todo.json', 'utf8'), fs.readFileSync('d/log', 'utf8')]", `[ 1, '["milk"]', "a" ]`},
		},
		"database": {
			{"import { DatabaseSync } from 'node:sqlite';\nconst db = new DatabaseSync('app.db'); db.exec('CREATE TABLE IF NOT EXISTS t (n); INSERT INTO t VALUES (1), (2)')", ""},
			{"db.prepare('INSERT INTO t VALUES (3)').run().changes", "1"},
			{"db.exec('INSERT INTO t VALUES (4)'); Object.values(db.prepare('SELECT count(*), sum(n) FROM t').get()!)", "[ 4, 10 ]"},
		},
		"unknown": {
			{"import fs from 'fs';\nconst first = fs.existsSync('a') ? 'a' : ''; fs.writeFileSync('a', '1')", ""},
			{"const second = fs.readFileSync('a', 'utf8')", ""},
			{"[first, second]", "lost"},
		},
	} {
		for i, c := range calls {
			r = open(t, "", nil)
			if name == "unknown" && i == 1 {
				run(name, "", func(c *session.Call) { c.Request.Files = []runners.File{{Path: "a", Data: []byte("2")}} })
				run(name, "fs.writeFileSync('a', '3')")
			}
			o := run(name, c[0])
			got := ""
			if o.Result != nil {
				got = o.Result.Text
			}
			if c[1] == "lost" {
				got = ""
				if strings.Contains(o.Continued.Lost, "had another a") {
					got = "lost"
				}
			}
			if got != c[1] || name != "unknown" && i > 0 && o.Continued.Origin != runners.OriginReplayed {
				t.Errorf("%s, %s\n got %q, want %q; %+v %+v", name, c[0], got, c[1], o.Error, o.Continued)
			}
		}
	}
}

// keptProcess returns the only process that waits for a session.
func keptProcess(t *testing.T, r *Runner, key string) *kept {
	t.Helper()
	if n := r.sessions.Stats().Used; n != 1 {
		t.Fatalf("%d processes are kept, want 1", n)
	}
	k, err := r.sessions.Get(t.Context(), key)
	if err != nil || k == nil {
		t.Fatalf("no process is kept for %s: %v", key, err)
	}
	r.sessions.Put(key, k)
	return k
}

// TestSessionModules has modules of a session's files change between its programs: a
// changed one and what imports it are read again, and no other.
func TestSessionModules(t *testing.T) {
	r := open(t, "", nil)
	run, _ := openSessions(t, &r)
	esm, required := `import { f } from "./f.ts"; import { list } from "./list.ts"; list.push(1); [f(), list.length] + ""`, `require("./c").v + require("lodash").last([1, 2])`
	for _, c := range []struct{ code, path, text, want string }{
		{`export {}`, "list.ts", `export const list: number[] = []`, ""},
		{`export {}`, "n.json", `{ "n": 1 }`, ""},
		{`export {}`, "a b.ts", `import d from "./n.json" with { type: "json" }; export const n: number = d.n`, ""},
		{esm, "f.ts", `import { n } from "./a b.ts"; import { list } from "./list.ts"; export const f = () => n + list.length`, "2,1"},
		{esm, "", "", "3,2"},
		{esm, "a b.ts", `export const n = 10`, "13,3"},
		{esm, "f.ts", "export const f = () => {\n  throw new Error('no')\n}", "Error: no\n    at f (f.ts:2:9)"},
		{esm, "f.ts", `export const f = () => 5`, "5,5"},
		{`Deno.writeTextFileSync("f.ts", "export const f = () => 6")
const { f: g } = await import("./f.ts"); g()`, "", "", "6"},
		{`Deno.writeTextFileSync("f.ts", "export const f = () => 7")
const now = (await import("./f.ts")).f()
Deno.writeTextFileSync("f.ts", "export const f = () => 8")
now + (await import("./f.ts")).f()`, "", "", "14"}, // read once by a program, as elsewhere
		{`import { f } from "./f"; f()`, "", "", "8"},
		{`export {}`, "d.js", `exports.v = require("lodash").last([3, 1])`, ""},
		{required, "c.js", `exports.v = require("./d").v * 10`, "12"},
		{required, "d.js", `exports.v = 2`, "22"},
		{`import c from "./c.js"; c.v`, "d.js", `exports.v = 3`, "30"},
		{"const g = require('./g')\nconst after = 1\nafter", "g.js", "exports.v = 1\nexports.w = JSON.parse('{')", "SyntaxError: Expected property name or '}' in JSON at position 1 (line 1 column 2)\n    at Object.<anonymous> (g.js:2:18)"},
		{`require("./g")`, "g.js", "exports.v = 1\nlet y = a b", "SyntaxError: g.js:2: Unexpected identifier 'b'\n    at g.js:2:11"},
		{"let y = 1\nlet z = a b", "", "", "SyntaxError: Unexpected identifier 'b'\n    at call_18.js:2:11"},
		{`import * as _ from "lodash"; _.last([1, 2]) + _.default.VERSION[0]`, "", "", "24"},
		{"\nimport x from './h.js'", "h.js", `export const v = 1`, "SyntaxError: The requested module './h.js' does not provide an export named 'default'\n    at call_20.js:2:8"},
	} {
		o := run("s", c.code, func(call *session.Call) {
			if call.Request.Language = runners.JavaScript; c.path != "" {
				call.Request.Files = []runners.File{{Path: c.path, Data: []byte(c.text)}}
			}
		})
		got := ""
		if o.Result != nil {
			got = strings.Trim(o.Result.Text, `"`)
		}
		if o.Error != nil {
			got = o.Error.Traceback
		}
		if c.want == "" && o.Error == nil {
			got = ""
		}
		if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s with %s: %s\n got %q, want %q; %+v", c.code, c.path, c.text, got, c.want, o.Error)
		}
	}
}

// TestSessionDefaults has default imports of packages that have only names, as programs
// without a session have them.
func TestSessionDefaults(t *testing.T) {
	r := open(t, "", nil)
	run, _ := openSessions(t, &r)
	for _, c := range []struct{ code, want string }{
		{`import yaml from "npm:js-yaml@5"; yaml.load("a: 1").a`, "1"},
		{`yaml.load("a: 2").a`, "2"},
		{"import yaml from 'npm:js-yaml@5'\nconst n: number = yaml.load('3')\nn", "3"},
		{`import LRUCache from "lru-cache"; new LRUCache({ max: 3 }).max`, "3"},
		{"1\nimport yaml from 'npm:js-yaml@5'; yaml('a: 1')", "does not provide an export named 'default'"},
	} {
		o := run("s", c.code)
		if failed := o.Error != nil; failed && (o.Error.Line != 2 || !strings.Contains(o.Error.Message, c.want)) || !failed && (o.Result == nil || o.Result.Text != c.want) {
			t.Errorf("%s: %+v %+v, want %q", c.code, o.Result, o.Error, c.want)
		}
	}
}

// TestSessionHears has listeners of Node's hear what nothing else catches.
func TestSessionHears(t *testing.T) {
	r := open(t, "", nil)
	run, _ := openSessions(t, &r)
	for _, c := range []struct{ code, stdout, message string }{
		{"process.on('uncaughtException', (e) => console.log('heard', e.message))", "", ""},
		{"setTimeout(() => { throw new Error('late') }, 1)", "heard late\n", ""},
		{"Promise.reject(new Error('rejected')); 0", "heard rejected\n", ""},
		{"process.removeAllListeners('uncaughtException'); process.on('unhandledRejection', (e) => console.log('only', e.message)); Promise.reject(new Error('b')); 0", "only b\n", ""},
		{"setTimeout(() => { throw new Error('c') }, 1)", "", "c"},
	} {
		o := run("a", c.code)
		var err runners.Error
		if o.Error != nil {
			err = *o.Error
		}
		if o.Stdout != c.stdout || err.Message != c.message {
			t.Errorf("%s: %+v, stdout %q", c.code, o.Error, o.Stdout)
		}
	}
}
