package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestPausedOnReplicas has twenty programs wait for consent in an S3 server, kills the server
// that they ran on, and has others approve: each goes on with the answers that it had, or where it
// was, no call is made twice, and one whose server is killed while it runs is said to be unknown.
func TestPausedOnReplicas(t *testing.T) {
	if testing.Short() {
		t.Skip("builds an S3 server")
	}
	const programs, lost = 20, 11 // which of them is lost
	var mu sync.Mutex
	drawn, added := map[string]int{}, map[string]int{} // calls, by the program's number
	arrived, never := make(chan bool), make(chan bool)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := r.URL.Query().Get("n")
		mu.Lock()
		switch r.Method + " " + r.URL.Path {
		case "GET /draw":
			drawn[n]++
			fmt.Fprint(w, "drawn", n)
		case "POST /add":
			added[n]++
			fmt.Fprint(w, "added", n)
		default:
			fmt.Fprint(w, `{"openapi": "3.1.0", "paths": {
				"/draw": {"get": {"operationId": "draw", "parameters": [{"name": "n", "in": "query"}]}},
				"/add": {"post": {"operationId": "add", "parameters": [{"name": "n", "in": "query"}, {"name": "text", "in": "query"}]}}}}`)
		}
		mu.Unlock()
		if r.URL.Path == "/add" && n == fmt.Sprint(lost) {
			arrived <- true
			<-never // its server is killed
		}
	}))
	t.Cleanup(api.Close)
	t.Cleanup(func() { close(never) })
	servers := filepath.Join(t.TempDir(), "servers.json")
	if err := os.WriteFile(servers, fmt.Appendf(nil, `{"mcpServers": {"api": {"openapi": "%s/api.json", "url": %[1]q}}}`, api.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	const token = "replicas-0123456789"
	port := freePort(t)
	start(t, port, s3Server(t, "github.com/johannesboyne/gofakes3/cmd/gofakes3@v1.2.0"), "-backend", "memory", "-host", "127.0.0.1:"+port, "-initialbucket", "sessions", "-quiet")
	env := append(s3Environment(port), "CODE_RUNNER_HTTP_TOKEN="+token, "CODE_RUNNER_TOOLS="+servers, "CODE_RUNNER_OFFLINE=1")
	each := func(replica *httpServer, from, to int, tool string, want func(n int) string, arguments func(n int) map[string]any) {
		t.Helper()
		var all sync.WaitGroup
		for n := from; n < to; n++ {
			all.Go(func() {
				c := &httpClient{url: replica.url, token: token}
				if err := c.hello(t.Context()); err != nil {
					t.Errorf("%d: %v", n, err)
					return
				}
				if text, err := c.call(t.Context(), tool, arguments(n)); err != nil || !strings.Contains(text, want(n)) {
					t.Errorf("%d: %q, %v; want %q", n, text, err, want(n))
				}
			})
		}
		all.Wait()
	}
	approve := func(n int) map[string]any {
		return map[string]any{"action": "approve", "session": fmt.Sprint("s", n)}
	}
	wrote := func(n int) string { return fmt.Sprintf("got added%d of drawn%[1]d", n) }
	replica := func() *httpServer { return startHTTP(t, append(env, "CODE_RUNNER_SESSION_DIR="+t.TempDir())) }

	first := replica()
	each(first, 0, programs, "run_code", func(n int) string { return fmt.Sprintf(`1. api.add({"n":%d,"text":"drawn%[1]d"})`, n) }, func(n int) map[string]any {
		if n%2 == 1 { // it is parked
			code := fmt.Sprintf("from tools import api\nd = api.draw(n=%d)\na = api.add(n=%[1]d, text=d)\nprint('got', a, 'of', d)", n)
			return map[string]any{"language": "python", "session": fmt.Sprint("s", n), "code": code}
		}
		code := fmt.Sprintf("d=$(tool api draw --n %d | jq -r .)\na=$(tool api add --n %[1]d --text $d | jq -r .)\necho got $a of $d", n)
		return map[string]any{"language": "bash", "session": fmt.Sprint("s", n), "code": code}
	})
	kill(t, first)
	second := replica()
	each(second, 0, lost, "sessions", wrote, approve)
	go func() {
		c := &httpClient{url: second.url, token: token}
		if err := c.hello(t.Context()); err == nil {
			_, _ = c.call(t.Context(), "sessions", approve(lost)) // it dies with its server
		}
	}()
	<-arrived
	kill(t, second)
	third := replica()
	each(third, lost, lost+1, "sessions", func(int) string { return "Unknown" }, approve)
	each(third, lost+1, programs, "sessions", wrote, approve)
	each(third, 0, programs, "sessions", func(int) string { return "No program of the session" }, approve)
	mu.Lock()
	defer mu.Unlock()
	for n := range programs {
		if d, a := drawn[fmt.Sprint(n)], added[fmt.Sprint(n)]; d != 1 || a != 1 {
			t.Errorf("%d has called %d and %d times, want once each", n, d, a)
		}
	}
}

// kill ends a server as kill -9 does.
func kill(t *testing.T, s *httpServer) {
	t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait()
}
