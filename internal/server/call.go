package server

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/zap"

	"coderunner/internal/answer"
	"coderunner/internal/notebook"
	"coderunner/internal/session"
	"coderunner/internal/tools"
	"coderunner/runners"
)

// runIn waits for the call's session, if it names one, and runs the program.
func (s *Server) runIn(ctx context.Context, call session.Call) (*runners.Outcome, error) {
	progress := startReporter(ctx, notifierFrom(ctx), &s.ending)
	defer progress.close()
	run := func(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
		return s.run(ctx, req, progress)
	}
	if call.Session == "" {
		return run(ctx, call.Request)
	}
	s.keepUndelivered(ctx, &call)
	progress.set(runners.Progress{Phase: "session", Item: call.Session})
	ctx = context.WithValue(ctx, sessionKey{}, call.Session)
	if s.config.Tools != nil {
		if err := session.Keep(&call.Request); err != nil {
			return nil, err
		}
		run = tools.Pausable(nil, run)
	}
	return s.config.Sessions.Run(ctx, call, run)
}

// run waits for a free place and runs the program there.
func (s *Server) run(ctx context.Context, req runners.Request, progress *reporter) (*runners.Outcome, error) {
	progress.set(runners.Progress{Phase: "queue"})
	observer := s.observer(ctx, req)
	var out *runners.Outcome
	var err error
	defer func() { observer.Ended(out, err) }()
	leave, err := s.config.Queue.Acquire(ctx, s.config.Client, streamOf(ctx), req.Limits.Timeout > s.config.Limits.Timeout)
	if err != nil {
		return nil, err
	}
	defer leave()
	observer.Begun()
	queued := time.Since(progress.started)

	progress.set(runners.Progress{Phase: "run"})
	req.Limits.Timeout = cmp.Or(req.Limits.Timeout, s.config.Limits.Timeout)
	req.Limits.Memory, req.Limits.Output = s.config.Limits.Memory, s.config.Limits.Output
	news, ended := s.watchdog.watch(req, func(p runners.Progress) { progress.set(p); observer.Progress(p) })
	defer ended()
	req.Progress = news
	req.Client = s.config.Client
	s.askFor(ctx, &req)
	called := s.toolsFor(ctx, &req, observer)
	if progress.notify != nil {
		req.Printed = progress.printed
	}
	out, err = s.config.Runners[req.Language].Run(ctx, req)
	if err == nil && out == nil {
		err = errors.New("the runner gave no outcome")
	}
	if err != nil {
		return nil, err
	}
	called(out)
	out.Usage.QueueMS = queued.Milliseconds()
	s.used.add(out.Packages)
	runners.ExplainLanguage(req, out)
	s.config.Log.Info("run",
		zap.String("language", string(req.Language)),
		zap.String("status", string(out.Status)),
		zap.Int("code_bytes", len(req.Code)),
		zap.Int("packages", len(out.Packages)),
		zap.Int64("queue_ms", out.Usage.QueueMS),
		zap.Int64("prepare_ms", out.Usage.PrepareMS),
		zap.Int64("run_ms", out.Usage.RunMS),
		paramsFrom(ctx).trace())
	return out, nil
}

// nobody is the observer where there is none.
type nobody struct{}

func (nobody) Begun()                        {}
func (nobody) Progress(runners.Progress)     {}
func (nobody) Call(_, _ string) func(string) { return func(string) {} }
func (nobody) Ended(*runners.Outcome, error) {}

func (s *Server) observer(ctx context.Context, req runners.Request) Observer {
	if s.config.Observe == nil {
		return nobody{}
	}
	parent, _ := paramsFrom(ctx).traceparent()
	return s.config.Observe(ctx, req, parent)
}

// result makes an outcome the tool's result.
func (s *Server) result(ctx context.Context, out *runners.Outcome, req runners.Request) *mcp.CallToolResult {
	limits := s.config.Limits
	if req.Limits.Timeout > 0 {
		limits.Timeout = req.Limits.Timeout
	}
	kept := s.store.begin()
	a := answer.New(out, req, limits, kept)
	s.store.keep(kept)
	r := &mcp.CallToolResult{IsError: out.Status != runners.Succeeded && out.Status != runners.Paused, Content: contentBlocks(a)}
	r.Meta = &mcp.Meta{AdditionalFields: map[string]any{metaPrefix + "usage": out.Usage}}
	if len(out.Packages) > 0 {
		r.Meta.AdditionalFields[metaPrefix+"packages"] = out.Packages
	}
	if s.structured(ctx) {
		r.StructuredContent = a.Structured
	}
	return r
}

// contentBlocks returns an answer's content blocks: the text, the images, and a link to
// each file that is not shown in full.
func contentBlocks(a *answer.Answer) []mcp.Content {
	blocks := []mcp.Content{mcp.NewTextContent(a.Text())}
	var links []mcp.Content
	for _, it := range slices.Concat(a.Structured.Displays, a.Structured.Files) {
		switch {
		case it.Image != nil:
			blocks = append(blocks, mcp.NewImageContent(base64.StdEncoding.EncodeToString(it.Image.Data), it.Image.MIME))
		case it.URI != "" && (it.Path == "" || it.Text == ""):
			link := mcp.NewResourceLink(it.URI, cmp.Or(it.Path, path.Base(it.URI)), "", it.MIME)
			link.Size, link.Meta = &it.Size, digestMeta(it.SHA256)
			links = append(links, link)
		}
	}
	return append(blocks, links...)
}

// handle is the handler of run_code. Its error is always nil: whatever a model
// should see is a result.
func (s *Server) handle(ctx context.Context, _ mcp.CallToolRequest) (result *mcp.CallToolResult, _ error) {
	defer func() {
		if r := recover(); r != nil {
			s.config.Log.Error("panic in run_code", zap.String("panic", fmt.Sprint(r)), zap.Stack("stack"))
			result = toolError("The server failed to run the program; this is a fault of the server, not of the program.")
		}
	}()
	params := paramsFrom(ctx)
	call, out, asks, err := s.converse(ctx, params)
	switch {
	case err != nil:
		return s.failure(ctx, toolName, err), nil
	case asks != nil:
		return asks, nil
	}
	if string(params.Arguments["language"]) != strconv.Quote(string(call.Request.Language)) {
		out.Language = call.Request.Language
	}
	if call.cells != nil {
		call.cells.Locate(notebook.Name, out.Error)
		call.Request.Code = "" // whose lines are not counted from a cell's first
	}
	return s.result(ctx, out, call.Request), nil
}

// failure is the result for an error: in full if it is the caller's.
func (s *Server) failure(ctx context.Context, tool string, err error) *mcp.CallToolResult {
	var bad *runners.RequestError
	var refused *session.Error
	var found *runners.ToolError
	switch {
	case errors.As(err, &bad):
		return toolError(bad.Message)
	case errors.As(err, &refused):
		return toolError(refused.Message)
	case errors.As(err, &found):
		return toolError(found.Error())
	case ctx.Err() != nil:
		return toolError("The call was cancelled.")
	}
	s.config.Log.Error(tool, zap.Error(err))
	if tool == toolName {
		return toolError("The program was not run, and it is not at fault: " + runners.Clip(err.Error(), answer.MaxErrorText))
	}
	return toolError("This failed, by a fault of the server: " + runners.Clip(err.Error(), answer.MaxErrorText))
}

// toolError is a result for a call that led to no run.
func toolError(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		IsError: true,
		Content: []mcp.Content{mcp.NewTextContent(text)},
	}
}

// parseArguments makes a request of a call's arguments. The error is a
// *runners.RequestError.
func (s *Server) parseArguments(p *params) (programCall, error) {
	a := &arguments{raw: p.Arguments, data: s.data, err: p.badArguments}
	a.only(s.properties)
	var c programCall
	code, file, named := a.code(), "", ""
	if notebook.Is(code) {
		if text, language, cells, err := notebook.Read([]byte(code)); err == nil {
			code, file, named, c.cells = text, notebook.Name, language, cells
		}
	}
	req := runners.Request{
		Language: a.language(s.config.Runners, code, named),
		Code:     code,
		Filename: file,
		Packages: a.strings("packages"),
		Stdin:    a.stdin(),
		Args:     a.strings("args"),
		Files:    a.files(),
	}
	req.Limits.Timeout = a.timeout(s.config.Limits.MaxTimeout)
	c.Call = session.Call{Session: a.text("session"), Request: req}
	switch on := a.text("on_error"); on {
	case "", "keep":
	case "rollback":
		c.Rollback = true
	default:
		a.fail("on_error", "is %q, but must be keep or rollback.", runners.Clip(on, 100))
	}
	if a.get("session") != nil && a.err == nil {
		a.err = session.CheckName(c.Session)
	}
	if a.err == nil {
		a.err = req.Check()
	}
	return c, a.err
}
