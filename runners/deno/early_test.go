package deno

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"coderunner/cache"
	"coderunner/internal/sample"
	"coderunner/runners"
	"coderunner/runners/deno/process"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// leftOut has a Runner log into what it returns: why packages are not loaded early.
func leftOut(c *process.Config) *observer.ObservedLogs {
	core, logs := observer.New(zapcore.InfoLevel)
	c.Log = zap.New(core)
	return logs
}

// reasons returns the reasons in a log.
func reasons(logs *observer.ObservedLogs) (all []string) {
	for _, entry := range logs.FilterMessage("packages are not loaded before their programs").All() {
		all = append(all, entry.ContextMap()["reason"].(string))
	}
	return all
}

// uses is how often a program runs until its packages are loaded early, and once more.
const uses = 4

// use runs a program that often.
func use(t *testing.T, r *Runner, req runners.Request) {
	t.Helper()
	for range uses {
		run(t, r, req)
		r.settle()
	}
}

// early returns the processes that wait with packages for a program.
func early(t *testing.T, r *Runner, req runners.Request) []*process.Instance {
	t.Helper()
	_, v := variantOf(t, r, req)
	return slices.DeleteFunc(waiting(t, r), func(in *process.Instance) bool { return in.Variant.Early == nil || in.Variant.Early != v.Early })
}

// TestEarly has real packages loaded before their programs, which must not notice: each run,
// in a process of its own, has the outcome of one without.
func TestEarly(t *testing.T) {
	plain := open(t, "", nil)
	r := openParked(t, 8)
	r.leases.ClockLimit = time.Hour // of a busy machine's
	for _, code := range sample.Of(t, 2, []string{
		"import _ from 'npm:lodash@4';\nconsole.log(_.chunk([1, 2, 3], 2)); _.VERSION",
		"import { z } from 'zod@3';\nconsole.log(z.string().safeParse(1).error?.issues); Object.keys(z).length",
		"import chalk from 'chalk@5';\nconsole.log(chalk.red('x'), Deno.args, Deno.mainModule.endsWith('/main.ts'), process.argv.length); chalk.level",
		"import fs from 'node:fs';\nimport { load } from 'cheerio@1';\nfs.writeFileSync('a.txt', load('<p>x</p>')('p').text()); fs.readFileSync('a.txt', 'utf8')",
		"import { Command } from 'commander@12';\nconst c = new Command().option('-x'); c.parse(); console.log(c.opts(), performance.now() > 0)",
		"import { v4 } from 'uuid@11';\nimport dayjs from 'dayjs@1';\nconsole.log(v4().length, dayjs('2020-02-02').format('YYYY')); process.on('exit', () => console.log('bye'))",
	}) {
		req := runners.Request{Code: code}
		want, seen := run(t, plain, req), map[int]bool{}
		for n := range uses {
			got := run(t, r, req)
			r.settle()
			if diff := cmp.Diff([]any{want.Status, want.Stdout, want.Stderr, want.Result, want.Files}, []any{got.Status, got.Stdout, got.Stderr, got.Result, got.Files}); diff != "" {
				t.Errorf("%s: run %d (-without +with)\n%s", code, n+1, diff)
			}
			wait := early(t, r, req)
			if n == uses-1 && len(wait) != 1 {
				t.Fatalf("%s: after run %d, %d processes wait with packages, want 1", code, n+1, len(wait))
			}
			for _, in := range wait {
				if seen[in.Process.Pid()] {
					t.Errorf("%s: process %d still waits after run %d", code, in.Process.Pid(), n+1)
				}
				seen[in.Process.Pid()] = true
			}
		}
	}
	// Arguments, and a file that is evaluated first, need a process without.
	for _, req := range []runners.Request{
		{Code: "import chalk from 'chalk@5';\nconsole.log(Deno.args, chalk.level)", Args: []string{"--color"}},
		{Code: "import './first.ts';\nimport chalk from 'chalk@5';\nconsole.log(chalk.level)", Files: []runners.File{{Path: "first.ts", Data: []byte("process.env.FORCE_COLOR = '3'")}}},
	} {
		want := run(t, plain, req)
		for range uses {
			if got := run(t, r, req); want.Stdout != got.Stdout {
				t.Errorf("%s: %q, without %q", req.Code, got.Stdout, want.Stdout)
			}
			r.settle()
		}
		if _, v := variantOf(t, r, req); v.Early != nil {
			t.Errorf("%s: has %v loaded early", req.Code, v.Early.Load)
		}
	}
}

// TestEarlyUnfit has modules that do something else, or too early, without a program. What
// they do happens once in each run.
func TestEarlyUnfit(t *testing.T) {
	cases := map[string]struct{ module, reason, stdout string }{
		"prints":   {`console.log("once")`, "print", "once\nprogram\n"},
		"complain": {`console.error("once")`, "print", "program\n"},
		"timer":    {`setTimeout(() => console.log("later"), 1)`, "start a timer", "program\nlater\n"},
		"input":    {`const b = new Uint8Array(9); Deno.stdin.readSync(b); console.log(new TextDecoder().decode(b).slice(0, 5))`, "read the program's input", "given\nprogram\n"},
		"listens":  {`process.on("exit", () => console.log("end"))`, "listen to events", "program\nend\n"},
		"unloads":  {`addEventListener("unload", () => console.log("end"))`, "listen to events", "program\nend\n"},
		"time":     {`export const at = Date.now()`, "depends on the time", "program\n"},
		"started":  {`export const at = new Date()`, "depends on the time", "program\n"},
		"tests":    {`Deno.test("a", () => {})`, "register tests", ""},
		"files":    {`try { Deno.readTextFileSync("settings.json") } catch {}`, "settings.json", "program\n"},
		"writes":   {`Deno.writeTextFileSync("log", "x")`, "write", "program\n"},
		"network":  {`await fetch("http://127.0.0.1:4321").catch(() => {})`, "net 127.0.0.1:4321", "program\n"},
		"throws":   {`throw new Error("not now")`, "throw", ""},
		"ends":     {`Deno.exit(0)`, "end the process", ""},
		"code":     {`Deno.exitCode = 3`, "set the exit code", "program\n"},
		"worker":   {`new Worker("data:text/javascript,close()", { type: "module" })`, "", "program\n"}, // no databases can be made either
	}
	files := map[string]string{}
	for name, c := range cases {
		files["/"+name+".js"] = c.module + "\nexport {}"
	}
	address, _ := modules(t, files)
	for _, name := range sample.Of(t, 3, slices.Sorted(maps.Keys(cases))) {
		c, root := cases[name], t.TempDir()
		t.Run(name, func(t *testing.T) {
			var logs *observer.ObservedLogs
			r := open(t, "--allow-import="+strings.TrimPrefix(address, "http://"), func(cfg *process.Config) {
				cfg.Ahead, cfg.Env, logs = 1, map[string]string{}, leftOut(cfg)
				var err error
				if cfg.Cache, err = cache.Open(root); err != nil {
					t.Fatal(err)
				}
			})
			req := runners.Request{Code: `import * as m from "` + address + "/" + name + `.js"; if (m.at && Date.now() - m.at > 60000) throw m; void globalThis.Worker; console.log("program")`}
			for n := range 4 {
				req.Stdin = strings.NewReader("given")
				if o := run(t, r, req); c.stdout != "" && o.Stdout != c.stdout {
					t.Errorf("run %d printed %q, want %q (%v %v)", n+1, o.Stdout, c.stdout, o.Status, o.Error)
				}
				r.settle()
			}
			if len(early(t, r, req)) > 0 {
				t.Error("a process waits with it")
			}
			if all := reasons(logs); len(all) != 1 && c.stdout != "" && c.reason != "" || len(all) == 1 && !strings.Contains(all[0], c.reason) {
				t.Errorf("the reasons are %q, want one with %q", all, c.reason)
			}
		})
	}
}

// TestEarlyChanges has a module that cannot be loaded early any more after its trial.
func TestEarlyChanges(t *testing.T) {
	address, _ := modules(t, map[string]string{"/fickle.js": `if (Math.random() < 0.5) console.log("sometimes"); export {}`})
	var logs *observer.ObservedLogs
	root := t.TempDir()
	r := open(t, "--allow-import="+strings.TrimPrefix(address, "http://"), func(c *process.Config) {
		c.Ahead, c.Env, logs = 1, map[string]string{}, leftOut(c)
		var err error
		if c.Cache, err = cache.Open(root); err != nil {
			t.Fatal(err)
		}
	})
	req := runners.Request{Code: `import "` + address + `/fickle.js"; console.log("program")`}
	for n := 0; len(reasons(logs)) == 0 && n < 40; n++ {
		if o := run(t, r, req); o.Stdout != "program\n" && o.Stdout != "sometimes\nprogram\n" {
			t.Fatalf("printed %q (%v %v)", o.Stdout, o.Status, o.Error)
		}
		r.settle()
	}
	if all := reasons(logs); len(all) != 1 || !strings.Contains(all[0], "print") {
		t.Errorf("the reasons are %q", all)
	}
	if _, v := variantOf(t, r, req); v.Early != nil {
		t.Error("it is loaded early")
	}
}

// TestEarlyStopped has a module that would go on by itself while its process waits: it has the
// processor when there is a program, and in its time.
func TestEarlyStopped(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	address, _ := modules(t, map[string]string{"/busy.js": `const read = Deno.stdin.constructor.prototype.readSync;
		Object.getPrototypeOf(Deno.stdin).readSync = function (...args) { for (let n = 0; n < 3e9; n++); return read.apply(this, args) }; export {}`})
	root := t.TempDir()
	r := open(t, "--allow-import="+strings.TrimPrefix(address, "http://"), func(c *process.Config) {
		c.Ahead, c.Env = 1, map[string]string{}
		var err error
		if c.Cache, err = cache.Open(root); err != nil {
			t.Fatal(err)
		}
	})
	req := runners.Request{Code: `import "` + address + `/busy.js"; console.log("program")`, Limits: runners.Limits{Timeout: time.Second}}
	_, v := variantOf(t, r, req)
	v.Early = &process.Early{Load: []string{address + "/busy.js"}, Main: "main.ts"}
	run(t, r, runners.Request{Code: req.Code}) // its databases are made
	r.settle()
	in := r.leases.Launch(t.Context(), v)
	if err := in.Await(t.Context(), unfilled); err != nil {
		t.Fatal(err)
	}
	defer in.Discard()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", in.Process.Pid()))
	if err != nil || !strings.Contains(string(status), ") T ") {
		t.Errorf("it is not stopped: %s %v", status, err)
	}
}

// TestEarlyBounds bounds how long what has asked for the time waits, and the memory of all.
func TestEarlyBounds(t *testing.T) {
	req := runners.Request{Code: "import _ from 'npm:lodash@4';\n_.VERSION"}
	r := openParked(t, 2)
	r.leases.ClockLimit = time.Millisecond
	use(t, r, req)
	for deadline := time.Now().Add(2 * time.Minute); len(early(t, r, req)) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("lodash, which has asked for the time, still waits")
		}
	}
	r = openParked(t, 2)
	r.leases.EarlyMemory = 1
	use(t, r, req)
	if n := len(early(t, r, req)); n > 0 {
		t.Errorf("%d processes wait with packages, whose memory is too much", n)
	}
}
