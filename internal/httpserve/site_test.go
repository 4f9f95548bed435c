package httpserve

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"coderunner/internal/server"
	"coderunner/runners"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// runFunc is a runner that is only its Run.
type runFunc func(ctx context.Context, req runners.Request) (*runners.Outcome, error)

func (f runFunc) Run(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
	return f(ctx, req)
}
func (runFunc) Lock(context.Context, runners.Request) (*runners.Locked, error) {
	return nil, errors.New("not called")
}
func (runFunc) Warm(context.Context, []string, runners.ProgressFunc) error { return nil }
func (runFunc) Versions() map[string]string                                { return nil }
func (runFunc) Close() error                                               { return nil }

// leave answers with the code as stdout and as a file.
func leave(_ context.Context, req runners.Request) (*runners.Outcome, error) {
	return &runners.Outcome{Status: runners.Succeeded, Stdout: req.Code, Files: []runners.LeftFile{{Path: "out.bin", Size: 3, MIME: "application/octet-stream", Data: []byte{0, 255, 1}}}}, nil
}

// Tokens of the tests' clients.
const (
	alice = "alice-0123456789"
	bob   = "bob-0123456789ab"
)

// site is a server in a test.
type site struct {
	t    *testing.T
	url  string // without a path
	http *http.Client
	s    *Server
	stop func() error // ends it, once
}

// open serves with a runner. change may change the options.
func open(t *testing.T, run runFunc, change func(*Options)) *site {
	t.Helper()
	o := Options{Addr: "127.0.0.1:0", Tokens: []Token{{Client: "alice", Secret: alice}, {Client: "bob", Secret: bob}}, Drain: 5 * time.Second,
		MCP: server.Config{Name: "coderunner", Version: "test", Concurrency: 4, Runners: map[runners.Language]runners.Runner{runners.Python: run}}}
	if change != nil {
		change(&o)
	}
	s, err := Listen(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	s.grace = time.Minute // a busy machine takes long to notice that a call ends
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	x := &site{t: t, url: strings.TrimSuffix(s.URL(), "/mcp"), s: s, http: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}}
	stopped := false
	x.stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-served
	}
	t.Cleanup(func() {
		x.http.CloseIdleConnections()
		if err := x.stop(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// do sends a request, with headers "Name: value", and returns the answer with its body.
func (x *site) do(method, path, body string, headers ...string) (*http.Response, string) {
	x.t.Helper()
	req, err := http.NewRequest(method, x.url+path, strings.NewReader(body))
	if err != nil {
		x.t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if req.Header.Set(name, value); name == "Host" {
			req.Host = value
		}
	}
	answer, err := x.http.Do(req)
	if err != nil {
		x.t.Errorf("%s %s: %v", method, path, err)
		return &http.Response{}, ""
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		x.t.Errorf("%s %s: %v", method, path, err)
	}
	return answer, string(text)
}

// user is one MCP session of a client.
type user struct {
	*site
	headers []string
	id      int
}

func (x *site) user(token string) *user {
	x.t.Helper()
	u := &user{site: x, headers: []string{"Authorization: Bearer " + token, "Content-Type: application/json", "Accept: application/json, text/event-stream"}}
	answer, text := x.do("POST", "/mcp", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`, u.headers...)
	if answer.StatusCode != http.StatusOK {
		x.t.Fatalf("initialize: %d %s", answer.StatusCode, text)
	}
	u.headers = append(u.headers, "Mcp-Session-Id: "+answer.Header.Get("Mcp-Session-Id"))
	return u
}

// ask sends a request and returns the message that answers it.
func (u *user) ask(method string, params any) string {
	u.t.Helper()
	u.id++
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": u.id, "method": method, "params": params})
	if err != nil {
		u.t.Fatal(err)
	}
	_, text := u.do("POST", "/mcp", string(body), u.headers...)
	return text
}

func (u *user) call(tool string, arguments map[string]any) string {
	u.t.Helper()
	return u.ask("tools/call", map[string]any{"name": tool, "arguments": arguments})
}

func (u *user) run(code string) string {
	u.t.Helper()
	return u.call("run_code", map[string]any{"language": "python", "code": code})
}
