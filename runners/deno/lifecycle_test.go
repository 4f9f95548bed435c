package deno

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	"coderunner/internal/procdir"
	"coderunner/runners"
	"coderunner/runners/deno/process"
)

func TestCancel(t *testing.T) {
	r := open(t, "", nil)
	ctx, cancel := context.WithCancel(context.Background())
	marker := filepath.Join(r.RunDirs.Path, "r0", "work", "running")
	go func() {
		for {
			if _, err := os.Stat(marker); err == nil || ctx.Err() != nil {
				break
			}
			runtime.Gosched()
		}
		cancel()
	}()
	o, err := r.Run(ctx, runners.Request{Language: runners.JavaScript, Code: "Deno.writeTextFileSync('running', ''); console.log('a'); for (;;);"})
	if err != nil || o.Status != runners.Cancelled {
		t.Errorf("cancelled: %+v, %v", o, err)
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
	r := open(t, "", func(c *process.Config) {
		c.NPMRegistry, c.Env = server.URL+"/", nil
		var err error
		if c.Cache, err = cache.Open(t.TempDir()); err != nil {
			t.Fatal(err)
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-asked
		cancel()
	}()
	o, err := r.Run(ctx, runners.Request{Language: runners.JavaScript, Code: "import 'zod'; import 'lodash'"})
	if err != nil || o.Status != runners.Cancelled {
		t.Errorf("%+v, %v", o, err)
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
	if o.Usage.RunMS > 60_000 { // the child would live for longer
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
	r.settle()
	if left := filesOfRuns(r); left != nil {
		t.Errorf("%q of runs are left", left)
	}
}

// child is a process that runs a program without end, for TestKilled.
func child() {
	c, err := cache.Open(os.Getenv("CODERUNNER_DENO_TEST_CHILD"))
	if err != nil {
		panic(err)
	}
	r, err := New(process.Config{Cache: c, Binary: os.Getenv("CODERUNNER_DENO_TEST_BINARY"), Ahead: 2})
	if err != nil {
		panic(err)
	}
	for _, memory := range []int64{runners.DefaultMemory, runners.DefaultMemory / 2} { // the second waits on
		r.leases.Begin(process.Variant{Binary: r.Named, Memory: memory, Ready: &process.Packages{}})
	}
	for len(r.leases.Pool.Ready()) < 2 {
		time.Sleep(time.Millisecond)
	}
	_, err = r.Run(context.Background(), runners.Request{Language: runners.JavaScript, Limits: runners.Limits{Timeout: time.Hour},
		Code: "Deno.addSignalListener('SIGTERM', () => {}); Deno.writeTextFileSync('pid', '' + Deno.pid); for (;;);"})
	panic(err)
}

// processes returns the command lines that name a directory, by process.
func processes(t *testing.T, dir string) map[string]string {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, name := range names {
		if b, err := os.ReadFile(name); err == nil && strings.Contains(string(b), dir) {
			found[name] = string(b)
		}
	}
	return found
}

// TestKilled kills a process in the middle of a run, while another process
// waits, and looks at what is left.
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
		if names, _ := filepath.Glob(filepath.Join(temp, process.BasePrefix+"*", "r*", "work", "pid")); len(names) > 0 {
			b, _ := os.ReadFile(names[0])
			pid = string(b)
		}
		if time.Since(begun) > 2*time.Minute {
			t.Fatal("the program does not start")
		}
	}
	if had := processes(t, temp); len(had) < 2 { // and what they are forks of
		t.Errorf("%d processes run, want 2: %q", len(had), had)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	for begun := time.Now(); ; runtime.Gosched() {
		left := processes(t, temp)
		if len(left) == 0 {
			break
		}
		if time.Since(begun) > time.Minute { // of an hour
			t.Fatalf("Deno lives on: %q", left)
		}
	}
	next, err := procdir.Make(temp, process.BasePrefix)
	if err == nil {
		err = next.Remove()
	}
	if err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(temp, process.BasePrefix+"*")); left != nil {
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
		dir:                                     "it is a directory",
		script("plain", "", 0o600):              "permission denied",
		script("old", "echo deno 2.8.9", 0o700): "its version is 2.8.9; 2.9.0 or later is needed",
		script("pre", "echo deno 2.9.0-rc.1", 0o700):                    "its version is 2.9.0-rc.1",
		script("other", "echo v24.1.0", 0o700):                          `"v24.1.0\n"`,
		script("fails", "exit 3", 0o700):                                "exit status 3",
		script("chatty", "while :; do echo deno 9; done & exit", 0o700): "ask for its version",
	} {
		_, _, err := process.CheckBinary(path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("checkBinary(%s): %v, want it to say %q", path, err, want)
		}
	}
	if _, version, err := process.CheckBinary(script("new", "echo 'deno 3.1.0 (stable)'", 0o700)); err != nil || version != "3.1.0" {
		t.Errorf("a newer Deno: %s, %v", version, err)
	}
}

func TestTrimCaches(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int64{"v8_code_cache_v2": process.MaxCache, "v8_code_cache_v2-wal": 1, "node_analysis_cache_v2": process.MaxCache - 1, "other": process.MaxCache} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(size); err != nil { // a hole: no space is used
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	process.TrimCaches(dir)
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 || entries[0].Name() != "node_analysis_cache_v2" || entries[1].Name() != "other" {
		t.Errorf("left are %v, %v, want node_analysis_cache_v2 and other", entries, err)
	}
}

// TestCacheIsNotWritten: not even with the permission to write everywhere.
func TestCacheIsNotWritten(t *testing.T) {
	for _, flag := range []string{"--allow-write", "--allow-write=/", "-A"} {
		r := open(t, "", func(c *process.Config) {
			var err error
			if c.Policy, err = runners.ParsePolicy([]string{flag, "--allow-read"}); err != nil {
				t.Fatal(err)
			}
		})
		name := filepath.Join(r.Config.Cache.Root(), "written")
		o := run(t, r, runners.Request{Code: fmt.Sprintf("Deno.writeTextFileSync(%q, '')", name)})
		if _, err := os.Lstat(name); o.Error == nil || o.Error.Type != "NotCapable" || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %s %+v, %v", flag, o.Status, o.Error, err)
		}
		elsewhere := filepath.Join(t.TempDir(), "written")
		if o := run(t, r, runners.Request{Code: fmt.Sprintf("Deno.writeTextFileSync(%q, '')", elsewhere)}); o.Status != runners.Succeeded {
			t.Errorf("%s: %s %+v elsewhere", flag, o.Status, o.Error)
		}
	}
}
