package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"coderunner/runners"
)

// askUser asks about the host that the code is.
func askUser(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
	if req.Ask == nil {
		return &runners.Outcome{Status: runners.Succeeded, Stdout: "nobody to ask"}, nil
	}
	allow, err := req.Ask(ctx, req.Code, 443)
	return &runners.Outcome{Status: runners.Succeeded, Stdout: fmt.Sprintf("allow %v, %v", allow, err)}, nil
}

// asking is a handshake of a client with these capabilities.
func asking(capabilities string) string {
	return `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"clientInfo":{"name":"test","version":"1"}}}`
}

// questionID returns the id of an elicitation/create.
func questionID(t *testing.T, line string) string {
	t.Helper()
	var q struct {
		ID, Method string
		Params     struct{ Message string }
	}
	if err := json.Unmarshal([]byte(line), &q); err != nil || q.Method != "elicitation/create" || q.Params.Message != `A program wants to connect to "a.example" at port 443. Allow it for this run?` {
		t.Fatalf("not the question: %s, %v", line, err)
	}
	return q.ID
}

func TestAsk(t *testing.T) {
	for name, tt := range map[string]struct {
		capabilities string
		off          bool
		answer, want string // "": no question
	}{
		"accept":       {`{"elicitation":{}}`, false, `"result":{"action":"accept","content":{}}`, "allow true, <nil>"},
		"form":         {`{"elicitation":{"form":{},"url":{}}}`, false, `"result":{"action":"decline"}`, "allow false, <nil>"},
		"cancel":       {`{"elicitation":{}}`, false, `"result":{"action":"cancel"}`, "allow false, " + errNoAnswer.Error()},
		"nonsense":     {`{"elicitation":{}}`, false, `"result":{"action":["accept"]}`, "cannot ask"},
		"error":        {`{"elicitation":{}}`, false, `"error":{"code":-32601,"message":"unknown"}`, "cannot ask"},
		"not declared": {`{}`, false, "", "nobody to ask"},
		"only URLs":    {`{"elicitation":{"url":{}}}`, false, "", "nobody to ask"},
		"off":          {`{"elicitation":{}}`, true, "", "nobody to ask"},
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, newServer(t, Config{Runners: allLanguages(runFunc(askUser)), Ask: !tt.off}))
			defer c.end()
			c.send(asking(tt.capabilities))
			c.receive()
			c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
			if told := strings.Contains(c.receive().line, "the user is asked"); told != (tt.answer != "") {
				t.Errorf("the description has the user: %v", told)
			}
			c.send(callLine("1", "a.example"))
			m := c.receive()
			if tt.answer != "" {
				id := questionID(t, m.line)
				c.send(`{"jsonrpc":"2.0","id":"unknown",`+tt.answer+`}`, `{"jsonrpc":"2.0","id":"`+id+`",`+tt.answer+`}`, `{"jsonrpc":"2.0","id":"`+id+`",`+tt.answer+`}`)
				m = c.receive()
			}
			if !strings.Contains(m.text(), tt.want) {
				t.Errorf("%s, want %s", m.line, tt.want)
			}
		})
	}
}

// A question ends when nobody answers it, and with its call; the client hears of it.
func TestAskEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		c := connect(t, newServer(t, Config{Ask: true, Runners: allLanguages(runFunc(func(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
			_, err := req.Ask(context.Background(), req.Code, 443)
			ended <- err
			return &runners.Outcome{Status: runners.Succeeded}, nil
		}))}))
		defer c.end()
		c.send(asking(`{"elicitation":{}}`))
		c.receive()
		begun := time.Now()
		c.send(callLine("1", "a.example"))
		id := questionID(t, c.receive().line)
		if line := c.receive().line; !strings.Contains(line, "notifications/cancelled") || !strings.Contains(line, id) || time.Since(begun) != askTime {
			t.Errorf("after %v: %s", time.Since(begun), line)
		}
		if err := <-ended; !errors.Is(err, errNoAnswer) {
			t.Error(err)
		}
		c.receive()
		c.send(callLine("2", "a.example"))
		id = questionID(t, c.receive().line)
		c.send(cancelLine("2"))
		if line := c.receive().line; !strings.Contains(line, "notifications/cancelled") || !strings.Contains(line, id) {
			t.Error(line)
		}
		<-ended
	})
}

// Over HTTP the question is in the answer to the call, and only its session answers it:
// also one that another server began.
func TestAskOverHTTP(t *testing.T) {
	key := []byte("a key")
	first := serveWeb(t, newServer(t, Config{Ask: true, SessionKey: key, Runners: allLanguages(runFunc(askUser))}))
	answer := first.post(t.Context(), asking(`{"elicitation":{}}`))
	session := answer.Header.Get(sessionHeader)
	first.session = session
	c := serveWeb(t, newServer(t, Config{Ask: true, SessionKey: key, Runners: allLanguages(runFunc(askUser))}))
	other := &web{t: t, url: c.url}
	other.session = other.post(t.Context(), asking(`{"elicitation":{}}`)).Header.Get(sessionHeader)
	c.session = session
	events := bufio.NewScanner(c.post(t.Context(), callLine("1", "a.example")).Body)
	event := func() string {
		for events.Scan() {
			if data, ok := strings.CutPrefix(events.Text(), "data: "); ok {
				return data
			}
		}
		t.Fatal("the stream ends")
		return ""
	}
	id := questionID(t, event())
	for from, action := range map[*web]string{other: "accept", first: "accept"} {
		if status, text := from.text(from.post(t.Context(), `{"jsonrpc":"2.0","id":"`+id+`","result":{"action":"`+action+`"}}`)); status != http.StatusAccepted || text != "" {
			t.Errorf("%d %s", status, text)
		}
	}
	c.text(c.post(t.Context(), `{"jsonrpc":"2.0","id":"`+id+`","result":{"action":"decline"}}`))
	if line := event(); !strings.Contains(line, `allow false, \u003cnil`) {
		t.Errorf("%s", line)
	}
	// Who takes no events cannot be asked.
	if status, text := c.text(c.post(t.Context(), callLine("2", "a.example"), "Accept: application/json")); status != http.StatusOK || !strings.Contains(text, "nobody to ask") {
		t.Errorf("%d %s", status, text)
	}
}
