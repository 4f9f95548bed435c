package deno

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/process"
)

// TestLimits has programs that each limit ends.
func TestLimits(t *testing.T) {
	r := open(t, "", nil)
	const second = time.Second
	tests := []struct {
		name   string
		code   string
		limits runners.Limits
		want   runners.Status
		stdout string // a prefix
	}{
		{"loop", "console.log('before'); for (;;);", runners.Limits{Timeout: 2 * second}, runners.TimedOut, "before\n"},
		{"interval", "setInterval(() => {}, 10); await new Promise(() => {})", runners.Limits{Timeout: second / 2}, runners.TimedOut, ""},
		{"sleep in Atomics", "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)", runners.Limits{Timeout: second / 2}, runners.TimedOut, ""},
		{"trapped SIGTERM", "Deno.addSignalListener('SIGTERM', () => {}); setInterval(() => {}, 10)", runners.Limits{Timeout: second / 2}, runners.TimedOut, ""},
		{"loop while loading", "class A { static x = (() => { for (;;); })() }", runners.Limits{Timeout: second / 2}, runners.TimedOut, ""},
		{"regular expression", "/(a+)+$/.test('a'.repeat(40) + 'b')", runners.Limits{Timeout: second / 2}, runners.TimedOut, ""},
		{"heap", "console.log('before'); const a = []; for (;;) a.push({ a: [1, 2, 3] })", runners.Limits{Memory: 128 << 20}, runners.OutOfMemory, "before\n"},
		{"strings", "const a = []; for (let i = 0;; i++) a.push([...('x'.repeat(1 << 20) + i)])", runners.Limits{Memory: 128 << 20}, runners.OutOfMemory, ""},
		{"buffers", "const a = []; for (;;) { const b = new Uint8Array(1e7); b.fill(1); a.push(b) }", runners.Limits{Memory: 128 << 20}, runners.OutOfMemory, ""},
		{"wasm memory", "new Uint8Array(new WebAssembly.Memory({ initial: 8192 }).buffer).fill(1)", runners.Limits{Memory: 128 << 20}, runners.Failed, ""},
		{"flood", "console.log('before'); for (;;) console.log('x'.repeat(1000))", runners.Limits{}, runners.OutputLimit, "before\n"},
		{"flood of errors", "for (;;) console.error('x'.repeat(1000))", runners.Limits{}, runners.OutputLimit, ""},
		{"flood of one line", "for (;;) Deno.stdout.writeSync(new Uint8Array(1e5))", runners.Limits{}, runners.OutputLimit, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if runtime.GOOS != "linux" && (tt.name == "buffers" || tt.name == "wasm memory") {
				t.Skip("memory outside V8's heap is limited on Linux only")
			}
			o := run(t, r, runners.Request{Code: tt.code, Limits: tt.limits})
			if o.Status != tt.want || o.Error == nil || o.ExitCode == 0 {
				t.Fatalf("status %s, exit code %d, error %+v, want %s\nstderr: %s", o.Status, o.ExitCode, o.Error, tt.want, deps.Shorten(o.Stderr, 2000))
			}
			if !strings.HasPrefix(o.Stdout, tt.stdout) {
				t.Errorf("stdout %q, want it to begin with %q", deps.Shorten(o.Stdout, 100), tt.stdout)
			}
			// They would go on for ever. How late a busy machine is says nothing.
			if over := time.Duration(o.Usage.RunMS)*time.Millisecond - tt.limits.Timeout; tt.want == runners.TimedOut && over > 5*second {
				t.Errorf("it ran for %v more than its limit of %v", over, tt.limits.Timeout)
			}
			if tt.want == runners.OutOfMemory && strings.Contains(o.Stderr, "Fatal") {
				t.Errorf("stderr has V8's last words: %s", o.Stderr)
			}
			if tt.want == runners.OutputLimit && int64(len(o.Stdout)+len(o.Stderr)) > 3*runners.DefaultOutput {
				t.Errorf("%d bytes of output are kept", len(o.Stdout)+len(o.Stderr))
			}
			if runtime.GOOS == "linux" && o.Usage.PeakMemoryBytes < 10<<20 {
				t.Errorf("peak memory %d bytes", o.Usage.PeakMemoryBytes)
			}
		})
	}
	if o := run(t, r, runners.Request{Code: "1 + 1"}); o.Result == nil || o.Result.Text != "2" {
		t.Errorf("afterwards, 1 + 1 = %+v", o.Result)
	}
}

// TestConfined has programs that try to get at what is not theirs. Each of
// them prints nothing that it got.
func TestConfined(t *testing.T) {
	r := open(t, "", nil)
	secret := filepath.Join(t.TempDir(), "secret")
	for name, text := range map[string]string{".txt": "s3cr3t", ".json": `"s3cr3t"`, ".ts": "export default 's3cr3t'; console.log('s3cr3t')", ".bad.ts": "s3cr3t s3cr3t"} {
		if err := os.WriteFile(secret+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("CODE_RUNNER_TEST_SECRET", "s3cr3t")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	for name, code := range map[string]string{
		"text":           `import x from "SECRET.txt" with { type: "text" }; console.log(x)`,
		"text by URL":    `import x from "file://SECRET.txt" with { type: "text" }; console.log(x)`,
		"text relative":  `import x from "../../../../../../../../../..SECRET.txt" with { type: "text" }; console.log(x)`,
		"bytes":          `import x from "SECRET.txt" with { type: "bytes" }; console.log(new TextDecoder().decode(x))`,
		"json":           `import x from "SECRET.json" with { type: "json" }; console.log(x)`,
		"module":         `import x from "SECRET.ts"; console.log(x)`,
		"syntax error":   `import "SECRET.bad.ts"`,
		"export":         `export * from "SECRET.ts"`,
		"dynamic":        `console.log((await import("SEC" + "RET.ts")).default)`,
		"dynamic text":   `console.log((await import("SECRET.txt", { with: { type: "text" } })).default)`,
		"require":        `import { createRequire } from "node:module"; console.log(createRequire(import.meta.url)("SECRET.json"))`,
		"worker":         `new Worker("file://SECRET.ts", { type: "module" }); await new Promise(() => {})`,
		"blob":           `await import(URL.createObjectURL(new Blob(['import x from "file://SECRET.txt" with { type: "text" }; console.log(x)'], { type: "text/javascript" })))`,
		"data":           `await import('data:text/javascript,import x from "file://SECRET.txt" with { type: "text" }; console.log(x)')`,
		"from a file":    `import "./lib.ts"`,
		"read":           `console.log(Deno.readTextFileSync("SECRET.txt"))`,
		"node read":      `import fs from "node:fs"; console.log(fs.readFileSync("SECRET.txt", "utf8"))`,
		"symlink":        `Deno.symlinkSync("SECRET.txt", "link"); console.log(Deno.readTextFileSync("link"))`,
		"hard link":      `Deno.linkSync("SECRET.txt", "link"); console.log(Deno.readTextFileSync("link"))`,
		"environment":    `console.log(Deno.env.get("CODE_RUNNER_TEST_SECRET"))`,
		"all of it":      `console.log(Deno.env.toObject())`,
		"node env":       `console.log(process.env.CODE_RUNNER_TEST_SECRET)`,
		"proc":           `console.log(Deno.readTextFileSync("/proc/self/environ"))`,
		"parent's fd":    `Deno.writeTextFileSync("/proc/" + Deno.ppid + "/fd/1", "s3cr3t")`,
		"run":            `console.log(new TextDecoder().decode(new Deno.Command("cat", { args: ["SECRET.txt"] }).outputSync().stdout))`,
		"net":            `await fetch("http://127.0.0.1:1/"); console.log("s3cr3t")`,
		"host":           `await Deno.connect({ port: PORT }); console.log("s3cr3t")`,
		"listen outside": `Deno.listen({ hostname: "192.0.2.1", port: 0 }); console.log("s3cr3t")`,
		"write":          `Deno.writeTextFileSync("SECRET.new", ""); console.log("s3cr3t")`,
		"report":         `import p from "node:path"; Deno.writeTextFileSync(p.join(Deno.cwd(), "../report"), ""); console.log("s3cr3t")`,
		"bootstrap":      `import p from "node:path"; console.log(Deno.readTextFileSync(p.join(Deno.cwd(), "../../bootstrap.js")), "s3cr3t")`,
		"grab a grant":   `console.log((await Deno.permissions.request({ name: "read", path: "SECRET.txt" })).state === "granted" ? "s3cr3t" : "")`,
		"import of URLs": `await import("https" + "://127.0.0.1:1/x.ts"); console.log("s3cr3t")`,
		"npm unprepared": `await import("npm:" + "left-pad@1.3.0"); console.log("s3cr3t")`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.ToSlash(secret)
			lib := runners.File{Path: "lib.ts", Data: []byte(strings.ReplaceAll(`import x from "SECRET.txt" with { type: "text" }; console.log(x)`, "SECRET", path))}
			code := strings.NewReplacer("SECRET", path, "PORT", port).Replace(code)
			o := run(t, r, runners.Request{Code: code, Files: []runners.File{lib}})
			all := fmt.Sprintf("%+v %+v", *o, o.Error)
			if strings.Contains(strings.ReplaceAll(all, "CODE_RUNNER_TEST_SECRET", ""), "s3cr3t") {
				t.Errorf("it got through: %s", deps.Shorten(all, 1000))
			}
			if o.Status == runners.Crashed || o.Status == runners.TimedOut {
				t.Errorf("status %s: %+v", o.Status, o.Error)
			}
			harmless := name == "grab a grant" || name == "environment" || name == "all of it" || name == "node env"
			if !harmless && o.Status == runners.Succeeded {
				t.Errorf("it succeeded: %s", deps.Shorten(all, 1000))
			}
		})
	}
}

// TestNothingIsShared looks from one run for what an earlier one left.
func TestNothingIsShared(t *testing.T) {
	r := open(t, "", nil)
	run(t, r, runners.Request{Code: `Deno.writeTextFileSync("left", "x"); Deno.writeTextFileSync((Deno.env.get("TMPDIR") ?? "") + "/left", "x");
		Deno.mkdirSync("closed/in", { recursive: true }); Deno.chmodSync("closed", 0);
		try { localStorage.left = 1 } catch {}; try { await caches.open("left") } catch {};
		await import(URL.createObjectURL(new Blob(["let a: number = 1"], { type: "text/typescript" })))`})
	o := run(t, r, runners.Request{Code: `const found = [...Deno.readDirSync("."), ...Deno.readDirSync(Deno.env.get("TMPDIR")!)].map((e) => e.name);
		try { found.push(...Object.keys(localStorage)) } catch {}
		found.join()`})
	if o.Result == nil || o.Result.Text != `"main.ts"` {
		t.Errorf("the second run found %+v (%+v), want its main.ts only", o.Result, o.Error)
	}
	r.settle()
	var gen []string
	_ = filepath.WalkDir(filepath.Join(r.DenoDir, "gen"), func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(name, filepath.Base(r.RunDirs.Path)) {
			gen = append(gen, name)
		}
		return nil
	})
	if gen != nil {
		t.Errorf("Deno's cache has %q left", gen)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("CODE_RUNNER_TEST_A", "a")
	t.Setenv("CODE_RUNNER_TEST_B", "b")
	code := `const e = Deno.env.toObject(); delete e.TMPDIR; delete e.TZ; if (e.HOME === Deno.cwd()) e.HOME = "."; JSON.stringify(e, Object.keys(e).sort())`
	for flags, want := range map[string]string{
		"":            `'{"HOME":".","NO_COLOR":"1","PATH":"/usr/bin:/bin"}'`,
		"--allow-env": `'{"HOME":".","NO_COLOR":"1","PATH":"/usr/bin:/bin"}'`,
		"--allow-env=CODE_RUNNER_TEST_A,DENO_DIR":                                  `'{"CODE_RUNNER_TEST_A":"a","HOME":".","NO_COLOR":"1","PATH":"/usr/bin:/bin"}'`,
		"-E=CODE_RUNNER_TEST_A,CODE_RUNNER_TEST_B --ignore-env=CODE_RUNNER_TEST_B": `'{"CODE_RUNNER_TEST_A":"a","HOME":".","NO_COLOR":"1","PATH":"/usr/bin:/bin"}'`,
		"--allow-env=CODE_RUNNER_TEST_A --deny-env":                                "",
	} {
		o := run(t, open(t, flags, nil), runners.Request{Code: code})
		got := ""
		if o.Result != nil {
			got = o.Result.Text
		}
		if got != want {
			t.Errorf("%s: %s, want %s (%+v)", flags, got, want, o.Error)
		}
	}
}

// TestHiddenEnvironment has a program that may read its environment do what
// needs the variables that are hidden from it.
func TestHiddenEnvironment(t *testing.T) {
	r := open(t, "", nil)
	o := run(t, r, runners.Request{Packages: []string{"npm:zod@3"}, Code: `
		const { z } = await import("zo" + "d");
		const worker = new Worker(new URL("./w.ts", import.meta.url), { type: "module" });
		const said = await new Promise((f) => worker.onmessage = (e) => f(e.data));
		worker.terminate();
		z.string().parse(said)`,
		Files: []runners.File{{Path: "w.ts", Data: []byte(`import { z } from "zod"; self.postMessage(z.string().parse("worker"))`)}}})
	if o.Result == nil || o.Result.Text != `"worker"` {
		t.Errorf("%s %+v\n%s", o.Status, o.Error, o.Stderr)
	}
}

func TestPolicies(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data with space.txt")
	if err := os.WriteFile(file, []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	code := "Deno.readTextFileSync(" + fmt.Sprintf("%q", file) + ")"
	for _, tt := range []struct {
		flags []string
		want  string
	}{
		{[]string{"--allow-read=" + file}, `"data"`},
		{[]string{"--allow-read"}, `"data"`},
		{[]string{"-A"}, `"data"`},
		{[]string{"--allow-read", "--deny-read=" + file}, ""},
		{[]string{"-A", "--deny-read=" + file}, ""},
		{[]string{"-A", "--deny-read"}, ""},
		{[]string{"--allow-read=" + file, "--deny-write", "--deny-net", "--deny-env", "--deny-run", "--deny-sys", "--deny-ffi", "--deny-import"}, `"data"`},
		{[]string{"--allow-read", "--ignore-read=" + file}, ""},
		{nil, ""},
	} {
		r := open(t, "", func(c *process.Config) {
			var err error
			if c.Policy, err = runners.ParsePolicy(tt.flags); err != nil {
				t.Fatal(err)
			}
		})
		o := run(t, r, runners.Request{Code: code})
		got := ""
		if o.Result != nil {
			got = o.Result.Text
		}
		if got != tt.want || tt.want == "" && o.Error == nil {
			t.Errorf("%q: %s, %+v, want %s", tt.flags, got, o.Error, tt.want)
		}
	}
}

func TestBadRequests(t *testing.T) {
	r := open(t, "", nil)
	file := func(paths ...string) []runners.File {
		var files []runners.File
		for _, p := range paths {
			files = append(files, runners.File{Path: p})
		}
		return files
	}
	for name, req := range map[string]runners.Request{
		"language":              {Language: runners.Python},
		"files, none":           {Files: file("")},
		"files, dot":            {Files: file(".")},
		"files, dots":           {Files: file("../x")},
		"files, inner dots":     {Files: file("a/../../x")},
		"files, unclean":        {Files: file("a//b")},
		"files, absolute":       {Files: file("/x")},
		"files, NUL":            {Files: file("a\x00b")},
		"files, backslash":      {Files: file(`a\b`)},
		"files, twice":          {Files: file("a", "b", "a")},
		"files, main":           {Files: file("main.ts")},
		"files, in a file":      {Files: file("a", "a/b")},
		"files, on a directory": {Files: file("a/b", "a")},
		"files, long":           {Files: file(strings.Repeat("a/", 600) + "b")},
		"packages, python":      {Packages: []string{"pydantic>=2"}},
		"packages, option":      {Packages: []string{"--allow-all"}},
		"packages, file":        {Packages: []string{"npm:x@file:../y"}},
		"packages, URL":         {Packages: []string{"https://127.0.0.1/x.ts"}},
		"packages, empty":       {Packages: []string{""}},
		"args":                  {Args: []string{"a\x00b"}},
	} {
		argument, _, _ := strings.Cut(name, ",")
		if req.Language == "" {
			req.Language = runners.TypeScript
		}
		o, err := r.Run(context.Background(), req)
		var bad *runners.RequestError
		if !errors.As(err, &bad) || bad.Argument != argument || !strings.HasPrefix(bad.Message, `"`+argument+`" `) {
			t.Errorf("%s: %+v, %v, want an error of the request that names %s", name, o, err, argument)
		}
	}
}
