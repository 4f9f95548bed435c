package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/zap"

	"coderunner/internal/crew"
	"coderunner/runners"
)

const (
	// maxPending and maxPendingBytes bound the requests that have been read
	// and not yet answered.
	maxPending      = 2048
	maxPendingBytes = 128 << 20

	// shutdownGrace is how long calls may take to stop at the end.
	shutdownGrace = 700 * time.Millisecond

	codeBusy = -32000
)

// ErrStillRunning means that calls had not stopped when the server ended: what
// they use must not be closed.
var ErrStillRunning = errors.New("calls did not stop in time")

// errGone is the cause of cancellation when the client has gone.
var errGone = errors.New("the client has gone")

// conn is the connection to one client.
type conn struct {
	peer   *peer
	cancel context.CancelCauseFunc // ends everything
	log    *zap.Logger
	handle func(context.Context, *message) mcp.JSONRPCMessage
	// prepare returns the context of a request that is answered by the last argument.
	prepare func(context.Context, *conn, *message, writeFunc) context.Context
	crew    *crew.Crew // serves what is read

	writeMu sync.Mutex // held while one message is written
	out     io.Writer

	mu       sync.Mutex // guards what follows
	requests map[string]*request
	bytes    int // of the requests
	closing  bool
	asked    map[string]chan<- *message // requests of ours, by id

	wg sync.WaitGroup // one for each request
}

// request is one that has been read and not yet answered.
type request struct {
	cancel    context.CancelFunc
	size      int
	call      bool // of a tool
	cancelled bool // by the client, which then wants no answer
}

// dropCalls leaves the calls in progress without an answer: a client that has
// closed its side does not wait for one, and some raise when it comes.
func (c *conn) dropCalls() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, req := range c.requests {
		req.cancelled = req.cancelled || req.call
	}
}

// finish waits for the requests in progress and for stop, but not for ever.
func (c *conn) finish(stop func()) error {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	done := make(chan struct{})
	go func() { c.wg.Wait(); stop(); close(done) }()
	grace := time.NewTimer(shutdownGrace)
	defer grace.Stop()
	select {
	case <-done:
		return nil
	case <-grace.C:
		return ErrStillRunning
	}
}

// read takes messages until the input ends.
func (c *conn) read(ctx context.Context, lines *lineReader) error {
	for {
		line, err := lines.next()
		if errors.Is(err, errLineTooLong) {
			c.reject(invalid(nil, "%v", err))
			continue
		}
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		m, err := parseMessage(line)
		if err == nil {
			err = c.dispatch(ctx, m)
		}
		if err != nil {
			c.reject(err)
		}
	}
}

// dispatch hands one message on.
func (c *conn) dispatch(ctx context.Context, m *message) error {
	switch {
	case m.Method == "":
		c.answered(m)
		return nil
	case m.Method == string(mcp.MethodNotificationCancelled):
		c.cancelRequest(m)
		return nil
	case m.key == "":
		c.handle(ctx, m)
		return nil
	}
	if err := c.ready(m); err != nil {
		return err
	}
	reqCtx, req, err := c.begin(c.prepare(ctx, c, m, c.write), m, c.write)
	if err != nil {
		return err
	}
	if m.Method == string(mcp.MethodInitialize) {
		// At once, so that what follows in the same write finds it done.
		c.serve(reqCtx, m, req, c.write)
		return nil
	}
	c.crew.Go(func() { c.serve(reqCtx, m, req, c.write) })
	return nil
}

// ready refuses a request that is too early, or of another revision.
func (c *conn) ready(m *message) error {
	if (m.Method == string(mcp.MethodServerDiscover) || m.Method == string(mcp.MethodSubscriptionsListen)) && !m.modern() {
		return &protocolError{mcp.INVALID_PARAMS, fmt.Sprintf("%q needs %q in _meta", m.Method, mcp.MetaKeyProtocolVersion), m.ID}
	}
	if m.Method != string(mcp.MethodInitialize) && m.Method != string(mcp.MethodPing) &&
		!c.peer.Initialized() && !m.modern() {
		return invalid(m.ID, `%q came before "initialize"`, m.Method)
	}
	return nil
}

// begin enters a request into the table. Its progress goes to write.
func (c *conn) begin(ctx context.Context, m *message, write writeFunc) (context.Context, *request, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.requests[m.key] != nil {
		return nil, nil, invalid(nil, "id %s belongs to a request in progress", m.ID)
	}
	if len(c.requests) >= maxPending || c.bytes+m.size > maxPendingBytes {
		return nil, nil, &protocolError{codeBusy,
			fmt.Sprintf("busy: %d requests are in progress; try again later", len(c.requests)), m.ID}
	}
	if c.closing {
		return nil, nil, &protocolError{codeBusy, "the server is ending", m.ID}
	}
	ctx, cancel := context.WithCancel(context.WithValue(ctx, paramsKey{}, &m.Params))
	if token, ok := m.Params.Meta["progressToken"]; ok {
		if _, err := idKey(token); err == nil {
			ctx = withNotifier(ctx, notifier(token, write))
		}
	}
	req := &request{cancel: cancel, size: m.size, call: m.Method == string(mcp.MethodToolsCall)}
	c.requests[m.key] = req
	c.bytes += req.size
	c.wg.Add(1)
	return ctx, req, nil
}

// writeFunc sends one message. An error is one that cannot be marshalled.
type writeFunc func(v any) error

// serve answers one request, by write.
func (c *conn) serve(ctx context.Context, m *message, req *request, write writeFunc) {
	defer c.wg.Done()
	defer req.cancel()
	var response mcp.JSONRPCMessage
	if m.Method == string(mcp.MethodSubscriptionsListen) {
		var acknowledged mcp.JSONRPCNotification
		acknowledged, response = endedStream(m.ID)
		_ = write(acknowledged)
	} else {
		response = c.handle(ctx, m)
	}
	c.mu.Lock()
	delete(c.requests, m.key)
	c.bytes -= req.size
	cancelled := req.cancelled
	c.mu.Unlock()
	if !cancelled && response != nil {
		c.answer(m, response, write)
	}
}

// maxEcho bounds what an error repeats of the message that it answers, in bytes.
const maxEcho = 1000

// answer writes a response under the id as the client spelled it.
func (c *conn) answer(m *message, response mcp.JSONRPCMessage, write writeFunc) {
	id := mcp.NewRequestId(m.ID)
	switch r := response.(type) {
	case mcp.JSONRPCResponse:
		r.ID = id
		if m.modern() && m.Method != string(mcp.MethodServerDiscover) {
			withoutIcon(r.Result)
		}
		response = r
	case mcp.JSONRPCError:
		r.ID = id
		r.Error.Message = runners.Clip(r.Error.Message, maxEcho)
		if m.Method == string(mcp.MethodResourcesRead) && r.Error.Data == nil && len(m.Params.URI) <= maxEcho {
			r.Error.Data = map[string]any{"uri": runners.PortableJSON(m.Params.URI)}
		}
		response = r
	}
	if err := write(response); err != nil {
		c.log.Error("answer", zap.String("method", m.Method), zap.Error(err))
		_ = write(errorResponse(m.ID, mcp.INTERNAL_ERROR, "internal error: the answer cannot be written"))
	}
}

// cancelRequest ends the request that a notifications/cancelled names.
func (c *conn) cancelRequest(m *message) {
	key, err := idKey(m.Params.RequestID)
	if err != nil || key == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if req := c.requests[key]; req != nil {
		req.cancelled = true
		req.cancel()
	}
}

// reject answers a message that could not be taken.
func (c *conn) reject(err error) { _ = c.write(rejection(err)) }

// rejection is the answer to a message that could not be taken.
func rejection(err error) mcp.JSONRPCError {
	var p *protocolError
	if !errors.As(err, &p) {
		p = &protocolError{mcp.INTERNAL_ERROR, "internal error", nil}
	}
	return errorResponse(p.id, p.code, p.text)
}

func errorResponse(id json.RawMessage, code int, text string) mcp.JSONRPCError {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	return mcp.JSONRPCError{
		JSONRPC: mcp.JSONRPC_VERSION,
		ID:      mcp.NewRequestId(id),
		Error:   mcp.NewJSONRPCErrorDetails(code, text, nil),
	}
}

// notifier sends progress for the request with this token.
func notifier(token json.RawMessage, write writeFunc) notifyFunc {
	return func(progress float64, text string) {
		var n mcp.ProgressNotification
		n.Method = "notifications/progress"
		n.Params.ProgressToken = token
		n.Params.Progress = progress
		n.Params.Message = text
		_ = write(struct {
			JSONRPC string `json:"jsonrpc"`
			mcp.ProgressNotification
		}{mcp.JSONRPC_VERSION, n})
	}
}

// write sends one message as one line. An error is a message that cannot be
// marshalled; a client that cannot be reached ends the connection instead.
func (c *conn) write(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("marshal message: %w", err)
	}
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	if _, err := c.out.Write(append(line, '\n')); err != nil {
		c.cancel(errGone)
	}
	return nil
}

// expect enters a request of ours, and returns where its response comes.
func (c *conn) expect(key string) <-chan *message {
	answered := make(chan *message, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked == nil {
		c.asked = map[string]chan<- *message{}
	}
	c.asked[key] = answered
	return answered
}

func (c *conn) expectNoMore(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.asked, key)
}

// answered takes a response to a request of ours. One that nobody waits for is dropped.
func (c *conn) answered(m *message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answered := c.asked[m.key]; answered != nil {
		delete(c.asked, m.key)
		answered <- m
	}
}

// withoutIcon leaves the icon out of what the library says of the server in each result of
// the newest revision. server/discover has it.
func withoutIcon(result any) {
	metadata, ok := result.(mcp.ResultMetadata)
	if !ok {
		return
	}
	meta := metadata.GetResultMeta()
	if who := meta.ServerInfo(); who != nil {
		meta.SetServerInfo(mcp.Implementation{Name: who.Name, Version: who.Version, Title: who.Title})
	}
}
