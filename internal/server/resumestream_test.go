package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"
	"weak"

	"coderunner/internal/session"
	"coderunner/runners"
)

// dropping is a server whose programs print, wait until they may go on, and leave a state.
type dropping struct {
	*web
	s     *Server
	begun chan bool
	goOn  chan bool
	ended chan error  // the error of the call's context
	drops atomic.Bool // a call that goes on has no connection
}

func newDropping(t *testing.T) *dropping {
	store, err := session.Open(session.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	d := &dropping{begun: make(chan bool), goOn: make(chan bool), ended: make(chan error, 9)}
	run := func(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
		if req.Printed != nil {
			req.Printed([]byte("half\n"))
		}
		d.begun <- true
		select {
		case <-d.goOn:
		case <-ctx.Done():
			d.ended <- ctx.Err()
			return &runners.Outcome{Status: runners.Cancelled}, nil
		}
		for d.drops.Load() && !ctx.Value(deliveryKey{}).(*delivery).lost.Load() { // until the server has noticed
			runtime.Gosched()
		}
		d.ended <- nil
		o := &runners.Outcome{Status: runners.Succeeded, Stdout: "whole of " + req.Code}
		if req.Session != nil {
			if _, err := req.Session.Leave(fstest.MapFS{}, runners.File{}); err != nil {
				return nil, err
			}
			o.Continued = &runners.Continued{Origin: runners.OriginFresh, Kept: true}
		}
		return o, nil
	}
	d.s = newServer(t, Config{Sessions: store, Concurrency: 4, Runners: allLanguages(runFunc(run))})
	d.web = serveWeb(t, d.s)
	d.hello()
	return d
}

// call is a call of a session, or of none, with progress.
func (d *dropping) call(id, code, name string) string {
	more := ""
	if name != "" {
		more = `"session":"` + name + `",`
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"_meta":{"progressToken":"p"},"name":"run_code","arguments":{%s"language":"python","code":%q}}}`, id, more, code)
}

// history returns the history of a session.
func (d *dropping) history(name string) string {
	_, text := d.text(d.post(d.t.Context(), `{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"sessions","arguments":{"action":"history","session":"`+name+`"}}}`))
	return text
}

// get asks for the events after one.
func (d *dropping) get(ctx context.Context, id string, headers ...string) *http.Response {
	d.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set(sessionHeader, d.session)
	req.Header.Set("Last-Event-ID", id)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { answer.Body.Close() })
	return answer
}

// TestDroppedCall drops the connections of calls. One of a session goes on to its end, and
// its history has the answer; another is cancelled.
func TestDroppedCall(t *testing.T) {
	d := newDropping(t)
	for id, name := range map[string]string{"7": "plan", "8": ""} {
		ctx, vanish := context.WithCancel(t.Context())
		gone := make(chan bool)
		go func() { d.post(ctx, d.call(id, "n = 1", name)); close(gone) }()
		<-d.begun
		vanish()
		<-gone
		if name == "" {
			if err := <-d.ended; err == nil {
				t.Error("a call of no session goes on")
			}
			continue
		}
		d.drops.Store(true)
		d.goOn <- true
		if err := <-d.ended; err != nil {
			t.Errorf("a session's call ended: %v", err)
		}
		var text string
		for !strings.Contains(text, "python: n = 1") { // until it is saved
			text = d.history(name)
		}
		if !strings.Contains(text, "its answer, which nobody got") || !strings.Contains(text, "whole of n = 1") {
			t.Errorf("the history: %s", text)
		}
	}
	d.drops.Store(false)
	// An answer that came is not in the history.
	answer := make(chan string)
	go func() {
		_, text := d.text(d.post(t.Context(), d.call("9", "m = 2", "plan")))
		answer <- text
	}()
	<-d.begun
	d.goOn <- true
	if text := <-answer; !strings.Contains(text, "whole of m = 2") {
		t.Error(text)
	}
	if text := d.history("plan"); strings.Count(text, "whole of") != 1 {
		t.Errorf("the history: %s", text)
	}
}

// TestResume drops a connection behind its first event, and has the rest by its id: once
// while the call goes on, and again when it has ended. Nobody else has it.
func TestResume(t *testing.T) {
	d := newDropping(t)
	ctx, vanish := context.WithCancel(t.Context())
	got := make(chan *http.Response)
	go func() { got <- d.post(ctx, d.call("8", "n = 1", "plan"), "Mcp-Protocol-Version: 2025-11-25") }()
	<-d.begun
	id := ""
	for body := bufio.NewReader((<-got).Body); id == ""; {
		line, err := body.ReadString('\n')
		if err != nil {
			t.Fatalf("%q, %v", line, err)
		}
		id, _ = strings.CutPrefix(strings.TrimSpace(line), "id: ")
	}
	vanish()
	stranger := *d.web
	stranger.hello()
	for name, answer := range map[string]*http.Response{
		"another session":  d.get(t.Context(), id, sessionHeader+": "+stranger.session),
		"no session":       d.get(t.Context(), id, sessionHeader+": x"),
		"an unknown event": d.get(t.Context(), "x-1"),
		"a later event":    d.get(t.Context(), strings.Split(id, "-")[0]+"-77"),
		"no number":        d.get(t.Context(), id+"x"),
	} {
		if answer.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", name, answer.Status)
		}
	}
	rest := make(chan string)
	answer := d.get(t.Context(), id)
	if kind := answer.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("Content-Type %q", kind)
	}
	go func() {
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Error(err)
		}
		rest <- string(text)
	}()
	d.goOn <- true
	for _, text := range []string{<-rest, readAll(t, d.get(t.Context(), id).Body)} {
		if !strings.Contains(text, `"half"`) || !strings.Contains(text, "whole of n = 1") || strings.Count(text, "id: ") < 2 || strings.Contains(text, "id: "+id+"\n") {
			t.Errorf("resumed: %s", text)
		}
	}
}

func readAll(t *testing.T, r io.Reader) string {
	t.Helper()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// TestDroppedCallEnds cancels a session's call without a connection when the
// server ends, and when its client says so.
func TestDroppedCallEnds(t *testing.T) {
	d := newDropping(t)
	for id, how := range []string{"cancelled", "the server"} {
		id := fmt.Sprint(id)
		ctx, vanish := context.WithCancel(t.Context())
		gone := make(chan bool)
		go func() { d.post(ctx, d.call(id, "1", "plan")); close(gone) }()
		<-d.begun
		vanish()
		<-gone
		if how == "cancelled" {
			d.text(d.post(t.Context(), cancelLine(id)))
		} else {
			over, end := context.WithTimeout(t.Context(), time.Hour)
			d.s.Drain(over)
			end()
		}
		if err := <-d.ended; err == nil {
			t.Errorf("%s: the call goes on", how)
		}
	}
}

// TestReplaysAreBounded keeps the newest events.
func TestReplaysAreBounded(t *testing.T) {
	var r replays
	var first string
	for i := range 100 {
		p := r.begin("s")
		event := r.add(p, strings.Repeat("x", 1<<20), true)
		if id, _, _ := strings.Cut(strings.TrimPrefix(event, "id: "), "\n"); i == 0 {
			first = id
		} else if _, done, _, ok := r.after("s", id); !ok || !done {
			t.Fatal("the newest is not there")
		}
	}
	if _, _, _, ok := r.after("s", first); ok || len(r.list) > maxReplays || r.bytes > maxReplayBytes || r.bytes < maxReplayBytes/2 {
		t.Errorf("%d replays of %d bytes, the first still there: %v", len(r.list), r.bytes, ok)
	}
}

// TestEndedCallsAreForgotten has a server that goes on hold nothing of a session's call that has
// ended.
func TestEndedCallsAreForgotten(t *testing.T) {
	var s Server
	s.ending.over, s.ending.end = context.WithCancel(t.Context())
	defer s.ending.end()
	connection, closed := context.WithCancel(t.Context())
	call, cancel := s.detached(connection)
	held := weak.Make(call.Value(deliveryKey{}).(*delivery))
	cancel()
	closed()
	for range 100 {
		if runtime.GC(); held.Value() == nil {
			return
		}
	}
	t.Error("it is still held")
}
