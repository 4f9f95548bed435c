package deno

import (
	"context"
	"strings"
	"testing"
	"time"

	"coderunner/internal/sandbox"
	"coderunner/runners"
	"coderunner/runners/deno/ending"
)

// TestServers has programs with a server and its client, in a network of their own.
func TestServers(t *testing.T) {
	if err := sandbox.OwnNetwork(); err != nil {
		t.Skip(err)
	}
	r := open(t, "", nil)
	asked := 0
	ask := func(context.Context, string, uint16) (bool, error) {
		asked++
		return false, nil
	}
	for _, c := range load(t, "servers") {
		t.Run(c.Name, func(t *testing.T) {
			had := asked
			check(t, r, c, func(req *runners.Request) {
				if c.Name != "nobody_else" {
					req.Ask = ask
				}
			})
			if asked != had {
				t.Error("somebody was asked about a host")
			}
		})
	}
	broken := `Deno.serve({ port: 3000, onListen() {} }, () => {
		throw new TypeError("broken");
	});
	Deno.serve({ port: 3001, onError: (e) => new Response(e.message), onListen() {} }, () => 1);
	for (const port of [3000, 3001]) {
		const r = await fetch("http://localhost:" + port);
		console.log(r.status, await r.text());
	}
	Deno.exit(0)`
	o := run(t, r, runners.Request{Code: broken})
	if want := "TypeError: broken\n    at main.ts:2:9\n"; o.Stderr != want || !strings.HasPrefix(o.Stdout, "500 Internal Server Error\n200 ") {
		t.Errorf("a handler that throws: stdout %q, stderr %q, want %q", o.Stdout, o.Stderr, want)
	}
	o = run(t, r, runners.Request{Code: `for await (const c of Deno.listen({ port: 1234 })) c.close()`, Limits: runners.Limits{Timeout: 300 * time.Millisecond}})
	if o.Status != runners.TimedOut || !strings.HasSuffix(o.Error.Message, "\n"+ending.OnlyItself) {
		t.Errorf("a server that is waited for: %s %+v", o.Status, o.Error)
	}
	o = run(t, r, runners.Request{Code: `await fetch("http://host.invalid/").catch(() => {})`, Ask: ask})
	if sandbox.Supervised() == nil && (o.Status != runners.Succeeded || asked != 1) {
		t.Errorf("a program without a server: %s %+v, asked %d times", o.Status, o.Error, asked)
	}
	inSession, _ := openSessions(t, &r)
	if o := inSession("a", `const s = Deno.serve({ port: 5000, onListen() {} }, () => new Response("later"))`); !strings.Contains(o.Note, "later programs") {
		t.Errorf("a session's server: note %q", o.Note)
	}
	if o := inSession("a", `console.log(await (await fetch("http://localhost:5000/")).text())`); o.Stdout != "later\n" || o.Note != "" {
		t.Errorf("the next program: stdout %q, note %q", o.Stdout, o.Note)
	}
}

// TestNoServers has a server that the policy refuses, since its network is that of the system.
func TestNoServers(t *testing.T) {
	r := open(t, "--allow-net=192.0.2.1", nil)
	o := run(t, r, runners.Request{Code: `Deno.serve(() => new Response("x"))`})
	if o.Error == nil || !strings.HasSuffix(o.Error.Message, "(--allow-net); "+says("handler")) {
		t.Errorf("a server: %s %+v", o.Status, o.Error)
	}
}
