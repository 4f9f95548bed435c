package deno

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"coderunner/cache"
	"coderunner/runners"
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
		{"loop", "console.log('before'); for (;;);", runners.Limits{Timeout: second / 2}, runners.TimedOut, "before\n"},
		{"interval", "setInterval(() => {}, 10); await new Promise(() => {})", runners.Limits{Timeout: second / 2}, runners.TimedOut, ""},
		{"sleep in Atomics", "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)", runners.Limits{Timeout: second / 2}, runners.TimedOut, ""},
		{"trapped SIGTERM", "Deno.addSignalListener('SIGTERM', () => {}); setInterval(() => {}, 10)", runners.Limits{Timeout: second / 2}, runners.TimedOut, ""},
		{"loop while loading", "class A { static x = (() => { for (;;); })() }", runners.Limits{Timeout: second / 2}, runners.TimedOut, ""},
		{"regular expression", "/(a+)+$/.test('a'.repeat(40) + 'b')", runners.Limits{Timeout: second / 2}, runners.TimedOut, ""},
		{"heap", "console.log('before'); const a = []; for (;;) a.push({ a: [1, 2, 3] })", runners.Limits{Memory: 128 << 20}, runners.OutOfMemory, "before\n"},
		{"strings", "const a = []; for (let i = 0;; i++) a.push([...('x'.repeat(1 << 20) + i)])", runners.Limits{Memory: 128 << 20}, runners.OutOfMemory, ""},
		{"buffers", "const a = []; for (;;) { const b = new Uint8Array(1e7); b.fill(1); a.push(b) }", runners.Limits{Memory: 128 << 20}, runners.OutOfMemory, ""},
		{"wasm memory", "new Uint8Array(new WebAssembly.Memory({ initial: 8192 }).buffer).fill(1)", runners.Limits{Memory: 128 << 20}, runners.OutOfMemory, ""},
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
				t.Fatalf("status %s, exit code %d, error %+v, want %s\nstderr: %s", o.Status, o.ExitCode, o.Error, tt.want, clip(o.Stderr, 2000))
			}
			if !strings.HasPrefix(o.Stdout, tt.stdout) {
				t.Errorf("stdout %q, want it to begin with %q", clip(o.Stdout, 100), tt.stdout)
			}
			if tt.want == runners.TimedOut && o.Usage.RunMS > 700 {
				t.Errorf("it ran for %d ms, with a limit of 500", o.Usage.RunMS)
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
		"worker":         `new Worker("file://SECRET.ts", { type: "module" }); await new Promise((f) => setTimeout(f, 300))`,
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
		"listen":         `Deno.listen({ port: 0 }); console.log("s3cr3t")`,
		"write":          `Deno.writeTextFileSync("SECRET.new", ""); console.log("s3cr3t")`,
		"report":         `import p from "node:path"; Deno.writeTextFileSync(p.join(Deno.cwd(), "../report"), ""); console.log("s3cr3t")`,
		"bootstrap":      `import p from "node:path"; console.log(Deno.readTextFileSync(p.join(Deno.cwd(), "../../bootstrap.js")), "s3cr3t")`,
		"grab a grant":   `console.log((await Deno.permissions.request({ name: "read", path: "SECRET.txt" })).state === "granted" ? "s3cr3t" : "")`,
		"storage":        `localStorage.x = 1; console.log("s3cr3t")`,
		"caches":         `await caches.open("x"); console.log("s3cr3t")`,
		"import of URLs": `await import("https" + "://127.0.0.1:1/x.ts"); console.log("s3cr3t")`,
		"npm unprepared": `await import("npm:" + "left-pad@1.3.0"); console.log("s3cr3t")`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.ToSlash(secret)
			lib := runners.File{Path: "lib.ts", Data: []byte(strings.ReplaceAll(`import x from "SECRET.txt" with { type: "text" }; console.log(x)`, "SECRET", path))}
			o := run(t, r, runners.Request{Code: strings.ReplaceAll(code, "SECRET", path), Files: []runners.File{lib}, Limits: runners.Limits{Memory: 1 << 30}})
			all := fmt.Sprintf("%+v %+v", *o, o.Error)
			if strings.Contains(strings.ReplaceAll(all, "CODE_RUNNER_TEST_SECRET", ""), "s3cr3t") {
				t.Errorf("it got through: %s", clip(all, 1000))
			}
			if o.Status == runners.Crashed || o.Status == runners.TimedOut {
				t.Errorf("status %s: %+v", o.Status, o.Error)
			}
			if name != "grab a grant" && o.Status == runners.Succeeded {
				t.Errorf("it succeeded: %s", clip(all, 1000))
			}
		})
	}
}

// TestNothingIsShared looks from one run for what an earlier one left.
func TestNothingIsShared(t *testing.T) {
	r := open(t, "--allow-env", nil)
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
	var gen []string
	_ = filepath.WalkDir(filepath.Join(r.denoDir, "gen"), func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(name, filepath.Base(r.folders.base)) {
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
	all := `const e = Deno.env.toObject(); delete e.TMPDIR; delete e.TZ; delete e.PATH; JSON.stringify(e)`
	for flags, want := range map[string]string{
		"--allow-env": `'{"NO_COLOR":"1"}'`,
		"--allow-env=CODE_RUNNER_TEST_A,NO_COLOR,DENO_DIR": `"a,undefined,1"`,
		"-E=CODE_RUNNER_TEST_A --deny-env=NO_COLOR":        "",
	} {
		code := all
		if strings.Contains(flags, "=") {
			code = `[Deno.env.get("CODE_RUNNER_TEST_A"), Deno.env.get("DENO_DIR"), Deno.env.get("NO_COLOR")].join()`
		}
		r := open(t, flags, nil)
		o := run(t, r, runners.Request{Code: strings.ReplaceAll(code, ".join()", ".map(String).join()")})
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
	r := open(t, "--allow-env", nil)
	o := run(t, r, runners.Request{Packages: []string{"npm:zod@3"}, Limits: runners.Limits{Memory: 1 << 30}, Code: `
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
		r := open(t, "", func(c *Config) {
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

func TestCancel(t *testing.T) {
	r := open(t, "", nil)
	ctx, cancel := context.WithCancel(context.Background())
	marker := filepath.Join(r.folders.base, "r0", "work", "running")
	go func() {
		for {
			if _, err := os.Stat(marker); err == nil || ctx.Err() != nil {
				break
			}
			runtime.Gosched()
		}
		cancel()
	}()
	begun := time.Now()
	o, err := r.Run(ctx, runners.Request{Language: runners.JavaScript, Code: "Deno.writeTextFileSync('running', ''); console.log('a'); for (;;);"})
	if err != nil || o.Status != runners.Cancelled || time.Since(begun) > 10*time.Second {
		t.Errorf("cancelled: %+v, %v after %v", o, err, time.Since(begun))
	}
	if o, err = r.Run(ctx, runners.Request{Language: runners.JavaScript, Code: "1"}); err != nil || o.Status != runners.Cancelled {
		t.Errorf("cancelled before: %+v, %v", o, err)
	}
}

// TestCancelPreparation cancels while a registry keeps us waiting.
func TestCancelPreparation(t *testing.T) {
	asked, end := make(chan struct{}, 100), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-end:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(end)
	r := open(t, "", func(c *Config) {
		c.NPMRegistry, c.Env = server.URL+"/", nil
		var err error
		if c.Cache, err = cache.Open(t.TempDir(), cache.Options{}); err != nil {
			t.Fatal(err)
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-asked
		cancel()
	}()
	begun := time.Now()
	o, err := r.Run(ctx, runners.Request{Language: runners.JavaScript, Code: "import 'zod'; import 'lodash'"})
	if err != nil || o.Status != runners.Cancelled || time.Since(begun) > 10*time.Second {
		t.Errorf("%+v, %v after %v", o, err, time.Since(begun))
	}
}

// TestChildren lets programs leave processes behind.
func TestChildren(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("looks into /proc")
	}
	r := open(t, "--allow-run", nil)
	o := run(t, r, runners.Request{Code: `const c = new Deno.Command("sleep", { args: ["1000"], stdin: "null" }).spawn(); c.unref(); c.pid`})
	if o.Result == nil {
		t.Fatalf("no child: %+v", o.Error)
	}
	if b, err := os.ReadFile("/proc/" + o.Result.Text + "/stat"); err == nil && !strings.Contains(string(b), ") Z ") {
		t.Errorf("the child lives on: %s", b)
	}
	if o.Usage.RunMS > 5000 {
		t.Errorf("it took %d ms", o.Usage.RunMS)
	}
}

func TestParallel(t *testing.T) {
	r := open(t, "", nil)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			code := fmt.Sprintf(`for (let i = 0; i < 200; i++) console.log("run %d"); Deno.writeTextFileSync("f", "%d"); await new Promise((f) => setTimeout(f, 5)); Number(Deno.readTextFileSync("f"))`, i, i)
			o, err := r.Run(context.Background(), runners.Request{Language: runners.TypeScript, Code: code})
			if err != nil || o.Result == nil || o.Result.Text != fmt.Sprint(i) || o.Stdout != strings.Repeat(fmt.Sprintf("run %d\n", i), 200) {
				t.Errorf("run %d: %+v, %v", i, o, err)
			}
		})
	}
	wg.Wait()
	entries, err := os.ReadDir(r.folders.base)
	if err != nil || len(entries) != 2 { // bootstrap.js and lock
		t.Errorf("%s has %v, %v", r.folders.base, entries, err)
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
		"language":           {Language: runners.Python},
		"files, none":        {Files: file("")},
		"files, dot":         {Files: file(".")},
		"files, dots":        {Files: file("../x")},
		"files, inner dots":  {Files: file("a/../../x")},
		"files, unclean":     {Files: file("a//b")},
		"files, absolute":    {Files: file("/x")},
		"files, NUL":         {Files: file("a\x00b")},
		"files, backslash":   {Files: file(`a\b`)},
		"files, twice":       {Files: file("a", "b", "a")},
		"files, main":        {Files: file("main.ts")},
		"files, in a file":   {Files: file("a", "a/b")},
		"files, on a folder": {Files: file("a/b", "a")},
		"files, long":        {Files: file(strings.Repeat("a/", 600) + "b")},
		"packages, python":   {Packages: []string{"pydantic>=2"}},
		"packages, option":   {Packages: []string{"--allow-all"}},
		"packages, file":     {Packages: []string{"npm:x@file:../y"}},
		"packages, URL":      {Packages: []string{"https://127.0.0.1/x.ts"}},
		"packages, empty":    {Packages: []string{""}},
		"args":               {Args: []string{"a\x00b"}},
	} {
		argument, _, _ := strings.Cut(name, ",")
		if req.Language == "" {
			req.Language = runners.TypeScript
		}
		o, err := r.Run(context.Background(), req)
		var bad *runners.RequestError
		if !errors.As(err, &bad) || bad.Argument != argument || !strings.HasPrefix(bad.Message, argument) {
			t.Errorf("%s: %+v, %v, want an error of the request that names %s", name, o, err, argument)
		}
	}
}

// child is a process that runs a program without end, for TestKilled.
func child() {
	c, err := cache.Open(os.Getenv("CODERUNNER_DENO_TEST_CHILD"), cache.Options{})
	if err != nil {
		panic(err)
	}
	r, err := New(Config{Cache: c, Binary: os.Getenv("CODERUNNER_DENO_TEST_BINARY")})
	if err != nil {
		panic(err)
	}
	_, err = r.Run(context.Background(), runners.Request{Language: runners.JavaScript, Limits: runners.Limits{Timeout: time.Hour},
		Code: "Deno.addSignalListener('SIGTERM', () => {}); Deno.writeTextFileSync('pid', '' + Deno.pid); for (;;);"})
	panic(err)
}

// TestKilled kills a process in the middle of a run, and looks at what is
// left.
func TestKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends children with their parent")
	}
	if testing.Short() {
		t.Skip("needs Deno")
	}
	binary, err := binaryOnce()
	if err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CODERUNNER_DENO_TEST_CHILD="+t.TempDir(), "CODERUNNER_DENO_TEST_BINARY="+binary, "TMPDIR="+temp)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid string
	for begun := time.Now(); pid == ""; runtime.Gosched() {
		if names, _ := filepath.Glob(filepath.Join(temp, basePrefix+"*", "r0", "work", "pid")); len(names) > 0 {
			b, _ := os.ReadFile(names[0])
			pid = string(b)
		}
		if time.Since(begun) > 30*time.Second {
			t.Fatal("the program does not start")
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	for begun := time.Now(); ; runtime.Gosched() {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			break
		}
		if time.Since(begun) > 5*time.Second {
			t.Fatalf("Deno lives on: %s", stat)
		}
	}
	removeStale(temp)
	if left, _ := filepath.Glob(filepath.Join(temp, basePrefix+"*")); left != nil {
		t.Errorf("%q are left", left)
	}
}

// TestNamedBinary names things that are no Deno of a fitting version.
func TestNamedBinary(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("makes scripts")
	}
	dir := t.TempDir()
	script := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none"):              "no such file",
		dir:                                     "it is a folder",
		script("plain", "", 0o600):              "permission denied",
		script("old", "echo deno 2.8.9", 0o700): "its version is 2.8.9; 2.9.0 or later is needed",
		script("pre", "echo deno 2.9.0-rc.1", 0o700):                    "its version is 2.9.0-rc.1",
		script("other", "echo v24.1.0", 0o700):                          `"v24.1.0\n"`,
		script("fails", "exit 3", 0o700):                                "exit status 3",
		script("chatty", "while :; do echo deno 9; done & exit", 0o700): "ask for its version",
	} {
		_, _, err := checkBinary(path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("checkBinary(%s): %v, want it to say %q", path, err, want)
		}
	}
	if _, version, err := checkBinary(script("new", "echo 'deno 3.1.0 (stable)'", 0o700)); err != nil || version != "3.1.0" {
		t.Errorf("a newer Deno: %s, %v", version, err)
	}
}

func BenchmarkHello(b *testing.B) {
	r := open(b, "", nil)
	for b.Loop() {
		if o := run(b, r, runners.Request{Code: "console.log('hello' as string)"}); o.Stdout != "hello\n" {
			b.Fatal(o)
		}
	}
}

func BenchmarkZod(b *testing.B) {
	r := open(b, "", nil)
	for b.Loop() {
		if o := run(b, r, runners.Request{Code: "import { z } from 'zod@3';\nz.string().parse('hello')"}); o.Result == nil {
			b.Fatal(o)
		}
	}
}

// BenchmarkDenoRun is what the others are compared with: deno run of the same
// file.
func BenchmarkDenoRun(b *testing.B) {
	binary, err := binaryOnce()
	if err != nil {
		b.Fatal(err)
	}
	name := filepath.Join(b.TempDir(), "main.ts")
	if err := os.WriteFile(name, []byte("console.log('hello' as string)"), 0o600); err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	for b.Loop() {
		cmd := exec.Command(binary, "run", "--no-config", "--no-lock", name)
		cmd.Env = []string{"DENO_DIR=" + dir, "NO_COLOR=1", "DENO_NO_UPDATE_CHECK=1"}
		if out, err := cmd.Output(); err != nil || string(out) != "hello\n" {
			b.Fatalf("%s, %v", out, err)
		}
	}
}
