package server

import (
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

// asksMeta is the _meta of a request of revision 2026-07-28 whose client can ask.
var asksMeta = strings.Replace(modernMeta, `Capabilities":{}`, `Capabilities":{"elicitation":{}}`, 1)

// modernCall calls run_code in revision 2026-07-28, with more parameters.
func modernCall(id, code, more string) string {
	return strings.TrimSuffix(callLine(id, code), "}}") + "," + asksMeta + more + "}}"
}

// stateOf returns the state that a question came with.
func stateOf(t *testing.T, line string) string {
	t.Helper()
	var m struct {
		Result struct {
			ResultType, RequestState string
			InputRequests            map[string]struct {
				Method string
				Params struct{ Message string }
			}
		}
	}
	err := json.Unmarshal([]byte(line), &m)
	q := m.Result.InputRequests[connectKey]
	if err != nil || m.Result.ResultType != "input_required" || len(m.Result.RequestState) < 26 || len(m.Result.InputRequests) != 1 || q.Method != "elicitation/create" ||
		q.Params.Message != `A program wants to connect to "a.example" at port 443. Allow it for this run?` {
		t.Fatalf("not the question: %s, %v", line, err)
	}
	return m.Result.RequestState
}

// answering are the parameters of a call that brings an answer.
func answering(state, response string) string {
	return fmt.Sprintf(`,"requestState":%q,"inputResponses":{%s}`, state, response)
}

const accepts = `"connect":{"action":"accept","content":{}}`

func TestDialogue(t *testing.T) {
	c := connect(t, newServer(t, Config{Runners: allLanguages(runFunc(askUser)), Ask: true}))
	defer c.end()
	for response, want := range map[string]string{
		accepts:                           "allow true, <nil>",
		`"connect":{"action":"decline"}`:  "allow false, <nil>",
		`"connect":{"action":"cancel"}`:   errNoAnswer.Error(),
		`"connect":{"action":["accept"]}`: "cannot ask",
		`"connect":["accept"],"other":1`:  "cannot ask",
		`"connect":null`:                  errNoAnswer.Error(),
	} {
		c.send(modernCall("1", "a.example", ""))
		state := stateOf(t, c.receive().line)
		c.send(modernCall("2", "b.example", answering(state, accepts)))
		if m := c.receive(); !m.Result.IsError || !strings.Contains(m.text(), "the arguments are not those of its call") {
			t.Errorf("other arguments: %s", m.line)
		}
		c.send(modernCall("3", "a.example", answering(state, `"other":{"action":"accept"}`)))
		again := stateOf(t, c.receive().line)
		c.send(modernCall("4", "a.example", answering(again, response)))
		if m := c.receive(); !strings.Contains(m.text(), want) {
			t.Errorf("%s: %s, want %s", response, m.line, want)
		}
		for _, used := range []string{state, again} {
			c.send(modernCall("5", "a.example", answering(used, accepts)))
			if m := c.receive(); !m.Result.IsError || !strings.Contains(m.text(), "another server has it") {
				t.Errorf("a state is used again: %s", m.line)
			}
		}
	}
	for _, state := range []string{`5`, `{}`, `""`, `"guessed"`} {
		c.send(modernCall("6", "a.example", `,"requestState":`+state))
		if m := c.receive(); !m.Result.IsError || !strings.Contains(m.text(), "another server has it") {
			t.Errorf("state %s: %s", state, m.line)
		}
	}
	c.send(strings.Replace(modernCall("7", "a.example", ""), `{"elicitation":{}}`, `{}`, 1))
	if m := c.receive(); !strings.Contains(m.text(), "nobody to ask") {
		t.Errorf("a client that cannot ask: %s", m.line)
	}
}

// A run whose question nobody answers is cancelled, and so is one whose client goes, or
// cancels the call that brought an answer. Each has one place of those for parked runs.
func TestDialogueEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 9)
		c := connect(t, newServer(t, Config{Ask: true, Concurrency: 3, Runners: allLanguages(runFunc(func(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
			allow, err := req.Ask(ctx, req.Code, 443)
			if !allow {
				ended <- err
				return &runners.Outcome{Status: runners.Cancelled}, nil
			}
			req.Printed([]byte("allowed\n"))
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return &runners.Outcome{Status: runners.Cancelled}, nil
		}))}))
		withToken := func(id, token, more string) string {
			return strings.Replace(modernCall(id, "a.example", more), `"_meta":{`, `"_meta":{"progressToken":"`+token+`",`, 1)
		}
		begun := time.Now()
		c.send(modernCall("1", "a.example", ""))
		state := stateOf(t, c.receive().line)
		if err := <-ended; !errors.Is(err, errNoAnswer) || time.Since(begun) != askTime {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		synctest.Wait()
		c.send(modernCall("2", "a.example", answering(state, accepts)))
		if m := c.receive(); !strings.Contains(m.text(), "it was open for over 2m0s") {
			t.Errorf("%s", m.line)
		}

		c.send(withToken("3", "first", ""))
		state = stateOf(t, c.receive().line)
		c.send(withToken("4", "second", answering(state, accepts)))
		if m := c.receive(); string(m.Params.ProgressToken) != `"second"` || m.Params.Message != "allowed" {
			t.Errorf("progress: %s", m.line)
		}
		c.send(cancelLine("4"))
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}

		for _, id := range []string{"5", "6"} {
			c.send(modernCall(id, "a.example", ""))
			stateOf(t, c.receive().line)
		}
		c.send(modernCall("7", "a.example", ""))
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "too many questions") {
			t.Error(err)
		}
		c.receive()
		c.end()
		for range 2 {
			if err := <-ended; !errors.Is(err, errGone) && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	})
}

// Over HTTP a client needs no stream for its questions, and another's server, here or
// behind the same load balancer, does not know the state.
func TestDialogueOverHTTP(t *testing.T) {
	one, two := newServer(t, Config{Ask: true, Runners: allLanguages(runFunc(askUser))}), newServer(t, Config{Ask: true, Runners: allLanguages(runFunc(askUser))})
	t.Cleanup(one.Forget)
	c, other := serveWeb(t, one), serveWeb(t, two)
	call := func(c *web, more string) string {
		status, text := c.text(c.post(t.Context(), modernCall("1", "a.example", more), "Accept: application/json",
			"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: run_code"))
		if status != http.StatusOK {
			t.Errorf("%d", status)
		}
		return text
	}
	state := stateOf(t, call(c, ""))
	if text := call(other, answering(state, accepts)); !strings.Contains(text, "another server has it") {
		t.Error(text)
	}
	if !one.Waits() || two.Waits() {
		t.Error("the run does not wait")
	}
	if text := call(c, answering(state, accepts)); !strings.Contains(text, `allow true, \u003cnil`) || one.Waits() {
		t.Error(text)
	}
	stateOf(t, call(c, "")) // Forget ends it
}
