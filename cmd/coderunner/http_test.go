package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"coderunner/internal/testcache"
)

// httpServer is a process that serves HTTP.
type httpServer struct {
	cmd *exec.Cmd
	url string // of /mcp
	log *lockedBuffer
}

var servedURL = regexp.MustCompile(`"url":"([^"]+)"`)

// startHTTP starts a server on a free port, and waits until it listens.
func startHTTP(t testing.TB, env []string, args ...string) *httpServer {
	t.Helper()
	s := &httpServer{cmd: exec.Command(os.Args[0], append([]string{"serve", "--http", "127.0.0.1:0"}, args...)...), log: &lockedBuffer{}}
	s.cmd.Args[0] = "coderunner"
	s.cmd.Path = selfAs(t, "coderunner")
	s.cmd.Env = append(os.Environ(), append([]string{"CODE_RUNNER_CACHE_DIR=" + testcache.Dir()}, env...)...)
	out, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill(); _ = s.cmd.Wait() })
	lines := bufio.NewScanner(out)
	for s.url == "" && lines.Scan() {
		fmt.Fprintln(s.log, lines.Text())
		if found := servedURL.FindStringSubmatch(lines.Text()); found != nil {
			s.url = found[1]
		}
	}
	if s.url == "" {
		t.Fatalf("it does not serve: %s", s.log)
	}
	go func() {
		for lines.Scan() {
			fmt.Fprintln(s.log, lines.Text())
		}
	}()
	return s
}

// httpClient is one MCP session over HTTP.
type httpClient struct {
	url, token, session string
	id                  int
}

// post sends a message and returns the last one of the answer.
func (c *httpClient) post(ctx context.Context, message map[string]any) (map[string]any, error) {
	body, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Authorization": "Bearer " + c.token, "Mcp-Session-Id": c.session} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode/100 != 2 {
		return nil, fmt.Errorf("%s: %s %v", answer.Status, text, err)
	}
	if id := answer.Header.Get("Mcp-Session-Id"); id != "" {
		c.session = id
	}
	if at := bytes.LastIndex(text, []byte("data: ")); at >= 0 {
		text = text[at+6:]
	}
	var m map[string]any
	if len(text) > 0 {
		err = json.Unmarshal(text, &m)
	}
	return m, err
}

// hello begins a session.
func (c *httpClient) hello(ctx context.Context) error {
	c.session = ""
	_, err := c.post(ctx, map[string]any{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"}}})
	return err
}

// call calls a tool and returns its text.
func (c *httpClient) call(ctx context.Context, tool string, arguments map[string]any) (text string, err error) {
	c.id++
	m, err := c.post(ctx, map[string]any{"jsonrpc": "2.0", "id": c.id, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": arguments}})
	if err != nil {
		return "", err
	}
	result, _ := m["result"].(map[string]any)
	blocks, _ := result["content"].([]any)
	for _, b := range blocks {
		block, _ := b.(map[string]any)
		part, _ := block["text"].(string)
		text += part
	}
	if result == nil {
		text = fmt.Sprint(m)
	}
	return text, nil
}

// python runs a program, in a session if that is not "".
func (c *httpClient) python(ctx context.Context, session, code string) (string, error) {
	arguments := map[string]any{"language": "python", "code": code}
	if session != "" {
		arguments["session"] = session
	}
	return c.call(ctx, "run_code", arguments)
}

// TestServeHTTPNames has a server that is called by a name, and by a page.
func TestServeHTTPNames(t *testing.T) {
	s := startHTTP(t, []string{"CODE_RUNNER_OFFLINE=1", "CODE_RUNNER_HTTP_TOKEN=a-token-of-32-random-characters!"}, "--http-hosts", "mcp.test", "--http-origins", "https://page.test")
	for _, c := range []struct {
		host, origin string
		refused      bool
	}{{"mcp.test", "https://page.test", false}, {"mcp.test", "", false}, {"other.test", "", true}, {"mcp.test", "https://other.test", true}} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = c.host
		if c.origin != "" {
			req.Header.Set("Origin", c.origin)
		}
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if (answer.StatusCode == http.StatusForbidden) != c.refused {
			t.Errorf("%+v: %s", c, answer.Status)
		}
	}
}

// TestServeHTTPTokens has a token that bounds timeout_seconds, one that does not, and one for
// the metrics alone.
func TestServeHTTPTokens(t *testing.T) {
	const short, long, metrics = "token-of-the-short", "token-of-the-long!", "token-of-prometheus"
	s := startHTTP(t, []string{"CODE_RUNNER_OFFLINE=1", "CODE_RUNNER_HTTP_TOKEN=a:5s=" + short + ",b=" + long + ",p:metrics=" + metrics}, "--http-max-timeout", "20s")
	for token, want := range map[string]string{short: "between 0.001 and 5.", long: "between 0.001 and 20."} {
		c := &httpClient{url: s.url, token: token}
		if err := c.hello(t.Context()); err != nil {
			t.Fatal(err)
		}
		if text, err := c.call(t.Context(), "run_code", map[string]any{"language": "bash", "code": "true", "timeout_seconds": 21}); !strings.Contains(fmt.Sprint(text, err), want) {
			t.Errorf("%v, %v, want %q", text, err, want)
		}
	}
	if err := (&httpClient{url: s.url, token: metrics}).hello(t.Context()); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("the token for /metrics begins a session: %v", err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(s.url, "/mcp")+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+metrics)
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || !strings.Contains(string(text), "coderunner_places") {
		t.Errorf("the metrics: %s, %.200s, %v", answer.Status, text, err)
	}
}

// TestServeHTTP is the README's command: a token in a file, programs, and an end that
// lets them finish.
func TestServeHTTP(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches the runtimes")
	}
	file := filepath.Join(t.TempDir(), "token")
	s := startHTTP(t, []string{"CODE_RUNNER_SESSION_DIR=" + t.TempDir()}, "--http-token-file", file)
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	token, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(s.log.String(), strings.TrimSpace(string(token))) {
		t.Error("the token is in the log, too")
	}
	c := &httpClient{url: s.url, token: strings.TrimSpace(string(token))}
	if err := c.hello(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"41", "42"} {
		if text, err := c.python(t.Context(), "kept", "x = globals().get('x', 40) + 1; x"); err != nil || !strings.Contains(text, want) {
			t.Errorf("%s: %s, %v", want, text, err)
		}
	}
	ready := strings.TrimSuffix(s.url, "/mcp") + "/readyz"
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) { // it tells nobody when
		answer, err := http.Get(ready)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it is not ready")
		}
	}
	done := make(chan string, 1)
	go func() {
		text, err := c.python(context.WithoutCancel(t.Context()), "", "import time\ntime.sleep(1)\n'finished'")
		done <- fmt.Sprint(text, err)
	}()
	for deadline := time.Now().Add(time.Minute); !strings.Contains(running(t, s.url, c.token), "\ncoderunner_running 1\n"); {
		if time.Now().After(deadline) {
			t.Fatal("it does not run")
		}
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if text := <-done; !strings.Contains(text, "finished") {
		t.Errorf("a program at the end: %s", text)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, s.log)
	}
}

// running returns the metrics.
func running(t testing.TB, url, token string) string {
	req, err := http.NewRequest(http.MethodGet, strings.TrimSuffix(url, "/mcp")+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
