package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"coderunner/internal/session"
)

// extraTool is one of the tools beside run_code.
type extraTool struct {
	name, title, description string
	properties               object
	required                 []string
	readOnly, idempotent     bool
	do                       func(context.Context, *arguments) (*mcp.CallToolResult, error)
}

// described is a string argument.
func described(text string) object { return object{"type": "string", "description": text} }

// call checks the arguments' names and does what a tool does. Whatever a model
// should see is a result.
func (s *Server) call(ctx context.Context, t extraTool) *mcp.CallToolResult {
	p := paramsFrom(ctx)
	a := &arguments{raw: p.Arguments, data: s.data, err: p.badArguments}
	a.only(t.properties)
	for _, name := range t.required {
		if a.get(name) == nil {
			a.fail(name, "is missing.")
		}
	}
	result, err := t.do(ctx, a)
	if err = errors.Join(a.err, err); err != nil {
		return s.failure(ctx, t.name, err)
	}
	return result
}

func textBlock(format string, args ...any) *mcp.CallToolResult {
	return mcp.NewToolResultText(fmt.Sprintf(format, args...))
}

// sessionActions are the values of the argument action.
var sessionActions = []string{"list", "history", "fork", "rewind", "reset", "close"}

func (s *Server) sessionsTool() extraTool {
	t := extraTool{
		name: "sessions", title: "Sessions",
		description: "Looks after the sessions that run_code's `session` makes. list: all sessions, with the variables, files, age and size of each. history: the states of one, a state after each call that changed it. fork: copy `session` to the new name `to`, at once, to try something without touching the original. rewind: go back to `state`, variables and files; what came later stays in the history. reset: empty it. close: remove it for good.",
		required:    []string{"action"},
		properties: object{
			"action":  object{"type": "string", "enum": sessionActions},
			"session": described("Its name; needed for all but list."),
			"to":      described("fork: the name of the copy."),
			"state":   object{"type": "integer", "minimum": 1, "description": "rewind: the state's number. fork: the state to copy, if not the newest."},
		},
		do: s.doSessions,
	}
	if s.config.Tools != nil {
		t.description += " approve, reject: decide about the calls that its program waits with (status paused); it goes on, and this returns how it ended."
		t.properties["action"] = object{"type": "string", "enum": append(sessionActions, decisions...)}
		t.properties["call"] = object{"type": "integer", "minimum": 1, "description": "approve, reject: which of several calls; all, if not given."}
		t.properties["arguments"] = object{"type": "object", "description": "approve: other arguments for the call."}
	}
	return t
}

// decisions are the actions about a program that waits for consent.
var decisions = []string{"approve", "reject"}

func (s *Server) doSessions(ctx context.Context, a *arguments) (*mcp.CallToolResult, error) {
	if s.config.Tools != nil && slices.Contains(decisions, a.text("action")) {
		return s.decide(ctx, a)
	}
	action, name, to, state := a.text("action"), a.text("session"), a.text("to"), a.integer("state")
	if !slices.Contains(sessionActions, action) {
		a.fail("action", "must be one of %s.", strings.Join(sessionActions, ", "))
	}
	if action == "rewind" && state == 0 {
		a.fail("state", "is missing: set it to the number of a state; history lists them.")
	}
	if a.err != nil {
		return nil, a.err
	}
	switch action {
	case "list":
		list, err := s.config.Sessions.List(ctx)
		if len(list) == 0 {
			return textBlock("There are no sessions. run_code with a new name as `session` makes one."), err
		}
		return textBlock("%s", session.ListText(list)), err
	case "history":
		info, err := s.config.Sessions.Describe(name)
		return textBlock("%s", session.HistoryText(info)), err
	case "fork":
		return textBlock("%s is a copy of %s.", to, name), s.config.Sessions.Fork(ctx, name, to, state)
	case "rewind":
		n, err := s.config.Sessions.Rewind(ctx, name, state)
		return textBlock("%s is as it was at state %d; this is state %d.", name, state, n), err
	case "reset":
		return textBlock("%s is empty.", name), s.config.Sessions.Reset(ctx, name)
	}
	return textBlock("%s is closed.", name), s.config.Sessions.Close(ctx, name)
}
