package deno

import (
	"strings"
	"testing"

	"coderunner/internal/sample"
	"coderunner/runners"
)

// TestSites has operations fail that Deno ends when nothing of the program is running,
// and errors from deep inside a package.
func TestSites(t *testing.T) {
	r := openParked(t, 1)
	for _, tt := range sample.Of(t, 4, []struct{ name, code, traceback string }{
		{"promises", "import fs from 'fs';\nasync function load() {\n  return await fs.promises.readFile('none');\n}\nawait load()", "Error: ENOENT: no such file or directory, open 'none'\n    at load (main.ts:3:28)\n    at main.ts:5:7"},
		{"names of promises", "import { stat } from 'node:fs/promises';\nawait stat('none')", "    at main.ts:2:7"},
		{"promises of CommonJS", "const { readFile } = require('fs').promises;\nreadFile('none');", "    at main.ts:2:1"},
		{"a call back", "import { readFile } from 'fs';\nreadFile('none', (e) => { if (e) throw e })", "    at main.ts:2:1"},
		{"promisified", "import { promisify } from 'util'; import fs from 'fs';\nawait promisify(fs.readFile)('none')", "    at main.ts:2:28"},
		{"a stream", "import fs from 'fs';\nfs.createReadStream('none').pipe(process.stdout)", "    at main.ts:2:4"},
		{"a socket", "import net from 'net';\nnet.connect(1, '127.0.0.1')", "    at main.ts:2:5"},
		{"a client", "import http from 'http';\nhttp.get('http://127.0.0.1:1/')", "    at main.ts:2:6"},
		{"a name", "import dns from 'dns/promises';\nawait dns.lookup('host.invalid')", "    at main.ts:2:11"},
		{"an event", "import { EventEmitter } from 'events';\nconst e = new EventEmitter({ captureRejections: true });\ne.on('a', async () => { throw new Error('b') });\ne.emit('a')", "    at EventEmitter.<anonymous> (main.ts:3:31)"},
		{"a package", "import { parse } from 'npm:mathjs@15';\nconst f = (s: string) => parse(s);\nf('[1')", "    at f (main.ts:2:26)\n    at main.ts:3:1"},
	}) {
		t.Run(tt.name, func(t *testing.T) {
			if o := run(t, r, runners.Request{Code: tt.code}); o.Error == nil || !strings.Contains(o.Error.Traceback, tt.traceback) || o.Error.Line == 0 {
				t.Errorf("%s %+v, want %s", o.Status, o.Error, tt.traceback)
			}
		})
	}
	o := run(t, r, runners.Request{Code: `import fs from "node:fs/promises"; import { exists } from "fs"; import { promisify } from "util"; import "lodash";
const seen: unknown[] = [fs.readFile.length, await promisify(exists)("none"), (await fs.readdir(".")).length];
const e = await fs.readFile("none").catch((e) => e);
seen.push(e.code, Object.keys(e).includes("stack"), e.stack.split("\n").length);
const deep = (n: number): number => { if (n === 0) throw new Error("deep"); return deep(n - 1) + 1 };
try { deep(50) } catch (e) { seen.push(e.stack.split("\n").length) }
seen`})
	if want := `[2,false,1,"ENOENT",false,2,11]`; o.Result == nil || string(o.Result.JSON) != want {
		t.Errorf("%s %+v, result %+v, want %s", o.Status, o.Error, o.Result, want)
	}
}

// TestForeign has errors whose classes inherit from Error as before there were classes: V8
// gives them no stack, and import rejects with others.
func TestForeign(t *testing.T) {
	r := openParked(t, 1)
	const class = "function Bad(m) { this.name = 'Bad'; this.message = m }\n"
	const own = "function Bad(m) { this.name = 'Bad'; this.message = m; this.stack = new Error().stack }\n"
	const proto = "Bad.prototype = Object.create(Error.prototype);\n"
	for code, want := range map[string]string{
		class + proto + "const f = () => {\n  throw new Bad('a');\n};\nf()":                                        "Bad: a\n    at main.ts:4:3",
		class + proto + "setTimeout(() => {\n  throw new Bad('a');\n})":                                            "Bad: a\n    at main.ts:4:3",
		class + proto + "module.exports = () => {\n  throw new Bad('a');\n};\nmodule.exports()":                    "Bad: a\n    at main.ts:4:3",
		class + "Bad.prototype = new Error();\nthrow new Bad('a')":                                                 "Bad: a\n    at main.ts:3:1",
		own + proto + "const f = () => {\n  throw new Bad('a');\n};\nf()":                                          "Bad: a\n    at f (main.ts:4:9)\n    at main.ts:6:1",
		"const bad = new RangeError('a');\nbad.stack = 'RangeError: a';\nthrow bad":                                "RangeError: a",
		"import { parallel } from 'npm:radash@12';\nawait parallel(1, [1], async () => {\n  throw Error('a');\n})": "Error: a\n    at main.ts:3:9",
		"import { Engine } from 'npm:json-rules-engine@7';\nconst e = new Engine();\ne.addRule({ conditions: { all: [{ fact: 'f', operator: 'equal', value: 1 }] }, event: { type: 'x' } });\nawait e.run({})": "{ code: \"UNDEFINED_FACT\" }\n    at main.ts:4:1",
		"const at = Object.create(new Error('a'));\n\nthrow at":                                                           "Error: a\n    at main.ts:1:26",
		"import { EMPTY, firstValueFrom } from 'npm:rxjs@7';\n\nawait firstValueFrom(EMPTY)":                              "EmptyError: no elements in sequence\n    at main.ts:3:7",
		class + proto + "process.on('uncaughtException', (e) => { throw Error(`heard ${e.name}`) });\nthrow new Bad('a')": "heard Bad",
	} {
		if o := run(t, r, runners.Request{Code: code}); o.Error == nil || !strings.Contains(o.Error.Traceback, want) || o.Error.Line == 0 && strings.Contains(want, "main.ts") {
			t.Errorf("%s: %s %+v, want %s", code, o.Status, o.Error, want)
		}
	}
}

// TestUnreadable has CommonJS programs with errors that only V8 finds.
func TestUnreadable(t *testing.T) {
	r := openParked(t, 1)
	files := []runners.File{
		{Path: "cut.js", Data: []byte("function g() {\n  return 1;\n\nmodule.exports = { g };\n")},
		{Path: "lib/twice.js", Data: []byte("const x = 1;\nfunction g() { return x }\nconst x = 2;\nmodule.exports = { g };\n")},
	}
	for code, want := range map[string]string{
		"const fs = require('fs');\nfunction f(a) {\n  if (a) {\n    a++;\n\n}\nf(1);\nf(2);\nf(3)": "Unexpected end of input; the { of line 2 is not closed\n    at main.js:9:5",
		"const fs = require('fs');\nclass T { #c = 1 }\n\nnew T().#c":                               "Private field '#c' must be declared in an enclosing class\n    at main.js:4:8",
		"const fs = require('fs');\n\n\nconst b;":                                                   "Missing initializer in const declaration\n    at main.js:4:7",
		"\nrequire('./cut')":                    "cut.js:5: Unexpected end of input; the { of line 1 is not closed\n    at cut.js:5:1\n    at main.js:2:1",
		"const { g } = require('./lib/twice');": "lib/twice.js:3: Identifier 'x' has already been declared\n    at lib/twice.js:3:7\n    at main.js:1:15",
		"import './lib/twice.js';\nawait 1":     "lib/twice.js:3: Identifier 'x' has already been declared\n    at lib/twice.js:3:7",
	} {
		o := run(t, r, runners.Request{Language: runners.JavaScript, Code: code, Files: files})
		if want = "SyntaxError: " + want; o.Error == nil || o.Error.Traceback != want {
			t.Errorf("%s: %s %+v, want %s", code, o.Status, o.Error, want)
		}
	}
}

// TestFields has errors with fields of their own.
func TestFields(t *testing.T) {
	r := openParked(t, 1)
	for code, want := range map[string]string{
		"class HttpError extends Error { status = 404; constructor(public body: object) { super('no') } }\nthrow new HttpError({ a: 1 })": "HttpError: no\n    at main.ts:2:7\n{ body: { a: 1 }, status: 404 }",
		"throw new Error('a', { cause: Object.assign(new Error('b'), { code: 'E_B' }) })":                                                 "Caused by Error: b\n    at main.ts:1:45\n{ code: \"E_B\" }",
		"const a = 1;\nthrow { code: 42 }":      "Uncaught { code: 42 }\n    at main.ts:2:1",
		"if (false) throw 'no';\nthrow 'text'":  "Uncaught \"text\"\n    at main.ts:2:1",
		"function f() {\n  throw null;\n}\nf()": "Uncaught null\n    at main.ts:2:3",
		"const f = () =>\n  new Promise((resolve, reject) => setTimeout(() => reject('late')));\nf().then(String)": "Uncaught \"late\"; a promise was rejected with it, which nothing handled\n    at main.ts:2:53",
		"console.log(1)\nPromise.reject({ status: 500 })":                                                          "Uncaught { status: 500 }; a promise was rejected with it, which nothing handled\n    at main.ts:2:1",
		"Promise.reject('text'); if (false) throw 'text'":                                                          "Uncaught \"text\"; a promise was rejected with it, which nothing handled",
		"const lock = new Promise(() => {});\nconst f = async () => { await 1 };\nawait lock":                      "such as a line that stdin does not have\n    at main.ts:3:1",
		"const a = 1;\nfunction f( { }":                                                                            "\n    at main.ts:2:16",
		"require('./none')":                                                                                        "at main.ts:1:1",
		"await import('./none.ts')":                                                                                "at async main.ts:1:1",
		"import assert from 'assert';\nassert.equal(1, 2, 'unequal')":                                              "{ actual: 1, expected: 2 }",
		"import fs from 'fs';\nfs.readFileSync('none')":                                                            "open 'none'\n    at main.ts:2:4",
		"throw Object.assign(new Error('long'), { all: Array(1000).fill('some text'), f() {} })":                   "Error: long\n    at main.ts:1:21",
		"import { test } from 'node:test'; import assert from 'assert';\ntest('t', () => { throw Object.assign(new Error('x'), { code: 7 }) });\nassert.ok(1)": "",
	} {
		o := run(t, r, runners.Request{Code: code})
		if (o.Error == nil || want == "" || !strings.HasSuffix(o.Error.Traceback, want)) && !strings.Contains(o.Stdout, "{ code: 7 }") {
			t.Errorf("%s: %s %+v, stdout %q, want %s", code, o.Status, o.Error, o.Stdout, want)
		}
	}
	o := run(t, r, runners.Request{Code: `import { URL as Node } from "url";
const codes = [URL, Node].map((U) => { try { new U("bad") } catch (e) { return [e.code, e.input, e instanceof TypeError] } });
class Own extends URL { get last() { return this.pathname.slice(1) } }
const own = new Own("http://a/b");
[codes, own.last, own instanceof URL, own.constructor === Own, new URL("http://a").constructor === URL, URL.canParse("a"), URL.name]`})
	if want := `[[["ERR_INVALID_URL","bad",true],["ERR_INVALID_URL","bad",true]],"b",true,true,true,false,"URL"]`; o.Result == nil || string(o.Result.JSON) != want {
		t.Errorf("%s %+v, result %+v, want %s", o.Status, o.Error, o.Result, want)
	}
}

// TestUnanswered has questions without a line of stdin for them.
func TestUnanswered(t *testing.T) {
	r := openParked(t, 1)
	for code, noted := range map[string]bool{
		"import * as readline from 'readline/promises';\nasync function main() {\n  const rl = readline.createInterface({ input: process.stdin });\n  console.log(await rl.question('a? '));\n  console.log(await rl.question('b? '));\n}\nmain()": true,
		"const rl = require('readline').createInterface({ input: process.stdin });\nrl.question('a? ', (a) => { console.log(a); rl.question('b? ', () => {}) })":                                                                                   true,
		"const rl = require('readline').createInterface({ input: process.stdin });\nrl.question('a? ', (a) => { console.log(a); rl.close() })":                                                                                                     false,
	} {
		o := run(t, r, runners.Request{Language: runners.JavaScript, Code: code, Stdin: strings.NewReader("one\n")})
		if o.Status != runners.Succeeded || strings.Contains(o.Note, "the argument stdin") != noted || o.Result != nil || !strings.Contains(o.Stdout, "one\n") {
			t.Errorf("%s: %s %+v, stdout %q, result %+v, note %q", code, o.Status, o.Error, o.Stdout, o.Result, o.Note)
		}
	}
}
