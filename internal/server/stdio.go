package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/zap"

	"coderunner/internal/crew"
)

// ServeStdio speaks MCP on the two streams until in ends, ctx is done or the
// client cannot be written to; all of these are a clean end. Calls in progress
// are then cancelled, and it returns when they have stopped, or with
// ErrStillRunning after a short grace; a call that ends with the input gets no
// answer. A Read of in may still be pending when it returns.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := s.newConn("stdio")
	c.cancel, c.out, c.crew = cancel, out, crew.New(2*runtime.GOMAXPROCS(0), ctx.Done())
	if err := s.mcp.RegisterSession(ctx, c.peer); err != nil {
		return fmt.Errorf("register session: %w", err)
	}
	defer s.mcp.UnregisterSession(context.WithoutCancel(ctx), c.peer.SessionID())
	ctx = s.mcp.WithContext(ctx, c.peer)

	readErr := make(chan error, 1)
	go func() { readErr <- c.read(ctx, newLineReader(in, maxLine)) }()
	var err error
	select {
	case err = <-readErr:
		c.dropCalls()
		cancel(errGone)
	case <-ctx.Done():
	}
	if err != nil && !errors.Is(err, io.EOF) {
		// A client that goes away is not our error.
		s.config.Log.Info("input ended", zap.Error(err))
	}
	return c.finish(s.parked.end)
}

// newConn returns a connection to a client, by the name of its session.
func (s *Server) newConn(session string) *conn {
	return &conn{peer: &peer{id: session}, log: s.config.Log, handle: s.handleMessage, prepare: s.withAsker, requests: map[string]*request{}}
}

// handleMessage lets the MCP library handle a message. A panic there becomes
// an error response.
func (s *Server) handleMessage(ctx context.Context, m *message) (response mcp.JSONRPCMessage) {
	defer func() {
		if r := recover(); r != nil {
			s.config.Log.Error("panic in request", zap.String("method", m.Method), zap.String("panic", fmt.Sprint(r)), zap.Stack("stack"))
			response = errorResponse(m.ID, mcp.INTERNAL_ERROR, "internal error")
		}
	}()
	return s.mcp.HandleMessage(ctx, m.raw)
}
