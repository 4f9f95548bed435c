//go:build linux

package hostile

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// attack is one hostile program and what is to become of it.
type attack struct {
	row  string // number and letter in the table
	name string
	lang string
	code string

	want    []string // statuses, one of them; nil: any but crashed
	has     string   // what outcome or text must have: one of several, with || between them
	not     string   // and must not
	stdout  string   // what stdout begins with
	timeout float64  // seconds; 0 is 5
	files   []file
	stdin   string
	pkgs    []string
	keeps   bool // it may leave entries in the cache: packages
	roomy   bool // it needs more memory than others: it has workers
}

const (
	python     = "python"
	javascript = "javascript"
	typescript = "typescript"
)

var (
	succeeded = []string{"succeeded"}
	timedOut  = []string{"timed_out"}
	noMemory  = []string{"out_of_memory"}
	refused   = []string{"failed"}
	flooded   = []string{"output_limit"}
	absent    = []string{"not_installed"}
	// anyEnd is for programs that may break their interpreter, which is then
	// gone, and nothing else.
	anyEnd = []string{"succeeded", "failed", "timed_out", "out_of_memory", "crashed"}
)

// probes are programs that look for what another one left, and the answer of a
// pristine place.
var probes = map[string]struct{ code, want string }{
	python: {`
import builtins, json, os, sys, tempfile, pathlib
left = []
if repr(print) != "<built-in function print>": left.append("print")
if json.dumps([1]) != "[1]" or hasattr(json, "evil"): left.append("json")
if "EVIL" in os.environ: left.append("environ")
if "evil" in globals() or hasattr(builtins, "evil"): left.append("globals")
if os.path.exists("/tmp/evil") or os.listdir(tempfile.gettempdir()): left.append("tmp")
if os.listdir(".") not in ([], ["main.py"]): left.append(str(os.listdir(".")))
if "evil" in sys.modules or any("evil" in p for p in sys.path): left.append("modules")
if sys.getrecursionlimit() > 10000: left.append("recursion limit")
if pathlib.Path.home().joinpath("evil").exists(): left.append("home")
left
`, "[]"},
	javascript: {`
const left = [];
if (globalThis.evil || Array.prototype.evil || Object.prototype.evil) left.push("globals");
if (Deno.env.get("EVIL")) left.push("environ");
try { if (localStorage.evil) left.push("localStorage"); } catch {}
try { if (await caches.has("evil")) left.push("caches"); } catch {}
for (const e of Deno.readDirSync(".")) if (e.name !== "main.js") left.push(e.name);
for (const e of Deno.readDirSync(Deno.env.get("TMPDIR"))) left.push(e.name);
left
`, "[]"},
}

// probe has a program of the same language look around.
func (s *server) probe(lang string) error {
	if lang == typescript {
		lang = javascript
	}
	p := probes[lang]
	o, text, err := s.run(arguments{Language: lang, Code: p.code})
	switch {
	case err != nil:
		return fmt.Errorf("the next call: %w", err)
	case o.Status != "succeeded":
		return fmt.Errorf("the next call: %s", clip(text, 500))
	case o.text() != p.want:
		return fmt.Errorf("the next call finds %s", clip(o.text(), 300))
	}
	return nil
}

// judge compares an outcome with what is wanted.
func (a attack) judge(o *outcome, text string) []string {
	var wrong []string
	all := o.all() + "\n" + text
	if a.want == nil && o.Status == "crashed" || a.want != nil && !slices.Contains(a.want, o.Status) {
		wrong = append(wrong, fmt.Sprintf("status %s, want %v: %s", o.Status, a.want, clip(all, 600)))
	}
	if a.has != "" && !slices.ContainsFunc(strings.Split(a.has, "||"), func(has string) bool { return strings.Contains(all, has) }) {
		wrong = append(wrong, fmt.Sprintf("it does not say %q: %s", a.has, clip(all, 600)))
	}
	if a.not != "" && strings.Contains(all, a.not) {
		wrong = append(wrong, fmt.Sprintf("it says %q: %s", a.not, clip(all, 600)))
	}
	if !strings.HasPrefix(o.Stdout, a.stdout) {
		wrong = append(wrong, fmt.Sprintf("stdout %q", clip(o.Stdout, 100)))
	}
	if o.Status != "succeeded" && o.Status != "failed" && (o.Error == nil || o.Error.Message == "") {
		wrong = append(wrong, "no message with status "+o.Status)
	}
	for _, dump := range []string{"goroutine 1 [", "runtime.gopanic", "wasm stack trace", "panic:"} {
		if strings.Contains(all, dump) {
			wrong = append(wrong, fmt.Sprintf("our insides are shown (%q): %s", dump, clip(all[strings.Index(all, dump):], 300)))
		}
	}
	return wrong
}

// late is by how much a run went over its limit and the second that it may take
// to end.
func (a attack) late(o *outcome) time.Duration {
	over := time.Duration(o.Usage.RunMS)*time.Millisecond - time.Duration(a.limit()*float64(time.Second))
	worstOvershoot.Store(max(worstOvershoot.Load(), int64(over)))
	return over - time.Second
}

// worstOvershoot is the most by which any run went over its limit, in
// nanoseconds. Two tests at once may lose one: it is for the table.
var worstOvershoot atomic.Int64

func (a attack) limit() float64 {
	if a.timeout == 0 {
		return 5
	}
	return a.timeout
}

// on runs the attack against a server, and everything that must hold afterwards.
func (a attack) on(t *testing.T, s *server, before *census) {
	t.Helper()
	given := make([]file, len(a.files))
	for i, f := range a.files {
		given[i] = file{f.Path, expand(f.Text)}
	}
	args := arguments{Language: a.lang, Code: expand(a.code), Timeout: a.limit(), Files: given, Stdin: a.stdin, Packages: a.pkgs}
	o, text, err := s.run(args)
	// A machine that is busy with other things makes one run late, not three.
	for n := 1; err == nil && a.late(o) > 0; n++ {
		if n == 3 {
			t.Errorf("%d times it ran for more than its limit of %g s and a second: %d ms", n, a.limit(), o.Usage.RunMS)
			break
		}
		o, text, err = s.run(args)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, clip(s.logs(), 3000))
	}
	for _, w := range a.judge(o, text) {
		t.Error(w)
	}
	if err := s.probe(a.lang); err != nil {
		t.Error(err)
	}
	if a.keeps {
		if now, err := s.census(); err == nil {
			before.entries = now.entries
		}
		before.keeps = true
	}
	if left := s.settle(*before); left != nil {
		for _, l := range left {
			t.Error("left: " + l)
		}
		if now, err := s.census(); err == nil { // it is this case's, not the next one's
			before.entries, before.temp, before.fds = now.entries, now.temp, max(before.fds, now.fds)
			before.goroutines, before.children = max(before.goroutines, now.goroutines), now.children
		}
	}
	s.mu.Lock()
	leaked, junk := s.leaked, s.junk
	s.leaked, s.junk = nil, nil
	s.mu.Unlock()
	for _, l := range leaked {
		t.Error("the secret got out: " + l)
	}
	for _, l := range junk {
		t.Error("no protocol on stdout: " + l)
	}
	results.add(a, t.Failed(), o.Status, o.Usage.RunMS)
}

// places are what attacks are told of this machine.
var places struct {
	once           sync.Once
	secret, listen string
	hits           func() int
}

func expand(code string) string {
	return strings.NewReplacer("SECRETFILE", places.secret, "LISTENER", places.listen).Replace(code)
}

// results are the table.
var results table

type table struct {
	mu   sync.Mutex
	rows []string
}

func (r *table) add(a attack, bad bool, status string, ms int64) {
	verdict := "ok"
	if bad {
		verdict = "BAD"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = append(r.rows, fmt.Sprintf("%-5s %-44s %-11s %-14s %6d ms  %s", a.row, clip(a.name, 40), a.lang, status, ms, verdict))
}

// note adds a row that is no program.
func (r *table) note(t *testing.T, row, name, what string) {
	t.Helper()
	verdict := "ok"
	if t.Failed() {
		verdict = "BAD"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = append(r.rows, fmt.Sprintf("%-5s %-44s %-36s %s", row, clip(name, 40), clip(what, 34), verdict))
}

func (r *table) print() {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortStableFunc(r.rows, func(a, b string) int { return compareRows(a, b) })
	for _, row := range r.rows {
		fmt.Println(row)
	}
}

// warmed starts a server, has it run a program of each language, and counts.
func warmed(t *testing.T, set settings) (*server, *census) {
	t.Helper()
	s := start(t, set)
	for range 2 {
		for _, lang := range []string{python, javascript} {
			if err := s.probe(lang); err != nil {
				t.Fatalf("%v\n%s", err, s.logs())
			}
		}
	}
	// What prepares the runtimes in the background ends.
	var before census
	for end, same := time.Now().Add(time.Minute), 0; same < 5 && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		now, err := s.census()
		if err != nil {
			t.Fatal(err)
		}
		if now.goroutines == before.goroutines && now.fds == before.fds && len(now.entries) == len(before.entries) {
			same++
		} else {
			same = 0
		}
		before = now
	}
	before.goroutines += 2 // a worker of a pool or two
	before.fds += 2
	return s, &before
}

func needsServer(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the runtimes")
	}
	places.once.Do(func() { preparePlaces(t) })
}

func preparePlaces(t *testing.T) {
	dir := suiteTemp
	places.secret = dir + "/secret"
	for name, text := range map[string]string{
		"": canary, ".txt": canary, ".json": `"` + canary + `"`, ".ts": "console.log('" + canary + "'); export default '" + canary + "'",
		".py": "print('" + canary + "')", ".bad.ts": canary + " " + canary, ".wasm": canary,
	} {
		if err := os.WriteFile(places.secret+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	places.listen, places.hits = listen(t)
}

// TestHostile runs the table of programs against two servers that live through
// all of it, one for each family of languages.
func TestHostile(t *testing.T) {
	needsServer(t)
	t.Run("all", func(t *testing.T) {
		t.Run("python", func(t *testing.T) {
			t.Parallel()
			attackAll(t, nil, func(a attack) bool { return a.lang == python })
		})
		t.Run("deno", func(t *testing.T) {
			t.Parallel()
			attackAll(t, nil, func(a attack) bool { return a.lang != python && !a.roomy })
			// Of Deno's memory that counts, a Worker wants 450 to 600 MiB.
			attackAll(t, []string{"CODE_RUNNER_MEMORY=1GiB"}, func(a attack) bool { return a.roomy })
		})
	})
	if hits := places.hits(); hits != 0 {
		t.Errorf("%d connections from inside", hits)
	}
	results.note(t, "59b", "most over a limit", time.Duration(worstOvershoot.Load()).Round(time.Millisecond).String())
}

func attackAll(t *testing.T, env []string, mine func(attack) bool) {
	cache := t.TempDir() + "/cache"
	if err := copyTree(suiteCache, cache); err != nil {
		t.Fatal(err)
	}
	s, before := warmed(t, settings{cache: cache, env: env})
	begun := s.rss()
	for _, group := range allPrograms {
		for _, a := range group {
			if !mine(a) {
				continue
			}
			t.Run(strings.ReplaceAll(a.row+" "+a.name+" "+a.lang, "/", "÷"), func(t *testing.T) { a.on(t, s, before) })
			select {
			case <-s.ended:
				t.Fatalf("the server has ended:\n%s", clip(s.logs(), 5000))
			default:
			}
		}
	}
	t.Logf("the server's memory: %d MiB, was %d", s.rss()>>20, begun>>20)
}

func (s *server) rss() int64 { return memoryOf(s.pid()) }

// compareRows sorts by number, escapes last.
func compareRows(a, b string) int { return rowNumber(a) - rowNumber(b) }
