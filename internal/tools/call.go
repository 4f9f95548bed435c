package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"coderunner/internal/tools/connect"
	"coderunner/internal/tools/gate"
	"coderunner/runners"
)

// maxAsked bounds what a user sees of a call's arguments, in bytes.
const maxAsked = 2000

// audit is the line of the log that each call leaves.
type audit struct {
	server, tool, decision, by string
	arguments                  []byte
	line, bytes                int
	ended                      func(status string) // of its span; nil: there is none
}

// Call is for [runners.Tools].
func (t *Tools) Call(ctx context.Context, call runners.ToolCall) (r *runners.ToolResult, err error) {
	begun := time.Now()
	a := audit{tool: runners.Clip(call.Tool, 200), arguments: call.Arguments, line: call.Line}
	defer func() { t.record(a, begun, err) }()
	if len(call.Arguments) == 0 {
		call.Arguments = []byte("{}")
	}
	if err := t.counts.Call(); err != nil {
		return nil, err
	}
	if err := call.Check(); err != nil {
		return nil, err
	}
	s, each, err := t.find(ctx, call.Tool)
	if err != nil {
		return nil, err
	}
	a.server, a.tool = s.name, each.Native
	if t.run.Span != nil {
		a.ended = t.run.Span(a.server, a.tool)
	}
	if each.decision == gate.Deny {
		a.decision, a.by = "deny", each.by
		return nil, &runners.ToolError{Code: "denied", Message: fmt.Sprintf("%s is denied by the pattern %q of the configuration", each.key(), each.by)}
	}
	if call.Arguments, err = each.checker().Check(call.Arguments); err != nil {
		return nil, err
	}
	pause := t.run.Pause
	if pause != nil {
		if r, err, ok := pause.answered(each.key(), call.Arguments); ok {
			a.decision, a.by = "allow", "journal"
			return r, err
		}
	}
	asked := call.Arguments
	if a.decision, a.by, err = t.decide(ctx, each, &call); err != nil {
		return nil, err
	}
	if err := t.counts.Bytes(len(call.Arguments)); err != nil {
		return nil, err
	}
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if pause != nil {
		answered, ended := pause.send(ctx, each.key(), asked)
		if ended != nil {
			return nil, ended
		}
		defer func() { answered(r, err) }()
	}
	events := connect.Events{Progress: call.Progress}
	if elicit := t.run.Elicit; elicit != nil {
		events.Elicit = func(params json.RawMessage) (json.RawMessage, error) { return elicit(ctx, s.name, params) }
	}
	if r, err = s.conn.Call(ctx, each.native, call.Arguments, events); err != nil {
		return nil, err
	}
	a.bytes = r.Size()
	if err := t.counts.Bytes(a.bytes); err != nil {
		return nil, err
	}
	if each.native.Output == nil {
		s.learn(each.Name, r)
	}
	return r, nil
}

// decide returns who has allowed a call that is not denied to all; the error is that nobody did.
func (t *Tools) decide(ctx context.Context, each *tool, call *runners.ToolCall) (decision, by string, err error) {
	denied := func(by, format string, args ...any) (string, string, error) {
		return "deny", by, &runners.ToolError{Code: "denied", Message: each.key() + " " + fmt.Sprintf(format, args...)}
	}
	hint := fmt.Sprintf(`"coderunner": {"allow": [%q]} in the file of the servers allows it`, each.key())
	if each.decision == gate.Allow {
		return "allow", each.by, nil
	}
	pause := t.run.Pause
	decided, arguments := pause.decision(each.key(), call.Arguments)
	switch {
	case decided == "reject":
		return denied("user", "was refused by the user")
	case decided == "approve":
		call.Arguments, err = each.checker().Check(arguments)
		return "allow", "user", err
	case t.run.Ask == nil && pause == nil:
		return denied("nobody to ask", "needs a user's consent, and nobody can be asked here; %s, and a program that run_code or coderunner run has in a session waits for consent", hint)
	case t.run.Ask == nil:
		if err = pause.wait(ctx, *call, each.key()); ctx.Err() != nil || parks(err) {
			return "pause", "nobody to ask", err
		}
		return denied("nobody to ask", "needs a user's consent: %v; %s", err, hint)
	}
	select {
	case t.asking <- struct{}{}:
		defer func() { <-t.asking }()
	case <-ctx.Done():
		return "deny", "nobody to ask", context.Cause(ctx)
	}
	allow, known := t.decided[each.key()]
	if !known {
		var always bool
		allow, always, err = t.run.Ask(ctx, Question{
			Server: each.Server, Tool: each.Name, Arguments: runners.Clip(t.set.options.Secrets.Redact(string(call.Arguments)), maxAsked), Line: call.Line,
		})
		if err != nil && pause != nil && ctx.Err() == nil {
			if wait := pause.wait(ctx, *call, each.key()); ctx.Err() != nil || parks(wait) {
				return "pause", "no answer", wait
			}
		}
		if err != nil {
			return denied("no answer", "needs a user's consent: %v; %s", err, hint)
		}
		if always {
			t.decided[each.key()] = allow
		}
	}
	if !allow {
		return denied("user", "was refused by the user")
	}
	return "allow", "user", nil
}

// parks reports whether the program is to be parked.
func parks(err error) bool {
	e, ok := errors.AsType[*runners.ToolError](err)
	return ok && e.Code == runners.Parks
}

// enter takes a place among the calls of the server, whose context it returns: a call may
// take so long.
func (s *server) enter(ctx context.Context) (_ context.Context, leave func(), err error) {
	select {
	case s.places <- struct{}{}:
		ctx, cancel := context.WithTimeout(ctx, s.gate.Time())
		return ctx, func() { cancel(); <-s.places }, nil
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
}

// Read is for [runners.Tools]. It changes nothing, so it is allowed, unless all of the
// server's tools are denied.
func (t *Tools) Read(ctx context.Context, name, uri string) (r *runners.ToolResult, err error) {
	begun := time.Now()
	a := audit{server: runners.Clip(name, 200), tool: "resources/read", arguments: []byte(uri), decision: "allow", by: "resource"}
	defer func() { t.record(a, begun, err) }()
	if err := t.counts.Call(); err != nil {
		return nil, err
	}
	if err := runners.CheckURI(uri); err != nil {
		return nil, err
	}
	s, err := t.set.server(t.run.Client, name)
	if err != nil {
		return nil, err
	}
	a.server = s.name
	if d, by := s.gate.Decide([]string{s.name + ".resources/read", s.conn.Name + ".resources/read"}, true); d == gate.Deny {
		a.decision, a.by = "deny", by
		return nil, &runners.ToolError{Code: "denied", Message: fmt.Sprintf("resources of %s are denied by the pattern %q of the configuration", s.name, by)}
	}
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if r, err = s.conn.Read(ctx, uri); err == nil {
		a.bytes = r.Size()
		err = t.counts.Bytes(a.bytes)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// record writes the line of the log. It has no argument and no word of a result.
func (t *Tools) record(a audit, begun time.Time, err error) {
	status := "ok"
	var refused *runners.ToolError
	if errors.As(err, &refused) {
		status = refused.Code
	} else if err != nil {
		status = "cancelled"
	}
	if a.ended != nil {
		a.ended(status)
	}
	sum := sha256.Sum256(a.arguments)
	t.log.Info("tool call", zap.String("server", a.server), zap.String("tool", strings.ToValidUTF8(a.tool, "\uFFFD")), zap.String("arguments", hex.EncodeToString(sum[:8])),
		zap.String("decision", a.decision), zap.String("by", a.by), zap.Int("line", a.line), zap.String("status", status),
		zap.Int64("ms", time.Since(begun).Milliseconds()), zap.Int("bytes", a.bytes))
}
