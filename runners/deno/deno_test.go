package deno

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"coderunner/cache"
	"coderunner/internal/fetch"
	"coderunner/internal/testcache"
	"coderunner/internal/versions"
	"coderunner/runners"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv("CODERUNNER_DENO_TEST_CHILD") != "" {
		child()
	}
	if len(os.Args) > 1 && (os.Args[1] == "--version" || os.Args[1] == "cache") {
		standIn()
	}
	if len(os.Args) > 1 && os.Args[1] == "run" {
		writeEverywhere()
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if shared != "" {
			os.RemoveAll(shared)
		}
		os.Exit(code)
	}))
}

var binaryOnce = sync.OnceValues(func() (string, error) {
	if name := os.Getenv("CODE_RUNNER_DENO"); name != "" {
		return name, nil
	}
	c, err := cache.Open(testcache.Dir())
	if err != nil {
		return "", err
	}
	defer c.Close()
	p, executable, err := versions.Deno(os.Getenv("NPM_CONFIG_REGISTRY"))
	if err != nil {
		return "", err
	}
	fetcher := fetch.New(c, fetch.Options{})
	defer fetcher.Close()
	dir, err := fetcher.NPM(context.Background(), p, nil)
	return filepath.Join(dir, executable), err
})

// shared is the directory of sharedDir, once it is there.
var shared string

// sharedDir is a cache that the tests share, so that each package is fetched
// once.
var sharedDir = sync.OnceValues(func() (dir string, err error) {
	shared, err = os.MkdirTemp("", "coderunner-test-cache-")
	return shared, err
})

// open makes a Runner with the flags' policy. Change, if not nil, changes its
// configuration.
func open(t testing.TB, flags string, change func(*Config)) *Runner {
	t.Helper()
	if testing.Short() {
		t.Skip("needs Deno")
	}
	binary, err := binaryOnce()
	if err != nil {
		t.Fatalf("there is no Deno to test with: %v", err)
	}
	dir, err := sharedDir()
	if err != nil {
		t.Fatal(err)
	}
	policy, err := runners.ParsePolicy(strings.Fields(flags))
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Policy: policy, Binary: binary, NPMRegistry: os.Getenv("NPM_CONFIG_REGISTRY"), Env: map[string]string{}}
	for _, name := range append(certificateVariables, proxyVariables...) {
		if v := os.Getenv(name); v != "" {
			cfg.Env[name] = v
		}
	}
	if change != nil {
		change(&cfg)
	}
	if cfg.Cache == nil {
		if cfg.Cache, err = cache.Open(dir); err != nil {
			t.Fatal(err)
		}
	}
	r, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.sessions.Close()
		r.leases.close()
		r.settle()
		if left := filesOfRuns(r); left != nil {
			t.Errorf("%q of runs are left", left)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(r.runDirs.base); !os.IsNotExist(err) {
			t.Errorf("after Close, %s: %v, want it gone", r.runDirs.base, err)
		}
		if err := cfg.Cache.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// filesOfRuns returns what is in the directories of runs.
func filesOfRuns(r *Runner) (files []string) {
	for _, pattern := range []string{"r*/*", "r*/*/*"} {
		found, _ := filepath.Glob(filepath.Join(r.runDirs.base, pattern))
		for _, name := range found {
			if base := filepath.Base(name); base != "work" && base != "tmp" && base != "gen" {
				files = append(files, name)
			}
		}
	}
	return files
}

// openParked makes a Runner that keeps at most n processes.
func openParked(t testing.TB, n int) *Runner {
	return open(t, "", func(c *Config) { c.Ahead = n })
}

// waiting returns the processes that wait, when all of them are ready.
func waiting(t testing.TB, r *Runner) []*instance {
	t.Helper()
	if r.leases.pool == nil {
		return nil
	}
	for r.leases.pool.Stats().Filling > 0 {
		time.Sleep(time.Millisecond)
	}
	all := r.leases.pool.Ready()
	for _, in := range all {
		if err := in.await(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// run runs a program that must not be our failure.
func run(t testing.TB, r *Runner, req runners.Request) *runners.Outcome {
	t.Helper()
	if req.Language == "" {
		req.Language = runners.TypeScript
	}
	if req.Limits.Timeout == 0 {
		req.Limits.Timeout = 2 * time.Minute // it hangs; a busy machine may be slow
	}
	o, err := r.Run(context.Background(), req)
	if err != nil {
		t.Fatalf("Run: %v\n%s", err, req.Code)
	}
	return o
}

func TestPrograms(t *testing.T) {
	r := openParked(t, 1)
	ts, js := runners.TypeScript, runners.JavaScript
	tests := []struct {
		name     string
		language runners.Language
		code     string
		req      runners.Request
		stdout   string
		stderr   string
		result   string // text, then JSON after a bar
		exit     int
		fails    string // error's type and message
		line     int
	}{
		{name: "hello", language: js, code: `console.log("hello"); console.error("there")`, stdout: "hello\n", stderr: "there\n"},
		{name: "types", language: ts, code: "const a: number = 1;\nenum E { A, B = 'b' as any }\nconsole.log(E.A, a as number);", stdout: "0 1\n"},
		{name: "decorators", language: ts, code: "function d(v: any, c: any) { return function (this: any) { return 'dec ' + v.call(this) } }\nclass A { @d m() { return 'm' } }\nnew A().m()", result: `"dec m"|"dec m"`},
		{name: "await", language: js, code: "const x = await Promise.resolve(5);\nx * 2", result: "10|10"},
		{name: "value object", language: ts, code: "({a: [1, null, 'x'], b: {c: true}})", result: `{ a: [ 1, null, "x" ], b: { c: true } }|{"a":[1,null,"x"],"b":{"c":true}}`},
		{name: "value map", language: js, code: "new Map([[1, 2]])", result: "Map(1) { 1 => 2 }|"},
		{name: "value bigint", language: js, code: "2n ** 64n;", result: "18446744073709551616n|"},
		{name: "value nan", language: js, code: "NaN", result: "NaN|"},
		{name: "value null", language: js, code: "null", result: "null|null"},
		{name: "value undefined", language: js, code: "undefined", result: ""},
		{name: "value cycle", language: js, code: "const o = {}; o.o = o; o", result: "<ref *1> { o: [Circular *1] }|"},
		{name: "value of a holey array", language: js, code: "[1,,2]", result: "[ 1, <1 empty item>, 2 ]|"},
		{name: "value of a sequence", language: js, code: "1, 2", result: "2|2"},
		{name: "value of a promise", language: js, code: "async function main() { console.log('m'); return 7 }\nmain()", stdout: "m\n", result: "7|7"},
		{name: "no value of main, which exits", language: js, code: "async function main() { await new Promise((done) => setTimeout(done, 1)); console.log('m'); process.exit(0) }\nmain()", stdout: "m\n"},
		{name: "value of a promise that never settles", language: js, code: "Promise.race([])", result: "Promise { <pending> }|"},
		{name: "value after a loop", language: js, code: "let n = 0\nfor (const i of [1, 2]) { n += i }\n({ n })", result: `{ n: 3 }|{"n":3}`},
		{name: "text after a loop", language: js, code: "let n = 0\nwhile (n < 2) { n++ }\n`n is ${n}`", result: `"n is 2"|"n is 2"`},
		{name: "value after blocks", language: ts, code: "enum A { B = 1 }\nif (A.B) {} else {}\ntry { A } catch {}\n{ A }\n[A.B].length", result: "1|1"},
		{name: "value after an interface", language: ts, code: "interface A<T> extends Array<T> { b: T }\n-1", result: "-1|-1"},
		{name: "call of a value in a block's place", language: js, code: "let f\nif (true) f = function (n) { console.log(n) }\n(1)", stdout: "1\n"},
		{name: "value with comment", language: js, code: "1 + 1 // two\n// end", result: "2|2"},
		{name: "value after a regular expression", language: js, code: "const s = 'a`b'.replace(/[`/]/g, '');\ns", result: `"ab"|"ab"`},
		{name: "no value of a statement", language: js, code: "if (true) { 5 }", result: ""},
		{name: "no value of a declaration", language: js, code: "const a = 5", result: ""},
		{name: "continued line", language: js, code: "const f = (x) => x\n;(1)\nconst a = f\n(2)\n", result: ""},
		{name: "else without value", language: js, code: "if (0)\n1\nelse\n2", result: ""},
		{name: "crlf and bom", language: js, code: "\ufeffconst a = 1\r\na + 1\r\n", result: "2|2"},
		{name: "unusual line ends", language: js, code: "const a = 1\u2028const b = a\u2029const s = 'x\u2028y'\u2028/* \u2029 */ a + b + s.length", result: "5|5"},
		{name: "throws after unusual line ends", language: js, code: "const a = 1\u2028// no\u2029let b\u2028a + b.c", exit: 1, fails: "TypeError: Cannot read properties of undefined (reading 'c')", line: 4},
		{name: "unusual blanks", language: js, code: "const a\u00a0=\ufeff1\u3000+ 1\u00a0\na", result: "2|2"},
		{name: "hashbang", language: ts, code: "#!/usr/bin/env deno\nimport.meta.main", result: "true|true"},
		{name: "main", language: ts, code: "console.log(import.meta.main, import.meta.filename?.endsWith('/main.ts'), Deno.mainModule === import.meta.url)", stdout: "true true true\n"},
		{name: "argv", language: js, code: "import process from 'node:process';\nimport { fileURLToPath } from 'node:url';\nconsole.log(process.argv[1] === fileURLToPath(import.meta.url), process.argv.slice(2))", req: runners.Request{Args: []string{"a", "--b", "--"}}, stdout: "true [ \"a\", \"--b\", \"--\" ]\n"},
		{name: "args", language: js, code: "Deno.args", req: runners.Request{Args: []string{"", "-A", "x y"}}, result: `[ "", "-A", "x y" ]|["","-A","x y"]`},
		{name: "stdin", language: js, code: "(await new Response(Deno.stdin.readable).text()).toUpperCase()", req: runners.Request{Stdin: strings.NewReader("line\n")}, result: `"LINE\n"|"LINE\n"`},
		{name: "builtin bare", language: js, code: "import { basename } from 'path';\nimport fs from 'fs';\nfs.writeFileSync('x', '1');\nbasename('/a/b') + fs.readFileSync('x')", result: `"b1"|"b1"`},
		{name: "require", language: js, code: "const fs = require('fs'), { n } = require('./n.cjs');\n[typeof fs.readFileSync, n, typeof require.resolve, __filename.endsWith('main.js')].join()", req: runners.Request{Files: []runners.File{{Path: "n.cjs", Data: []byte("exports.n = 5")}}}, result: `"function,5,function,true"|"function,5,function,true"`},
		{name: "require of its own", language: js, code: "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);\nrequire('path').sep", result: `"/"|"/"`},
		{name: "require fails", language: js, code: "const a = 1\nrequire('./nope')", exit: 1, fails: "Error: Cannot find module './nope'; the argument files puts files beside the program (--file on the command line)", line: 2},
		{name: "files", language: ts, code: "import { n } from './lib/n.ts';\nn + Deno.readTextFileSync('d.txt')", req: runners.Request{Files: []runners.File{{Path: "lib/n.ts", Data: []byte("export const n: number = 4")}, {Path: "d.txt", Data: []byte("!")}}}, result: `"4!"|"4!"`},
		{name: "empty", language: js, code: "", result: ""},
		{name: "comment", language: ts, code: "// nothing", result: ""},
		{name: "exit", language: js, code: "console.log('a'); Deno.exit(3)", stdout: "a\n", exit: 3},
		{name: "exit 0", language: js, code: "Deno.exit(0); 1", exit: 0},
		{name: "process exit", language: js, code: "process.exit(4)", exit: 4},
		{name: "exits in unload", language: js, code: "addEventListener('unload', () => { console.log('u'); Deno.exitCode = 3 })", stdout: "u\n", exit: 3},
		{name: "late unload", language: js, code: "setTimeout(() => addEventListener('unload', () => console.log('u')), 1); onunload = () => console.log('on')", stdout: "on\nu\n", result: "|"},
		{name: "unload after exit", language: js, code: "globalThis.onunload = () => console.log('on'); Deno.exit(2)", stdout: "on\n", exit: 2},
		{name: "unload before", language: js, code: "let n = 0; addEventListener('beforeunload', (e) => { if (n++ < 2) { e.preventDefault(); setTimeout(() => console.log(n), 1) } })", stdout: "1\n2\n"},
		{name: "exit listener", language: js, code: "process.on('exit', (c) => console.log('e', c)); process.exitCode = 2;", stdout: "e 2\n", exit: 2},
		{name: "late exit listener", language: js, code: "import p from 'node:process'; setTimeout(() => p.once('exit', () => { p.exitCode = 4; console.log('e') }), 1)", stdout: "e\n", exit: 4, result: "|"},
		{name: "exit listener after exit", language: js, code: "const { default: p } = await import('node:' + 'process'); p.on('exit', () => console.log('e')); Deno.exit(5)", stdout: "", exit: 5},
		{name: "closes", language: js, code: "console.log('a'); close(); console.log('b')", stdout: "a\nb\n"},
		{name: "exit code over a byte", language: js, code: "Deno.exit(259)", exit: 3},
		{name: "exit code below zero", language: js, code: "Deno.exit(-1)", exit: 255},
		{name: "output at the end", language: js, code: "console.log('x'.repeat(300000)); console.error('y'.repeat(100)); Deno.exit(1)", stderr: strings.Repeat("y", 100) + "\n", stdout: strings.Repeat("x", 25000) + "\n… 250001 bytes cut …\n" + strings.Repeat("x", 24999) + "\n", exit: 1},
		{name: "exit code", language: js, code: "process.exitCode = 5;\n'x'", exit: 5},
		{name: "throws", language: ts, code: "interface A {}\nfunction f() {\n  throw new TypeError('boo')\n}\nf()", exit: 1, fails: "TypeError: boo", line: 3},
		{name: "throws in the value", language: js, code: "let a\na.b", exit: 1, fails: "TypeError: Cannot read properties of undefined (reading 'b')", line: 2},
		{name: "throws own", language: js, code: "class Mine extends Error {}\nthrow new Mine('x')", exit: 1, fails: "Mine: x", line: 2},
		{name: "throws no error", language: js, code: "throw {a: 1}", exit: 1, fails: "Object: { a: 1 }", line: 1},
		{name: "rejects", language: js, code: "Promise.reject(new RangeError('r'));\nconsole.log(1)", stdout: "1\n", exit: 1, fails: "RangeError: r", line: 1},
		{name: "rejects as the value", language: js, code: "async function main() {\n  throw new Error('m')\n}\nmain()", exit: 1, fails: "Error: m", line: 2, result: "|"},
		{name: "throws later", language: js, code: "console.error('own');\nsetTimeout(() => { null.x }, 1)", stderr: "own\n", exit: 1, fails: "TypeError: Cannot read properties of null (reading 'x')", line: 2, result: "|"},
		{name: "awaits in a statement's statement", language: js, code: "for (const n of [1, 2]) await n", result: ""},
		{name: "awaits after a label", language: ts, code: "const n: number = 1\nif (n) await n\nelse await 2", result: ""},
		{name: "keys at the end of stdin", language: js, code: "import readline from 'node:readline'\nprocess.on('SIGINT', () => {})\nreadline.createInterface({ input: process.stdin, output: process.stdout, terminal: true })\nawait new Promise(() => {})", exit: 1, fails: "Error: Top-level await promise never resolved; the program waits for what does not happen, such as a line that stdin does not have", line: 4},
		{name: "waits for a signal", language: js, code: "process.on('SIGINT', () => {})\nawait new Promise(() => {})", exit: 1, fails: "Error: Top-level await promise never resolved; the program waits for what does not happen, such as a line that stdin does not have", line: 2},
		{name: "sends itself a signal", language: js, code: "process.once('SIGUSR2', () => console.log('came'))\nsetTimeout(() => process.kill(process.pid, 'SIGUSR2'), 1)\nawait new Promise((r) => process.on('SIGUSR2', r))", stdout: "came\n", result: `"SIGUSR2"|"SIGUSR2"`},
		{name: "path of an entry", language: js, code: "const fs = require('fs'); fs.mkdirSync('d/e', { recursive: true }); const [d, e] = fs.readdirSync('.', { recursive: true, withFileTypes: true }).filter((e) => e.isDirectory()); [d.path, e.path, Object.keys(e).includes('path')] + ''", result: `".,d,false"|".,d,false"`},
		{name: "awaits what rejects with no error", language: js, code: "const f = () => Promise.reject([1])\n\nawait f()", exit: 1, fails: "Array: [ 1 ]", line: 3},
		{name: "any", language: js, code: "const all = [1, 2].map((n) => Promise.reject(new Error('e' + n)))\nawait Promise.any(all).catch((e) => console.log(e.constructor === AggregateError, e.errors.length))\nawait Promise.any(all)", stdout: "true 2\n", exit: 1, fails: "AggregateError: All promises were rejected", line: 3},
		{name: "throws in a listener", language: js, code: "const t = new EventTarget()\nt.addEventListener('a', () => {\n  throw new RangeError('l')\n})\nt.dispatchEvent(new Event('a'))\nconsole.log('on')", exit: 1, fails: "RangeError: l", line: 3},
		{name: "throws in a tick", language: js, code: "\nprocess.nextTick(() => { throw new Error('t') })\nexport {}", exit: 1, fails: "Error: t", line: 2},
		{name: "throws when it exits", language: js, code: "process.on('exit', () => {\n  throw new Error('x') })\n1", exit: 1, fails: "Error: x", line: 2},
		{name: "handled rejection", language: js, code: "addEventListener('unhandledrejection', (e) => e.preventDefault()); Promise.reject(1); await 0; console.log('on')", stdout: "on\n"},
		{name: "syntax error", language: ts, code: "const a = 1\nconst x = ;\n", exit: 1, fails: "SyntaxError: Expression expected", line: 2},
		{name: "early error", language: js, code: "let a = 1\nlet a = 2\na", exit: 1, fails: "SyntaxError: Identifier 'a' has already been declared", line: 2},
		{name: "missing file", language: js, code: "import './nope.js'\n1", exit: 1, fails: `TypeError: Module not found "./nope.js"; the argument files puts files beside the program (--file on the command line)`, line: 1},
		{name: "missing file above", language: ts, code: "import fs from 'fs';\nimport {\n  a } from \"../address\";", exit: 1, fails: `TypeError: Module not found "../address"; ` + says("topFile"), line: 3},
		{name: "missing file above, required", language: js, code: "const a = require('../address')", exit: 1, fails: "Error: Cannot find module '../address'; " + says("topFile"), line: 1},
		{name: "missing file above a file", language: js, code: "import './d/a.js'", req: runners.Request{Files: []runners.File{{Path: "d/a.js", Data: []byte("import '../../b.js'")}}}, exit: 1, fails: `TypeError: Module not found "../../b.js"; ` + says("topFile")},
		{name: "broken JSON", language: js, code: "import d from './d.json' with { type: 'json' }", req: runners.Request{Files: []runners.File{{Path: "d.json", Data: []byte("{\n \"a\": [1,")}}}, exit: 1, fails: "SyntaxError: d.json: Unexpected end of JSON input (line 2 column 9)"},
		{name: "variable that is no string", language: js, code: "process.env.A = 1;\nprocess.env.A + 1", result: `"11"|"11"`},
		{name: "no such export", language: js, code: "import { nope } from 'node:fs'", exit: 1, fails: "SyntaxError: The requested module 'node:fs' does not provide an export named 'nope'", line: 1},
		{name: "never resolves", language: js, code: "await new Promise(() => {})", exit: 1, fails: "Error: Top-level await promise never resolved; the program waits for what does not happen, such as a line that stdin does not have", line: 1},
		{name: "recursion", language: js, code: "const f = () => f();\nf()", exit: 1, fails: "RangeError: Maximum call stack size exceeded", line: 1},
		{name: "nul and surrogates", language: js, code: `Deno.stdout.writeSync(new Uint8Array([0, 255, 104, 105]))`, stdout: "\x00\ufffdhi"},
		{name: "value of an error", language: js, code: "function f() { return new Error('x') }\nf()", result: "Error: x\n    at f (main.js:1:23)\n    at main.js:2:1|"},
		{name: "value of a function", language: js, code: "(a) => a", result: "[Function (anonymous)]|"},
		{name: "deep", language: js, code: strings.Repeat("(", 20000) + strings.Repeat(")", 20000), exit: 134, fails: "StackOverflow: the program is nested too deeply for Deno to read it"},
		{name: "abort", language: js, code: "console.log('a'); process.abort()", stdout: "a\n", exit: 134, fails: "Signal: the program was ended by a signal (aborted)"},
		{name: "kills itself", language: js, code: "Deno.kill(Deno.pid, 'SIGKILL')", exit: 137, fails: "Signal: the program was ended by a signal (killed)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := tt.req
			req.Language, req.Code = tt.language, tt.code
			o := run(t, r, req)
			if o.ExitCode != tt.exit || (tt.exit == 0) != (o.Status == runners.Succeeded) || tt.exit != 0 && o.Status != runners.Failed {
				t.Errorf("status %s, exit code %d, want code %d", o.Status, o.ExitCode, tt.exit)
			}
			if o.Stdout != tt.stdout || o.Stderr != tt.stderr {
				t.Errorf("stdout %q, stderr %q, want %q, %q", o.Stdout, o.Stderr, tt.stdout, tt.stderr)
			}
			result := ""
			if o.Result != nil {
				result = o.Result.Text + "|" + string(o.Result.JSON)
			}
			if result != tt.result && tt.result != "|" {
				t.Errorf("result %q, want %q", result, tt.result)
			}
			fails, line := "", 0
			if o.Error != nil {
				fails, line = o.Error.Type+": "+o.Error.Message, o.Error.Line
				if strings.Contains(o.Error.Traceback, r.runDirs.base) || strings.Contains(o.Error.Traceback, "bootstrap") {
					t.Errorf("the traceback shows more than the program:\n%s", o.Error.Traceback)
				}
			}
			if fails != tt.fails || line != tt.line {
				t.Errorf("error %q in line %d, want %q, %d\n%+v", fails, line, tt.fails, tt.line, o.Error)
			}
		})
	}
}
