package server

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
	"go.uber.org/zap"
	"golang.org/x/sync/semaphore"

	"coderunner/runners"
)

// Config is what a server needs. The runners stay the caller's to close.
type Config struct {
	Name, Version string
	// Runners has a runner for each language that is offered.
	Runners     map[runners.Language]runners.Runner
	Limits      runners.Limits // of a call that names none
	Concurrency int            // programs at once; 0: DefaultConcurrency
	Policy      runners.Policy
	Offline     bool
	// Isolation is how well JavaScript programs are confined by the system:
	// "full", "partial" or "none"; "" is not told.
	Isolation  string
	Structured Structured  // "": StructuredAuto
	Log        *zap.Logger // nil: nothing is logged
}

// Server offers run_code to one client. Its methods are safe for concurrent
// use.
type Server struct {
	runners map[runners.Language]runners.Runner
	limits  runners.Limits
	places  *semaphore.Weighted // given out in the order of arrival
	log     *zap.Logger
	mcp     *mcpserver.MCPServer

	watchdog  watchdog
	structure Structured
	store     *store
}

// languages are those that the tool's description names, in this order.
// jsx and tsx, and many aliases, are taken besides.
var languages = []runners.Language{runners.Python, runners.TypeScript, runners.JavaScript}

// New makes a server. It holds nothing that must be closed.
func New(c Config) (*Server, error) {
	for l := range c.Runners {
		if runners.ParseLanguage(string(l)) != l {
			return nil, fmt.Errorf("offer language %s: not known", l)
		}
	}
	if len(c.Runners) == 0 {
		return nil, errors.New("offer run_code: no runner")
	}
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	c.Limits = c.Limits.WithDefaults()
	if c.Concurrency <= 0 {
		c.Concurrency = DefaultConcurrency(c.Limits.Memory)
	}
	s := &Server{
		runners: c.Runners,
		limits:  c.Limits,
		places:  semaphore.NewWeighted(int64(c.Concurrency)),
		log:     c.Log,

		watchdog:  watchdog{log: c.Log},
		structure: c.Structured,
	}
	s.mcp = mcpserver.NewMCPServer(c.Name, c.Version,
		mcpserver.WithToolCapabilities(false),
		mcpserver.WithResourceCapabilities(false, false),
		mcpserver.WithToolFilter(s.withoutSchema),
		mcpserver.WithTitle("Code Runner"))
	s.store = newStore(s.mcp)
	tool, err := newTool(c)
	if err != nil {
		return nil, err
	}
	s.mcp.AddTool(tool, s.handle)
	return s, nil
}

// names returns the names of the languages that have a runner.
func names(m map[runners.Language]runners.Runner) (out []string) {
	for _, l := range languages {
		if m[l] != nil {
			out = append(out, string(l))
		}
	}
	return out
}

// toolError is a result for a call that led to no run.
func toolError(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		IsError: true,
		Content: []mcp.Content{mcp.NewTextContent(text)},
	}
}

// handle is the handler of run_code. Its error is always nil: whatever a model
// should see is a result.
func (s *Server) handle(ctx context.Context, _ mcp.CallToolRequest) (result *mcp.CallToolResult, _ error) {
	defer func() {
		if r := recover(); r != nil {
			s.log.Error("panic in run_code", zap.Any("panic", r), zap.Stack("stack"))
			result = toolError("The server failed to run the program; this is a fault of the server, not of the program.")
		}
	}()
	params := paramsFrom(ctx)
	req, err := s.parseArguments(params)
	if err == nil {
		var out *runners.Outcome
		if out, err = s.run(ctx, req); err == nil {
			if string(params.Arguments["language"]) != strconv.Quote(string(req.Language)) {
				out.Language = req.Language
			}
			return s.result(ctx, out, req), nil
		}
	}
	var bad *runners.RequestError
	if errors.As(err, &bad) {
		return toolError(bad.Message), nil
	}
	if ctx.Err() != nil {
		return toolError("The call was cancelled."), nil
	}
	s.log.Error("run", zap.String("language", string(req.Language)), zap.Error(err))
	return toolError("The program was not run, and it is not at fault: " + runners.Clip(err.Error(), maxErrorText)), nil
}
