package connect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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

	redact func(string) string

	mu       sync.Mutex
	progress map[string]chan<- progress // of the calls, by their tokens
	askers   []*askFunc                 // of the calls, the newest last
}

// askFunc asks the user of a call.
type askFunc func(params json.RawMessage) (json.RawMessage, error)

// maxElicited bounds what a server asks, in bytes.
const maxElicited = 32 << 10

// asking has the user asked what the server asks, until done is called.
func (s *session) asking(ask askFunc) (done func()) {
	if ask == nil {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.askers = append(s.askers, &ask)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.askers = slices.DeleteFunc(s.askers, func(a *askFunc) bool { return a == &ask })
	}
}

// Elicit is for [client.ElicitationHandler]: the user is asked in the newest call, for the
// protocol does not say by which call a server asks. All calls are of one user.
func (s *session) Elicit(_ context.Context, r mcp.ElicitationRequest) (result *mcp.ElicitationResult, err error) {
	result = &mcp.ElicitationResult{}
	result.Action = mcp.ElicitationResponseActionCancel
	s.mu.Lock()
	var ask *askFunc
	if n := len(s.askers); n > 0 {
		ask = s.askers[n-1]
	}
	s.mu.Unlock()
	text, err := json.Marshal(r.Params)
	if ask == nil || err != nil || len(text) > maxElicited {
		return result, err
	}
	if text, err = (*ask)(json.RawMessage(s.redact(string(text)))); err == nil {
		err = json.Unmarshal(text, result)
	}
	return result, err
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
	to, ok := ctx.Value(replyKey{}).(*reply)
	if !ok {
		return
	}
	if *to = (reply{}); r != nil {
		*to = reply{r.Result, r.Error}
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
func (s *Server) open(ctx context.Context, t transport.Interface, options ...client.ClientOption) (*conn, error) {
	c := &conn{session: &session{redact: s.o.Secrets.Redact, progress: map[string]chan<- progress{}}}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.client = client.NewClient(t, append(options, client.WithElicitationHandler(c.session), client.WithClientCapabilities(mcp.ClientCapabilities{
		Elicitation: &mcp.ElicitationCapability{Form: &struct{}{}, URL: &struct{}{}},
	}))...)
	c.client.OnNotification(func(n mcp.JSONRPCNotification) {
		switch n.Method {
		case mcp.MethodNotificationToolsListChanged:
			c.stale.Store(true)
		case "notifications/progress":
			c.report(n.Params.AdditionalFields)
		}
	})
	if err := c.client.Start(context.WithoutCancel(ctx)); err != nil { // requests of the server have it, too
		return nil, err
	}
	var request mcp.InitializeRequest
	request.Params.ClientInfo = mcp.Implementation{Name: "coderunner", Version: s.o.Version}
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
