package deno

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coderunner/cache"
	"coderunner/internal/sandbox"
	"coderunner/runners"
	"coderunner/runners/deno/codecache"
	"coderunner/runners/deno/process"

	"github.com/google/go-cmp/cmp"
)

// modules serves modules and makes a Runner that may import them, with a cache
// of its own.
func modules(t *testing.T, files map[string]string) (address string, runner func(ahead int) *Runner) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		text, ok := files[req.URL.Path]
		if !ok {
			http.NotFound(w, req)
			return
		}
		w.Header().Set("Content-Type", map[string]string{".js": "text/javascript", ".json": "application/json"}[filepath.Ext(req.URL.Path)])
		fmt.Fprint(w, text)
	}))
	t.Cleanup(server.Close)
	root := t.TempDir()
	return server.URL, func(ahead int) *Runner {
		return open(t, "--allow-import="+strings.TrimPrefix(server.URL, "http://"), func(c *process.Config) {
			var err error
			if c.Cache, err = cache.Open(root); err != nil {
				t.Fatal(err)
			}
			c.Ahead, c.Env = ahead, map[string]string{}
		})
	}
}

// settle waits for what goes on in the background.
func (r *Runner) settle() {
	r.Store.Wait()
	r.Background.Wait(context.Background())
}

// variantOf returns what a program's process must be like, after its packages
// were prepared.
func variantOf(t testing.TB, r *Runner, req runners.Request) (*job, process.Variant) {
	t.Helper()
	req.Language = runners.TypeScript
	j, err := r.job(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.install(context.Background(), j); err != nil {
		t.Fatal(err)
	}
	return j, j.variant()
}

// rows returns what is in the database of V8's code, with the numbers of the
// rows: one that is written again gets another.
func rows(t *testing.T, dir string) map[string]int {
	t.Helper()
	binary, err := binaryOnce()
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "rows.js")
	text := `import { DatabaseSync } from "node:sqlite";
		const db = new DatabaseSync(Deno.args[0]);
		const rows = db.prepare("SELECT specifier || ' ' || type AS name, rowid FROM codecache").all();
		console.log(JSON.stringify(Object.fromEntries(rows.map((r) => [r.name, r.rowid]))))`
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	// A copy: the one that is looked at stays as it is.
	to := t.TempDir()
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(filepath.Join(dir, codecache.Names[0]+suffix))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err = errors.Join(err, os.WriteFile(filepath.Join(to, codecache.Names[0]+suffix), b, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(binary, "run", "--quiet", "--no-config", "--no-lock", "-A", script, filepath.Join(to, codecache.Names[0]))
	cmd.Env = []string{"DENO_DIR=" + t.TempDir(), "NO_COLOR=1", "DENO_NO_UPDATE_CHECK=1"}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v %s", err, out)
	}
	var got map[string]int
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// TestCode follows the databases of a set from its first program on: a server
// has them made after the first, another process after the second. Later ones
// have what is in them, and leave it as it is: who may write everywhere has a copy.
func TestCode(t *testing.T) {
	req := runners.Request{Code: "import { z } from 'zod@3';\nz.string().parse('x')"}
	for name, ahead := range map[string]int{"server": 1, "process": 0} {
		root := t.TempDir()
		r := open(t, "--allow-write", func(c *process.Config) {
			var err error
			if c.Cache, err = cache.Open(root); err != nil {
				t.Fatal(err)
			}
			c.Ahead = ahead
		})
		var had []bool
		for range 3 {
			if o := run(t, r, req); o.Result == nil {
				t.Fatalf("%s %+v", o.Status, o.Error)
			}
			r.settle()
			_, v := variantOf(t, r, req)
			had = append(had, r.Databases(v) != "")
		}
		if want := []bool{ahead > 0, true, true}; !slices.Equal(had, want) {
			t.Errorf("%s: there are databases after each run: %v, want %v", name, had, want)
		}
		j, v := variantOf(t, r, req)
		master := r.Databases(v)
		made := rows(t, master)
		in, err := j.instance(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := in.Dir.Write(j.Main, j.Program.Edited(), nil); err != nil {
			t.Fatal(err)
		}
		if o := j.attend(t.Context(), in, false).Outcome(); o.Status != runners.Succeeded {
			t.Fatalf("%+v, %v", o, err)
		}
		<-in.Process.End()
		own := rows(t, in.Dir.Code())
		var took, left []string
		for specifier, number := range own {
			switch {
			case !strings.Contains(specifier, "/zod/"):
			case made[specifier] == number:
				took = append(took, specifier)
			default: // Deno always makes that of the first module again
				left = append(left, specifier)
			}
		}
		if len(took) < 5 || len(left) > 1 {
			t.Errorf("%s: of zod, the code of %q was used, not of %q", name, took, left)
		}
		if diff := cmp.Diff(made, rows(t, master)); diff != "" {
			t.Errorf("%s: a program has changed what others read:\n%s", name, diff)
		}
		in.Leave()
		r.settle()
	}
}

// TestCodeInPlace has a process that can only read databases have those of the cache open, which
// it has not if Deno would write there.
func TestCodeInPlace(t *testing.T) {
	if sandbox.ABI() == 0 {
		t.Skip("needs Landlock")
	}
	root := t.TempDir()
	r := open(t, "", func(c *process.Config) {
		var err error
		if c.Cache, err = cache.Open(root); err != nil {
			t.Fatal(err)
		}
	})
	req := runners.Request{Code: "import { z } from 'zod@3';\nz.string().parse('x')"}
	for range 2 {
		run(t, r, req)
		r.settle()
	}
	_, v := variantOf(t, r, req)
	master := r.Databases(v)
	var names []string
	for name := range rows(t, master) {
		names = append(names, name)
	}
	if all := strings.Join(names, "\n"); !strings.Contains(all, "file:///coderunner/bootstrap") || !strings.Contains(all, "/zod/") {
		t.Errorf("the database has %q", names)
	}
	in := r.Launch(t.Context(), v)
	if err := in.Await(t.Context(), func(*process.RunDir) error { return nil }); err != nil {
		t.Fatal(err)
	}
	open := 0
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", in.Process.Pid()))
	for _, link := range links {
		if name, _ := os.Readlink(link); strings.HasPrefix(name, filepath.Join(master, codecache.Names[0])) {
			open++
		}
	}
	if err != nil || open < 2 {
		t.Errorf("%d of the files of %s are open, %v", open, master, err)
	}
	in.Discard()
	r.settle()
}

// TestCodeDamaged flips a byte of a set's databases: the next Runner makes them
// anew.
func TestCodeDamaged(t *testing.T) {
	address, runner := modules(t, map[string]string{"/a.js": "export const a = 1;"})
	req := runners.Request{Code: "import { a } from '" + address + "/a.js'; a"}
	r := runner(1)
	run(t, r, req)
	r.settle()
	_, v := variantOf(t, r, req)
	master := r.Databases(v)
	if master == "" {
		t.Fatal("there are none")
	}
	name := filepath.Join(master, codecache.Names[0])
	was, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	flip(t, name)
	if problems, err := r.Config.Cache.Verify(t.Context()); err != nil || len(problems) != 1 || problems[0].Entry.Kind != codecache.Kind {
		t.Errorf("the cache has the problems %v, %v", problems, err)
	}
	next := runner(1)
	if got := next.Databases(v); got != "" {
		t.Error("damaged databases are used")
	}
	if o := run(t, next, req); o.Result == nil || o.Result.Text != "1" {
		t.Errorf("%s %+v", o.Status, o.Error)
	}
	next.settle()
	if got := next.Databases(v); got != master {
		t.Errorf("they are not made again: %q", got)
	}
	if is, err := os.ReadFile(name); err != nil || len(is) != len(was) {
		t.Errorf("%d bytes, were %d, %v", len(is), len(was), err)
	}
}

// TestCodeOfPackages has packages that fail, leave or wait while they are
// loaded.
func TestCodeOfPackages(t *testing.T) {
	address, runner := modules(t, map[string]string{
		"/a.js":      "export const a = 1;",
		"/d.json":    "5",
		"/throws.js": "throw new Error('no')",
		"/leaves.js": "import process from 'node:process'; process.exit(3)",
		"/waits.js":  "await new Promise(() => {})",
	})
	r := runner(1)
	for code, want := range map[string]bool{
		"import { a } from 'URL/a.js'; a":                                       true,
		"import d from 'URL/d.json' with { type: 'json' }; d":                   true,
		"await import('URL/throws.js').catch(() => {}); import('URL/a.js')":     true,
		"await import('URL/leaves.js')":                                         true,
		"Promise.race([import('URL/waits.js'), 1]).then(() => Deno.exit(0)); 1": true,
	} {
		req := runners.Request{Code: strings.ReplaceAll(code, "URL", address)}
		run(t, r, req)
		r.settle()
		_, v := variantOf(t, r, req)
		if got := r.Databases(v) != ""; got != want {
			t.Errorf("%s: there are databases: %v, want %v", code, got, want)
		}
	}
}

// TestCrash has a program pretend that Deno failed: the databases are checked
// and stay. What is dropped after a crash is not there for the next program.
func TestCrash(t *testing.T) {
	address, runner := modules(t, map[string]string{"/a.js": "export const a = 1;", "/b.js": "export const b = 1;"})
	r := runner(1)
	req, other := runners.Request{Code: "import { a } from '" + address + "/a.js'; a"}, runners.Request{Code: "import { b } from '" + address + "/b.js'; b"}
	run(t, r, other)
	_, v2 := variantOf(t, r, other)
	run(t, r, req)
	r.settle()
	forged := runners.Request{Code: "import { a } from '" + address + "/a.js'; console.error('\\n============\\n" + "Deno has panicked. This is a bug in Deno." + "'); Deno.exit(1)"}
	o := run(t, r, forged)
	r.settle()
	_, v := variantOf(t, r, req)
	key := r.CodeKey(v)
	if o.Status != runners.Failed || !r.Store.Checked(key) || r.Databases(v) == "" {
		t.Errorf("%s; the databases were checked: %t, and are %q", o.Status, r.Store.Checked(key), r.Databases(v))
	}
	for i := range 4 {
		run(t, r, req)
		r.settle()
		if got := r.Databases(v); (got != "") != (i < 3) {
			t.Fatalf("after %d crashes there are databases: %q", i, got)
		}
		r.Store.Drop(t.Context(), key)
		if got := r.Databases(v); got != "" {
			t.Errorf("there are databases: %q", got)
		}
	}
	if r.Databases(v2) == "" {
		t.Error("another set's databases are gone")
	}
}

// TestCodeKey: what decides what is in the databases decides which they are.
func TestCodeKey(t *testing.T) {
	of := func(version, denoDir string) *process.Launcher {
		return &process.Launcher{Tool: &process.Tool{Version: version, DenoDir: denoDir}}
	}
	r := of("1", "/a")
	v := process.Variant{Memory: 64 << 20, Ready: &process.Packages{NPM: true, Set: "x"}}
	seen := map[string]string{"": "nothing"}
	add := func(what string, l *process.Launcher, v process.Variant) {
		key := l.CodeKey(v)
		if other, ok := seen[key]; ok {
			t.Errorf("%s: the key is that of %s", what, other)
		}
		seen[key] = what
	}
	add("a set", r, v)
	add("another set", r, process.Variant{Memory: v.Memory, Ready: &process.Packages{NPM: true, Set: "y"}})
	add("another limit", r, process.Variant{Memory: 128 << 20, Ready: v.Ready})
	add("another Deno", of("2", "/a"), v)
	add("another cache", of("1", "/b"), v)
	if key := r.CodeKey(process.Variant{Memory: v.Memory, Ready: &process.Packages{Dir: "/prepared"}}); key != "" {
		t.Errorf("without packages: %q", key)
	}
	if a, b := r.CodeKey(v), r.CodeKey(process.Variant{Binary: "/deno", Memory: v.Memory, Ready: &process.Packages{NPM: true, Set: "x", Dir: "/elsewhere"}}); a != b {
		t.Errorf("the same set has the keys %s and %s", a, b)
	}
}

// TestWithoutLinks is on a system that makes no links: Deno's cache is the one
// that it has always had.
func TestWithoutLinks(t *testing.T) {
	address, runner := modules(t, map[string]string{"/a.js": "export const a = 1;"})
	r := runner(1)
	for i := range 9 {
		if err := os.WriteFile(filepath.Join(r.RunDirs.Path, fmt.Sprint("d", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		for _, code := range []string{"const n: number = 1; n", "import { a } from '" + address + "/a.js'; a"} {
			if o := run(t, r, runners.Request{Code: code}); o.Result == nil || o.Result.Text != "1" {
				t.Errorf("%s %+v", o.Status, o.Error)
			}
		}
	}
	r.leases.Close()
	r.settle()
	if left, _ := filepath.Glob(r.GenDir(filepath.Join(r.RunDirs.Path, "*", "*"))); left != nil {
		t.Errorf("%q are left", left)
	}
}

// TestCold has packages that require() ES modules loaded without databases: each run may
// wait for itself.
func TestCold(t *testing.T) {
	r := open(t, "", func(c *process.Config) {
		var err error
		if c.Cache, err = cache.Open(t.TempDir()); err != nil {
			t.Fatal(err)
		}
	})
	r.Store.Close() // none are made
	for range 12 {
		o := run(t, r, runners.Request{Language: runners.JavaScript, Code: "import test from 'tape'\nconsole.log(typeof test)", Limits: runners.Limits{Timeout: 20 * time.Second}})
		if o.Stdout != "function\n" {
			t.Fatalf("%s %+v, stdout %q", o.Status, o.Error, o.Stdout)
		}
	}
}
