package server

import (
	"context"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
)

// peer is what the MCP library knows about the client. Nothing is sent
// through its channel: progress is written by conn, in order with the responses.
type peer struct {
	id          string // of its session
	initialized atomic.Bool
	client      atomic.Pointer[mcp.Implementation]

	capabilities atomic.Pointer[mcp.ClientCapabilities]
}

func (p *peer) Initialize()                                         { p.initialized.Store(true) }
func (p *peer) Initialized() bool                                   { return p.initialized.Load() }
func (p *peer) SessionID() string                                   { return p.id }
func (p *peer) NotificationChannel() chan<- mcp.JSONRPCNotification { return nil }

// The client is known from the handshake on.
func (p *peer) SetClientInfo(c mcp.Implementation) { p.client.Store(&c) }
func (p *peer) GetClientInfo() (c mcp.Implementation) {
	if known := p.client.Load(); known != nil {
		c = *known
	}
	return c
}
func (p *peer) SetClientCapabilities(c mcp.ClientCapabilities) { p.capabilities.Store(&c) }
func (p *peer) GetClientCapabilities() (c mcp.ClientCapabilities) {
	if known := p.capabilities.Load(); known != nil {
		c = *known
	}
	return c
}

// peerFrom returns the client of a request, or nil.
func peerFrom(ctx context.Context) *peer {
	p, _ := mcpserver.ClientSessionFromContext(ctx).(*peer)
	return p
}

// streamOf returns the session of a request, "" if it has none.
func streamOf(ctx context.Context) string {
	if p := peerFrom(ctx); p != nil {
		return p.id
	}
	return ""
}

// notifyFunc sends one progress notification. It may block while the client
// does not read.
type notifyFunc func(progress float64, text string)

type notifierKey struct{}

type paramsKey struct{}

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
