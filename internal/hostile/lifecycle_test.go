//go:build linux

package hostile

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// busy are programs that run until they are stopped, by language.
var busy = map[string]string{
	javascript: "console.log('begun'); for (;;);",
	python:     "print('begun', flush=True)\nwhile True: pass",
}

// TestCancel cancels calls at every moment.
//
// Row 59.
func TestCancel(t *testing.T) {
	needsServer(t)
	s, before := warmed(t, settings{env: []string{"CODE_RUNNER_CONCURRENCY=2"}})
	sleeper := "import time\ntime.sleep(1000)"
	var ids []string
	var answers []<-chan message
	// More than there are places, so that some are cancelled while they wait.
	for _, a := range []arguments{
		{Language: javascript, Code: busy[javascript]}, {Language: python, Code: busy[python]},
		{Language: python, Code: sleeper}, {Language: javascript, Code: busy[javascript]},
	} {
		a.Timeout = 60
		id, c, err := s.send("tools/call", callOf(a))
		if err != nil {
			t.Fatal(err)
		}
		ids, answers = append(ids, id), append(answers, c)
	}
	s.awaitChildren(t, 1)
	cancel := func(id string) {
		if err := s.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"test"}}`); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{ids[0], ids[3], ids[1], ids[2], ids[0], "99999", `"none"`, `null`, `{}`, "1e400"} {
		cancel(id)
	}
	if err := s.probe(python); err != nil {
		t.Error(err)
	}
	if err := s.probe(javascript); err != nil {
		t.Error(err)
	}
	for i, c := range answers {
		select {
		case m := <-c:
			t.Errorf("call %d was cancelled and answered: %s", i, clip(string(m.Result), 200))
		default:
		}
	}
	cancel(ids[0]) // long gone
	if err := s.probe(python); err != nil {
		t.Error(err)
	}
	for _, l := range s.settle(*before) {
		t.Error("left: " + l)
	}
}

// awaitChildren waits until the server has started processes.
func (s *server) awaitChildren(t *testing.T, n int) []string {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if found, err := descendants(s.pid()); err == nil && len(found) >= n {
			return found
		}
	}
	t.Fatalf("the server starts nothing\n%s", s.logs())
	return nil
}

// TestEnd ends servers while programs run.
//
// Rows 60, 61.
func TestEnd(t *testing.T) {
	needsServer(t)
	for _, c := range []struct {
		row   string
		name  string
		clean bool // it ends by itself, with status 0
		end   func(s *server)
	}{
		{"60", "stdin ends", true, func(s *server) { s.in.Close() }},
		{"60", "SIGTERM", true, func(s *server) { _ = s.cmd.Process.Signal(syscall.SIGTERM) }},
		{"60", "SIGHUP", true, func(s *server) { _ = s.cmd.Process.Signal(syscall.SIGHUP) }},
		{"60", "SIGINT twice", false, func(s *server) {
			_ = s.cmd.Process.Signal(syscall.SIGINT)
			_ = s.cmd.Process.Signal(syscall.SIGINT)
		}},
		{"61", "SIGKILL", false, func(s *server) { _ = s.cmd.Process.Kill() }},
		{"61", "SIGSEGV", false, func(s *server) { _ = s.cmd.Process.Signal(syscall.SIGSEGV) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, settings{})
			for _, lang := range []string{python, javascript} {
				if err := s.probe(lang); err != nil {
					t.Fatal(err)
				}
			}
			for lang, code := range busy {
				if _, _, err := s.send("tools/call", callOf(arguments{Language: lang, Code: code, Timeout: 600})); err != nil {
					t.Fatal(err)
				}
			}
			children := s.awaitChildren(t, 1)
			c.end(s)
			timer := time.AfterFunc(5*time.Minute, // the programs would go on for ten
				func() { _ = s.cmd.Process.Kill() })
			err := s.wait()
			timer.Stop()
			if c.clean && err != nil {
				t.Errorf("it ends with %v\n%s", err, clip(s.logs(), 2000))
			}
			awaitGone(t, children)
			// A server that could not stop everything in time, on a busy machine, ends
			// nevertheless, and says so.
			if left := tree(s.temp, nil); c.clean && left != nil && !strings.Contains(s.logs(), "ended before everything had stopped") {
				t.Errorf("temporary files are left: %q", left)
			}
			if !c.clean || tree(s.temp, nil) != nil { // the next one clears up
				dead, _ := filepath.Glob(filepath.Join(s.temp, "*"))
				next := start(t, settings{env: []string{"TMPDIR=" + s.temp}})
				if err := next.probe(javascript); err != nil {
					t.Error(err)
				}
				if _, err := next.stop(); err != nil {
					t.Error(err)
				}
				for _, name := range dead {
					if exists(name) {
						t.Errorf("%s is left: %q", name, tree(name, nil))
					}
				}
			}
			if left, _ := filepath.Glob(filepath.Join(s.cache, "processes", "*", "*")); len(left) > 20 {
				t.Errorf("%d temporary entries in the cache", len(left))
			}
		})
	}
}

// awaitGone waits for processes, as descendants names them, to end.
func awaitGone(t *testing.T, processes []string) {
	t.Helper()
	for _, p := range processes {
		pid, _, _ := strings.Cut(p, " ")
		for end := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
			if b, err := os.ReadFile("/proc/" + pid + "/stat"); err != nil || !strings.Contains(string(b), "deno") || strings.Contains(string(b), ") Z ") {
				break
			}
			if time.Now().After(end) {
				t.Errorf("process %s lives on", p)
				break
			}
		}
	}
}

// TestClientKilled kills the client, which leaves the server an orphan.
//
// Row 60.
func TestClientKilled(t *testing.T) {
	needsServer(t)
	t.Parallel()
	client := exec.Command(os.Args[0], "-test.run=^$", binary)
	client.Env = append(baseEnv(), roleVariable+"=client", "TMPDIR="+t.TempDir(), "CODE_RUNNER_CACHE_DIR="+suiteCache)
	logs, err := client.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := startOnMain(client); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(logs)
	line, err := lines.ReadString('\n')
	pid, perr := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || perr != nil {
		t.Fatalf("the client says %q: %v", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	s := &server{cmd: &exec.Cmd{Process: &os.Process{Pid: pid}}}
	children := s.awaitChildren(t, 1)
	_ = client.Process.Kill()
	_ = client.Wait()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(b), ") Z ") {
			break
		}
		if time.Now().After(end) {
			t.Error("the server lives on")
			_ = syscall.Kill(pid, syscall.SIGKILL)
			break
		}
	}
	awaitGone(t, children)
}

// TestProtocolAbuse sends what is no request.
//
// Row 65.
func TestProtocolAbuse(t *testing.T) {
	needsServer(t)
	s, before := warmed(t, settings{})
	call := func(args string) string {
		return `{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"run_code","arguments":` + args + `}}`
	}
	for _, line := range []string{
		"", "x", "{", "[]", "null", "1", `"x"`, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `{"jsonrpc":"1.0"}`, "\xff\xfe", "\x00",
		`{"jsonrpc":"2.0","id":null,"method":"tools/call"}`, `{"jsonrpc":"2.0","id":{},"method":"ping"}`, `{"jsonrpc":"2.0","id":1e999,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"method":"nothing"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"other"}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`,
		call(`{}`), call(`null`), call(`[]`), call(`{"language":"python"}`), call(`{"language":"python","code":5}`), call(`{"language":"cobol","code":""}`),
		call(`{"language":"python","code":"1","timeout_seconds":-1}`), call(`{"language":"python","code":"1","timeout_seconds":1e300}`), call(`{"language":"python","code":"1","timeout_seconds":"x"}`),
		call(`{"language":"python","code":"1","files":[{"path":"../x","text":""}]}`), call(`{"language":"javascript","code":"1","files":[{"path":"/etc/x","text":""}]}`),
		call(`{"language":"javascript","code":"1","files":[{"path":"a","text":""},{"path":"a/b","text":""}]}`), call(`{"language":"python","code":"1","files":[{"path":"a\u0000b","text":""}]}`),
		call(`{"language":"python","code":"1","packages":["--index-url=http://x"]}`), call(`{"language":"python","code":"1","packages":["x @ file:///etc/passwd"]}`),
		call(`{"language":"javascript","code":"1","packages":["npm:../../etc"]}`), call(`{"language":"javascript","code":"1","packages":["--allow-all"]}`), call(`{"language":"javascript","code":"1","args":["--allow-all"]}`),
		call(`{"language":"python","code":"1","nothing":1}`),
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000) + `}`,
		`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 5_000_000) + `"}`,
	} {
		if err := s.write(line); err != nil {
			t.Fatalf("after %q: %v", clip(line, 100), err)
		}
	}
	if err := s.probe(python); err != nil {
		t.Fatalf("%v\n%s", err, clip(s.logs(), 3000))
	}
	// One line without an end, larger than anything that is read.
	s.writeMu.Lock()
	chunk := strings.Repeat("x", 1<<20)
	for range 100 {
		if _, err := io.WriteString(s.in, chunk); err != nil {
			t.Error(err)
			break
		}
	}
	s.writeMu.Unlock()
	if err := s.write(""); err != nil {
		t.Error(err)
	}
	if err := s.probe(javascript); err != nil {
		t.Errorf("after a line of 100 MB: %v", err)
	}
	// The same id many times, and 300 calls at once.
	for range 50 {
		if err := s.write(`{"jsonrpc":"2.0","id":"same","method":"tools/call","params":{"name":"run_code","arguments":{"language":"python","code":"1"}}}`); err != nil {
			t.Fatal(err)
		}
	}
	var waits []<-chan message
	for range 300 {
		_, c, err := s.send("tools/call", callOf(arguments{Language: python, Code: "1"}))
		if err != nil {
			t.Fatal(err)
		}
		waits = append(waits, c)
	}
	ctx, cancel := context.WithTimeout(context.Background(), runFor)
	defer cancel()
	for i, c := range waits {
		select {
		case <-c:
		case <-ctx.Done():
			t.Fatalf("no answer to call %d of 300", i)
		}
	}
	for _, l := range s.settle(*before) {
		t.Error("left: " + l)
	}
	if rss := s.rss(); rss > 2<<30 {
		t.Errorf("the server takes %d MiB", rss>>20)
	}
	s.mu.Lock()
	for _, j := range s.junk {
		t.Errorf("no protocol on stdout: %s", j)
	}
	s.mu.Unlock()
}

// TestBeforeHandshake calls a tool at once.
//
// Row 65.
func TestBeforeHandshake(t *testing.T) {
	needsServer(t)
	t.Parallel()
	s := start(t, settings{raw: true})
	ctx, cancel := context.WithTimeout(context.Background(), runFor)
	defer cancel()
	if _, err := s.request(ctx, "tools/call", callOf(arguments{Language: python, Code: "1"})); err != nil {
		t.Error(err)
	}
	if err := s.shakeHands(); err != nil {
		t.Error(err)
	}
	if err := s.probe(python); err != nil {
		t.Error(err)
	}
}

// TestSecrets looks for credentials in what goes wrong.
//
// Row 31.
func TestSecrets(t *testing.T) {
	needsServer(t)
	t.Parallel()
	s := start(t, settings{env: []string{
		"PIP_INDEX_URL=http://user:" + canary + "@127.0.0.1:1/simple/", "NPM_CONFIG_REGISTRY=http://user:" + canary + "@127.0.0.1:1/",
		"JSR_URL=http://user:" + canary + "@127.0.0.1:1/", "HTTP_PROXY=", "HTTPS_PROXY=", "DENO_AUTH_TOKENS=" + canary + "@127.0.0.1:1",
	}})
	for _, a := range []arguments{
		{Language: python, Code: "import nothere_x", Packages: []string{"nothere-x"}},
		{Language: javascript, Code: "import 'npm:nothere-x'"},
		{Language: javascript, Code: "import 'jsr:@none/x'"},
		{Language: javascript, Code: "JSON.stringify([Deno.env.toObject(), process.env, Deno.args, Deno.mainModule])"},
	} {
		if _, text, err := s.run(a); text == "" {
			t.Errorf("%s: %v", a.Code, err)
		}
	}
	s.mu.Lock()
	for _, l := range s.leaked {
		t.Errorf("the secret got out: %s", l)
	}
	s.mu.Unlock()
}

// TestWaiting: as configured by default, a server has a confined Deno waiting
// for the next program, which is used once.
func TestWaiting(t *testing.T) {
	needsServer(t)
	s := start(t, settings{})
	var waiting []string // when the program before was gone
	used := map[string]bool{}
	// On a busy machine, more than one process may be on its way when the first
	// is seen, and another one is taken.
	for found, tries := 0, 0; found < 2; tries++ {
		o, text, err := s.run(arguments{Language: javascript, Code: "Deno.pid"})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		own := o.text() + " "
		if used[own] {
			t.Errorf("two programs ran in process %s", own)
		}
		used[own] = true
		if slices.ContainsFunc(waiting, func(child string) bool { return strings.HasPrefix(child, own) }) {
			found++
		} else if tries == 50 {
			t.Fatalf("%d of %d programs ran in processes that had waited; the last in %s, and %q waited", found, tries, own, waiting)
		}
		awaitGone(t, []string{own})
		waiting = s.awaitChildren(t, 1)
	}
}
