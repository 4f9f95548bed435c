package deno

import (
	"fmt"
	"strings"
	"testing"

	"coderunner/runners"
	"coderunner/runners/deno/process"
	"coderunner/runners/hint"
)

// says returns a text of hint's rows for JavaScript.
func says(name string) string { return hint.For("javascript").Text(name) }

// TestHints has errors whose messages do not say what to do.
func TestHints(t *testing.T) {
	if says("notRun") != process.NotRun || says("ownRuns") != process.OwnRuns {
		t.Error("the rows have other texts than what stands for node:child_process")
	}
	r := open(t, "", nil)
	for code, want := range map[string]string{
		`require("fs").writeFileSync("/var/a", "")`:                                                         "(--allow-write); the working directory can be written",
		`require("child_process").execSync("ls")`:                                                           "--allow-run; the sandbox has processes of its own in language \"bash\" and in Python's subprocess",
		`require("child_process").fork("./child.js")`:                                                       process.NotRun + "; " + process.ForkWorker,
		`const e = require("child_process").spawnSync("ls").error; console.log(e.code, e.message); throw e`: "spawnSync ls EACCES; " + process.NotRun,
		`import { exec } from "node:child_process"; exec("ls", (e) => { throw Error(e.code) })`:             "EACCES",
		`await fetch("http://host.invalid").catch((e) => { throw Error("so: " + e.message) })`:              "(--allow-net=host.invalid:80)",
		"function f() {\n  if (a) {\n}\nf()\n":                                                              "Unexpected end of input; the { of line 1 is not closed",
		"const A = () => {\n  return <b className=\"a\">\n    <i>x\n  </b>;\n};\n":                          "Expected '</', got 'jsx text",
		"f('a,);\nf('b')":                        "; the ' of line 1 is not closed",
		"console.log('a'":                        "got '<eof>'; the ( of line 1 is not closed",
		"await Promise.any([Promise.reject(1)])": "All promises were rejected",
		`require("through2@5")()`:                `write require("through2@5").default`,
		`import { Worker as W } from "worker_threads"; new W("throw Error('thrown there')", { eval: true })`: "thrown there",
		`new Deno.Command("ls").spawn()`:                               "(--allow-run); the sandbox has processes",
		`await require("dns/promises").lookup("host.invalid")`:         "--allow-net",
		`require("p-limit@7")(1)`:                                      `p-limit is an ES module, which require returns as an object: write require("p-limit@7").default, or name an older version ("npm:p-limit@MAJOR")`,
		`const a = require("npm:p-limit@7"); a.b(1)`:                   `write require("npm:p-limit@7").default`,
		`import { Either } from "effect"`:                              `if the program is for an older version, name it, as "npm:effect@`,
		`document.title`:                                               "jsdom",
		`console.log(process.env.PATH.split(":")); throw Error("end")`: "end",
	} {
		o := run(t, r, runners.Request{Language: runners.JavaScript, Code: code})
		if o.Error == nil || !strings.Contains(o.Error.Message, want) || strings.Contains(o.Error.Traceback, "import(orders") {
			t.Errorf("%s: %s %+v, want %s", code, o.Status, o.Error, want)
		}
	}
	for _, code := range []string{`const is = require("npm:is-odd@3"); is.even(1)`, `const limit = () => require("npm:p-limit@7"); limit.x()`} {
		if o := run(t, r, runners.Request{Language: runners.JavaScript, Code: code}); o.Error == nil || !strings.HasSuffix(o.Error.Message, "is not a function") {
			t.Errorf("%s: %s %+v", code, o.Status, o.Error)
		}
	}
}

// TestHiddenRefusal has programs that do not tell what the network refused: the outcome
// does, once, and not where the program has shown it.
func TestHiddenRefusal(t *testing.T) {
	r := open(t, "", nil)
	for code, want := range map[string]string{
		`try { await fetch("https://host.invalid/") } catch { console.log("failed") }`:                           "host.invalid:443",
		`for (const n of [1, 2]) await fetch("http://host.invalid/" + n).catch(() => 0)`:                         "host.invalid:80",
		`import { lookup } from "node:dns/promises"; await lookup("host.invalid").catch(() => 0)`:                "host.invalid:0",
		`import http from "node:http"; http.get("http://host.invalid").on("error", () => console.log("failed"))`: "host.invalid:0",
		`await fetch("https://host.invalid/").catch((e) => console.log(e.message))`:                              "",
		`await fetch("data:,a")`: "",
	} {
		o := run(t, r, runners.Request{Code: code})
		got := ""
		for _, c := range o.Usage.Contacted {
			got += fmt.Sprintf("%s:%d", c.Host, c.Port)
			if !strings.Contains(c.Refused, "(--allow-net=host.invalid") {
				t.Errorf("%s: %+v", code, c)
			}
		}
		if got != want || o.Status != runners.Succeeded {
			t.Errorf("%s: refused %q, want %q; %+v", code, got, want, o.Error)
		}
	}
	o := run(t, r, runners.Request{Code: "const data = await fetch('http://host.invalid').catch(() => null)\ndata.x"})
	if o.Error == nil || o.Error.Line != 2 || !strings.Contains(o.Error.Hint, "--allow-net=host.invalid:80") {
		t.Errorf("%+v", o.Error)
	}
}
