package server

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"coderunner/runners"
)

// TestDrainTells has a call in progress told that the server is ending, and refuses others
// while it goes on to its end.
func TestDrainTells(t *testing.T) {
	begun, goOn := make(chan bool), make(chan bool)
	s := newServer(t, Config{Runners: allLanguages(runFunc(func(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
		close(begun)
		<-goOn
		return echo(ctx, req)
	}))})
	c := serveWeb(t, s)
	c.hello()
	answer := make(chan *http.Response)
	go func() {
		answer <- c.post(t.Context(), strings.Replace(callLine("1", "whole"), `"params":{`, `"params":{"_meta":{"progressToken":"p"},`, 1))
	}()
	<-begun
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	s.Drain(ctx)
	body := bufio.NewReader((<-answer).Body)
	for line := ""; !strings.Contains(line, "the server is ending: this call is cancelled in 35"); {
		var err error
		if line, err = body.ReadString('\n'); err != nil {
			t.Fatalf("%q, %v", line, err)
		}
	}
	refused := c.post(t.Context(), `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	if wait := refused.Header.Get("Retry-After"); refused.StatusCode != http.StatusServiceUnavailable || wait != "3600" {
		t.Errorf("another request: %s, Retry-After %q", refused.Status, wait)
	}
	if status, _ := c.text(c.post(t.Context(), `{"jsonrpc":"2.0","id":7,"result":{}}`)); status != http.StatusAccepted {
		t.Errorf("an answer to a question: %d", status)
	}
	close(goOn)
	for line := ""; !strings.Contains(line, "whole"); {
		var err error
		if line, err = body.ReadString('\n'); err != nil {
			t.Fatalf("%q, %v", line, err)
		}
	}
}

// TestMaxTimeout refuses calls that ask for more time than their client may have, and says
// what it may have.
func TestMaxTimeout(t *testing.T) {
	var limit time.Duration
	s := newServer(t, Config{Limits: runners.Limits{MaxTimeout: 10 * time.Second}, Runners: allLanguages(runFunc(func(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
		limit = req.Limits.Timeout
		return &runners.Outcome{Status: runners.TimedOut}, nil
	}))})
	c := serveWeb(t, s)
	c.hello()
	call := func(more string) string {
		_, text := c.text(c.post(t.Context(), strings.Replace(callLine("1", "x"), `"arguments":{`, `"arguments":{`+more, 1)))
		return text
	}
	if text := call(`"timeout_seconds":11,`); !strings.Contains(text, "between 0.001 and 10") || limit != 0 {
		t.Errorf("%s, and it ran within %v", text, limit)
	}
	for more, want := range map[string]time.Duration{"": 10 * time.Second, `"timeout_seconds":2,`: 2 * time.Second} {
		if text := call(more); limit != want || !strings.Contains(text, "at most 10") {
			t.Errorf("it ran within %v, want %v: %s", limit, want, text)
		}
	}
	if _, text := c.text(c.post(t.Context(), `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)); !strings.Contains(text, `"maximum":10`) {
		t.Errorf("the schema: %s", text)
	}
}
