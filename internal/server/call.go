package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/zap"

	"coderunner/runners"
)

// run waits for a free place and runs the program there.
func (s *Server) run(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
	progress := startReporter(ctx, notifierFrom(ctx))
	defer progress.close()
	arrived := time.Now()
	if err := s.places.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("wait for a free place: %w", err)
	}
	defer s.places.Release(1)
	queued := time.Since(arrived)

	progress.set(runners.Progress{Phase: "run"})
	req.Progress = progress.set
	if req.Limits.Timeout == 0 {
		req.Limits.Timeout = s.limits.Timeout
	}
	req.Limits.Memory, req.Limits.Output = s.limits.Memory, s.limits.Output
	out, err := s.runners[req.Language].Run(ctx, req)
	if err != nil {
		return nil, err
	}
	if out == nil {
		return nil, errors.New("the runner gave no outcome")
	}
	out.Usage.QueueMS = queued.Milliseconds()
	runners.ExplainLanguage(req, out)
	s.log.Info("run",
		zap.String("language", string(req.Language)),
		zap.String("status", string(out.Status)),
		zap.Int("code_bytes", len(req.Code)),
		zap.Int("packages", len(out.Packages)),
		zap.Int64("queue_ms", out.Usage.QueueMS),
		zap.Int64("prepare_ms", out.Usage.PrepareMS),
		zap.Int64("run_ms", out.Usage.RunMS))
	return out, nil
}

// result makes an outcome the tool's result.
func (s *Server) result(out *runners.Outcome, req runners.Request) *mcp.CallToolResult {
	s.fit(out)
	limits := s.limits
	if req.Limits.Timeout > 0 {
		limits.Timeout = req.Limits.Timeout
	}
	return &mcp.CallToolResult{
		IsError:           out.Status != runners.Succeeded,
		Content:           []mcp.Content{mcp.NewTextContent(outcomeText(out, limits))},
		StructuredContent: out,
	}
}

// maxNameText bounds the names in a result, in bytes: a program chooses the
// type of what it throws.
const maxNameText = 1000

// fit keeps an outcome in the bounds that a result has: nothing longer than a
// stream may be, lists that are lists. Its value has bounds already: see
// [runners.NewValue].
func (s *Server) fit(out *runners.Outcome) {
	if e := out.Error; e != nil {
		e.Type = runners.Clip(e.Type, maxNameText)
		e.Message = runners.Clip(e.Message, int(s.limits.Output))
		e.Traceback = runners.Clip(e.Traceback, int(s.limits.Output))
		for i, p := range e.Packages {
			e.Packages[i] = runners.PackageError{Name: runners.Clip(p.Name, maxNameText), Reason: runners.Clip(p.Reason, maxNameText)}
		}
	}
	if out.Packages == nil {
		out.Packages = []runners.Package{}
	}
}
