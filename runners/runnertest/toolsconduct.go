package runnertest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"coderunner/runners"
)

// toolsProgram is a program that calls tools, in each language.
type toolsProgram struct{ py, js, sh string }

func (p toolsProgram) in(l runners.Language) string {
	switch l {
	case runners.Python:
		return "import asyncio, threading, tools\nfrom concurrent.futures import ThreadPoolExecutor\n" + p.py
	case runners.Bash:
		return p.sh
	}
	return `import { demo, search, ToolError } from "tools";` + "\n" + p.js
}

// testToolsMany checks that a program can call a thousand times, and that one that calls
// nothing has nobody asked for anything.
func testToolsMany(t *testing.T, r runners.Runner, l runners.Language) {
	tools := NewTools()
	runTools(t, r, l, tools, toolsProgram{py: "1", js: "1", sh: ":"}, "")
	if n := tools.Started.Load(); n != 0 {
		t.Errorf("a program that calls nothing asked the server %d times", n)
	}
	runTools(t, r, l, tools, toolsProgram{
		py: "for i in range(1000): assert tools.demo.echo(n=i) == {'n': i}\nprint('done')",
		js: "for (let i = 0; i < 1000; i++) if ((await demo.echo({ n: i })).n !== i) throw i;\nconsole.log('done');",
		sh: "for i in $(seq 1000); do [ $(tool demo echo \"{\\\"n\\\":$i}\") = \"{\\\"n\\\":$i}\" ] || exit; done; echo done",
	}, "done\n")
	if n := tools.Calls.Load(); n != 1000 {
		t.Errorf("%d calls were made", n)
	}
}

// testToolsParallel checks that fifty calls run at once, and that hundreds wait for room.
func testToolsParallel(t *testing.T, r runners.Runner, l runners.Language) {
	runTools(t, r, l, NewTools(), toolsProgram{
		py: "async def main():\n    return await asyncio.gather(*(tools.demo.meet.aio(n=50) for _ in range(25)))\n" +
			"with ThreadPoolExecutor(25) as pool:\n    others = [pool.submit(tools.demo.meet, n=50) for _ in range(25)]\n" +
			"    print(sum(asyncio.run(main())) + sum(f.result() for f in others))",
		js: "console.log((await Promise.all(Array.from({ length: 50 }, () => demo.meet({ n: 50 })))).length);",
		sh: "for i in $(seq 50); do tool demo meet --n 50 & done | grep -c true",
	}, "50\n")
	runTools(t, r, l, NewTools(), toolsProgram{
		py: "async def main():\n    return await asyncio.gather(*(tools.demo.echo.aio(n=1) for _ in range(300)))\nprint(sum(e['n'] for e in asyncio.run(main())))",
		js: "const all = await Promise.all(Array.from({ length: 300 }, () => demo.echo({ n: 1 })));\nconsole.log(all.reduce((sum, e) => sum + e.n, 0));",
		sh: "for i in $(seq 100); do tool demo echo; tool demo echo & tool demo echo & wait; done | wc -l",
	}, "300\n")
}

// testToolsCancelled checks that the end of a run, or of what awaits a call, ends the call.
func testToolsCancelled(t *testing.T, r runners.Runner, l runners.Language) {
	waits := toolsProgram{py: "tools.demo.wait()", js: "await demo.wait();", sh: "tool demo wait"}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tools := NewTools()
	tools.Called = func(string) { cancel() }
	out, err := r.Run(ctx, runners.Request{Language: l, Code: waits.in(l), Tools: tools, Limits: runners.Limits{Timeout: time.Minute}})
	if err != nil || out.Status != runners.Cancelled {
		t.Errorf("Run = %s, %v; want cancelled", show(out), err)
	}
	runTools(t, r, l, NewTools(), toolsProgram{
		py: "async def main():\n    try:\n        await asyncio.wait_for(tools.demo.wait.aio(), 0.01)\n    except TimeoutError:\n        print('ended')\nasyncio.run(main())",
		js: "setTimeout(() => { console.log('ended'); Deno.exit(0) }, 10);\nawait demo.wait();",
		sh: "timeout 0.01 tool demo wait || echo ended",
	}, "ended\n")
}

// testToolsHostile checks that what no honest program does is refused, and hurts nobody.
func testToolsHostile(t *testing.T, r runners.Runner, l runners.Language) {
	runTools(t, r, l, NewTools(), toolsProgram{
		py: `
def code(f, *args, **options):
    try:
        f(*args, **options)
    except tools.ToolError as e:
        print(e.code)
from _coderunner_tools import _tool
code(tools.demo.echo, text="x" * (5 << 20))
for name in "__import__", "a.b", "../../x", "", "\0", "echo ", "ECHO", "demo.echo", "x" * 5000:
    code(_tool("demo", name))
from _coderunner import call
for query in None, 5, {}, {"op": "x"}, {"op": "call", "args": [1]}, {"op": "call", "name": "demo.echo", "args": 5}, {"op": "call", "name": 5}:
    print(call("tools", query)["error"]["code"])
`,
		js: `
const code = (p) => p.then(() => console.log("ok"), (e) => console.log(e.code));
await code(demo.echo({ text: "x".repeat(5 << 20) }));
for (const name of ["__import__", "a.b", "../../x", "", "\0", "echo ", "ECHO", "demo.echo", "x".repeat(5000)]) await code(demo[name]());
await code(demo.echo([1])); await code(demo.echo(5)); await code(demo.echo(null));
`,
		sh: `
head -c 5000000 /dev/zero | tr '\0' x | sed 's/^/{"text":"/; s/$/"}/' | tool demo echo - 2>&1 | cut -d' ' -f2 | tr -d :
for name in __import__ a.b ../../x 'echo ' ECHO demo.echo $(printf 'x%.0s' $(seq 5000)); do tool demo "$name" 2>&1 | cut -d' ' -f2 | tr -d :; done
`,
	}, map[runners.Language]string{
		runners.TypeScript: failed(1, 9, 3), runners.JavaScript: failed(1, 9, 3), runners.Python: failed(1, 9, 7), runners.Bash: failed(1, 7, 0),
	}[l])
	tools := NewTools()
	runTools(t, r, l, tools, toolsProgram{ // calls that nothing waits for end with the program
		py: "started = threading.Barrier(5)\ndef call():\n    started.wait()\n    tools.demo.wait()\n" +
			"for _ in range(4): threading.Thread(target=call, daemon=True).start()\nstarted.wait()\nprint('over')",
		js: "for (let i = 0; i < 5000; i++) demo.wait().catch(() => {});\nconsole.log('over');\nDeno.exit(0);",
		sh: "for i in 1 2 3 4; do tool demo wait & done; echo over",
	}, "over\n")
	if n := tools.Calls.Load(); n > 64 {
		t.Errorf("%d calls ran at once", n)
	}
}

// testToolsProgress checks that what a tool reports is the run's progress.
func testToolsProgress(t *testing.T, r runners.Runner, l runners.Language) {
	p := toolsProgram{py: "tools.demo.progress()", js: "await demo.progress();", sh: "tool demo progress"}
	var mu sync.Mutex
	var seen []runners.Progress
	_, err := r.Run(t.Context(), runners.Request{Language: l, Code: p.in(l), Tools: NewTools(), Progress: func(p runners.Progress) {
		mu.Lock()
		defer mu.Unlock()
		if p.Phase == "call" {
			seen = append(seen, p)
		}
	}})
	mu.Lock()
	defer mu.Unlock()
	want := runners.Progress{Phase: "call", Item: "demo.progress: one of three", Done: 1, Total: 3}
	if err != nil || len(seen) != 1 || seen[0] != want {
		t.Errorf("progress %+v, %v; want %+v", seen, err, want)
	}
}

// failed returns the codes of calls that are refused: of bad arguments, bad names, and again.
func failed(arguments, names, more int) string {
	return strings.Repeat("bad_arguments\n", arguments) + strings.Repeat("not_found\n", names) + strings.Repeat("bad_arguments\n", more)
}

// testToolsClock checks that the time limit stands still while a program waits for a tool.
func testToolsClock(t *testing.T, r runners.Runner, l runners.Language) {
	const limit = 2 * time.Second // for the rest of the program
	tools := NewTools()
	tools.Called = func(string) { time.Sleep(limit + limit/10) }
	p := toolsProgram{py: "tools.demo.nothing()\nprint('after')", js: "await demo.nothing();\nconsole.log('after');", sh: "tool demo nothing; echo after"}
	out, err := r.Run(t.Context(), runners.Request{Language: l, Code: p.in(l), Tools: tools, Limits: runners.Limits{Timeout: limit}})
	if err != nil || out.Status != runners.Succeeded || out.Stdout != "after\n" {
		t.Errorf("Run = %s, %v", show(out), err)
	}
}

func runTools(t *testing.T, r runners.Runner, l runners.Language, tools *Tools, p toolsProgram, want string) {
	t.Helper()
	out, err := r.Run(t.Context(), runners.Request{Language: l, Code: p.in(l), Tools: tools, Limits: runners.Limits{Timeout: 2 * time.Minute}})
	if err != nil || out.Status != runners.Succeeded || out.Stdout != want {
		t.Errorf("Run = %s, %v; want %q", show(out), err, want)
	}
}
