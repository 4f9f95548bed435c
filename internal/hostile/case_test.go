//go:build linux

package hostile

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"coderunner/internal/sample"
	"coderunner/runners"
	"coderunner/runners/runnertest"
)

// programs are hostile programs and what is to become of them, in the format of
// package runnertest. The comment begins with the rows of the table that the
// case is of, or "Escape". SECRETFILE and LISTENER in a program stand for a file
// with the canary and an address that counts connections. want.json may have
// "all": everything that was printed or said.
//
//go:embed testdata/*.txtar
var programs embed.FS

const (
	python     = "python"
	javascript = "javascript"
)

var (
	succeeded = []string{"succeeded"}
	timedOut  = []string{"timed_out"}
	refused   = []string{"failed"}
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
	lang = family(lang)
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

// family returns the language whose server and probe a language shares.
func family(lang string) string {
	if lang == python {
		return python
	}
	return javascript
}

// expect is what tests that are not cases want of a program.
type expect struct {
	status []string // one of them; nil: any but crashed
	has    string
	not    string
}

// judge compares an outcome with what is wanted.
func (e expect) judge(o *outcome, text string) []string {
	var wrong []string
	all := o.all() + "\n" + text
	if e.status == nil && o.Status == "crashed" || e.status != nil && !slices.Contains(e.status, o.Status) {
		wrong = append(wrong, fmt.Sprintf("status %s, want %v: %s", o.Status, e.status, clip(all, 600)))
	}
	if !strings.Contains(all, e.has) {
		wrong = append(wrong, fmt.Sprintf("it does not say %q: %s", e.has, clip(all, 600)))
	}
	if e.not != "" && strings.Contains(all, e.not) {
		wrong = append(wrong, fmt.Sprintf("it says %q: %s", e.not, clip(all, 600)))
	}
	return append(wrong, wellFormed(o, all)...)
}

// wellFormed lists what no outcome may have, whatever the program does.
func wellFormed(o *outcome, all string) []string {
	var wrong []string
	if o.Status != "succeeded" && o.Status != "failed" && (o.Error == nil || o.Error.Message == "") {
		wrong = append(wrong, "no message with status "+o.Status)
	}
	for _, dump := range []string{"goroutine 1 [", "runtime.gopanic", "wasm stack trace", "panic:"} {
		if i := strings.Index(all, dump); i >= 0 {
			wrong = append(wrong, fmt.Sprintf("our insides are shown (%q): %s", dump, clip(all[i:], 300)))
		}
	}
	return wrong
}

// compare holds an outcome to a case.
func compare(c *runnertest.Case, lang runners.Language, o *outcome, text string) []string {
	all := o.all() + "\n" + text
	var got map[string]any
	d := json.NewDecoder(bytes.NewReader(o.raw))
	d.UseNumber()
	if err := d.Decode(&got); err != nil {
		return []string{err.Error()}
	}
	got["all"] = all
	wrong, err := c.Compare(lang, got)
	if err != nil {
		wrong = append(wrong, err.Error())
	}
	for i, w := range wrong {
		wrong[i] = clip(w, 1000)
	}
	return append(wrong, wellFormed(o, all)...)
}

// callArguments are those of a case's call.
func callArguments(c *runnertest.Case, lang runners.Language) (arguments, error) {
	req := c.Request(lang)
	stdin, err := io.ReadAll(req.Stdin)
	a := arguments{Language: string(lang), Code: expand(req.Code), Timeout: req.Limits.Timeout.Seconds(),
		Packages: req.Packages, Stdin: string(stdin), Args: req.Args}
	for _, f := range req.Files {
		a.Files = append(a.Files, file{f.Path, expand(string(f.Data))})
	}
	return a, err
}

// attack runs a case's program against a server, and checks everything that
// must hold afterwards.
func attack(t *testing.T, c *runnertest.Case, lang runners.Language, s *server, before *census) {
	t.Helper()
	args, err := callArguments(c, lang)
	if err != nil {
		t.Fatal(err)
	}
	var o *outcome
	var text string
	var took time.Duration
	grew := s.watchMemory()
	limit := cmp.Or(time.Duration(c.TimeoutMS)*time.Millisecond, runners.DefaultTimeout)
	// A machine that is busy with other things makes one run late, not three. What
	// gets no processor time is stopped late, see slowGrace in package pyodide.
	const late = 1500 * time.Millisecond
	for n := 1; n <= 3; n++ {
		begun := time.Now()
		if o, text, err = s.run(args); err != nil {
			t.Fatalf("%v\n%s", err, clip(s.logs(), 3000))
		}
		took = time.Since(begun)
		over := time.Duration(o.Usage.RunMS)*time.Millisecond - limit
		if over <= late && (c.WithinMS == 0 || took <= time.Duration(c.WithinMS)*time.Millisecond) {
			break
		}
		if n == 3 {
			t.Errorf("%d times it ran too long: %d ms of its limit of %v, %v in all", n, o.Usage.RunMS, limit, took)
		}
	}
	t.Logf("%s after %v", o.Status, took.Round(time.Millisecond))
	if n := grew(); c.HostMemory > 0 && n > c.HostMemory {
		t.Errorf("the server grew by %d MiB, want at most %d", n>>20, c.HostMemory>>20)
	}
	for _, w := range compare(c, lang, o, text) {
		t.Error(w)
	}
	if err := s.probe(string(lang)); err != nil {
		t.Error(err)
	}
	if c.Network { // packages stay in the cache
		if now, err := s.census(); err == nil {
			before.entries = now.entries
		}
		before.keeps = true
	}
	s.leftNothing(t, before)
}

// leftNothing fails the test for what a case has left behind or let out. The
// next case does not answer for it.
func (s *server) leftNothing(t *testing.T, before *census) {
	t.Helper()
	if left := s.settle(*before); left != nil {
		for _, l := range left {
			t.Error("left: " + l)
		}
		if now, err := s.census(); err == nil {
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
		t.Error("not protocol on stdout: " + l)
	}
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
	// Two lines to a worker for each processor stay, and as many goroutines for requests: each is used once.
	var answers []<-chan message
	for range 2 * runtime.GOMAXPROCS(0) {
		_, answer, err := s.send("tools/call", callOf(arguments{Language: python, Code: "import time\ntime.sleep(0.5)"}))
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, answer)
	}
	for _, answer := range answers {
		<-answer
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

// cases reads them all.
func cases(t *testing.T) []*runnertest.Case {
	t.Helper()
	all, err := runnertest.Load(programs, "testdata")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestPrograms runs the cases against two servers that live through all of them,
// one for each family of languages.
func TestPrograms(t *testing.T) {
	needsServer(t)
	all := cases(t)
	t.Run("all", func(t *testing.T) {
		t.Run("python", func(t *testing.T) {
			t.Parallel()
			attackAll(t, all, python)
		})
		t.Run("deno", func(t *testing.T) {
			t.Parallel()
			attackAll(t, all, javascript)
		})
	})
	if hits := places.hits(); hits != 0 {
		t.Errorf("%d connections from inside", hits)
	}
}

func attackAll(t *testing.T, all []*runnertest.Case, mine string) {
	s, before := warmed(t, settings{cache: ownCache(t)})
	begun := s.rss()
	var quick, slow []*runnertest.Case
	for _, c := range all {
		if c.Slow {
			slow = append(slow, c)
		} else {
			quick = append(quick, c)
		}
	}
	for _, c := range append(quick, sample.Of(t, 5, slow)...) {
		for _, lang := range c.Languages() {
			if family(string(lang)) != mine {
				continue
			}
			t.Run(c.Name+"/"+string(lang), func(t *testing.T) { attack(t, c, lang, s, before) })
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
