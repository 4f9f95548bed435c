//go:build amd64

package deno

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"coderunner/internal/process"
	"coderunner/runners"
	deno "coderunner/runners/deno/process"
)

// openForked makes a Runner whose processes are forked, and has it keep n of them.
func openForked(t *testing.T, n int) *Runner {
	t.Helper()
	if err := process.CanFork(); err != nil {
		t.Skip(err)
	}
	r := openParked(t, n)
	run(t, r, runners.Request{Language: runners.JavaScript, Code: "1"})
	return r
}

// zygotes returns the processes of this one that are stopped to be forked.
func zygotes(t *testing.T) (pids []int) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, _ := os.ReadFile(name) // it may have ended
		_, rest, _ := bytes.Cut(text, []byte(") "))
		if strings.HasPrefix(string(rest), fmt.Sprintf("t %d ", os.Getpid())) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

// forked waits until one process waits, and fails if it was not forked.
func forked(t *testing.T, r *Runner) *deno.Instance {
	t.Helper()
	all := waiting(t, r)
	for begun := time.Now(); len(all) == 0; all = waiting(t, r) {
		if time.Since(begun) > time.Minute {
			t.Fatal("no process waits")
		}
	}
	for _, in := range all {
		if !in.Forked() {
			t.Error("a process was started, not forked")
		}
		filtered(t, in)
	}
	return all[0]
}

// filtered fails if a process that waits for a program is under no filter of system calls, as
// zygotes are.
func filtered(t *testing.T, in *deno.Instance) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", in.Process.Pid()))
	if err != nil || !strings.Contains(string(status), "\nSeccomp:\t2\n") {
		t.Errorf("process %d waits for a program without a filter: %v", in.Process.Pid(), err)
	}
}

// TestForkedChance has forks of one process draw what no two programs may have in common. On a busy
// machine others are started meanwhile, so that not each run is a fork of one that was there.
func TestForkedChance(t *testing.T) {
	r := openForked(t, 1)
	const code = `import { randomBytes, randomUUID } from "node:crypto";
		const pair = await crypto.subtle.generateKey("Ed25519", true, ["sign"]);
		const worker = new Worker(URL.createObjectURL(new Blob(["postMessage(Math.random())"])), { type: "module" });
		const ofWorker = await new Promise((ok) => worker.onmessage = (e) => ok(e.data));
		worker.terminate();
		[Math.random(), crypto.randomUUID(), crypto.getRandomValues(new Uint32Array(2)).join(), randomBytes(8).toString("hex"), randomUUID(),
			Deno.makeTempFileSync().split("/").pop(), (await crypto.subtle.exportKey("jwk", pair.privateKey)).d, ofWorker, new Map([[{}, 1]]).size && Deno.pid]`
	drawn := map[string]bool{}
	of := map[int]bool{}
	for i, again := 0, 0; again < 5; i++ {
		if i == 50 {
			t.Fatalf("of %d runs, %d were forks of processes that had run others", i, again)
		}
		forked(t, r)
		before := len(of)
		for _, pid := range zygotes(t) {
			of[pid] = true
		}
		if len(of) == before {
			again++
		}
		o := run(t, r, runners.Request{Language: runners.JavaScript, Code: code})
		if o.Result == nil {
			t.Fatalf("%+v %+v", o, o.Error)
		}
		var values []any
		if err := json.Unmarshal(o.Result.JSON, &values); err != nil {
			t.Fatal(err)
		}
		for k, v := range values {
			if key := fmt.Sprint(k, " ", v); drawn[key] {
				t.Errorf("run %d has drawn %s once more", i, key)
			} else {
				drawn[key] = true
			}
		}
	}
}

// Numbers are what Math.random promises, and the function is what Deno's is.
func TestForkedRandom(t *testing.T) {
	r := openForked(t, 1)
	forked(t, r)
	o := run(t, r, runners.Request{Language: runners.JavaScript, Code: `
		const bins = new Array(16).fill(0); let least = 1, most = 0;
		for (let i = 0; i < 1e6; i++) { const x = Math.random(); bins[Math.floor(x * 16)]++; least = Math.min(least, x); most = Math.max(most, x); }
		const { value, ...rest } = Object.getOwnPropertyDescriptor(Math, "random");
		({ even: bins.every((n) => Math.abs(n - 62500) < 1500), range: least >= 0 && least < 1e-4 && most < 1 && most > 0.9999, ...rest, name: value.name, length: value.length,
			constructs: (() => { try { return !!new value() } catch (e) { return e.name } })() })`})
	const want = `{"even":true,"range":true,"writable":true,"enumerable":false,"configurable":true,"name":"random","length":0,"constructs":"TypeError"}`
	if o.Result == nil || string(o.Result.JSON) != want {
		t.Errorf("%+v %+v, want %s", o.Result, o.Error, want)
	}
}

// The clock of a fork begins with it, in all that tells it.
func TestForkedClock(t *testing.T) {
	r := openForked(t, 1)
	forked(t, r)
	time.Sleep(300 * time.Millisecond) // it is the clock's time that is asked for
	o := run(t, r, runners.Request{Language: runners.JavaScript, Code: `import { performance as node } from "node:perf_hooks";
		const first = performance.now(), wall = Math.abs(performance.timeOrigin + performance.now() - Date.now());
		const a = performance.mark("a"), { duration } = performance.measure("b", "a"), c = performance.measure("c", { start: first, detail: 1 });
		const d = performance.measure("d"), e = performance.measure("e", "a", "a"), f = performance.measure("f", { start: "a", duration: 7 }), g = performance.mark("g", { startTime: 3 });
		({ first: first > 0 && first < 250, wall: wall < 100, mark: a.startTime >= first && a.startTime < 250, duration: duration >= 0 && duration < 250,
			c: c.startTime === first && c.duration > 0 && c.duration < 250 && c.detail, d: d.startTime === 0 && d.duration >= a.startTime, e: e.duration, f: Math.abs(f.duration - 7) < 1e-9, g: g.startTime,
			node: node.now() >= first && node.now() < 250, uptime: process.uptime() < 0.25, json: performance.toJSON().timeOrigin === performance.timeOrigin })`})
	const want = `{"first":true,"wall":true,"mark":true,"duration":true,"c":1,"d":true,"e":0,"f":true,"g":3,"node":true,"uptime":true,"json":true}`
	if o.Result == nil || string(o.Result.JSON) != want {
		t.Errorf("%+v %+v, want %s", o.Result, o.Error, want)
	}
}

// TestForkedWarm has programs that use Node's part: forks have it when the first of them has run,
// and those of other programs have not.
func TestForkedWarm(t *testing.T) {
	r := openForked(t, 2)
	const code = `const made = Deno[Deno.internal].dispatchProcessExitEvent !== undefined; import fs from "node:fs";
		import { pid, env, argv } from "node:process"; import own from "node:process";
		if (pid !== Deno.pid || own.pid !== pid || process.pid !== pid) throw new Error("a process has two numbers");
		const seen = [typeof fs.readFileSync, own === process, argv === process.argv, env.HOME === Deno.env.get("HOME"), process.stdin.fd, process.stdout.fd, process.title, process.argv.length, process.eventNames().length, Deno.args.length, process.exitCode ?? 0, setTimeout.length].join();
		[made, seen]`
	want := ""
	for begun, made := time.Now(), false; !made; {
		o := run(t, r, runners.Request{Language: runners.JavaScript, Code: code})
		if o.Result == nil {
			t.Fatalf("%+v %+v", o, o.Error)
		}
		had, seen, _ := strings.Cut(string(o.Result.JSON), ",")
		if want == "" {
			want = seen
		}
		if seen != want {
			t.Errorf("a fork that has Node's part sees %s, want %s", seen, want)
		}
		if made = had == "[true"; !made && time.Since(begun) > time.Minute {
			t.Fatal("no fork has Node's part")
		}
	}
	if o := run(t, r, runners.Request{Language: runners.JavaScript, Code: "Deno[Deno.internal].dispatchProcessExitEvent === undefined"}); o.Result == nil || o.Result.Text != "true" {
		t.Errorf("another program: %+v %+v", o.Result, o.Error)
	}
}

// TestForkedApart has programs leave all that they can, and the next ones look for it.
func TestForkedApart(t *testing.T) {
	r := openForked(t, 1)
	const look = `import fs from "node:fs";
		({ files: [fs.readdirSync("."), fs.readdirSync(Deno.env.get("TMPDIR")), fs.existsSync("../gen") && fs.readdirSync("/tmp")], global: globalThis.left, array: [].left, env: Deno.env.get("LEFT"),
			cwd: Deno.cwd() === import.meta.dirname, stored: localStorage.length, input: fs.readFileSync(0, "utf8"), nonblocking: Deno.stdin.isTerminal(),
			exit: Deno.exitCode, listeners: process.eventNames().length, cached: (await caches.has("left").catch(() => false)), memory: performance.memory?.left })`
	var first string
	for i, leave := range []string{
		``,
		`globalThis.left = Array.prototype.left = 1; Deno.env.set("LEFT", "1"); process.on("exit", () => {}); Deno.exitCode = 0`,
		`Deno.writeTextFileSync("left", "1"); Deno.makeTempFileSync(); Deno.mkdirSync("/tmp/left"); Deno.chdir("/tmp"); localStorage.setItem("left", "1"); 0`,
		`const c = await caches.open("left"); Deno.symlinkSync("/", "link"); Deno.symlinkSync("/", "../tmp/link"); Deno.removeSync(Deno.env.get("TMPDIR"), { recursive: true }); 0`,
		`Deno.renameSync("../work", "../tmp/work"); Deno.symlinkSync("/", "../work"); 0`,
		`for (let i = 0; i < 100; i++) console.log("x".repeat(1000)); new Worker("data:text/javascript,setInterval(() => {}, 1)", { type: "module" }); Deno.exit(0)`,
		`const l = Deno.listen({ port: 8123 }); (await Deno.connect({ port: 8123 })).write(new Uint8Array(10)); await l.accept(); 0`,
		`const l = Deno.listen({ port: 8123 }); setTimeout(() => Deno.kill(Deno.pid, "SIGKILL"), 10)`,
	} {
		forked(t, r)
		run(t, r, runners.Request{Language: runners.JavaScript, Code: leave, Stdin: strings.NewReader("left\n")})
		forked(t, r)
		o := run(t, r, runners.Request{Language: runners.JavaScript, Code: look})
		if o.Result == nil {
			t.Fatalf("after %s: %+v %+v", leave, o, o.Error)
		}
		if got := string(o.Result.JSON); i == 0 {
			first = got
		} else if got != first {
			t.Errorf("after %s\ngot  %s\nwant %s", leave, got, first)
		}
	}
}

// ends are all ways in which a program ends that there are.
var ends = []struct {
	code   string
	limits runners.Limits
	status runners.Status
	exit   int // 0: any
}{
	{code: `Deno.exit(3)`, status: runners.Failed, exit: 3},
	{code: `throw new Error("bad")`, status: runners.Failed, exit: 1},
	{code: `for (;;);`, limits: runners.Limits{Timeout: 300 * time.Millisecond}, status: runners.TimedOut},
	{code: `const a = []; for (;;) a.push(new Array(1e5).fill(a.length));`, status: runners.OutOfMemory},
	{code: `const a = []; for (;;) a.push(new Uint8Array(1e7).fill(1));`, status: runners.OutOfMemory},
	{code: `import { setTimeout } from "node:timers/promises"; await setTimeout(5); process.exitCode = 4`, status: runners.Failed, exit: 4},
	{code: `import { abort } from "node:process"; abort()`, status: runners.Failed, exit: 128 + 6},
	{code: `import { abort } from "node:process"; process.exitCode = 4`, status: runners.Failed, exit: 4},
	{code: `console.log(1)`, status: runners.Succeeded},
}

// TestForkedEnds ends forks in all ways that there are.
func TestForkedEnds(t *testing.T) {
	r := openForked(t, 1)
	for _, tt := range ends {
		forked(t, r)
		o := run(t, r, runners.Request{Language: runners.JavaScript, Code: tt.code, Limits: tt.limits})
		if o.Status != tt.status || tt.exit != 0 && o.ExitCode != tt.exit {
			t.Errorf("%s: %s, exit code %d, %+v; want %s, %d", tt.code, o.Status, o.ExitCode, o.Error, tt.status, tt.exit)
		}
	}
	for _, pid := range zygotes(t) { // as the kernel would, without memory
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if o := run(t, r, runners.Request{Language: runners.JavaScript, Code: "1 + 1"}); o.Result == nil || o.Result.Text != "2" {
			t.Errorf("after its zygote was killed: %+v %+v", o, o.Error)
		}
	}
	forked(t, r)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if left := zygotes(t); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}

// Where a fork would share something with others, each run has a process that is started.
func TestForkedRefused(t *testing.T) {
	if err := process.CanFork(); err != nil {
		t.Skip(err)
	}
	null, err := syscall.Open(os.DevNull, syscall.O_RDONLY, 0) // inherited
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(null)
	r := openParked(t, 1)
	for range 2 {
		if o := run(t, r, runners.Request{Language: runners.JavaScript, Code: "1 + 1"}); o.Result == nil || o.Result.Text != "2" {
			t.Errorf("%+v %+v", o, o.Error)
		}
		for _, in := range waiting(t, r) {
			if in.Forked() {
				t.Error("a process that shares a file is forked")
			}
			filtered(t, in)
		}
	}
}
