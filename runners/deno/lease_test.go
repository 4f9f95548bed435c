//go:build unix

package deno

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	osprocess "coderunner/internal/process"
	"coderunner/runners"
	"coderunner/runners/deno/install"
	"coderunner/runners/deno/process"
)

// pid has a program say which process it is in.
func pid(t testing.TB, r *Runner, req runners.Request) int {
	t.Helper()
	req.Code += "\nDeno.pid"
	o := run(t, r, req)
	var n int
	if o.Result == nil {
		t.Fatalf("no result: %+v %+v", o, o.Error)
	}
	if _, err := fmt.Sscan(o.Result.Text, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestParkByUse follows one process from its start to its only use.
func TestParkByUse(t *testing.T) {
	r := openParked(t, 2)
	if n := len(waiting(t, r)); n != 0 {
		t.Errorf("%d processes wait before the first run", n)
	}
	seen := map[int]bool{}
	for i := range 4 {
		had := waiting(t, r)
		got := pid(t, r, runners.Request{})
		if seen[got] {
			t.Errorf("process %d was used twice", got)
		}
		seen[got] = true
		if i > 0 && (len(had) != 1 || had[0].Process.Pid() != got) {
			t.Errorf("run %d: %d processes waited, and process %d ran it", i, len(had), got)
		}
	}
	// Other limits of memory need other processes.
	had := waiting(t, r)[0].Process.Pid()
	if got := pid(t, r, runners.Request{Limits: runners.Limits{Memory: 300 << 20}}); got == had {
		t.Error("the limit of memory is another, but not the process")
	}
	if got := pid(t, r, runners.Request{}); got != had {
		t.Errorf("process %d ran it, want %d", got, had)
	}
	for range 3 {
		for m := range int64(3) {
			pid(t, r, runners.Request{Limits: runners.Limits{Memory: (400 + m) << 20}})
		}
	}
	if n := len(waiting(t, r)); n > 2 {
		t.Errorf("%d processes wait, want 2 at most", n)
	}
}

// TestParkedDies kills processes that wait.
func TestParkedDies(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("notices it on Linux only")
	}
	r := openParked(t, 1)
	run(t, r, runners.Request{Code: "1"})
	in := waiting(t, r)[0]
	if err := syscall.Kill(in.Process.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for !in.Process.Exited() {
		runtime.Gosched()
	}
	if o := run(t, r, runners.Request{Code: "1 + 1"}); o.Result == nil || o.Result.Text != "2" {
		t.Errorf("%+v %+v", o, o.Error)
	}
	// One that dies between the look at it and its orders.
	in = waiting(t, r)[0]
	if err := syscall.Kill(in.Process.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for !in.Process.Exited() {
		runtime.Gosched()
	}
	if taken := r.leases.Take(t.Context(), in.Variant); taken != in {
		t.Fatal("another one is taken")
	}
	j, err := r.job(runners.Request{Language: runners.TypeScript, Code: "1"})
	if err != nil {
		t.Fatal(err)
	}
	j.ready = &install.Prepared{Packages: &process.Packages{}}
	if end := j.attend(context.Background(), in, false); end != nil {
		t.Errorf("%+v, want to take another", end)
	}
	in.Leave()
}

// TestParkCannotStart has a Deno that fails while it starts ahead.
func TestParkCannotStart(t *testing.T) {
	if testing.Short() {
		t.Skip("needs Deno")
	}
	r := openParked(t, 2)
	bad, err := exec.LookPath("false")
	if err != nil {
		t.Skip(err)
	}
	r.leases.Begin(process.Variant{Binary: bad, Memory: 1 << 28, Ready: &process.Packages{}})
	for r.leases.Pool.Stats().Filling > 0 {
		time.Sleep(time.Millisecond)
	}
	r.settle()
	if n := len(waiting(t, r)); n != 0 {
		t.Errorf("%d of them wait", n)
	}
	r.leases.Begin(process.Variant{Binary: bad + "-none", Memory: 1 << 28, Ready: &process.Packages{}})
	if o := run(t, r, runners.Request{Code: "1 + 1"}); o.Result == nil {
		t.Errorf("%+v", o.Error)
	}
}

// TestParkedIsFresh compares a process that waited with one that did not.
func TestParkedIsFresh(t *testing.T) {
	code := `import { parseArgs } from "node:util";
		const out = {
			args: Deno.args, argv: process.argv.slice(2), parsed: parseArgs({ allowPositionals: true }).positionals,
			main: [import.meta.main, Deno.mainModule === import.meta.url, process.argv[1] === import.meta.filename, process.argv.length],
			env: Object.keys(Deno.env.toObject()).sort(), cwd: Deno.cwd() === import.meta.dirname,
			files: [...Deno.readDirSync(".")].map((f) => f.name).sort(), stdin: await new Response(Deno.stdin.readable).text(),
			globals: Reflect.ownKeys(globalThis).map(String).sort().join(), deno: Object.keys(Deno).sort().join(),
			described: JSON.stringify(Object.getOwnPropertyDescriptor(Deno, "args")?.value), memory: performance.now() < 60000,
			report: (() => { try { Deno.writeTextFileSync("../report", "x"); return "written" } catch (e) { return e.name } })(),
			listeners: process.eventNames().map(String).join(), temp: [...Deno.readDirSync(Deno.env.get("TMPDIR")!)].length,
		};
		JSON.stringify(out)`
	req := runners.Request{Code: code, Args: []string{"a", "b c"}, Stdin: strings.NewReader("line\n"), Files: []runners.File{{Path: "d/x.txt"}}}
	fresh := run(t, open(t, "", nil), req)
	r := openParked(t, 1)
	run(t, r, runners.Request{Code: "process.pid"}) // as the other, it has Node's part
	in := waiting(t, r)[0]
	req.Stdin = strings.NewReader("line\n")
	parked := run(t, r, req)
	<-in.Process.End() // it was used
	if fresh.Result == nil || parked.Result == nil || fresh.Result.Text != parked.Result.Text || !strings.Contains(fresh.Result.Text, "b c") {
		t.Errorf("fresh:  %+v %+v\nparked: %+v %+v", fresh.Result, fresh.Error, parked.Result, parked.Error)
	}
	// Nothing random is the same twice.
	random := `[Math.random(), crypto.randomUUID(), performance.timeOrigin, Deno.pid].join()`
	seen := map[string]bool{}
	for range 3 {
		waiting(t, r)
		for _, v := range strings.Split(run(t, r, runners.Request{Code: random}).Result.Text, ",") {
			if seen[v] {
				t.Errorf("%s is there twice", v)
			}
			seen[v] = true
		}
	}
}

// TestParkParallel has many runs at once, with few processes waiting.
func TestParkParallel(t *testing.T) {
	want := 3
	if osprocess.CanFork() == nil {
		want = 1 // half of it: another is forked soon
	}
	r := openParked(t, 3)
	for range 2 {
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				o, err := r.Run(context.Background(), runners.Request{Language: runners.TypeScript, Code: fmt.Sprintf("console.log(%d); Deno.writeTextFileSync('f', '%d'); Deno.readTextFileSync('f')", i, i)})
				if err != nil || o.Stdout != fmt.Sprintf("%d\n", i) || o.Result == nil || o.Result.Text != fmt.Sprintf(`"%d"`, i) {
					t.Errorf("run %d: %+v, %v", i, o, err)
				}
			})
		}
		wg.Wait()
	}
	if n := len(waiting(t, r)); n != want {
		t.Errorf("%d processes wait after runs that found none, want %d", n, want)
	}
}

// TestParkPackages has programs with packages in processes that waited.
func TestParkPackages(t *testing.T) {
	r := openParked(t, 2)
	req := runners.Request{Code: "import { z } from 'zod@3';\nz.string().parse('x');"}
	pid(t, r, req)
	r.settle() // the one that waits is replaced when the packages' code is there
	in := waiting(t, r)[0]
	if got := pid(t, r, req); got != in.Process.Pid() {
		t.Errorf("process %d ran it, want %d", got, in.Process.Pid())
	}
	// What is gone from Deno's cache is fetched again, for a fresh process.
	waiting(t, r)
	if err := os.RemoveAll(r.DenoDir + "/npm"); err != nil {
		t.Fatal(err)
	}
	stale := waiting(t, r)
	pid(t, r, req)
	for _, in := range stale {
		<-in.Process.End()
	}
}

// TestParkWorker has arguments reach a worker, by a process that was there
// before them: they are on no command line, which every user can read.
func TestParkWorker(t *testing.T) {
	r := openParked(t, 1)
	const secret = "argument-that-nobody-sees"
	req := runners.Request{Args: []string{"a", secret}, Code: `
		const worker = new Worker(new URL("./w.ts", import.meta.url), { type: "module" });
		const said = await new Promise((f) => worker.onmessage = (e) => f(e.data));
		worker.terminate();
		await Deno.stdin.read(new Uint8Array(1));
		said + " " + Deno.args`,
		Files: []runners.File{{Path: "w.ts", Data: []byte(`self.postMessage("" + Deno.args)`)}}}
	for range 2 {
		req.Stdin = lookAround(t, secret)
		if o := run(t, r, req); o.Result == nil || o.Result.Text != `"a,`+secret+` a,`+secret+`"` {
			t.Errorf("%+v %+v", o.Result, o.Error)
		}
		waiting(t, r)
		run(t, r, runners.Request{Code: "1"})
	}
}

// lookAround is an input that looks, when it is read, for a word on the command
// lines of all processes.
func lookAround(t *testing.T, word string) io.Reader {
	r, w := io.Pipe()
	go func() {
		names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, name := range names {
			if line, err := os.ReadFile(name); err == nil && strings.Contains(string(line), word) {
				t.Errorf("%s: %q", name, line)
			}
		}
		_, _ = w.Write([]byte("\n"))
		w.Close()
	}()
	return r
}

// TestParkEnds looks for what is left of processes that nobody used.
func TestParkEnds(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("looks into /proc")
	}
	r := open(t, "", func(c *process.Config) {
		c.Ahead = 1
		own := filepath.Join(t.TempDir(), "deno")
		data, err := os.ReadFile(c.Binary)
		if err == nil {
			err = os.WriteFile(own, data, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
		c.Binary = own
	})
	if err := r.Warm(context.Background(), nil, nil); err != nil {
		t.Fatal(err)
	}
	in := waiting(t, r)[0]
	if got := pid(t, r, runners.Request{}); got != in.Process.Pid() {
		t.Errorf("process %d ran it, want the one that was started by Warm", got)
	}
	in = waiting(t, r)[0]
	if pool := r.leases.Pool; !pool.Remove(in.Key, in) || pool.Remove(in.Key, in) {
		t.Error("what waits can be removed once")
	}
	<-in.Process.End()
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", in.Process.Pid())); !os.IsNotExist(err) {
		t.Errorf("the process is still there: %v", err)
	}
	run(t, r, runners.Request{Code: "1"})
	in = waiting(t, r)[0]
	// A Deno that was replaced.
	if err := os.Chtimes(r.Named, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	run(t, r, runners.Request{Code: "1"})
	select {
	case <-in.Process.End():
	case <-time.After(2 * time.Minute):
		t.Error("a process of a Deno that was replaced waits on")
	}
}
