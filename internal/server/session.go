package server

import (
	"context"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
)

// session is what the MCP library knows of the client. Nothing is sent through
// its channel: progress is written by conn, in order with the responses.
type session struct{ initialized atomic.Bool }

func (s *session) Initialize()                                         { s.initialized.Store(true) }
func (s *session) Initialized() bool                                   { return s.initialized.Load() }
func (s *session) SessionID() string                                   { return "stdio" }
func (s *session) NotificationChannel() chan<- mcp.JSONRPCNotification { return nil }

// notifyFunc sends one progress notification. It may block while the client
// does not read.
type notifyFunc func(progress float64, text string)

type notifierKey struct{}

// withNotifier says where the progress of a request goes.
func withNotifier(ctx context.Context, notify notifyFunc) context.Context {
	return context.WithValue(ctx, notifierKey{}, notify)
}

// notifierFrom gives nil when the client asked for no progress.
func notifierFrom(ctx context.Context) notifyFunc {
	notify, _ := ctx.Value(notifierKey{}).(notifyFunc)
	return notify
}
