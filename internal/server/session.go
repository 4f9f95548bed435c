package server

import (
	"context"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
)

// session is what the MCP library knows about the client. Nothing is sent
// through its channel: progress is written by conn, in order with the responses.
type session struct {
	initialized atomic.Bool
	client      atomic.Pointer[mcp.Implementation]

	capabilities atomic.Pointer[mcp.ClientCapabilities]
}

func (s *session) Initialize()                                         { s.initialized.Store(true) }
func (s *session) Initialized() bool                                   { return s.initialized.Load() }
func (s *session) SessionID() string                                   { return "stdio" }
func (s *session) NotificationChannel() chan<- mcp.JSONRPCNotification { return nil }

// The client is known from the handshake on.
func (s *session) SetClientInfo(c mcp.Implementation) { s.client.Store(&c) }
func (s *session) GetClientInfo() (c mcp.Implementation) {
	if p := s.client.Load(); p != nil {
		c = *p
	}
	return c
}
func (s *session) SetClientCapabilities(c mcp.ClientCapabilities) { s.capabilities.Store(&c) }
func (s *session) GetClientCapabilities() (c mcp.ClientCapabilities) {
	if p := s.capabilities.Load(); p != nil {
		c = *p
	}
	return c
}

// sessionFrom returns the session of a request, or nil.
func sessionFrom(ctx context.Context) *session {
	s, _ := mcpserver.ClientSessionFromContext(ctx).(*session)
	return s
}

// notifyFunc sends one progress notification. It may block while the client
// does not read.
type notifyFunc func(progress float64, text string)

type notifierKey struct{}

type paramsKey struct{}

// withParams returns a context that has the parameters of a request.
func withParams(ctx context.Context, p *params) context.Context {
	return context.WithValue(ctx, paramsKey{}, p)
}

// paramsFrom returns the parameters of the request.
func paramsFrom(ctx context.Context) *params {
	p, _ := ctx.Value(paramsKey{}).(*params)
	return p
}

// withNotifier returns a context that has where the progress of a request goes.
func withNotifier(ctx context.Context, notify notifyFunc) context.Context {
	return context.WithValue(ctx, notifierKey{}, notify)
}

// notifierFrom returns nil when the client asked for no progress.
func notifierFrom(ctx context.Context) notifyFunc {
	notify, _ := ctx.Value(notifierKey{}).(notifyFunc)
	return notify
}
