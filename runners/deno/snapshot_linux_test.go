//go:build amd64

package deno

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"coderunner/cache"
	"coderunner/internal/sandbox"
	"coderunner/runners"
	"coderunner/runners/deno/process"
)

// commands returns what runs a program as a command does, by a Runner of its own that is closed
// after it, and reports whether the program's process was restored.
func commands(t *testing.T, flags string) (command func(req runners.Request) (o *runners.Outcome, restored bool), root string) {
	t.Helper()
	if err := sandbox.CanFork(); err != nil {
		t.Skip(err)
	}
	t.Setenv("TMPDIR", t.TempDir()) // other tests have the directory of snapshots in the usual one
	root = t.TempDir()
	return func(req runners.Request) (*runners.Outcome, bool) {
		t.Helper()
		r := openLeaving(t, flags, root)
		if req.Language == "" {
			req.Language = runners.TypeScript
		}
		j, err := r.job(req)
		if err == nil {
			err = r.install(t.Context(), j)
		}
		if err != nil {
			t.Fatal(err)
		}
		j.left = time.Minute
		if req.Limits.Timeout > 0 {
			j.left = req.Limits.Timeout
		}
		in, err := j.instance(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		restored := in.Restored()
		filtered(t, in)
		end := j.attend(t.Context(), in, false)
		in.Leave()
		o := end.Outcome()
		r.conclude(j, end, o)
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(r.RunDirs.Path); err == nil {
			t.Errorf("%s is left", r.RunDirs.Path)
		}
		return o, restored
	}, root
}

func openLeaving(t *testing.T, flags, root string) *Runner {
	t.Helper()
	return open(t, flags, func(c *process.Config) {
		var err error
		if c.Cache, err = cache.Open(root); err != nil {
			t.Fatal(err)
		}
		c.Leaving = true
	})
}

// census is a program whose result is all that a program can see of its process, but for what
// differs from run to run.
const census = `const own = (of) => Reflect.ownKeys(of).map(String).filter((name) => name !== "nodeBootstrap").sort(); // Deno's own
	const told = await Promise.all(["read", "write", "env", "net", "run", "sys", "ffi", "import"].map(async (name) => [name, (await Deno.permissions.query({ name })).state]));
	const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, () => new Response("served"));
	const answer = await fetch("http://127.0.0.1:" + server.addr.port).then((r) => r.text(), (e) => e.name);
	await server.shutdown();
	const before = performance.now();
	await new Promise((done) => setTimeout(done, 20));
	Deno.writeTextFileSync("left.txt", "left");
	({ own: [globalThis, Deno, Math, Performance.prototype, Deno.env.toObject()].map(own), told, answer, args: Deno.args, cwd: Deno.cwd() === import.meta.dirname, main: import.meta.main,
		input: await new Response(Deno.stdin.readable).text(), files: [...Deno.readDirSync(".")].map((e) => e.name).sort(), temp: Deno.makeTempDirSync().startsWith(Deno.env.get("TMPDIR")),
		clock: [before < 1000, performance.now() - before >= 19, Math.abs(performance.timeOrigin + performance.now() - Date.now()) < 200], memory: Deno.memoryUsage().heapTotal > 0,
		stack: new Error("x").stack.split("\n").length, worker: await new Promise((done) => { const w = new Worker("data:text/javascript,postMessage(1 + 1)", { type: "module" }); w.onmessage = (e) => { done(e.data); w.terminate(); }; }),
		wasm: new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])) instanceof WebAssembly.Module, regexp: /(?<y>\d{4})/u.exec("in 2026").groups.y, big: 2n ** 64n + "" })`

// TestRestored compares what programs see of a process that is started, and of one that is restored.
func TestRestored(t *testing.T) {
	for _, tt := range []struct{ flags, before string }{
		{"", ""},
		{"", `import fs from "node:fs"; import { createHash, randomBytes } from "node:crypto"; fs.statSync("."); console.log(randomBytes(8).toString("hex"), createHash("sha256").update(randomBytes(1e3)).digest("hex"));` + "\n"},
		{"--allow-net", ""},
		{"--allow-read=/usr --allow-sys", ""},
	} {
		t.Run(strings.TrimSpace(tt.flags+" "+tt.before[:min(len(tt.before), 10)]), func(t *testing.T) {
			command, _ := commands(t, tt.flags)
			var first string
			drawn := map[string]bool{}
			for i := range 4 {
				out := new(bytes.Buffer)
				req := runners.Request{Code: tt.before + "console.log(Math.random(), crypto.randomUUID(), crypto.getRandomValues(new Uint32Array(2)).join(), Deno.makeTempFileSync().split('/').pop(), (await crypto.subtle.exportKey('jwk', (await crypto.subtle.generateKey('Ed25519', true, ['sign'])).privateKey)).d);\n" + census,
					Args: []string{"a", "b"}, Stdin: strings.NewReader("input"), Stdout: out, Stderr: new(bytes.Buffer)}
				o, restored := command(req)
				if o.Result == nil {
					t.Fatalf("%+v %+v", o, o.Error)
				}
				if restored != (i > 0) {
					t.Errorf("run %d: its process was restored: %t", i, restored)
				}
				if got := string(o.Result.JSON); i == 0 {
					first = got
				} else if got != first {
					t.Errorf("restored, a program sees\n%s\nwhere it sees\n%s", got, first)
				}
				for _, value := range strings.Fields(out.String()) {
					if drawn[value] {
						t.Errorf("run %d has drawn %s once more", i, value)
					}
					drawn[value] = true
				}
			}
		})
	}
}

// TestRestoredEnds ends restored processes in all ways that there are. A crash drops the snapshot, so
// each has one of its own kind made before.
func TestRestoredEnds(t *testing.T) {
	command, _ := commands(t, "")
	for _, tt := range ends {
		for _, before := range []string{"1", `import "node:process"; 1`} {
			command(runners.Request{Language: runners.JavaScript, Code: before})
		}
		o, restored := command(runners.Request{Language: runners.JavaScript, Code: tt.code, Limits: tt.limits})
		if !restored || o.Status != tt.status || tt.exit != 0 && o.ExitCode != tt.exit {
			t.Errorf("%s: restored: %t; %s, exit code %d, %+v; want %s, %d", tt.code, restored, o.Status, o.ExitCode, o.Error, tt.status, tt.exit)
		}
	}
}

// TestRestoredMerged has one pipe for both streams, whose order is kept.
func TestRestoredMerged(t *testing.T) {
	command, _ := commands(t, "")
	for i := range 2 {
		out := new(bytes.Buffer)
		_, restored := command(runners.Request{Code: `for (let i = 0; i < 3; i++) { console.log("out"); console.error("err"); }`, Stdout: out, Stderr: out})
		if want := strings.Repeat("out\nerr\n", 3); restored != (i > 0) || out.String() != want {
			t.Errorf("restored: %t; it printed %q", restored, out)
		}
	}
}

// TestRestoredNot has processes started where a snapshot is of no use: it was damaged, its directory
// is another command's, or it would have what is secret.
func TestRestoredNot(t *testing.T) {
	command, root := commands(t, "--allow-env=CODERUNNER_TEST_SECRET")
	one := runners.Request{Code: "Deno.env.get('CODERUNNER_TEST_SECRET') ?? 'none'"}
	expect := func(why string, want bool, text string) {
		t.Helper()
		o, restored := command(one)
		if restored != want || o.Result == nil || o.Result.Text != strconv.Quote(text) {
			t.Errorf("%s: restored: %t; %+v %+v", why, restored, o.Result, o.Error)
		}
	}
	expect("first", false, "none")
	expect("second", true, "none")

	memories, err := filepath.Glob(filepath.Join(root, "trees", process.SnapshotKind, "*", "data", "memory"))
	if err != nil || len(memories) != 1 {
		t.Fatalf("there are the snapshots %q, %v", memories, err)
	}
	flip(t, memories[0])
	expect("damaged", false, "none")
	expect("made again", true, "none")

	busy := openLeaving(t, "", root)
	expect("beside another command", false, "none")
	if err := busy.Close(); err != nil {
		t.Fatal(err)
	}
	expect("alone again", true, "none")

	t.Setenv("CODERUNNER_TEST_SECRET", "a-secret-of-the-host")
	for range 2 {
		expect("with a variable of the host", false, "a-secret-of-the-host")
	}
	for _, name := range memories {
		text, err := os.ReadFile(name)
		if err != nil || bytes.Contains(text, []byte("a-secret-of-the-host")) {
			t.Errorf("%s has the secret, %v", name, err)
		}
	}
}

// TestSnapshotFails records that no process could be restored, so that not every command tries.
func TestSnapshotFails(t *testing.T) {
	command, root := commands(t, "")
	r := openLeaving(t, "", root)
	_, v := variantOf(t, r, runners.Request{Code: "1"})
	key := r.SnapshotKey(v)
	if key == "" {
		t.Fatal("there can be no snapshot")
	}
	r.Snapshots.Forgo(t.Context(), key)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if o, restored := command(runners.Request{Code: "1 + 1"}); restored || o.Result == nil || o.Result.Text != "2" {
			t.Errorf("restored: %t; %+v", restored, o)
		}
	}
	if made, _ := filepath.Glob(filepath.Join(root, "trees", process.SnapshotKind, "*")); len(made) > 0 {
		t.Errorf("%q was made", made)
	}
}
