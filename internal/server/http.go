package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
)

const (
	// bodyTime is how long the body of a request may take to arrive, writeTime a
	// message to be taken by the client.
	bodyTime  = time.Minute
	writeTime = 30 * time.Second
	// pingGap is how often a silent answer is shown to be alive: proxies end
	// connections on which nothing happens, some after a minute.
	pingGap = 15 * time.Second
)

// Names of headers that the protocol gives to sessions.
const sessionHeader = "Mcp-Session-Id"

// ServeHTTP speaks MCP's Streamable HTTP to the one client of the server, which the
// caller has authenticated. A session is a stream of calls with ids of its own;
// requests of revision 2026-07-28, which has none, are each for themselves. A call
// whose connection ends is cancelled.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	modern := mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion))
	switch {
	case r.Method == http.MethodPost:
		s.post(w, r)
	case r.Method == http.MethodDelete && !modern:
		if !s.streams.end(s.client, r.Header.Get(sessionHeader)) {
			http.Error(w, "There is no such session.", http.StatusNotFound)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	default: // nothing is sent but in answer to a request
		w.Header().Set("Allow", "POST, DELETE")
		http.Error(w, "Send MCP messages with POST.", http.StatusMethodNotAllowed)
	}
}

// post answers one message.
func (s *Server) post(w http.ResponseWriter, r *http.Request) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		http.Error(w, "Content-Type must be application/json.", http.StatusUnsupportedMediaType)
		return
	}
	size := maxLine // until it is known
	if r.ContentLength >= 0 {
		size = int(min(r.ContentLength, maxLine))
	}
	if !s.streams.enter(size) {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "Too many of this client's requests are in progress; try again later.", http.StatusTooManyRequests)
		return
	}
	defer func() { s.streams.leave(size) }()
	body, err := readBody(w, r)
	if err != nil {
		status := http.StatusBadRequest
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			status, err = http.StatusRequestEntityTooLarge, fmt.Errorf("a message is at most %d MiB", maxLine>>20)
		}
		http.Error(w, err.Error(), status)
		return
	}
	out := &httpAnswer{w: w, stream: strings.Contains(r.Header.Get("Accept"), "text/event-stream")}
	m, err := parseMessage(body)
	if err == nil {
		err = checkHeaders(m, r.Header)
	}
	if err != nil {
		out.status = http.StatusBadRequest
		_ = out.write(rejection(err))
		return
	}
	s.streams.shrink(size, m.size)
	size = m.size
	x, status, text := s.stream(m, r)
	if x == nil {
		http.Error(w, text, status)
		return
	}
	defer s.streams.release(x)
	if out.modern = m.modern(); m.Method == string(mcp.MethodInitialize) {
		out.started = func() { w.Header().Set(sessionHeader, s.streams.seal(x, s.client)) }
	}
	x.answer(r.Context(), m, out)
}

// readBody reads a message that does not take for ever to come.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime)) // what a test's recorder cannot
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxLine))
	if err == nil { // else nothing more is read, and the deadline ends the connection
		_ = control.SetReadDeadline(time.Time{})
	}
	if err == nil && len(strings.TrimSpace(string(body[:min(len(body), 64)]))) == 0 {
		err = errors.New("the body is empty: send one JSON-RPC message")
	}
	return body, err
}

// checkHeaders compares what the headers say of a message with what it is, as
// revision 2026-07-28 demands.
func checkHeaders(m *message, h http.Header) error {
	named := h.Get(mcp.HeaderProtocolVersion)
	var version string
	_ = json.Unmarshal(m.Params.Meta[mcp.MetaKeyProtocolVersion], &version) // "" is not modern
	if !mcp.IsModernProtocol(named) && !mcp.IsModernProtocol(version) {
		if named != "" && version == "" && m.Method != string(mcp.MethodInitialize) && !mcp.IsValidProtocolVersion(named) {
			return invalid(m.ID, "%s names %q, which is not a version that is known here", mcp.HeaderProtocolVersion, named)
		}
		return nil
	}
	mismatch := func(format string, args ...any) error {
		return &protocolError{mcp.HEADER_MISMATCH, fmt.Sprintf(format, args...), m.ID}
	}
	switch {
	case h.Get(mcp.HeaderLastEventID) != "":
		return mismatch("%s: streams cannot be resumed; send the request again", mcp.HeaderLastEventID)
	case version == "":
		return &protocolError{mcp.INVALID_PARAMS, fmt.Sprintf("%q is missing in _meta", mcp.MetaKeyProtocolVersion), m.ID}
	case named != version:
		return mismatch("%s is %q, and %q in _meta is %q", mcp.HeaderProtocolVersion, named, mcp.MetaKeyProtocolVersion, version)
	case m.Method == "":
		return invalid(m.ID, "a response answers no request of this server")
	}
	about, err := json.Marshal(params{Name: m.Params.Name, URI: m.Params.URI})
	if err == nil && mcp.IsValidProtocolVersion(version) {
		err = mcp.ValidateStandardHeaders(h.Get, version, mcp.MCPMethod(m.Method), about)
	}
	if err != nil {
		return mismatch("%v", err)
	}
	return nil
}

// answer hands a message on, and waits for what it is answered with.
func (x *stream) answer(ctx context.Context, m *message, out *httpAnswer) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ctx = x.server.mcp.WithContext(ctx, x.peer)
	if m.Method == "" || m.key == "" || m.Method == string(mcp.MethodNotificationCancelled) {
		if err := x.dispatch(ctx, m); err != nil { // begins nothing that is answered
			_ = out.write(rejection(err))
			return
		}
		out.accept()
		return
	}
	if err := x.ready(m); err != nil {
		_ = out.write(rejection(err))
		return
	}
	out.gone = cancel
	ask := out.write
	if !out.stream {
		ask = nil
	}
	ctx, req, err := x.begin(x.withAsker(ctx, m, ask), m, out.write)
	if err != nil {
		_ = out.write(rejection(err))
		return
	}
	stop := out.keepAlive(ctx)
	x.serve(ctx, m, req, out.write)
	stop()
	out.accept() // unless it was answered
}

// httpAnswer is the answer to one request: JSON, or events if something comes before the
// response.
type httpAnswer struct {
	w       http.ResponseWriter
	stream  bool   // the client takes events
	modern  bool   // of revision 2026-07-28
	started func() // called before the first byte; may be nil
	status  int    // of an answer that is not a stream; 0: by what it is
	gone    context.CancelCauseFunc

	mu     sync.Mutex
	events bool // the stream has begun
	done   bool
}

// write is a writeFunc.
func (a *httpAnswer) write(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("marshal message: %w", err)
	}
	status, last := http.StatusOK, true
	switch v := v.(type) {
	case mcp.JSONRPCError:
		if a.modern {
			status = httpStatus(v.Error.Code)
		}
	case mcp.JSONRPCResponse:
	default:
		last = false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.done || !last && !a.stream:
	case last && !a.events:
		a.done = true
		a.w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		a.begin("application/json", max(status, a.status))
		a.send(data)
	default:
		a.done = last
		a.event("event: message\ndata: " + string(data) + "\n\n")
	}
	return nil
}

// httpStatus returns the status that revision 2026-07-28 has for an error.
func httpStatus(code int) int {
	switch code {
	case mcp.METHOD_NOT_FOUND:
		return http.StatusNotFound
	case mcp.HEADER_MISMATCH, mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, mcp.UNSUPPORTED_PROTOCOL_VERSION,
		mcp.INVALID_REQUEST, mcp.INVALID_PARAMS, mcp.PARSE_ERROR:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// accept answers what has no answer.
func (a *httpAnswer) accept() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.done && !a.events {
		a.w.WriteHeader(http.StatusAccepted)
	}
	a.done = true
}

// keepAlive sends a comment now and then until stop is called, if the client takes
// events.
func (a *httpAnswer) keepAlive(ctx context.Context) (stop func()) {
	if !a.stream {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var ping *time.Timer
	ping = time.AfterFunc(pingGap, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.done || ctx.Err() != nil {
			return
		}
		a.event(": running\n\n")
		ping.Reset(pingGap)
	})
	return func() {
		cancel()
		ping.Stop()
	}
}

// event sends an event. a.mu is held.
func (a *httpAnswer) event(text string) {
	if !a.events {
		a.events = true
		a.w.Header().Set("Cache-Control", "no-store")
		a.w.Header().Set("X-Accel-Buffering", "no") // nginx would hold it back
		a.begin("text/event-stream", http.StatusOK)
	}
	a.send([]byte(text))
}

// begin sends the headers. a.mu is held.
func (a *httpAnswer) begin(kind string, status int) {
	if a.started != nil && status == http.StatusOK {
		a.started()
	}
	a.w.Header().Set("Content-Type", kind)
	a.w.WriteHeader(status)
}

// send writes some bytes, or ends a request whose client does not take them. a.mu is held.
func (a *httpAnswer) send(data []byte) {
	control := http.NewResponseController(a.w)
	_ = control.SetWriteDeadline(time.Now().Add(writeTime))
	_, err := a.w.Write(data)
	if err = errors.Join(err, control.Flush()); err != nil && a.gone != nil {
		a.gone(errGone)
	}
	_ = control.SetWriteDeadline(time.Time{})
}

// ResourceMetadata returns the OAuth metadata of a protected resource (RFC 9728), whose
// tokens come from an issuer, and the path where clients look for it.
func ResourceMetadata(resource, issuer string) (http.Handler, string) {
	return mcpserver.NewProtectedResourceMetadataHandler(mcpserver.ProtectedResourceMetadataConfig{
		Resource: resource, AuthorizationServers: []string{issuer},
	}), mcpserver.ProtectedResourceMetadataPath(resource)
}

// ResourceMetadataURL returns where that is for a resource.
func ResourceMetadataURL(resource string) string {
	u, err := url.Parse(resource)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host + mcpserver.ProtectedResourceMetadataPath(resource)
}
