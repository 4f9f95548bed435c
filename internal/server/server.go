package server

import (
	"context"

	mcpserver "github.com/mark3labs/mcp-go/server"
)

// Server offers run_code to one client. Its methods are safe for concurrent
// use; those of a tool or a resource are in its file.
type Server struct {
	config Config // with its defaults
	mcp    *mcpserver.MCPServer

	watchdog watchdog
	parked   parked
	store    *store
	used     usedPackages

	properties object // arguments of run_code

	streams streams // over HTTP
	ending  ending
	replays replays
}

// Forget drops what is kept of earlier runs, cancels those that wait for the user, and
// returns when they have stopped. The server must not be used any more.
func (s *Server) Forget() {
	s.parked.end()
	for s.store.forget() > 0 {
	}
	s.store.shared.count(s.store, 0)
}

// Waits reports whether a run waits for an answer that a request has yet to bring.
func (s *Server) Waits() bool {
	s.parked.mu.Lock()
	defer s.parked.mu.Unlock()
	return len(s.parked.byState) > 0
}

// Streams returns how many sessions there are over HTTP, and how many requests are
// being answered.
func (s *Server) Streams() (sessions, requests int) {
	s.streams.mu.Lock()
	defer s.streams.mu.Unlock()
	return len(s.streams.open), s.streams.requests
}

// Drain refuses new requests over HTTP and tells the clients of those in progress, which are
// cancelled when ctx is done.
func (s *Server) Drain(ctx context.Context) {
	if end, ok := ctx.Deadline(); ok {
		s.ending.at.Store(end.UnixNano())
	}
	s.ending.cancel()
	context.AfterFunc(ctx, s.ending.end)
}
