package httpserve

import (
	"context"
	"encoding/json"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"coderunner/internal/server"
	"coderunner/runners"
)

// TestPage opens the status page in a real browser, with a program that runs, one that waits,
// and names that would be HTML. CODERUNNER_SCREENSHOTS is a directory for a picture.
func TestPage(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil || os.Getenv("CODERUNNER_LONG") == "" {
		t.Skip("long, and needs Chromium")
	}
	started, finish := make(chan bool, 2), make(chan bool)
	x := open(t, func(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
		req.Progress(runners.Progress{Phase: `<img src=x onerror="document.title='escaped'">`})
		started <- true
		<-finish
		return leave(ctx, req)
	}, func(o *Options) {
		o.MCP.Concurrency = 1
		o.MCP.Policy = runners.Policy{Args: []string{"--allow-net=<b>api.example</b>"}}
		o.Cache = func(context.Context) string { return "12 entries" }
	})
	u := x.user(alice)
	done := make(chan string, 2)
	go func() { done <- u.run("1") }()
	<-started
	other := x.user(alice)
	go func() { done <- other.run("2") }()
	for { // until the second waits
		if _, text := x.do("GET", "/metrics", "", "Authorization: Bearer "+alice); strings.Contains(text, "\ncoderunner_waiting 1\n") {
			break
		}
	}
	// A page with the same policy, and what the browser's user types at the prompt.
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.SetBasicAuth("anybody", alice)
		r.Host = strings.TrimPrefix(x.url, "http://")
		r.Header.Del("Origin")
		x.s.handler().ServeHTTP(w, r)
	}))
	defer front.Close()
	args := []string{"--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--user-data-dir=" + t.TempDir(), "--virtual-time-budget=4000", "--window-size=900,900"}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if dir := os.Getenv("CODERUNNER_SCREENSHOTS"); dir != "" {
		if out, err := exec.CommandContext(ctx, browser, append(args, "--screenshot="+filepath.Join(dir, "status.png"), front.URL)...).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
	cmd := exec.CommandContext(ctx, browser, append(args, "--enable-logging=stderr", "--dump-dom", front.URL)...)
	var log strings.Builder
	cmd.Stderr = &log
	dom, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%.2000s", err, log.String())
	}
	text := html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(strings.ReplaceAll(string(dom), "</td>", " "), ""))
	for _, want := range []string{"ready, up for", "1 of 1", "python", "waiting", `<img src=x onerror="document.title='escaped'">`, "--allow-net=<b>api.example</b>", "alice", "12 entries", "30 s, 512 MiB"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not show %q:\n%s", want, text)
		}
	}
	if !strings.Contains(string(dom), "<title>coderunner</title>") || strings.Contains(string(dom), "<img") {
		t.Errorf("names became HTML: %s", dom)
	}
	if strings.Contains(log.String(), "Content Security Policy") || strings.Contains(log.String(), "Uncaught") {
		t.Errorf("the browser complains: %s", log.String())
	}
	close(finish)
	<-done
	<-done
}

// The policy lets the page do what it does and nothing else.
func TestPagePolicy(t *testing.T) {
	x := open(t, leave, func(o *Options) { o.MCP = server.Config{Runners: o.MCP.Runners} })
	answer, text := x.do("GET", "/", "", "Authorization: Bearer "+alice)
	policy := answer.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("no %s in %s", want, policy)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Count(policy, "'sha256-") != 2 || strings.Contains(text, "style.css") || strings.Contains(text, "page.js") {
		t.Errorf("policy %s", policy)
	}
	for _, loaded := range []string{"src=", "href=", "@import", "url(", "innerHTML"} {
		if strings.Contains(text, loaded) {
			t.Errorf("the page has %s", loaded)
		}
	}
	var status map[string]any
	if _, text := x.do("GET", "/status.json", "", "Authorization: Bearer "+alice); json.Unmarshal([]byte(text), &status) != nil || status["state"] != "ready" {
		t.Errorf("status %s", text)
	}
}
