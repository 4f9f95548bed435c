package deno

import (
	"strings"
	"testing"

	"coderunner/internal/session"
	"coderunner/runners"
	"coderunner/runners/runnertest"
)

// TestSessionTools has a session's programs call tools: what one has imported the next one
// has, and a program that is run again gets the answers that it had.
func TestSessionTools(t *testing.T) {
	tools := runnertest.NewTools()
	r := open(t, "", nil)
	run, _ := openSessions(t, &r)
	with := func(c *session.Call) { c.Request.Tools = tools }
	for _, c := range []struct {
		code, want string
		origin     runners.Origin
	}{
		{"const before = 1", "", runners.OriginFresh},
		{`import { demo } from "tools"; const first = await demo.echo({ n: 1 }); first.n`, "1", runners.OriginLive},
		{"(await Promise.all([5, 6].map((n) => demo.echo({ n })))).map((e) => e.n)", "[ 5, 6 ]", runners.OriginLive},
		{"const denied = await demo.denied().catch((e) => e.code)", "", runners.OriginLive},
		{"", "", ""}, // another process
		{"[before, first.n, denied, (await demo.echo({ n: 7 })).n]", `[ 1, 1, "denied", 7 ]`, runners.OriginReplayed},
	} {
		if c.origin == "" {
			r = open(t, "", nil)
			continue
		}
		o := run("s", c.code, with)
		got := ""
		if o.Result != nil {
			got = o.Result.Text
		}
		if got != c.want || o.Continued.Origin != c.origin || o.Continued.Unsaved != "" {
			t.Errorf("%s: %q, want %q; %+v %+v", c.code, got, c.want, o.Error, o.Continued)
		}
	}
	if n := tools.Calls.Load(); n != 5 {
		t.Errorf("%d calls were made, want 5: none twice", n)
	}
}

// TestRequiredTools has a script of CommonJS require them.
func TestRequiredTools(t *testing.T) {
	o, err := open(t, "", nil).Run(t.Context(), runners.Request{
		Language: runners.JavaScript, Tools: runnertest.NewTools(), Files: []runners.File{{Path: "lib.js", Data: []byte(`module.exports = require("tools").demo;`)}},
		Code: `const { demo, ToolError } = require("tools");
require("./lib.js").echo({ n: 3 }).then((e) => console.log(e.n, typeof ToolError, require("./lib.js") === demo));`,
	})
	if err != nil || o.Stdout != "3 function true\n" {
		t.Errorf("%q %+v %v", o.Stdout, o.Error, err)
	}
}

// TestDeclarations has a program that imports no tools read their declarations, and one of a
// session after another. What it has not named starts no server.
func TestDeclarations(t *testing.T) {
	tools := runnertest.NewTools()
	r := open(t, "", nil)
	run, _ := openSessions(t, &r)
	with := func(c *session.Call) { c.Request.Tools = tools }
	for _, tt := range []struct {
		code, want string
		asked      int64
	}{
		{"Deno.readDirSync('/tools').map((e) => e.name).toArray().sort().join()", `"demo.d.ts,demo.pyi"`, 0},
		{"(await Promise.all([1, 2].map(() => Deno.readTextFile('/tools/demo.pyi')))).join('')", `"declarations of demo.pyi\ndeclarations of demo.pyi\n"`, 1},
		{"Deno.statSync('/tools/demo.pyi').size", "25", 2},
	} {
		o, err := r.Run(t.Context(), runners.Request{Language: runners.TypeScript, Code: tt.code, Tools: runnertest.NewTools()})
		if err != nil || o.Result == nil || o.Result.Text != tt.want {
			t.Errorf("%s: %+v %+v %v", tt.code, o.Result, o.Error, err)
		}
		if o := run("s", tt.code, with); o.Result == nil || o.Result.Text != tt.want || tools.Started.Load() != tt.asked {
			t.Errorf("%s: %+v %+v, asked %d times", tt.code, o.Result, o.Error, tools.Started.Load())
		}
	}
}

// TestToolsInWorkers checks that a Worker is told that it has none.
func TestToolsInWorkers(t *testing.T) {
	o, err := open(t, "", nil).Run(t.Context(), runners.Request{
		Language: runners.TypeScript, Tools: runnertest.NewTools(), Files: []runners.File{{Path: "w.ts", Data: []byte(`import("tools").catch((e) => postMessage(e.message));`)}},
		Code: `import { demo } from "tools";
const w = new Worker(new URL("./w.ts", import.meta.url), { type: "module" });
w.onmessage = async (e) => { console.log(e.data, (await demo.echo({ n: 1 })).n); w.terminate(); };`,
	})
	if err != nil || !strings.Contains(o.Stdout, "tools are called by the program itself") || !strings.HasSuffix(o.Stdout, " 1\n") {
		t.Errorf("%q %+v %v", o.Stdout, o.Error, err)
	}
}
