package server

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"

	"coderunner/internal/tools"
	"coderunner/runners"
)

// decide notes what the user has decided about the calls that a session's program waits with,
// and has it go on once all are decided.
func (s *Server) decide(ctx context.Context, a *arguments) (*mcp.CallToolResult, error) {
	name, approve, call, arguments := a.text("session"), a.text("action") == "approve", a.integer("call"), a.get("arguments")
	if a.err != nil {
		return nil, a.err
	}
	progress := startReporter(ctx, notifierFrom(ctx), &s.ending)
	defer progress.close()
	ctx = context.WithValue(ctx, sessionKey{}, name)
	var asked runners.Request
	var left tools.Journal
	out, err := s.config.Sessions.Resume(ctx, name, left.Decision(call, approve, arguments),
		func(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
			asked = req
			return tools.Pausable(&left, func(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
				return s.run(ctx, req, progress)
			})(ctx, req)
		})
	switch {
	case err != nil:
		return nil, err
	case out == nil:
		return textBlock("The program waits for the other decisions:\n%s", left.Text()), nil
	}
	return s.result(ctx, out, asked), nil
}
