package httpserve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"coderunner/internal/server"
	"coderunner/internal/session"
	"coderunner/runners"
)

// What passes without a token, by whom the server may be called, and from where.
func TestWhoMayAsk(t *testing.T) {
	x := open(t, leave, func(o *Options) {
		o.Hosts, o.Origins = []string{"runner.example"}, []string{"https://app.example"}
		o.Tokens = append(o.Tokens, Token{Client: "prometheus", Secret: "metrics-0123456789", Metrics: true})
	})
	metrics := "Authorization: Bearer metrics-0123456789"
	ok := "Authorization: Bearer " + alice
	for _, row := range []struct {
		method, path string
		headers      []string
		status       int
	}{
		{"GET", "/healthz", nil, 200},
		{"GET", "/readyz", nil, 200},
		{"GET", "/", nil, 401},
		{"GET", "/status.json", nil, 401},
		{"GET", "/metrics", nil, 401},
		{"POST", "/mcp", nil, 401},
		{"GET", "/.well-known/oauth-protected-resource/mcp", nil, 404},
		{"GET", "/metrics", []string{ok}, 200},
		{"GET", "/metrics", []string{"Authorization: bearer " + alice}, 200},
		{"GET", "/metrics", []string{"Authorization: Bearer " + alice[:len(alice)-1]}, 401},
		{"GET", "/metrics", []string{"Authorization: Bearer " + alice + "x"}, 401},
		{"GET", "/metrics", []string{"Authorization: Bearer "}, 401},
		{"GET", "/metrics", []string{"Authorization: Bearer " + strings.Repeat("x", 30_000)}, 401},
		{"GET", "/metrics", []string{"Authorization: Basic OmFsaWNlLTAxMjM0NTY3ODk="}, 200}, // ":" and alice's token
		{"GET", "/?access_token=" + alice, nil, 401},
		{"POST", "/mcp", []string{"Authorization: Basic OmFsaWNlLTAxMjM0NTY3ODk="}, 401},
		{"GET", "/nothing", []string{ok}, 404},
		{"GET", "/healthz", []string{"Host: evil.example"}, 403},
		{"GET", "/healthz", []string{"Host: localhost.evil.example"}, 403},
		{"GET", "/healthz", []string{"Host: 127.0.0.1.evil.example:80"}, 403},
		{"GET", "/healthz", []string{"Host: RUNNER.example:8000"}, 200},
		{"GET", "/healthz", []string{"Host: localhost"}, 200},
		{"GET", "/healthz", []string{"Host: [::1]:9"}, 200},
		{"POST", "/mcp", []string{ok, "Origin: https://evil.example"}, 403},
		{"POST", "/mcp", []string{ok, "Origin: null"}, 403},
		{"POST", "/mcp", []string{ok, "Origin: https://app.example.evil"}, 403},
		{"POST", "/mcp", []string{ok, "Origin: https://app.example"}, 415},
		{"POST", "/mcp", []string{ok, "Origin: " + x.url}, 415},
		{"POST", "/mcp", []string{ok, "Origin: " + strings.Replace(x.url, "127.0.0.1", "localhost", 1)}, 415},
		{"POST", "/mcp", []string{ok, "Origin: " + strings.Replace(x.url, "127.0.0.1", "[::1]", 1)}, 415},
		{"POST", "/mcp", []string{ok, "Origin: http://localhost:1"}, 403},
		{"POST", "/mcp", []string{ok, "Origin: http://127.0.0.1"}, 403},
		{"POST", "/mcp", []string{ok, "Host: runner.example:443", "Origin: https://runner.example"}, 415},
		{"POST", "/mcp", []string{ok, "Host: runner.example", "Origin: http://RUNNER.example:80"}, 415},
		{"POST", "/mcp", []string{ok, "Host: runner.example", "Origin: http://runner.example:81"}, 403},
		{"POST", "/mcp", []string{ok, "Host: runner.example", "Origin: http://localhost"}, 403},
		{"GET", "/metrics", []string{metrics}, 200},
		{"GET", "/status.json", []string{metrics}, 403},
		{"GET", "/", []string{metrics}, 403},
		{"POST", "/mcp", []string{metrics, "Content-Type: application/json"}, 403},
		{"DELETE", "/mcp", []string{metrics}, 403},
		{"OPTIONS", "/mcp", []string{"Origin: https://app.example"}, 204},
		{"OPTIONS", "/mcp", []string{"Origin: https://evil.example"}, 403},
	} {
		answer, text := x.do(row.method, row.path, "", row.headers...)
		if answer.StatusCode != row.status {
			t.Errorf("%s %s %.80q: %d %s, want %d", row.method, row.path, row.headers, answer.StatusCode, text, row.status)
		}
		if strings.Contains(text, alice) || strings.Contains(text, bob) {
			t.Errorf("%s %s shows a token: %s", row.method, row.path, text)
		}
		if answer.StatusCode == 401 && !strings.HasPrefix(answer.Header.Get("WWW-Authenticate"), "Bearer ") {
			t.Errorf("%s %s: WWW-Authenticate %q", row.method, row.path, answer.Header.Get("WWW-Authenticate"))
		}
		if allowed := answer.Header.Get("Access-Control-Allow-Origin"); allowed != "" && allowed != "https://app.example" {
			t.Errorf("%s %s allows %s", row.method, row.path, allowed)
		}
	}
}

// Two clients reach nothing of each other, though they know all names.
func TestClientsAreApart(t *testing.T) {
	dir := t.TempDir()
	x := open(t, leave, func(o *Options) {
		o.Sessions = func(client string) (*session.Store, error) {
			return session.Open(session.Options{Dir: dir, Namespace: client})
		}
	})
	a, b := x.user(alice), x.user(bob)
	var left struct {
		Result struct {
			StructuredContent struct{ Files []struct{ URI string } }
		}
	}
	if text := a.run("secret of alice"); json.Unmarshal([]byte(text), &left) != nil || len(left.Result.StructuredContent.Files) != 1 {
		t.Fatalf("no file: %s", text)
	}
	uri := left.Result.StructuredContent.Files[0].URI
	if text := a.ask("resources/read", map[string]any{"uri": uri}); !strings.Contains(text, "AP8B") {
		t.Errorf("alice cannot read her file: %s", text)
	}
	if text := a.call("write_file", map[string]any{"session": "plan", "path": "a.txt", "text": "secret of alice"}); strings.Contains(text, "isError") {
		t.Fatal(text)
	}
	if text := a.call("sessions", map[string]any{"action": "list"}); !strings.Contains(text, "plan") {
		t.Errorf("alice does not see her session: %s", text)
	}
	file := "runner://sessions/plan/a.txt"
	for name, text := range map[string]string{
		"read a run's file":     b.ask("resources/read", map[string]any{"uri": uri}),
		"read a session's file": b.ask("resources/read", map[string]any{"uri": file}),
		"list resources":        b.ask("resources/list", map[string]any{}),
		"list sessions":         b.call("sessions", map[string]any{"action": "list"}),
		"read_file":             b.call("read_file", map[string]any{"session": "plan", "path": "a.txt"}),
		"read_file above":       b.call("read_file", map[string]any{"session": "../alice/plan", "path": "a.txt"}),
		"write_file of a run":   b.call("write_file", map[string]any{"session": "mine", "path": "a", "uri": uri}),
		"write_file of a file":  b.call("write_file", map[string]any{"session": "mine", "path": "a", "uri": file}),
		"fork":                  b.call("sessions", map[string]any{"action": "fork", "session": "plan", "to": "mine"}),
		"close":                 b.call("sessions", map[string]any{"action": "close", "session": "plan"}),
		"files of a run":        b.call("run_code", map[string]any{"language": "python", "code": "0", "files": []any{map[string]any{"path": "x", "uri": uri}}}),
		"her MCP session as bob": func() string {
			_, text := x.do("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, append(b.headers[:3:3], a.headers[3])...)
			return text
		}(),
	} {
		if strings.Contains(text, "secret") || strings.Contains(text, "AP8B") || strings.Contains(text, "plan is closed") || strings.Contains(text, `"result":{}`) {
			t.Errorf("%s: %s", name, text)
		}
	}
	if text := a.call("read_file", map[string]any{"session": "plan", "path": "a.txt"}); !strings.Contains(text, "secret of alice") {
		t.Errorf("alice lost her file: %s", text)
	}
}

// TestTokensBoundTimeouts: a token, or else the server, says how long programs may take.
func TestTokensBoundTimeouts(t *testing.T) {
	x := open(t, leave, func(o *Options) { o.MaxTimeout, o.Tokens[0].MaxTimeout = 20*time.Second, 5*time.Second })
	for token, most := range map[string]string{alice: "and 5.", bob: "and 20."} {
		if text := x.user(token).call("run_code", map[string]any{"language": "python", "code": "0", "timeout_seconds": 21}); !strings.Contains(text, most) {
			t.Errorf("%s, want %s", text, most)
		}
	}
}

// TestPackagesAreApart: what others had installed, from a private index perhaps, is in
// no list that a client gets.
func TestPackagesAreApart(t *testing.T) {
	run := func(_ context.Context, req runners.Request) (*runners.Outcome, error) {
		return &runners.Outcome{Status: runners.Succeeded, Packages: []runners.Package{
			{Name: req.Code, Version: "1.0", Source: "pypi"}, {Name: "zod", Version: "4.0.0", Source: "npm"}, {Name: "numpy", Version: "2", Source: "pyodide"}}}, nil
	}
	shared := map[string][]string{"python": {"internal-tool 1.0"}}
	x := open(t, run, func(o *Options) {
		o.MCP.Packages = func(context.Context) (map[string][]string, error) { return shared, nil }
		o.MCP.Compiled = func(context.Context) []string { return []string{"internal-tool"} }
		o.MCP.Missing = func(context.Context) []string { return []string{"heavy"} }
	})
	packages := func(u *user) string {
		_, list, _ := strings.Cut(strings.ReplaceAll(u.ask("resources/read", map[string]any{"uri": "runner://environment"}), `\"`, `'`), "'cached_packages':")
		list, _, _ = strings.Cut(list, "}")
		return list + "}"
	}
	a, b := x.user(alice), x.user(bob)
	for _, name := range []string{"six", "attrs", "six"} {
		a.run(name)
	}
	if got, want := packages(a), "{'npm':['zod 4.0.0'],'python':['six 1.0','numpy 2','attrs 1.0']}"; got != want {
		t.Errorf("alice's packages: %s, want %s", got, want)
	}
	if got := packages(b); got != "{}" {
		t.Errorf("bob's packages: %s", got)
	}
	if tools := b.ask("tools/list", nil); strings.Contains(tools, "internal-tool") || !strings.Contains(tools, "Not available: heavy.") {
		t.Errorf("bob's tools: %s", tools)
	}
}

// A run that waits for its client's answer is nobody else's to resume, and ends with the server.
func TestQuestionsAreApart(t *testing.T) {
	ended := make(chan error, 1)
	x := open(t, func(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
		_, err := req.Ask(ctx, "a.example", 443)
		ended <- err
		return &runners.Outcome{Status: runners.Cancelled}, nil
	}, func(o *Options) { o.MCP.Ask = true })
	call := func(token, more string) string {
		const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}`
		_, text := x.do("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_code","arguments":{"code":"1","language":"python"},`+meta+more+`}}`,
			"Authorization: Bearer "+token, "Content-Type: application/json", "Accept: application/json", "Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: run_code")
		return text
	}
	var question struct{ Result struct{ RequestState string } }
	if text := call(alice, ""); json.Unmarshal([]byte(text), &question) != nil || question.Result.RequestState == "" {
		t.Fatalf("no question: %s", text)
	}
	if text := call(bob, fmt.Sprintf(`,"requestState":%q,"inputResponses":{"connect":{"action":"accept"}}`, question.Result.RequestState)); !strings.Contains(text, "another server has it") {
		t.Errorf("bob answers for alice: %s", text)
	}
	if err := x.stop(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil {
		t.Error("the run goes on with an answer")
	}
}

// Calls in progress end by themselves when the server does, up to a limit.
func TestDrain(t *testing.T) {
	for _, patient := range []bool{true, false} {
		started, finish := make(chan bool), make(chan bool)
		x := open(t, func(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
			close(started)
			select {
			case <-finish:
				return leave(ctx, req)
			case <-ctx.Done():
				return &runners.Outcome{Status: runners.Cancelled}, nil
			}
		}, func(o *Options) {
			if o.Drain = time.Minute; !patient {
				o.Drain = 0
			}
		})
		u := x.user(alice)
		if answer, _ := x.do("GET", "/readyz", ""); answer.StatusCode != http.StatusOK {
			t.Errorf("readyz: %d", answer.StatusCode)
		}
		got, ended := make(chan string, 1), make(chan error, 1)
		go func() { got <- u.run("answer") }()
		<-started
		go func() { ended <- x.stop() }()
		if patient {
			for { // until no more calls are taken
				answer, text := x.do("POST", "/mcp", `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`, u.headers...)
				if answer.StatusCode == http.StatusOK {
					continue
				}
				if wait := answer.Header.Get("Retry-After"); answer.StatusCode != 503 || wait == "" || wait == "0" || !answer.Close {
					t.Errorf("while it ends: %d, Retry-After %q, %s", answer.StatusCode, wait, text)
				}
				break
			}
			if answer, _ := x.do("GET", "/readyz", ""); answer.StatusCode != 503 {
				t.Errorf("readyz while it ends: %d", answer.StatusCode)
			}
			if answer, text := x.do("POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}`, u.headers...); answer.StatusCode != http.StatusAccepted {
				t.Errorf("what belongs to a call in progress: %d %s", answer.StatusCode, text)
			}
			close(finish)
		}
		text := <-got
		if strings.Contains(text, "answer") != patient {
			t.Errorf("patient %v: %s", patient, text)
		}
		if err := <-ended; err != nil {
			t.Errorf("patient %v: %v", patient, err)
		}
	}
}

// Other addresses than loopback need TLS, or somebody who says that a proxy has it.
func TestPlaintext(t *testing.T) {
	o := Options{Addr: "0.0.0.0:0", Tokens: []Token{{Client: "alice", Secret: alice}}, MCP: server.Config{Runners: map[runners.Language]runners.Runner{runners.Python: runFunc(leave)}}}
	if s, err := Listen(t.Context(), o); err == nil || !strings.Contains(err.Error(), "--tls-cert") {
		t.Errorf("Listen = %v, %v", s, err)
	}
	o.Plaintext = true
	s, err := Listen(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	s.listener.Close()
	o.Tokens = nil
	if _, err := Listen(t.Context(), o); err == nil {
		t.Error("a server without tokens listens")
	}
}

// Who sends headers slowly is cut off; who sends none keeps nobody else from being served.
func TestManyConnections(t *testing.T) {
	x := open(t, leave, nil)
	var slow []net.Conn
	for i := range 200 {
		c, err := net.Dial("tcp", strings.TrimPrefix(x.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if i%2 == 0 {
			fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: local")
			slow = append(slow, c)
		} else {
			fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n")
			if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, "401") {
				t.Errorf("without a token: %q, %v", line, err)
			}
		}
	}
	check, err := net.Dial("tcp", strings.TrimPrefix(x.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer check.Close()
	fmt.Fprintf(check, "GET /readyz HTTP/1.0\r\n\r\n") // as HAProxy asks
	if line, err := bufio.NewReader(check).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Errorf("without Host: %q, %v", line, err)
	}
	if text := x.user(alice).run("served"); !strings.Contains(text, "served") {
		t.Error(text)
	}
	if os.Getenv("CODERUNNER_LONG") == "" {
		return
	}
	for _, c := range slow {
		_ = c.SetReadDeadline(time.Now().Add(2 * headerTime))
		if _, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal("who sends headers slowly is not cut off")
		}
	}
}

// Nobody ends, or hears of, a call of another client or of another session: by its id, its
// session, its progress token or an answer to what it asks.
func TestCallsAreApart(t *testing.T) {
	begun, goOn := make(chan bool), make(chan bool)
	x := open(t, func(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
		if req.Code != "wait" {
			return &runners.Outcome{Status: runners.Succeeded, Stdout: "other"}, nil
		}
		req.Printed([]byte("secret of alice\n"))
		begun <- true
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		return &runners.Outcome{Status: runners.Succeeded, Stdout: fmt.Sprint("ended ", ctx.Err())}, nil
	}, nil)
	a, again, b := x.user(alice), x.user(alice), x.user(bob)
	answer := make(chan string, 1)
	call := func(code string) string {
		return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"run_code","arguments":{"language":"python","code":"` + code + `"},"_meta":{"progressToken":"p"}}}`
	}
	go func() {
		_, text := x.do("POST", "/mcp", call("wait"), a.headers...)
		answer <- text
	}()
	<-begun
	hers := append(b.headers[:3:3], a.headers[3]) // her session with bob's token
	for _, headers := range [][]string{b.headers, again.headers, hers} {
		for _, body := range []string{
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`,
			`{"jsonrpc":"2.0","id":7,"result":{"action":"accept"}}`,
			call("other"),
		} {
			if _, text := x.do("POST", "/mcp", body, headers...); strings.Contains(text, "secret") || strings.Contains(text, "ended") {
				t.Errorf("%s: %s", body, text)
			}
		}
	}
	if answer, _ := x.do("DELETE", "/mcp", "", hers...); answer.StatusCode != http.StatusNotFound {
		t.Errorf("bob ends her session: %d", answer.StatusCode)
	}
	goOn <- true
	if text := <-answer; !strings.Contains(text, `ended \u003cnil`) {
		t.Errorf("her call: %s", text)
	}
}
