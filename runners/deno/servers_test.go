package deno

import (
	"context"
	"strings"
	"testing"
	"time"

	"coderunner/internal/sandbox"
	"coderunner/runners"
)

// TestServers has programs with a server and its client, in a network of their own.
func TestServers(t *testing.T) {
	if err := sandbox.OwnNetwork(); err != nil {
		t.Skip(err)
	}
	r := open(t, "", nil)
	for name, c := range map[string]struct{ code, want string }{
		"node:http": {`
			const http = require("http");
			const server = http.createServer((req, res) => res.end("hello " + req.url)).listen(0, () => {
				http.get("http://localhost:" + server.address().port + "/x", (res) => {
					res.on("data", (d) => console.log(res.statusCode, String(d))).on("end", () => server.close());
				});
			});`, "200 hello /x\n"},
		"a listener that throws": {`
			process.on("uncaughtException", (e) => { console.log("uncaught", e.message); process.exit(0); });
			const server = require("http").createServer((req, res) => { throw Error("in " + req.url) }).listen(0, () => {
				require("http").get({ port: server.address().port, path: "/x" }, (res) => { console.log(res.statusCode); server.close(); });
			});`, "uncaught in /x\n"},
		"a time limit on a connection used before": {`
			const http = require("http");
			const server = http.createServer((req, res) => req.url === "/slow" ? setTimeout(() => res.end("late"), 2000).unref() : res.end("x")).listen(0, async () => {
				for (const path of ["/", "/slow"]) await new Promise((done) => {
					const req = http.get({ port: server.address().port, path }, (res) => res.resume().on("end", () => done(console.log("answered"))));
					req.setTimeout(20, () => req.destroy(new Error("too slow"))).on("error", (e) => done(console.log(e.message)));
				});
				server.closeAllConnections(); server.close();
			});`, "answered\ntoo slow\n"},
		"an error that express catches": {`
			const app = require("express")(), http = require("http");
			app.get("/", () => { throw Error("caught") });
			app.use((err, req, res, next) => res.status(500).end(err.message));
			const server = http.createServer(app).listen(0, async () => {
				const res = await fetch("http://localhost:" + server.address().port);
				console.log(res.status, await res.text());
				server.close();
			});`, "500 caught\n"},
		"Deno.serve": {`
			const server = Deno.serve({ port: 8000, onListen() {} }, (r) => new Response("hi " + new URL(r.url).pathname));
			for (const host of ["localhost", "127.0.0.1", "[::1]"]) {
				try { console.log(await (await fetch("http://" + host + ":8000/a")).text()) } catch (e) { console.log(e.name) }
			}
			await server.shutdown();`, "hi /a\nhi /a\nTypeError\n"},
		"left open": {`
			const server = require("http").createServer((req, res) => setTimeout(() => res.end("slow"), 20));
			process.on("exit", (code) => console.log("exit", code));
			server.listen(3000, async () => console.log(await (await fetch("http://localhost:3000/")).text()));`, "slow\nexit 0\n"},
		"left open by Deno": {`
			Deno.serve({ port: 3000, onListen: () => console.log("listening") }, () => new Response("x"));
			Deno.listen({ port: 3001 }).accept();
			undefined`, "listening\n"},
		"never called": {`
			const express = (req, res) => res.end();
			require("http").createServer(express).listen(3000, () => console.log("listening on port 3000"));`, "listening on port 3000\n"},
		"closed": {`
			const server = require("net").createServer().listen(3000, () => server.close(() => console.log("closed")));
			const other = Deno.listen({ port: 3001 });
			other.close();`, "closed\n"},
		"closed with a client that asks nothing": {`
			const express = require("express"), net = require("net");
			const server = express().listen(3000, () => {
				net.connect(3000, "localhost", () => server.close(() => console.log("closed")));
			});`, "closed\n"},
		"closed while it answers": {`
			const server = require("http").createServer((req, res) => {
				server.close(() => console.log("closed"));
				setTimeout(() => res.end("slow"), 20);
			}).listen(3000, async () => console.log(await (await fetch("http://localhost:3000/")).text()));`, "slow\nclosed\n"},
		"closed after answers of gzip": {`
			const http = require("http"), zlib = require("zlib");
			const server = http.createServer((req, res) => {
				res.writeHead(200, { "Content-Encoding": "gzip" });
				res.end(zlib.gzipSync("page " + req.url));
			}).listen(0, async () => {
				for (const p of ["/a", "/b"]) console.log(await (await fetch("http://127.0.0.1:" + server.address().port + p)).text());
				server.close(() => console.log("closed"));
			});`, "page /a\npage /b\nclosed\n"},
		"nobody listens": {`
			const server = require("http").createServer().listen(0, () => {
				const { port } = server.address();
				server.close(() => fetch("http://127.0.0.1:" + port).catch((e) => console.log(e.cause?.code ?? e.message, e.cause.syscall, Object.keys(e.cause).length)));
			});`, "ECONNREFUSED connect 0\n"},
		"in use": {`
			const net = require("net"), first = net.createServer().listen(4000, () => {
				net.createServer().on("error", (e) => { console.log(e.code); first.close(); }).listen(4000);
			});
			try { Deno.listen({ port: 4000 }) } catch (e) { console.log(e.name) }`, "AddrInUse\nEADDRINUSE\n"},
		"sent and gone": {`
			const net = require("net");
			net.createServer((c) => c.on("data", (d) => console.log(String(d)))).listen(4000, () => {
				const c = net.connect(4000, "localhost", () => { c.end("last words"); c.destroySoon(); });
			});`, "last words\n"},
		"UDP": {`
			const udp = require("dgram"), s = udp.createSocket("udp4", (m, from) => { console.log(String(m), from.address); s.close(); });
			s.bind(0, () => { const c = udp.createSocket("udp4"); c.send("ping", s.address().port, "localhost", () => c.close()); });`, "ping 127.0.0.1\n"},
		"WebSocket": {`
			Deno.serve({ port: 8080, onListen() {} }, (req) => {
				const { socket, response } = Deno.upgradeWebSocket(req);
				socket.onmessage = (e) => socket.send("echo " + e.data);
				return response;
			});
			const ws = new WebSocket("ws://localhost:8080");
			ws.onopen = () => ws.send("x");
			ws.onmessage = (e) => { console.log(e.data); ws.close(); };
			undefined`, "echo x\n"},
		"a Worker's": {`
			const w = new Worker(URL.createObjectURL(new Blob(["const s = Deno.serve({port: 0, onListen: (a) => postMessage(a.port)}, () => new Response('worked'))"])));
			w.onmessage = async (e) => { console.log(await (await fetch("http://127.0.0.1:" + e.data)).text()); w.terminate(); };
			undefined`, "worked\n"},
		"nobody else": {`
			for (const to of [{ hostname: "192.0.2.1", port: 80 }, { hostname: "host.invalid", port: 80 }, { port: 22 }]) {
				await Deno.connect(to).catch((e) => console.log(e.name, /Requires net access to "[^"]+"/.exec(e.message)?.[0]));
			}`, "NotCapable Requires net access to \"192.0.2.1:80\"\nNotCapable Requires net access to \"host.invalid:80\"\nConnectionRefused undefined\n"},
	} {
		ask := func(_ context.Context, host string, _ uint16) (bool, error) {
			t.Errorf("%s: asked about %s", name, host)
			return false, nil
		}
		if name == "nobody else" {
			ask = nil
		}
		o := run(t, r, runners.Request{Language: runners.JavaScript, Code: c.code, Ask: ask})
		if o.Status != runners.Succeeded || o.Stdout != c.want || o.Result != nil || strings.Contains(o.Note, onlyItself) != (name == "left open by Deno" || name == "never called") {
			t.Errorf("%s: %s %+v, stdout %q, result %v, stderr %q, note %q, want %q", name, o.Status, o.Error, o.Stdout, o.Result, o.Stderr, o.Note, c.want)
		}
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
	if o.Status != runners.TimedOut || !strings.HasSuffix(o.Error.Message, "\n"+onlyItself) {
		t.Errorf("a server that is waited for: %s %+v", o.Status, o.Error)
	}
	var asked []string
	o = run(t, r, runners.Request{Code: `await fetch("http://host.invalid/").catch(() => {})`, Ask: func(_ context.Context, host string, _ uint16) (bool, error) {
		asked = append(asked, host)
		return false, nil
	}})
	if sandbox.Supervised() == nil && (o.Status != runners.Succeeded || len(asked) != 1) {
		t.Errorf("a program without a server: %s %+v, asked about %q", o.Status, o.Error, asked)
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
