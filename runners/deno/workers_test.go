package deno

import (
	"runtime"
	"strings"
	"testing"

	"coderunner/runners"
)

// TestWorkers starts Workers in the usual ways, four of them at once and one in
// another.
func TestWorkers(t *testing.T) {
	r := open(t, "", nil)
	files := []runners.File{
		{Path: "w.ts", Data: []byte(`import { double } from "./lib.ts"; self.onmessage = (e: MessageEvent) => self.postMessage(double(e.data))`)},
		{Path: "lib.ts", Data: []byte("export const double = (n: number) => 2 * n")},
		{Path: "node.cjs", Data: []byte(`const { parentPort, workerData } = require("worker_threads"); parentPort.postMessage(workerData.n + 1)`)},
	}
	o := run(t, r, runners.Request{Language: runners.JavaScript, Files: files, Code: `import { Worker as NodeWorker } from "node:worker_threads";
const answer = (w, n) => new Promise((resolve, reject) => {
	w.onmessage = (e) => { resolve(e.data); w.terminate(); };
	w.onerror = (e) => { e.preventDefault(); reject(new Error(e.message)); };
	w.postMessage(n);
});
const start = (url) => new Worker(url, { type: "module" });
const echo = "onmessage = (e) => postMessage(e.data)";
const nested = "const w = new Worker('data:text/javascript,' + encodeURIComponent(" + JSON.stringify(echo) + "), { type: 'module' }); w.onmessage = (e) => postMessage(e.data); onmessage = (e) => w.postMessage(e.data)";
const node = (file, options) => new Promise((resolve, reject) => new NodeWorker(file, options).on("message", resolve).on("error", reject));
await Promise.all([1, 2, 3, 4].map((n) => answer(start(new URL("./w.ts", import.meta.url)), n)).concat(
	answer(start(URL.createObjectURL(new Blob([echo]))), "blob"), answer(start("data:text/javascript," + encodeURIComponent(nested)), "nested"),
	node(new URL("./node.cjs", import.meta.url), { workerData: { n: 8 } }), node("require('worker_threads').parentPort.postMessage('eval')", { eval: true }),
))`})
	if want := `[2,4,6,8,"blob","nested",9,"eval"]`; o.Result == nil || string(o.Result.JSON) != want {
		t.Errorf("%s %+v %s, result %+v, want %s", o.Status, o.Error, o.Stderr, o.Result, want)
	}
}

// TestWorkersHost has a Worker of each kind ask what the machine is.
func TestWorkersHost(t *testing.T) {
	r := open(t, "", nil)
	const ask = `import os, { cpus, homedir } from "node:os"; const said = [Deno.hostname(), os.hostname(), cpus().length, homedir() === Deno.cwd(), navigator.hardwareConcurrency, process.umask(), Deno.args];`
	files := []runners.File{
		{Path: "web.ts", Data: []byte(ask + "postMessage(said)")},
		{Path: "node.mjs", Data: []byte(ask + `import { parentPort as port } from "node:worker_threads"; port.postMessage(said)`)},
	}
	o := run(t, r, runners.Request{Language: runners.JavaScript, Args: []string{"a"}, Files: files, Code: `import { Worker as NodeWorker } from "worker_threads";
const evaluated = "const os = require('os'); require('worker_threads').parentPort.postMessage([Deno.hostname(), os.hostname(), os.cpus().length, os.homedir() === Deno.cwd(), navigator.hardwareConcurrency, process.umask(), Deno.args])";
await Promise.all([
	new Promise((said) => { const w = new Worker("./web.ts"); w.onmessage = (e) => { said(e.data); w.terminate() } }),
	...[["./node.mjs"], [evaluated, { eval: true }]].map((how) => new Promise((said, no) => new NodeWorker(...how).on("message", said).on("error", no))),
])`})
	const one = `["localhost","localhost",1,true,1,18,["a"]]`
	if want := "[" + one + "," + one + "," + one + "]"; o.Result == nil || string(o.Result.JSON) != want {
		t.Errorf("%s %+v %s, result %+v, want %s", o.Status, o.Error, o.Stderr, o.Result, want)
	}
}

// TestWorkersMemory has programs with Workers take more than their limit.
func TestWorkersMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("memory outside V8's heap is limited on Linux only")
	}
	r := open(t, "", nil)
	const limit = 128 << 20
	for name, code := range map[string]string{
		"buffers": "const kept = []; onmessage = () => { for (;;) kept.push(new Uint8Array(1e8).fill(1)) }; postMessage(0)",
		"heap":    "const kept = []; onmessage = () => { for (;;) kept.push({ a: [1, 2, 3] }) }; postMessage(0)",
		"workers": "onmessage = () => { for (;;) new Worker('data:text/javascript,for(;;);', { type: 'module' }) }; postMessage(0)",
	} {
		o := run(t, r, runners.Request{Language: runners.JavaScript, Limits: runners.Limits{Memory: limit}, Code: `const url = "data:text/javascript," + encodeURIComponent(` + "`" + code + "`" + `);
const workers = await Promise.all([1, 2, 3, 4].map(() => new Promise((begun) => { const w = new Worker(url, { type: "module" }); w.onmessage = () => begun(w) })));
console.log("begun"); for (const w of workers) w.postMessage(0);`})
		if o.Status != runners.OutOfMemory || o.Stdout != "begun\n" {
			t.Errorf("%s: %s %+v, stdout %q, stderr %q", name, o.Status, o.Error, o.Stdout, o.Stderr)
		}
		if o.Usage.PeakMemoryBytes > 3*limit {
			t.Errorf("%s: peak memory %d MiB", name, o.Usage.PeakMemoryBytes>>20)
		}
	}
}

// TestWorkersErrors has errors end Workers, with and without somebody who listens.
func TestWorkersErrors(t *testing.T) {
	r := open(t, "", nil)
	const node = `const { Worker, isMainThread } = require("worker_threads");
if (!isMainThread) {
  throw new TypeError("bad");
} else `
	for name, c := range map[string]struct{ code, stdout, message, traceback string }{
		"handled": {node + `new Worker(__filename).on("error", (e) => { console.error("mine"); console.log(e.message, e.stack); process.exitCode = 2; })`,
			"bad TypeError: bad\n", "", ""},
		"not handled": {node + `{ console.error("mine"); new Worker(__filename) }`, "", "bad", "TypeError: bad\n    at Object.<anonymous> (main.js:3:9)"},
		"awaited": {`import { Worker, isMainThread } from "node:worker_threads";
if (!isMainThread) throw new TypeError("bad");
console.error("mine"); await new Promise((_, no) => new Worker(new URL(import.meta.url)).on("error", no))`, "", "bad", "TypeError: bad\n    at main.js:2:26"},
		"of a text": {`const { Worker } = require("worker_threads");
console.error("mine");
new Worker(` + "`" + `
  const { parentPort } = require("worker_threads");
  parentPort.on("message", () => {
    null.x;
  });
` + "`" + `, { eval: true }).postMessage(1);`, "", "Cannot read properties of null (reading 'x')", "TypeError: Cannot read properties of null (reading 'x')\n    at main.js:3:1"},
		"of a Blob": {`console.error("mine");
const work = ` + "`" + `
onmessage = function work() {
  null.x;
}` + "`" + `;
new Worker(URL.createObjectURL(new Blob([work]))).postMessage(1);`, "", "Cannot read properties of null (reading 'x')", "TypeError: Cannot read properties of null (reading 'x')\n    at main.js:6:1"},
		"of a text without lines": {`console.error("mine");
const { Worker } = require("worker_threads");
new Worker("null.x", { eval: true });`, "", "Cannot read properties of null (reading 'x')", "TypeError: Cannot read properties of null (reading 'x')\n    at main.js:3:1"},
		"not by Deno's": {`console.error("mine"); new Worker("./w.js").onmessage = () => {}`, "", "there", "RangeError: there\n    at Object.<anonymous> (w.js:2:7)"},
	} {
		files := []runners.File{{Path: "w.js", Data: []byte("\nthrow RangeError('there')")}}
		o := run(t, r, runners.Request{Language: runners.JavaScript, Code: c.code, Files: files})
		var err runners.Error
		if o.Error != nil {
			err = *o.Error
		}
		if o.Status != runners.Failed || o.Stdout != c.stdout || o.Stderr != "mine\n" || err.Message != c.message || err.Traceback != c.traceback {
			t.Errorf("%s: %s %+v, stdout %q, stderr %q", name, o.Status, o.Error, o.Stdout, o.Stderr)
		}
	}
}

// TestWorkersClose has Workers of Node close their port.
func TestWorkersClose(t *testing.T) {
	r := open(t, "", nil)
	o := run(t, r, runners.Request{Language: runners.JavaScript, Code: `const { Worker, isMainThread, parentPort } = require("worker_threads");
const work = 'require("worker_threads").parentPort.on("message", function (n) { this; const { parentPort } = require("worker_threads"); parentPort.postMessage(n + 1); parentPort.close(); })';
if (!isMainThread) eval(work);
else for (const how of [[__filename], [work, { eval: true }]]) {
  const w = new Worker(...how).on("message", console.log).on("exit", (code) => console.log("exit", code));
  w.postMessage(1);
}`})
	if o.Status != runners.Succeeded || strings.Count(o.Stdout, "2\n") != 2 || strings.Count(o.Stdout, "exit 0\n") != 2 || o.Stderr != "" {
		t.Errorf("%s %+v, stdout %q, stderr %q", o.Status, o.Error, o.Stdout, o.Stderr)
	}
}
