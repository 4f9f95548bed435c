//go:build unix

package deno

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"coderunner/runners"
	"coderunner/runners/runnertest"
)

// forge is what a program needs to write records of the report itself.
const forge = `const { core } = Deno[Deno.internal];
const pipe = +Object.entries(core.resources()).filter(([, kind]) => kind === "fsFile").at(-1)[0];
const bytes = (x) => new TextEncoder().encode(x);
function raw(b) { while (b.length) b = b.subarray(core.writeSync(pipe, b)); }
function record(kind, ...fields) {
	raw(bytes(kind));
	for (const f of fields.map(bytes)) { raw(new Uint8Array(Uint32Array.of(f.length).buffer)); raw(f); }
}
`

// TestForgedReport has programs write into the report. They are run once, and
// their end is what was seen of it.
func TestForgedReport(t *testing.T) {
	granted := t.TempDir()
	r := open(t, "--allow-write="+granted, nil)
	for _, tt := range []struct {
		name, code string
		status     runners.Status
		kind       string // of the error
	}{
		{"cannot be loaded", `record("t", "TypeError", "Module not found \"file:///x\"", "TypeError: x", "", "1"); Deno.exit(1)`, runners.Failed, "TypeError"},
		{"is not cached", `record("t", "TypeError", "Specifier not found in cache: \"https://x.invalid/\", --cached-only is specified.", "", "", "1"); Deno.exit(1)`, runners.Failed, "TypeError"},
		{"cannot be loaded, thrown", `const e = new TypeError("SyntaxError: x"); e.stack = "TypeError: SyntaxError: x\n    at async file:///bootstrap.js:1:1\n    at async " + Deno.mainModule.replace(/r\d+.*/, "bootstrap.js") + ":1:1"; throw e`, runners.Failed, "TypeError"},
		{"out of memory", `throw new RangeError("Array buffer allocation failed")`, runners.Failed, "RangeError"},
		{"V8 ran out of memory", `console.error("\n#\n# Fatal JavaScript out of memory: Reached heap limit\n#\n"); Deno.exit(1)`, runners.Failed, ""},
		{"V8 ran out of memory, aborted", `console.error("\n#\n# Fatal JavaScript out of memory: Reached heap limit\n#\n"); (await import("node:process")).abort()`, runners.Failed, "Signal"},
		{"Deno panicked", `console.error("\n============\nDeno has panicked. This is a bug in Deno.\n"); Deno.exit(101)`, runners.Failed, "Panic"},
		{"what nobody wrote", `raw(bytes("{}\n"))`, runners.Failed, "BrokenReport"},
		{"a length and nothing", `raw(bytes("r")); raw(new Uint8Array(Uint32Array.of(2 ** 31).buffer))`, runners.Failed, "BrokenReport"},
		{"success", `record("r", "42", "42", ""); record("x", "0"); for (;;);`, runners.Succeeded, ""},
		{"an exit code", `record("x", "-1e9"); for (;;);`, runners.TimedOut, "Timeout"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log := filepath.Join(granted, strings.ReplaceAll(tt.name, " ", "-"))
			code := forge + "Deno.writeTextFileSync(" + strconv.Quote(log) + ", 'x', { append: true });\n" + tt.code + ";\n1;"
			o := run(t, r, runners.Request{Language: runners.JavaScript, Code: code, Limits: runners.Limits{Timeout: 3 * time.Second}})
			kind := ""
			if o.Error != nil {
				kind = o.Error.Type
			}
			if o.Status != tt.status || kind != tt.kind {
				t.Errorf("%s %+v, want %s %s", o.Status, o.Error, tt.status, tt.kind)
			}
			if ran, err := os.ReadFile(log); err != nil || string(ran) != "x" {
				t.Errorf("it ran %d times, %v", len(ran), err)
			}
		})
	}
}

// TestHonestFailures has programs end as the forged reports say, by themselves.
func TestHonestFailures(t *testing.T) {
	r := open(t, "", nil)
	for _, tt := range []struct {
		name, code string
		status     runners.Status
		kind       string
	}{
		{"syntax", "let a = 1;\nlet b = ;", runners.Failed, "SyntaxError"},
		{"module", "import './nothere.ts'; 1", runners.Failed, "TypeError"},
		{"too many elements", "'x'.repeat(2 ** 28).split('').length", runners.Failed, "RangeError"},
		{"memory", "const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1))", runners.OutOfMemory, ""},
	} {
		o := run(t, r, runners.Request{Code: tt.code, Limits: runners.Limits{Memory: 512 << 20}})
		if o.Status != tt.status || o.Error == nil || tt.kind != "" && o.Error.Type != tt.kind {
			t.Errorf("%s: %s %+v, want %s %s", tt.name, o.Status, o.Error, tt.status, tt.kind)
		}
	}
}

// TestBuiltinsReplaced has a program replace what the bootstrap uses, as
// polyfills do and as an attacker would.
func TestBuiltinsReplaced(t *testing.T) {
	const replace = `for (const name of ["kind", "json", "message"]) Object.defineProperty(Object.prototype, name, { set() { throw 2 } });
Array.prototype[Symbol.iterator] = Array.prototype.push = () => { throw 1 };
JSON.stringify = () => "x"; String.prototype.slice = () => "z";
Uint8Array.prototype.subarray = () => new Uint8Array(0); TextEncoder.prototype.encode = () => new Uint8Array(0);
Promise.prototype.then = () => {}; Function.prototype.call = Function.prototype.apply = () => {};
Error.prepareStackTrace = () => { throw 3 };
globalThis.String = globalThis.Promise = globalThis.Uint8Array = globalThis.Error = Deno.inspect = () => 4;
`
	r := open(t, "", nil)
	if o := run(t, r, runners.Request{Language: runners.JavaScript, Code: replace + "({ a: [1, 'b'] })"}); o.Status != runners.Succeeded || o.Result == nil || string(o.Result.JSON) != `{"a":[1,"b"]}` {
		t.Errorf("a value: %s %+v %+v", o.Status, o.Error, o.Result)
	}
	if o := run(t, r, runners.Request{Language: runners.JavaScript, Code: replace + "null.x"}); o.Status != runners.Failed || o.Error == nil || o.Error.Type != "TypeError" || !strings.Contains(o.Error.Message, "null") {
		t.Errorf("an error: %s %+v %+v", o.Status, o.Error, o.Result)
	}
}

// TestManyFrames has errors with many places in them, in a large program.
func TestManyFrames(t *testing.T) {
	r := open(t, "", nil)
	large := strings.Repeat("// é\n", 300_000)
	for name, code := range map[string]string{
		"forged":  `const e = new Error("x"); e.stack = "Error: x\n" + ("    at f (" + import.meta.url + ":2:1)\n").repeat(3000); throw e`,
		"one":     `const e = new Error("x"); e.stack = "Error: x\n    at f (" + (import.meta.url + ":2:1 ").repeat(100000) + ")"; throw e`,
		"message": `throw new Error((import.meta.url + ":2:1\n    at ").repeat(1e5))`,
		"stderr":  `console.error("error: Uncaught Error: x\n" + ("    at f (" + import.meta.url + ":2:1)\n").repeat(5000)); Deno.exit(1)`,
		"value":   `const e = new Error("x"); e.stack = ("    at f (" + import.meta.url + ":2:1)\n").repeat(3000); e`,
	} {
		begun := runnertest.ProcessorTime(t)
		o := run(t, r, runners.Request{Language: runners.JavaScript, Code: large + code})
		if took := runnertest.ProcessorTime(t) - begun; took > 2*time.Second {
			t.Errorf("%s: %v of our processor time", name, took)
		}
		if name != "value" && (o.Status != runners.Failed || o.Error == nil || len(o.Error.Traceback) > 2*64<<10) {
			t.Errorf("%s: %s %.200v", name, o.Status, o.Error)
		}
	}
}
