package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"coderunner/runners"
)

func TestCallOverStdio(t *testing.T) {
	c := connect(t, newServer(t, Config{Runners: allLanguages(runFunc(echo))}))
	defer c.end()
	c.hello()
	c.send(callLine("7", "hi"))
	r := c.receive()
	if string(r.ID) != "7" || r.Result.IsError || r.text() != "stdout:\nhi" {
		t.Errorf("got id %s, text %q, isError %v", r.ID, r.text(), r.Result.IsError)
	}
	if out := r.Result.StructuredContent; out == nil || out.Stdout != "hi" {
		t.Errorf("structuredContent = %+v", out)
	}
}

// Ids come back as they were sent, whatever their type and size.
func TestIDsComeBackUnchanged(t *testing.T) {
	c := connect(t, newServer(t, Config{Runners: allLanguages(runFunc(echo))}))
	defer c.end()
	c.hello()
	for _, id := range []string{"0", "-3", "9007199254740993", "12345678901234567890123", `""`, `"a\"b"`, `"7"`, "1.5"} {
		c.send(callLine(id, "x"))
		if r := c.receive(); string(r.ID) != id {
			t.Errorf("id %s came back as %s", id, r.ID)
		}
	}
}

func TestBadMessages(t *testing.T) {
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	tests := []struct {
		name, line string
		code       int
		id         string
	}{
		{"not JSON", `{"jsonrpc":`, -32700, "null"},
		{"text", `hello`, -32700, "null"},
		{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -32700, "null"},
		{"batch", `[` + ping + `]`, -32600, "null"},
		{"number", `7`, -32600, "null"},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, -32600, "null"},
		{"object id", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600, "null"},
		{"long id", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 2000) + `","method":"ping"}`, -32600, "null"},
		{"method of the wrong type", `{"jsonrpc":"2.0","id":4,"method":5}`, -32600, "4"},
		{"no method", `{"jsonrpc":"2.0","id":4}`, -32600, "4"},
		{"no version", `{"id":4,"method":"ping"}`, -32600, "4"},
		{"unknown method", `{"jsonrpc":"2.0","id":4,"method":"nope"}`, -32601, "4"},
		{"unknown tool", `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"nope"}}`, -32602, "4"},
		{"params of the wrong type", `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":7}`, -32600, "4"},
		{"deep", `{"jsonrpc":"2.0","id":4,"method":"ping","params":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, -32700, "null"},
	}
	c := connect(t, newServer(t, Config{Runners: allLanguages(runFunc(echo))}))
	defer c.end()
	c.hello()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c.send(tt.line)
			r := c.receive()
			if r.Error == nil || r.Error.Code != tt.code || string(r.ID) != tt.id {
				t.Errorf("got %s, want code %d for id %s", r.line, tt.code, tt.id)
			}
			if r.Error != nil && strings.Contains(r.Error.Message, "runtime error") {
				t.Errorf("message shows a panic: %s", r.Error.Message)
			}
		})
	}
	c.send("", "   ", `{"jsonrpc":"2.0","id":9,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/nope"}`, ping)
	if r := c.receive(); string(r.ID) != "1" || r.Error != nil {
		t.Errorf("after lines that want no answer: %s", r.line)
	}
}

func TestCallsBeforeInitialize(t *testing.T) {
	c := connect(t, newServer(t, Config{Runners: allLanguages(runFunc(echo))}))
	defer c.end()
	c.send(callLine("1", "x"))
	if r := c.receive(); r.Error == nil || !strings.Contains(r.Error.Message, "initialize") || string(r.ID) != "1" {
		t.Errorf("call before initialize: %s", r.line)
	}
	c.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	if r := c.receive(); r.Error != nil {
		t.Errorf("ping before initialize: %s", r.line)
	}
	// Revision 2026-07-28 has no handshake.
	c.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"run_code","arguments":{"language":"python","code":"hi"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}}}`)
	if r := c.receive(); r.Error != nil || r.text() != "stdout:\nhi" {
		t.Errorf("call that names its protocol version: %s", r.line)
	}
	// What follows initialize in the same write finds it done.
	c.send(`{"jsonrpc":"2.0","id":4,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		callLine("5", "x"))
	for range 2 {
		if r := c.receive(); r.Error != nil {
			t.Errorf("pipelined: %s", r.line)
		}
	}
}

func TestLineTooLong(t *testing.T) {
	c := connect(t, newServer(t, Config{Runners: allLanguages(runFunc(echo))}))
	defer c.end()
	c.hello()
	go func() {
		chunk := bytes.Repeat([]byte("x"), 1<<20)
		for range maxLine/len(chunk) + 4 {
			c.in.Write(chunk)
		}
		io.WriteString(c.in, "\n"+callLine("2", "after")+"\n")
	}()
	if r := c.receive(); r.Error == nil || r.Error.Code != -32600 || !strings.Contains(r.Error.Message, "32 MiB") {
		t.Errorf("long line: %s", r.line)
	}
	if r := c.receive(); r.text() != "stdout:\nafter" {
		t.Errorf("next line: %s", r.line)
	}
}

func TestCancel(t *testing.T) {
	started, ended := make(chan string, 10), make(chan string, 10)
	s := newServer(t, Config{Runners: allLanguages(untilCancelled(started, ended)), Concurrency: 1})
	c := connect(t, s)
	defer c.end()
	c.hello()
	c.send(callLine("1", "running"))
	<-started
	c.send(callLine("2", "queued"))
	c.send(cancelLine("2"), cancelLine("2"), cancelLine("99"), cancelLine(`{}`), cancelLine("1"), cancelLine("1"))
	if got := <-ended; got != "running" {
		t.Errorf("ended = %s", got)
	}
	// Both in one write: the call may not have begun when its end is read.
	c.send(callLine("3", "third") + "\n" + cancelLine("3"))
	// Nothing is answered for what was cancelled.
	c.send(`{"jsonrpc":"2.0","id":4,"method":"ping"}`)
	if r := c.receive(); string(r.ID) != "4" {
		t.Errorf("got an answer for a cancelled call: %s", r.line)
	}
	leave, err := s.config.Queue.Acquire(t.Context(), "", "stdio", false)
	if err != nil {
		t.Fatal(err)
	}
	leave()
	select {
	case code := <-started:
		if code == "queued" {
			t.Error("a call that was cancelled while it waited was run")
		}
	default:
	}
}

func TestDuplicateID(t *testing.T) {
	started, ended := make(chan string, 1), make(chan string, 1)
	c := connect(t, newServer(t, Config{Runners: allLanguages(untilCancelled(started, ended))}))
	defer c.end()
	c.hello()
	c.send(callLine("1", "first"))
	<-started
	c.send(callLine("1", "second"))
	if r := c.receive(); r.Error == nil || string(r.ID) != "null" {
		t.Errorf("second call: %s", r.line)
	}
	c.send(cancelLine("1"))
	if got := <-ended; got != "first" {
		t.Errorf("ended %s", got)
	}
}

func TestEndOfInputCancels(t *testing.T) {
	started, ended := make(chan string, 1), make(chan string, 1)
	c := connect(t, newServer(t, Config{Runners: allLanguages(untilCancelled(started, ended))}))
	c.hello()
	c.send(callLine("1", "x"))
	<-started
	c.in.Close()
	<-ended
	// A client that has closed its side waits for no answer.
	if line, err := c.out.ReadString('\n'); err == nil {
		t.Errorf("answered after the end of input: %s", line)
	}
	if err := <-c.served; err != nil {
		t.Errorf("ServeStdio = %v, want nil", err)
	}
}

// What was asked before the end of input is answered, unless it is a call.
func TestEndOfInputAnswers(t *testing.T) {
	s := newServer(t, Config{Runners: allLanguages(runFunc(echo))})
	var out bytes.Buffer
	err := s.ServeStdio(t.Context(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}`), &out)
	if lines := strings.Count(out.String(), "\n"); err != nil || lines != 2 || !strings.Contains(out.String(), `"id":2`) {
		t.Errorf("%v, answered %s", err, out.String())
	}
}

// The MCP library does not see the arguments, which it would decode again.
func TestLibraryGetsNoArguments(t *testing.T) {
	m, err := parseMessage([]byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"run_code","_meta":{"progressToken":"t"},"arguments":{"code":"print(1)"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":7,"jsonrpc":"2.0","method":"tools/call","params":{"name":"run_code","_meta":{"progressToken":"t"}}}`
	if string(m.raw) != want || string(m.Params.Arguments["code"]) != `"print(1)"` {
		t.Errorf("the library gets %s", m.raw)
	}
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"` + strings.Repeat("x", maxOther) + `"}}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"a":"` + strings.Repeat("x", maxOther) + `"}}}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[]}`,
	} {
		if _, err := parseMessage([]byte(line)); err == nil {
			t.Errorf("%.100s: no error", line)
		}
	}
}

// A call that does not stop holds the end up for a short time only.
func TestEndDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		stubborn := runFunc(func(context.Context, runners.Request) (*runners.Outcome, error) {
			<-release
			return &runners.Outcome{Status: runners.Cancelled}, nil
		})
		c := connect(t, newServer(t, Config{Runners: allLanguages(stubborn)}))
		c.hello()
		c.send(callLine("1", "x"))
		synctest.Wait()
		begin := time.Now()
		c.in.Close()
		if err := <-c.served; !errors.Is(err, ErrStillRunning) {
			t.Errorf("ServeStdio = %v", err)
		}
		if took := time.Since(begin); took >= time.Second {
			t.Errorf("took %v", took)
		}
		close(release)
		c.outEnd.Close()
	})
}

// A client that cannot be written to has gone.
func TestWriteErrorEnds(t *testing.T) {
	s := newServer(t, Config{Runners: allLanguages(runFunc(echo))})
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	outR.Close()
	served := make(chan error, 1)
	go func() { served <- s.ServeStdio(context.Background(), inR, outW) }()
	io.WriteString(inW, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
	if err := <-served; err != nil {
		t.Errorf("ServeStdio = %v", err)
	}
	inW.Close()
}

func TestLastLineNeedsNoNewline(t *testing.T) {
	s := newServer(t, Config{Runners: allLanguages(runFunc(echo))})
	var out bytes.Buffer
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if err := s.ServeStdio(context.Background(), in, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `"id":1`) {
		t.Errorf("answer = %q", out.String())
	}
}

func TestPlacesAreGivenInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		slow := runFunc(func(_ context.Context, req runners.Request) (*runners.Outcome, error) {
			order = append(order, req.Code) // one at a time
			time.Sleep(time.Second)
			return &runners.Outcome{Status: runners.Succeeded}, nil
		})
		c := connect(t, newServer(t, Config{Runners: allLanguages(slow), Concurrency: 1}))
		c.hello()
		want := []string{"0", "1", "2", "3"}
		for _, id := range want {
			c.send(callLine(id, id))
			synctest.Wait()
		}
		for i := range want {
			r := c.receive()
			if q := r.Result.Meta.Usage.QueueMS; q != int64(i)*1000 {
				t.Errorf("call %d waited %d ms, want %d", i, q, i*1000)
			}
		}
		if !slices.Equal(order, want) {
			t.Errorf("order = %v", order)
		}
		c.end()
	})
}

func TestManyCallsAtOnce(t *testing.T) {
	c := connect(t, newServer(t, Config{Runners: allLanguages(runFunc(echo))}))
	defer c.end()
	c.hello()
	const n = 1000
	go func() {
		for i := range n {
			io.WriteString(c.in, callLine(fmt.Sprint(i), fmt.Sprint("code ", i))+"\n")
		}
	}()
	for range n {
		r := c.receive()
		if want := "stdout:\ncode " + string(r.ID); r.text() != want {
			t.Fatalf("id %s: %q, want %q", r.ID, r.text(), want)
		}
	}
}

// A client that sends more than is ever answered is told, and the rest works.
func TestTooManyPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // a busy machine ends so many calls later than the grace
		started, ended := make(chan string, maxPending), make(chan string, maxPending)
		c := connect(t, newServer(t, Config{Runners: allLanguages(untilCancelled(started, ended)), Concurrency: 1}))
		defer c.end()
		c.hello()
		for i := range maxPending {
			c.send(callLine(fmt.Sprint(i), "x"))
		}
		c.send(callLine(`"more"`, "x"))
		if r := c.receive(); r.Error == nil || r.Error.Code != codeBusy || string(r.ID) != `"more"` {
			t.Errorf("one too many: %s", r.line)
		}
	})
}

func TestPanicsAndErrors(t *testing.T) {
	r := runFunc(func(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
		switch req.Code {
		case "panic":
			panic("secret")
		case "error":
			return nil, errors.New("load runtime: no space")
		case "nothing":
			return nil, nil
		case "request":
			return nil, &runners.RequestError{Argument: "packages", Message: `"packages" must not name git URLs.`}
		case "bad JSON":
			return &runners.Outcome{Status: runners.Succeeded, Result: &runners.Value{Text: "x", JSON: []byte("{")}}, nil
		}
		return echo(ctx, req)
	})
	c := connect(t, newServer(t, Config{Runners: allLanguages(r)}))
	defer c.end()
	c.hello()
	for code, want := range map[string]string{
		"panic":   "fault of the server",
		"error":   "load runtime: no space",
		"nothing": "no outcome",
		"request": `"packages" must not name git URLs.`,
	} {
		c.send(callLine("1", code))
		r := c.receive()
		if !r.Result.IsError || !strings.Contains(r.text(), want) || strings.Contains(r.line, "secret") {
			t.Errorf("%s: %s", code, r.line)
		}
	}
	c.send(callLine("1", "bad JSON"))
	if r := c.receive(); r.Error == nil || r.Error.Code != mcp.INTERNAL_ERROR {
		t.Errorf("a runner that breaks its promise: %s", r.line)
	}
	c.send(callLine("2", "still here"))
	if r := c.receive(); r.text() != "stdout:\nstill here" {
		t.Errorf("after a panic: %s", r.line)
	}
}
