package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/zap"

	"coderunner/internal/tools"
	"coderunner/runners"
)

// withAsker returns a context of a request, with the user who can be asked in the
// answer to it. A nil write cannot send requests.
func (s *Server) withAsker(ctx context.Context, c *conn, m *message, write writeFunc) context.Context {
	var a asker
	switch {
	case !s.config.Ask || m.Method != string(mcp.MethodToolsCall):
		return ctx
	case m.modern():
		a = &dialogue{parked: &s.parked, run: s.runIn}
	case write != nil:
		a = &requester{c, write}
	default:
		return ctx
	}
	return context.WithValue(ctx, askerKey{}, a)
}

// askFor sets the Ask of a call's program, if there is a user who can be asked.
func (s *Server) askFor(ctx context.Context, req *runners.Request) {
	ask := s.askUser(ctx, req.Progress)
	if ask == nil {
		return
	}
	req.Ask = func(run context.Context, host string, port uint16) (bool, error) {
		c, err := ask(run, connectKey, fmt.Sprintf("%s:%d", host, port), connectQuestion(host, port))
		s.config.Log.Info("the user was asked", zap.String("host", host), zap.Uint16("port", port), zap.Bool("allow", c.allow), zap.Error(err))
		return c.allow, err
	}
}

// askUser returns what asks the user of a call's client, nil if there is none who can be
// asked. The item is what the progress says of the question.
func (s *Server) askUser(ctx context.Context, progress runners.ProgressFunc) func(run context.Context, key, item string, params mcp.ElicitationParams) (consent, error) {
	a, _ := ctx.Value(askerKey{}).(asker)
	if a == nil || !elicits(clientCapabilities(ctx)) {
		return nil
	}
	return func(run context.Context, key, item string, params mcp.ElicitationParams) (consent, error) {
		progress.Report(runners.Progress{Phase: askPhase, Item: item})
		defer progress.Report(runners.Progress{Phase: "run"})
		run, cancel := context.WithTimeoutCause(run, askTime, errNoAnswer)
		defer cancel()
		stop := context.AfterFunc(ctx, cancel)
		defer stop()
		return a.ask(run, key, params)
	}
}

// toolsFor gives a call's program the tools of other servers, if there are any, and returns
// what notes in the outcome how many it called.
func (s *Server) toolsFor(ctx context.Context, req *runners.Request, o Observer) (ended func(*runners.Outcome)) {
	if s.config.Tools == nil {
		return func(*runners.Outcome) {}
	}
	run := tools.Run{Client: s.config.Client, Session: sessionOf(ctx), Pause: tools.PauseFrom(ctx), Span: o.Call}
	if ask := s.askUser(ctx, req.Progress); ask != nil {
		run.Ask = func(ctx context.Context, q tools.Question) (allow, always bool, err error) {
			c, err := ask(ctx, callKey, q.Server+"."+q.Tool, callQuestion(q))
			return c.allow, c.always, err
		}
		run.Elicit = func(run context.Context, server string, params json.RawMessage) (json.RawMessage, error) {
			q, err := serverQuestion(server, params)
			var c consent
			switch urls := clientCapabilities(ctx).Elicitation.URL != nil; {
			case err != nil:
			case q.Mode == mcp.ElicitationModeURL && !urls:
				err = errors.New("the client shows no URLs")
			default:
				c, err = ask(run, serverKey, server, q)
			}
			s.config.Log.Info("a server of tools has asked the user", zap.String("server", server), zap.Bool("accepted", c.allow), zap.Error(err))
			return c.answer(err)
		}
	}
	t := s.config.Tools.For(run)
	req.Tools = t
	return func(out *runners.Outcome) { out.Usage.ToolCalls = t.Calls() }
}

type sessionKey struct{}

// sessionOf returns the name of the session that a call's program continues, "" for none.
func sessionOf(ctx context.Context) string {
	name, _ := ctx.Value(sessionKey{}).(string)
	return name
}

// converse runs the program of a call, or goes on with the one that waits for its
// answer, until it ends or has a question.
func (s *Server) converse(ctx context.Context, p *params) (call programCall, out *runners.Outcome, asks *mcp.CallToolResult, err error) {
	d, asks, err := s.resume(p)
	if err != nil || asks != nil {
		return call, nil, asks, err
	}
	if d == nil {
		if call, err = s.parseArguments(p); err != nil {
			return call, nil, nil, err
		}
		if d, _ = ctx.Value(askerKey{}).(*dialogue); d == nil || !elicits(clientCapabilities(ctx)) {
			out, err = s.runIn(ctx, call.Call)
			return call, out, nil, err
		}
		d.call, d.arguments = call, p.Arguments
		d.begin(ctx)
	}
	out, asks, err = d.next(ctx)
	return d.call, out, asks, err
}

// resume hands an answer to the run that waits for it and returns the run. Without the
// answer, it returns a result that asks again; without a state, nothing.
func (s *Server) resume(p *params) (*dialogue, *mcp.CallToolResult, error) {
	if len(p.RequestState) == 0 || string(p.RequestState) == "null" {
		return nil, nil, nil
	}
	var state string
	_ = json.Unmarshal(p.RequestState, &state) // what is no string is not known
	if p.Arguments == nil {
		p.Arguments = map[string]json.RawMessage{}
	}
	r := s.parked.take(state, p.Arguments)
	if r == nil {
		return nil, nil, errQuestionClosed
	}
	answer, ok := p.InputResponses[r.asked.key]
	if !ok {
		if asks := s.parked.add(r.dialogue, r.asked); asks != nil {
			return nil, asks, nil
		}
	}
	r.asked.answer <- func() (consent, error) { return decision(answer) }
	return r.dialogue, nil, nil
}

// describeAsk returns what has tools/list tell the model of a user who can be
// asked.
func (s *Server) describeAsk(c Config) func(context.Context, []mcp.Tool) []mcp.Tool {
	end := "Permissions: " + permissions(c.Policy) + ".\n"
	return func(ctx context.Context, tools []mcp.Tool) []mcp.Tool {
		if !s.config.Ask || c.Policy.Net.All || c.Policy.DenyNet.All || !elicits(clientCapabilities(ctx)) {
			return tools
		}
		tools = slices.Clone(tools)
		for i := range tools {
			tools[i].Description = strings.Replace(tools[i].Description, end, end+"Hosts without permission: connect; the user is asked.\n", 1)
		}
		return tools
	}
}
