package deno

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"coderunner/runners"
	"coderunner/runners/deno/install"
	"coderunner/runners/deno/process"

	"github.com/google/go-cmp/cmp"
)

// asksHost asks everything that Deno and Node can tell of a machine, and prints it.
const asksHost = `import * as os from "node:os"; import os2, { cpus, homedir } from "os"; import process from "node:process";
const os3 = (await import("node:module")).createRequire(import.meta.url)("os");
const asked = {
	deno: ["hostname", "osRelease", "osUptime", "systemMemoryInfo", "loadavg", "networkInterfaces", "uid", "gid", "umask", "execPath"].map((f) => Deno[f]()),
	os: [os, os2, os3].map((m) => Object.keys(m).filter((f) => typeof m[f] === "function" && f !== "setPriority").map((f) => [f, m[f]()])),
	named: [cpus(), homedir()],
	process: ["getuid", "geteuid", "getgid", "getegid", "getgroups", "umask", "constrainedMemory", "availableMemory"].map((f) => process[f]()),
	report: process.report.getReport(),
	home: [Deno.env.get("HOME"), process.env.HOME, process.execPath],
	cores: navigator.hardwareConcurrency,
};
console.log(JSON.stringify(asked));
`

// TestHostAnswers has a program without permissions ask what the machine is.
func TestHostAnswers(t *testing.T) {
	r := open(t, "", nil)
	o := run(t, r, runners.Request{Language: runners.JavaScript, Limits: runners.Limits{Memory: 512 << 20}, Code: asksHost + `
const cwd = Deno.cwd();
({
	hosts: [Deno.hostname(), os.hostname()], home: [homedir(), os2.userInfo().homedir, os3.homedir()].every((h) => h === cwd),
	cpus: [cpus().length, os.cpus()[0].model, os.availableParallelism(), navigator.hardwareConcurrency],
	memory: [os.totalmem(), os.freemem() < os.totalmem(), process.memoryUsage().rss > 1e6, process.memoryUsage.rss() > 1e6], ids: [os.userInfo().uid, process.geteuid(), process.getgroups()],
	nothing: [os.loadavg(), os.networkInterfaces(), os.uptime() > performance.now() / 1000], umask: [process.umask(0), process.umask("22"), Deno.umask()],
})`})
	const want = `{"hosts":["localhost","localhost"],"home":true,"cpus":[1,"",1,1],"memory":[536870912,true,true,true],"ids":[1000,1000,[1000]],"nothing":[[0,0,0],{},false],"umask":[18,0,18]}`
	if o.Result == nil || string(o.Result.JSON) != want {
		t.Fatalf("%s %+v, result %+v, want %s", o.Status, o.Error, o.Result, want)
	}
	var secrets []string
	if name, err := os.Hostname(); err == nil && len(name) > 3 && name != "localhost" {
		secrets = append(secrets, name)
	}
	if home, err := os.UserHomeDir(); err == nil && len(home) > 3 {
		secrets = append(secrets, home+"/")
	}
	if u, err := user.Current(); err == nil && len(u.Username) > 3 && u.Username != "user" {
		secrets = append(secrets, `"`+u.Username+`"`)
	}
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, model, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			secrets = append(secrets, strings.TrimSpace(model))
			break
		}
	}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		secrets = append(secrets, strings.TrimSpace(string(release)))
	}
	for _, secret := range secrets {
		if strings.Contains(o.Stdout, secret) {
			t.Errorf("the program was told %q: %s", secret, o.Stdout)
		}
	}
}

// TestHostGranted leaves to Deno what the policy grants.
func TestHostGranted(t *testing.T) {
	name, err := os.Hostname()
	if err != nil {
		t.Skip(err)
	}
	for flags, want := range map[string]string{
		"--allow-sys": name, "--allow-sys=hostname": name, "--allow-sys=cpus": "localhost", "--allow-sys --deny-sys=hostname": "localhost",
		"--allow-sys=umask,hostname": name, "--allow-sys=hostname --deny-sys": "localhost", "--allow-sys=hostname,cpus --deny-sys=umask": name,
	} {
		r := open(t, flags, nil)
		if o := run(t, r, runners.Request{Code: "Deno.hostname()"}); o.Result == nil || o.Result.Text != fmt.Sprintf("%q", want) {
			t.Errorf("%s: %s %+v, want %s", flags, o.Status, o.Result, want)
		}
	}
}

// TestAbove has a program look for what packages look for in the parents of their
// directory, and for what it may not read.
func TestAbove(t *testing.T) {
	r := open(t, "", nil)
	o := run(t, r, runners.Request{Code: `import fs from "node:fs"; import path from "node:path";
const found: string[] = [];
for (let dir = Deno.cwd(); ; dir = path.dirname(dir)) {
	for (const name of ["package.json", ".eslintrc", "."]) if (fs.existsSync(path.join(dir, name)) && dir !== Deno.cwd() && dir !== "/tmp") found.push(dir); // /tmp is the run's own
	if (dir === path.dirname(dir)) break;
}
const code = (f: () => unknown) => { try { return f() } catch (e) { return e.code ?? e.name } };
[found, code(() => fs.readFileSync("../package.json")), code(() => Deno.statSync("/etc/passwd")), code(() => fs.readdirSync("/")),
	code(() => fs.writeFileSync("../x", "")), code(() => Deno.mkdirSync("/x"))]`})
	if want := `[[],"ENOENT","ENOENT","ENOENT","EACCES","EACCES"]`; o.Result == nil || string(o.Result.JSON) != want {
		t.Errorf("%s %+v, result %+v, want %s", o.Status, o.Error, o.Result, want)
	}
	o = run(t, r, runners.Request{Code: `Deno.readTextFileSync("/etc/passwd")`})
	if o.Error == nil || o.Error.Type != "NotFound" || !strings.HasSuffix(o.Error.Message, "what --allow-read names") {
		t.Errorf("%s %+v", o.Status, o.Error)
	}
}

// TestDialogs has a program ask on stdin.
func TestDialogs(t *testing.T) {
	r := open(t, "", nil)
	o := run(t, r, runners.Request{Stdin: strings.NewReader("Änne\r\ny\n\n\nrest"), Code: `const got = [prompt("Name?"), confirm("Sure?"), prompt("Town?", "Rome"), alert("Done"), prompt("End?"), prompt("Over?"), confirm()];
got.map(String)`})
	const asked = "Name? Sure? [y/N] Town? [Rome] Done [Enter]\nEnd? Over? Confirm [y/N] "
	if want := `["Änne","true","Rome","undefined","rest","null","false"]`; o.Result == nil || string(o.Result.JSON) != want || o.Stdout != asked {
		t.Errorf("%s %+v, result %+v, stdout %q; want %s and %q", o.Status, o.Error, o.Result, o.Stdout, want, asked)
	}
	for code, want := range map[string]string{`"Hi " + prompt("Name?")`: "prompt() returned null", `"Hi " + (prompt("Name?") ?? "you")`: ""} {
		if o := run(t, r, runners.Request{Code: code}); o.Status != runners.Succeeded || !strings.HasPrefix(o.Note, want) || want == "" && o.Note != "" {
			t.Errorf("%s: %s, note %q", code, o.Status, o.Note)
		}
	}
	o = run(t, r, runners.Request{Stdin: strings.NewReader("a\nb\nc"), Code: `const first = prompt("?"); [first, await new Response(Deno.stdin.readable).text()]`})
	if want := `["a","b\nc"]`; o.Result == nil || string(o.Result.JSON) != want {
		t.Errorf("%s %+v, result %+v, want %s", o.Status, o.Error, o.Result, want)
	}
}

// TestStorage has two runs use localStorage and the Cache API, in the same
// directory.
func TestStorage(t *testing.T) {
	r := open(t, "", nil)
	for range 2 {
		o := run(t, r, runners.Request{Code: `const before = [localStorage.length, await caches.has("c")];
localStorage.left = "1"; localStorage.setItem("b", "2"); await caches.open("c");
[before, localStorage.getItem("left"), localStorage.length, await caches.has("c")]`})
		if want := `[[0,false],"1",2,true]`; o.Result == nil || string(o.Result.JSON) != want {
			t.Errorf("%s %+v, result %+v, want %s", o.Status, o.Error, o.Result, want)
		}
	}
}

// TestRefusedCause has a loader blame the installation for a missing permission.
func TestRefusedCause(t *testing.T) {
	r := open(t, "", nil)
	o := run(t, r, runners.Request{Code: `try { Deno.dlopen("./x.so", {}) } catch (cause) { throw new Error("try npm i again", { cause }) }`})
	if want := "try npm i again; a cause is that the permissions of this server do not include --allow-ffi"; o.Error == nil || o.Error.Message != want {
		t.Errorf("%s %+v, want %q", o.Status, o.Error, want)
	}
}

// TestProcessLater finds Node's part of Deno unmade where no program uses it, and
// its answers where one does.
func TestProcessLater(t *testing.T) {
	r := open(t, "", nil)
	o := run(t, r, runners.Request{Language: runners.JavaScript, Code: `const made = () => Deno[Deno.internal].dispatchProcessExitEvent !== undefined;
const before = made(); [before, process.umask(), process.geteuid(), made()]`})
	if want := "[false,18,1000,true]"; o.Result == nil || string(o.Result.JSON) != want {
		t.Errorf("%s %+v, result %+v, want %s", o.Status, o.Error, o.Result, want)
	}
}

// TestHostByName has a package that imports homedir by its name.
func TestHostByName(t *testing.T) {
	r := open(t, "", nil)
	o := run(t, r, runners.Request{Language: runners.JavaScript, Code: `import { readUser } from "npm:rc9@2.1.2"; readUser(".none")`})
	if o.Result == nil || o.Result.Text != "{}" {
		t.Errorf("%s %+v %+v", o.Status, o.Error, o.Result)
	}
}

// TestQuestions has lines arrive before the question that they answer: Node drops them.
func TestQuestions(t *testing.T) {
	r := openParked(t, 1)
	const classic = `const rl = require("readline").createInterface({ input: process.stdin, output: process.stdout });`
	for name, code := range map[string]string{
		"promises": `import { createInterface } from "node:readline/promises";
const rl = createInterface({ input: process.stdin, output: process.stdout });
console.log(await rl.question("a?") + await rl.question("b?") + await rl.question("c?"));
rl.close();`,
		"a wrapper": classic + `const ask = (q) => new Promise((done) => rl.question(q, done));
(async () => { console.log(await ask("a?") + await ask("b?") + await ask("c?")); rl.close(); })();`,
		"promisify": classic + `const ask = require("util").promisify(rl.question).bind(rl);
(async () => { console.log(await ask("a?") + await ask("b?") + await ask("c?", {})); rl.close(); })();`,
	} {
		o := run(t, r, runners.Request{Language: runners.JavaScript, Stdin: strings.NewReader("1\n2\n3\n"), Code: code})
		if o.Status != runners.Succeeded || o.Stdout != "a?b?c?123\n" {
			t.Errorf("%s: %s %+v, stdout %q, stderr %q", name, o.Status, o.Error, o.Stdout, o.Stderr)
		}
	}
	o := run(t, r, runners.Request{Language: runners.JavaScript, Stdin: strings.NewReader("1\n2\n"), Code: classic + `rl.question("", () => rl.on("line", console.log))`})
	if o.Stdout != "2\n" {
		t.Errorf("a listener after a question: %q", o.Stdout)
	}
	o = run(t, r, runners.Request{Language: runners.JavaScript, Stdin: strings.NewReader("1\n"), Code: classic + `rl.on("close", () => console.log(rl.pause() === rl))`})
	if o.Stdout != "true\n" {
		t.Errorf("a pause after the end: %s %+v, %q", o.Status, o.Error, o.Stdout)
	}
}

// TestTicks has what a first turn leaves run in Node's order, of scripts and of modules,
// also where timers are due.
func TestTicks(t *testing.T) {
	r := openParked(t, 1)
	const leave = `process.nextTick((a, b) => { console.log("tick", a + b); process.nextTick(() => console.log("nested tick")); }, 1, 2);
Promise.resolve().then(() => { console.log("promise"); process.nextTick(() => console.log("late tick")); }).then(() => console.log("promise 2"));
setTimeout(() => { console.log("timer"); process.nextTick(() => console.log("tick of a timer")); Promise.resolve().then(() => console.log("promise of a timer")); }, 0);
`
	const loops = `setImmediate(() => console.log("immediate"));
fs.readFile("a.txt", () => { setTimeout(() => console.log("timer after a file"), 0); setImmediate(() => console.log("immediate after a file")); console.log("file"); });
` + leave
	const after, file = "late tick\ntimer\ntick of a timer\npromise of a timer\n", "immediate\nfile\nimmediate after a file\ntimer after a file\n"
	script, module := "tick 3\nnested tick\npromise\npromise 2\n"+after, "promise\npromise 2\ntick 3\nlate tick\nnested tick\n"+after[len("late tick\n"):]
	for code, want := range map[string]string{
		leave + `for (const begun = Date.now(); Date.now() - begun < 15;);`: script,
		`const fs = require("fs"); ` + loops:                                script + file,
		`const fs = require("fs"); ` + loops + `module.exports = 1`:         script + file,
		`import fs from "node:fs"; ` + loops:                                module + file,
		leave + `await 1; console.log("awaited")`:                           strings.Replace(module, "promise 2", "awaited\npromise 2", 1),
		`process.on("uncaughtException", (e) => console.log("caught", e.message));
try { process.nextTick(5) } catch (e) { console.log(e.code) }
setTimeout(() => { throw new Error("y") }, 0);
process.nextTick(() => { throw new Error("x") });
process.nextTick(() => console.log("next"));`: "ERR_INVALID_ARG_TYPE\ncaught x\nnext\ncaught y\n",
	} {
		o := run(t, r, runners.Request{Language: runners.JavaScript, Code: code, Files: []runners.File{{Path: "a.txt"}}})
		if o.Status != runners.Succeeded || o.Stdout != want {
			t.Errorf("%s\n%s %+v, stdout %q, want %q, stderr %q", code, o.Status, o.Error, o.Stdout, want, o.Stderr)
		}
	}
	manifest := []runners.File{{Path: "package.json", Data: []byte(`{"type": "module"}`)}}
	for _, req := range []runners.Request{{Filename: "a.mjs"}, {Filename: "a.js", Files: manifest}, {Filename: "a.js"}} {
		req.Language, req.Code = runners.JavaScript, leave
		want := module
		if req.Filename == "a.js" && req.Files == nil {
			want = script
		}
		if o := run(t, r, req); o.Status != runners.Succeeded || o.Stdout != want {
			t.Errorf("%s, %d files: %s %+v, stdout %q, want %q", req.Filename, len(req.Files), o.Status, o.Error, o.Stdout, want)
		}
	}
}

// TestUses finds what a package imports, so that its errors can name a flag.
func TestUses(t *testing.T) {
	for source, want := range map[string]process.Uses{
		`const http = require("http");`:        {Net: true},
		`import tls from 'node:tls'`:           {Net: true},
		`if (url.protocol === "http") return;`: {},
		`import { cpus } from "node:os"`:       {OS: true, Names: true},
		`const { Worker } = worker_threads`:    {Workers: true},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "index.js"), []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		var got process.Uses
		if install.ReadUses(&got, dir); !cmp.Equal(got, want) {
			t.Errorf("%s: %+v, want %+v", source, got, want)
		}
	}
}
