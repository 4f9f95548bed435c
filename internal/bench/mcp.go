package main

import (
	"context"
	"encoding/json"
	"fmt"
)

// server is a coderunner that serves MCP over stdio, and a client's side of
// the little that is needed of the protocol.
type server struct {
	talk *talk
	last int // id
}

type request struct {
	Version string `json:"jsonrpc"`
	ID      int    `json:"id,omitempty"` // none: a notification
	Method  string `json:"method"`
	Params  any    `json:"params,omitempty"`
}

type object = map[string]any

// serve starts a server and shakes hands. The caller closes its talk.
func serve(ctx context.Context, coderunner command) (*server, error) {
	t, err := coderunner.with("serve").talk()
	if err != nil {
		return nil, err
	}
	s := &server{talk: t}
	err = s.call(ctx, "initialize", object{
		"protocolVersion": "2025-06-18",
		"capabilities":    object{},
		"clientInfo":      object{"name": "bench", "version": "1"},
	}, nil)
	if err == nil {
		err = t.ask(ctx, request{Version: "2.0", Method: "notifications/initialized"}, nil)
	}
	if err != nil {
		t.close()
		return nil, err
	}
	return s, nil
}

// call decodes a request's result into result, unless that is nil.
func (s *server) call(ctx context.Context, method string, params, result any) error {
	s.last++
	id := s.last
	err := s.talk.ask(ctx, request{Version: "2.0", ID: id, Method: method, Params: params}, func(line []byte) (bool, error) {
		var message struct {
			ID     json.RawMessage
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if err := json.Unmarshal(line, &message); err != nil {
			return true, fmt.Errorf("no JSON-RPC on stdout: %w", err)
		}
		switch {
		case string(message.ID) != fmt.Sprint(id):
			return false, nil // a notification, or an answer that came too late
		case message.Error != nil:
			return true, fmt.Errorf("%s", message.Error.Message)
		case result == nil:
			return true, nil
		}
		return true, json.Unmarshal(message.Result, result)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// runCode calls the tool and gives what the program printed and the text of
// its last expression's value.
func (s *server) runCode(ctx context.Context, language, code string) (said, error) {
	var result toolResult
	if err := s.call(ctx, "tools/call", runCodeParams(language, code), &result); err != nil {
		return said{}, err
	}
	return result.said()
}

func runCodeParams(language, code string) object {
	return object{"name": "run_code", "arguments": object{"language": language, "code": code, "timeout_seconds": 60}}
}

// toolResult is the part of a tool's result that is looked at.
type toolResult struct {
	StructuredContent struct {
		Status, Stdout string
		Result         *struct{ Text string }
		Error          *struct{ Type, Message string }
	}
	Content []struct{ Text string }
}

// said is what the program came to, if it succeeded.
func (r toolResult) said() (said, error) {
	out := r.StructuredContent
	if out.Status != "succeeded" {
		why := out.Status
		if out.Error != nil {
			why += ": " + out.Error.Type + ": " + out.Error.Message
		} else if len(r.Content) > 0 {
			why += lastLine(r.Content[0].Text)
		}
		return said{}, fmt.Errorf("run_code: %s", why)
	}
	answer := said{Stdout: out.Stdout}
	if out.Result != nil {
		answer.Result = out.Result.Text
	}
	return answer, nil
}

// said is what came of a program.
type said struct{ Stdout, Result string }

// check compares with the expected; what is empty there does not matter.
func (s said) check(want said) error {
	if want.Stdout != "" && s.Stdout != want.Stdout {
		return fmt.Errorf("%w: printed %.80q, want %.80q", errWrong, s.Stdout, want.Stdout)
	}
	if want.Result != "" && s.Result != want.Result {
		return fmt.Errorf("%w: result %.80q, want %.80q", errWrong, s.Result, want.Result)
	}
	return nil
}
