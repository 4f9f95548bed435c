package server

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"coderunner/runners"
)

// web is a server over HTTP, as one client sees it.
type web struct {
	t       testing.TB
	url     string
	session string
}

func serveWeb(t testing.TB, s *Server) *web {
	front := httptest.NewServer(s)
	t.Cleanup(front.Close)
	return &web{t: t, url: front.URL}
}

// post sends a message with more headers, "Name: value".
func (c *web) post(ctx context.Context, body string, headers ...string) *http.Response {
	c.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		req.Header.Set(sessionHeader, c.session)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		if ctx.Err() == nil {
			c.t.Error(err)
		}
		return nil
	}
	c.t.Cleanup(func() { answer.Body.Close() })
	return answer
}

// text returns the status and the whole body.
func (c *web) text(answer *http.Response) (int, string) {
	c.t.Helper()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		c.t.Error(err)
	}
	return answer.StatusCode, string(body)
}

const helloLine = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"claude-code","version":"1"}}}`

func (c *web) hello() {
	c.t.Helper()
	c.session = ""
	answer := c.post(c.t.Context(), helloLine)
	if status, text := c.text(answer); status != http.StatusOK || answer.Header.Get(sessionHeader) == "" {
		c.t.Fatalf("initialize: %d %s", status, text)
	}
	c.session = answer.Header.Get(sessionHeader)
	if status, text := c.text(c.post(c.t.Context(), `{"jsonrpc":"2.0","method":"notifications/initialized"}`)); status != http.StatusAccepted || text != "" {
		c.t.Fatalf("initialized: %d %s", status, text)
	}
}

// What a request that is none, or not allowed, is answered with.
func TestHTTPRefuses(t *testing.T) {
	c := serveWeb(t, newServer(t, Config{Runners: allLanguages(runFunc(echo))}))
	c.hello()
	modern := func(version string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"` + mcp.MetaKeyProtocolVersion + `":"` + version + `","` + mcp.MetaKeyClientCapabilities + `":{}}}}`
	}
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for _, row := range []struct {
		name, body string
		headers    []string
		status     int
		text       string
	}{
		{"list", list, nil, 200, `"run_code"`},
		{"empty", "", nil, 400, "empty"},
		{"not JSON", `{"jsonrpc":`, nil, 400, "not JSON"},
		{"not UTF-8", "\"\xff\"", nil, 400, "UTF-8"},
		{"batch", "[" + list + "]", nil, 400, "batches"},
		{"deep", strings.Repeat(`[`, 100_000), nil, 400, "not JSON"},
		{"form", list, []string{"Content-Type: text/plain"}, 415, "application/json"},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"nothing"}`, nil, 200, "-32601"},
		{"no session", list, []string{sessionHeader + ": "}, 400, "initialize"},
		{"bad session", list, []string{sessionHeader + ": " + c.session[1:]}, 404, "no such session"},
		{"long session", list, []string{sessionHeader + ": " + strings.Repeat("x", 10_000)}, 404, "no such session"},
		{"unknown version", list, []string{mcp.HeaderProtocolVersion + ": 1999-01-01"}, 400, "1999-01-01"},
		{"modern without headers", modern("2026-07-28"), nil, 400, "-32020"},
		{"modern", modern("2026-07-28"), []string{mcp.HeaderProtocolVersion + ": 2026-07-28", "Mcp-Method: tools/list"}, 200, `"run_code"`},
		{"modern, other method", modern("2026-07-28"), []string{mcp.HeaderProtocolVersion + ": 2026-07-28", "Mcp-Method: ping"}, 400, "-32020"},
		{"modern, other version", modern("2026-07-28"), []string{mcp.HeaderProtocolVersion + ": 2025-11-25", "Mcp-Method: tools/list"}, 400, "-32020"},
		{"modern, resumed", modern("2026-07-28"), []string{mcp.HeaderProtocolVersion + ": 2026-07-28", "Mcp-Method: tools/list", "Last-Event-ID: 1"}, 400, "-32020"},
		{"modern, no name", strings.Replace(callLine("1", "x"), `"params":{`, `"params":{"_meta":{"`+mcp.MetaKeyProtocolVersion+`":"2026-07-28"},`, 1),
			[]string{mcp.HeaderProtocolVersion + ": 2026-07-28", "Mcp-Method: tools/call"}, 400, "-32020"},
		{"header only", list, []string{mcp.HeaderProtocolVersion + ": 2026-07-28"}, 400, "_meta"},
	} {
		if status, text := c.text(c.post(t.Context(), row.body, row.headers...)); status != row.status || !strings.Contains(text, row.text) {
			t.Errorf("%s: %d %.300s, want %d with %q", row.name, status, text, row.status, row.text)
		}
	}
	if status, _ := c.text(c.post(t.Context(), `{"a":"`+strings.Repeat("x", maxLine)+`"}`)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a huge body: %d", status)
	}
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodOptions} {
		req, _ := http.NewRequestWithContext(t.Context(), method, c.url, nil)
		answer, err := http.DefaultClient.Do(req)
		if err != nil || answer.StatusCode != http.StatusMethodNotAllowed || answer.Header.Get("Allow") == "" {
			t.Errorf("%s: %v, %v", method, answer, err)
		}
		answer.Body.Close()
	}
}

// Sessions end when they are ended, are their client's alone, and are taken over by
// any server with the key.
func TestHTTPSessions(t *testing.T) {
	key := []byte("one key for all replicas")
	make := func(client string) *web {
		return serveWeb(t, newServer(t, Config{Client: client, SessionKey: key, Runners: allLanguages(runFunc(echo))}))
	}
	first, replica, other := make("a"), make("a"), make("b")
	first.hello()
	replica.session, other.session = first.session, first.session
	status, text := replica.text(replica.post(t.Context(), callLine("1", "hello")))
	if status != http.StatusOK || !strings.Contains(text, "hello") {
		t.Errorf("at a replica: %d %s", status, text)
	}
	if strings.Contains(text, "structuredContent") {
		t.Errorf("the replica does not know the client's program: %s", text)
	}
	if status, text := other.text(other.post(t.Context(), callLine("1", "hello"))); status != http.StatusNotFound {
		t.Errorf("another client's session: %d %s", status, text)
	}
	for _, want := range []int{http.StatusNoContent, http.StatusNotFound} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodDelete, first.url, nil)
		req.Header.Set(sessionHeader, first.session)
		answer, err := http.DefaultClient.Do(req)
		if err != nil || answer.StatusCode != want {
			t.Errorf("DELETE: %v, %v, want %d", answer, err, want)
		}
		answer.Body.Close()
	}
	if status, _ := first.text(first.post(t.Context(), callLine("1", "hello"))); status != http.StatusNotFound {
		t.Errorf("after its end: %d", status)
	}
}

// Progress comes as events, and the response last.
func TestHTTPProgress(t *testing.T) {
	told := make(chan struct{}) // closed when the client has read the first event
	s := newServer(t, Config{Runners: allLanguages(runFunc(func(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
		req.Printed([]byte("half\n"))
		<-told
		return echo(ctx, req)
	}))})
	c := serveWeb(t, s)
	c.hello()
	answer := c.post(t.Context(), strings.Replace(callLine("1", "whole"), `"params":{`, `"params":{"_meta":{"progressToken":"p"},`, 1))
	if kind := answer.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("Content-Type %q", kind)
	}
	body := bufio.NewReader(answer.Body)
	for line := ""; !strings.HasPrefix(line, "data: "); {
		var err error
		if line, err = body.ReadString('\n'); err != nil || strings.HasPrefix(line, "data: ") && !strings.Contains(line, `"half"`) {
			t.Fatalf("the first event is %q, %v", line, err)
		}
	}
	close(told)
	rest, err := io.ReadAll(body)
	if events := strings.Split(strings.TrimSpace(string(rest)), "\n\n"); err != nil || !strings.Contains(events[len(events)-1], "whole") {
		t.Errorf("events %q, %v", events, err)
	}
	answer = c.post(t.Context(), strings.Replace(callLine("1", "whole"), `"params":{`, `"params":{"_meta":{"progressToken":"p"},`, 1), "Accept: application/json")
	if status, text := c.text(answer); status != http.StatusOK || answer.Header.Get("Content-Type") != "application/json" || !strings.Contains(text, "whole") {
		t.Errorf("without events: %d %s", status, text)
	}
}

// A call ends when its session cancels it or its connection ends, and not when another
// session of the same client names its id.
func TestHTTPCancel(t *testing.T) {
	started, ended := make(chan string, 9), make(chan string, 9)
	c := serveWeb(t, newServer(t, Config{Concurrency: 2, Runners: allLanguages(untilCancelled(started, ended))}))
	c.hello()
	stranger := *c
	stranger.hello()
	done := make(chan int, 1)
	go func() { status, _ := c.text(c.post(t.Context(), callLine("7", "cancelled"))); done <- status }()
	<-started
	stranger.text(stranger.post(t.Context(), cancelLine("7")))
	stranger.text(stranger.post(t.Context(), strings.Replace(cancelLine("7"), `"params":{`, `"params":{"_meta":{"`+mcp.MetaKeyProtocolVersion+`":"2026-07-28"},`, 1),
		mcp.HeaderProtocolVersion+": 2026-07-28", "Mcp-Method: notifications/cancelled"))
	ctx, vanish := context.WithCancel(t.Context())
	gone := make(chan bool)
	go func() { c.post(ctx, callLine("8", "vanished")); close(gone) }()
	<-started
	vanish()
	<-gone
	if got := <-ended; got != "vanished" {
		t.Errorf("%s ended first", got)
	}
	c.text(c.post(t.Context(), cancelLine("7")))
	if got := <-ended; got != "cancelled" {
		t.Errorf("%s ended", got)
	}
	if status := <-done; status != http.StatusAccepted {
		t.Errorf("a cancelled call is answered with %d", status)
	}
}

// An id may be used again once it was answered, and in another session at any time.
func TestHTTPReplayedID(t *testing.T) {
	started, ended := make(chan string, 9), make(chan string, 9)
	c := serveWeb(t, newServer(t, Config{Concurrency: 2, Runners: allLanguages(untilCancelled(started, ended))}))
	c.hello()
	done := make(chan bool)
	go func() { c.text(c.post(t.Context(), callLine("1", "first"))); close(done) }()
	<-started
	if status, text := c.text(c.post(t.Context(), callLine("1", "second"))); status != http.StatusOK || !strings.Contains(text, "in progress") {
		t.Errorf("an id in use: %d %s", status, text)
	}
	c.text(c.post(t.Context(), cancelLine("1")))
	<-done
	if status, text := c.text(c.post(t.Context(), `{"jsonrpc":"2.0","id":1,"method":"ping"}`)); status != http.StatusOK || !strings.Contains(text, `"id":1`) {
		t.Errorf("an id used again: %d %s", status, text)
	}
}

// A client may have only so many bytes of requests in memory.
func TestHTTPBytesInMemory(t *testing.T) {
	s := newServer(t, Config{Runners: allLanguages(runFunc(echo))})
	c := serveWeb(t, s)
	c.hello()
	var open []net.Conn
	for range maxPendingBytes / maxLine {
		conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n")
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "100") { // its body is being read
			t.Fatalf("%q, %v", line, err)
		}
		open = append(open, conn)
	}
	if status, _ := c.text(c.post(t.Context(), callLine("1", "x"))); status != http.StatusTooManyRequests {
		t.Errorf("beside %d bodies that do not come: %d", len(open), status)
	}
	for _, conn := range open {
		conn.Close()
	}
	for { // until the server has noticed
		if status, _ := c.text(c.post(t.Context(), callLine("1", "x"))); status == http.StatusOK {
			break
		}
	}
}

// FuzzHTTP sends bytes as a request. Nothing panics, the status is one of ours, and what is
// JSON is JSON-RPC.
func FuzzHTTP(f *testing.F) {
	s := newServer(f, Config{Runners: allLanguages(runFunc(echo)), Ask: true})
	x := s.newStream(sealed{ID: "x"})
	id := s.streams.seal(x, "")
	f.Add([]byte(helloLine), "", "2025-06-18", "", "")
	f.Add([]byte(callLine("1", "x")), id, "", "", "")
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"`+mcp.MetaKeyProtocolVersion+`":"2026-07-28"}}}`), "", "2026-07-28", "tools/list", "=?base64?eA==?=")
	f.Add([]byte(modernCall("1", "x", answering("a state", accepts))), "", "2026-07-28", "tools/call", "run_code")
	f.Fuzz(func(t *testing.T, body []byte, session, version, method, name string) {
		r := httptest.NewRequest(http.MethodPost, "/mcp", bytes.NewReader(body))
		r.Header = http.Header{"Content-Type": {"application/json"}, sessionHeader: {session}, "Accept": {"text/event-stream"},
			http.CanonicalHeaderKey(mcp.HeaderProtocolVersion): {version}, "Mcp-Method": {method}, "Mcp-Name": {name}}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		switch w.Code {
		case 200, 202, 400, 404, 413:
		default:
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
		if known, ok := s.streams.unseal("", session); ok && session != id && session != "" {
			if w := s.streams.sign("", strings.Split(session, ".")[0]); !strings.HasSuffix(session, w) {
				t.Errorf("%q was believed: %+v", session, known)
			}
		}
	})
}
