package connect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// session is the protocol's side of a connection.
type session struct {
	client *client.Client
	tokens atomic.Int64

	mu       sync.Mutex
	progress map[string]chan<- progress // of the calls, by their tokens
}

type progress struct {
	done, total float64
	message     string
}

// reply is what came in answer to a request, as bytes.
type reply struct {
	result json.RawMessage
	err    *mcp.JSONRPCErrorDetails
}

type replyKey struct{}

// keep notes an answer for the caller of the client's method, which returns only a part of it.
func keep(ctx context.Context, r *transport.JSONRPCResponse) {
	if to, ok := ctx.Value(replyKey{}).(*reply); ok && r != nil {
		to.result, to.err = r.Result, r.Error
	}
}

// httpTransport is a transport whose answers are kept.
type httpTransport struct{ *transport.StreamableHTTP }

func (t httpTransport) SendRequest(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	response, err := t.StreamableHTTP.SendRequest(ctx, r)
	keep(ctx, response)
	return response, err
}

// stdioTransport is one whose requests end with their context although the server does not
// read them.
type stdioTransport struct{ *transport.Stdio }

func (t stdioTransport) SendRequest(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	type answer struct {
		response *transport.JSONRPCResponse
		err      error
	}
	answered := make(chan answer, 1)
	go func() {
		response, err := t.Stdio.SendRequest(ctx, r)
		answered <- answer{response, err}
	}()
	select {
	case a := <-answered:
		keep(ctx, a.response)
		return a.response, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// open makes a connection of a transport.
func open(ctx context.Context, t transport.Interface, version string, options ...client.ClientOption) (*conn, error) {
	c := &conn{dead: make(chan struct{}), session: &session{client: client.NewClient(t, options...), progress: map[string]chan<- progress{}}}
	c.client.OnNotification(func(n mcp.JSONRPCNotification) {
		switch n.Method {
		case mcp.MethodNotificationToolsListChanged:
			c.stale.Store(true)
		case "notifications/progress":
			c.report(n.Params.AdditionalFields)
		}
	})
	if err := c.client.Start(ctx); err != nil {
		return nil, err
	}
	var request mcp.InitializeRequest
	request.Params.ClientInfo = mcp.Implementation{Name: "coderunner", Version: version}
	_, err := c.client.Initialize(ctx, request)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("it has not answered within %v", startTime)
	}
	return c, err
}

// follow returns the token of a call whose progress goes to f, until done is called. Progress
// that comes faster than f takes it is dropped.
func (s *session) follow(f func(done, total float64, message string)) (meta *mcp.Meta, done func()) {
	if f == nil {
		return nil, func() {}
	}
	token := strconv.FormatInt(s.tokens.Add(1), 10)
	events := make(chan progress, 16)
	s.mu.Lock()
	s.progress[token] = events
	s.mu.Unlock()
	var delivered sync.WaitGroup
	delivered.Go(func() {
		for p := range events {
			f(p.done, p.total, p.message)
		}
	})
	return &mcp.Meta{ProgressToken: token}, func() {
		s.mu.Lock()
		delete(s.progress, token)
		s.mu.Unlock()
		close(events)
		delivered.Wait()
	}
}

// report passes progress on.
func (s *session) report(fields map[string]any) {
	token, _ := fields["progressToken"].(string)
	var p progress
	p.done, _ = fields["progress"].(float64)
	p.total, _ = fields["total"].(float64)
	p.message, _ = fields["message"].(string)
	s.mu.Lock()
	defer s.mu.Unlock()
	if events := s.progress[token]; events != nil {
		select {
		case events <- p:
		default:
		}
	}
}
