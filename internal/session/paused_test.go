package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"coderunner/internal/session"
	"coderunner/runners"
)

// wait is a run that is paused with its input as the journal.
func wait(_ context.Context, req runners.Request) (*runners.Outcome, error) {
	text, err := io.ReadAll(req.Stdin)
	return &runners.Outcome{Status: runners.Paused, Journal: json.RawMessage(text)}, err
}

func pauseIn(t *testing.T, s *session.Store, name string) {
	t.Helper()
	req := runners.Request{
		Language: runners.Python, Code: "wait", Args: []string{"a"}, Stdin: bytes.NewBufferString(`"in"`),
		Files: []runners.File{{Path: "f", Data: []byte{0xff}}},
	}
	if err := session.Keep(&req); err != nil {
		t.Fatal(err)
	}
	if _, ok := req.Stdin.(*strings.Reader); !ok { // another would not cross to a worker, and the program run in the server
		t.Errorf("the input is a %T", req.Stdin)
	}
	out, err := s.Run(t.Context(), session.Call{Session: name, Request: req}, wait)
	if err != nil || out.Status != runners.Paused || out.Continued.Session != name {
		t.Fatalf("%+v, %v", out, err)
	}
}

// ready is a decision after which a program goes on.
func ready(journal json.RawMessage) (json.RawMessage, bool, error) { return journal, true, nil }

// TestPaused: a program that waits is whole in the session's state, nothing else runs there,
// and it goes on once, on what the session was before it.
func TestPaused(t *testing.T) {
	dir := t.TempDir()
	s := open(t, session.Options{Dir: dir})
	call(t, s, "a", add("x"))
	pauseIn(t, s, "a")
	s = open(t, session.Options{Dir: dir}) // another server
	_, err := s.Run(t.Context(), session.Call{Session: "a", Request: runners.Request{Language: runners.Python, Code: "x"}}, add("y").run)
	refused(t, err, "waits for consent")
	if err := s.Fork(t.Context(), "a", "b", 0); err != nil {
		t.Fatal(err)
	}
	_, err = s.Resume(t.Context(), "b", ready, nil)
	refused(t, err, "No program of the session \"b\" waits")
	_, err = s.Resume(t.Context(), "a", func(json.RawMessage) (json.RawMessage, bool, error) { return nil, false, errors.New("Not so.") }, nil)
	refused(t, err, "Not so.")
	out, err := s.Resume(t.Context(), "a", func(json.RawMessage) (json.RawMessage, bool, error) { return json.RawMessage(`"half"`), false, nil }, nil)
	if out != nil || err != nil {
		t.Errorf("half decided: %v, %v", out, err)
	}
	kept := func(journal json.RawMessage) (json.RawMessage, bool, error) {
		if string(journal) != `"half"` {
			t.Errorf("the journal is %s", journal)
		}
		return ready(journal)
	}
	out, err = s.Resume(t.Context(), "a", kept, func(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
		stdin, _ := io.ReadAll(req.Stdin)
		if string(stdin) != `"in"` || req.Code != "wait" || req.Args[0] != "a" || string(req.Files[0].Data) != "\xff" {
			t.Errorf("goes on with %q, %+v", stdin, req)
		}
		return add("z").run(ctx, req)
	})
	if err != nil || out.Status != runners.Succeeded {
		t.Fatalf("%+v, %v", out, err)
	}
	if got := show(t, s, "a"); !strings.Contains(got, "x") || !strings.Contains(got, "z") {
		t.Errorf("the session has %q", got)
	}
	_, err = s.Resume(t.Context(), "a", ready, nil)
	refused(t, err, "No program")
	call(t, s, "a", add("w"))
	if _, err := s.Rewind(t.Context(), "a", 2); err != nil { // where it waited
		t.Error(err)
	}
}

// TestLostWhileResumed: a program that went on and was lost is not run again, for nobody knows
// what it called.
func TestLostWhileResumed(t *testing.T) {
	s := open(t, session.Options{})
	pauseIn(t, s, "a")
	lost := func(context.Context, runners.Request) (*runners.Outcome, error) {
		return nil, errors.New("killed")
	}
	if _, err := s.Resume(t.Context(), "a", ready, lost); err == nil {
		t.Fatal("no error")
	}
	out, err := s.Resume(t.Context(), "a", ready, lost)
	if err != nil || out.Error == nil || out.Error.Type != "Unknown" {
		t.Errorf("%+v, %v", out, err)
	}
	call(t, s, "a", add("x"))
}
