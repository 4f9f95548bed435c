package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
)

// bodyTime is how long the body of a request may take to arrive.
const bodyTime = time.Minute

// ServeHTTP speaks MCP's Streamable HTTP to the one client of the server, which the
// caller has authenticated. A session is a stream of calls with ids of its own;
// requests of revision 2026-07-28, which has none, are each for themselves. A call
// whose connection ends is cancelled, but for one of a session: see resumestream.go.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	modern := mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion))
	switch {
	case r.Method == http.MethodPost:
		s.post(w, r)
	case r.Method == http.MethodDelete && !modern:
		if !s.streams.end(s.config.Client, r.Header.Get(sessionHeader)) {
			http.Error(w, "There is no such session.", http.StatusNotFound)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodGet && !modern && r.Header.Get(mcp.HeaderLastEventID) != "":
		s.resumeEvents(w, r)
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
	if s.ending.refused(w, m) {
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
		out.started = func() { w.Header().Set(sessionHeader, s.streams.seal(x, s.config.Client)) }
	}
	ctx := r.Context()
	if m.outlives() {
		var cancel context.CancelFunc
		ctx, cancel = s.detached(ctx)
		defer cancel()
		s.keepAnswer(x, r.Header, out)
	}
	s.answer(ctx, x, m, out)
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
func (s *Server) answer(ctx context.Context, x *stream, m *message, out *httpAnswer) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ctx = s.mcp.WithContext(ctx, x.peer)
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
	if !m.outlives() {
		out.gone = cancel
	}
	ask := out.write
	if !out.stream {
		ask = nil
	}
	ctx, req, err := x.begin(s.withAsker(ctx, x.conn, m, ask), m, out.write)
	if err != nil {
		_ = out.write(rejection(err))
		return
	}
	stop := out.keepAlive(ctx)
	x.serve(ctx, m, req, out.write)
	stop()
	out.accept() // unless it was answered
}

// stream returns the session of a message, or a status and a text. The caller
// releases it.
func (s *Server) stream(m *message, r *http.Request) (x *stream, status int, text string) {
	t := &s.streams
	id := r.Header.Get(sessionHeader)
	switch {
	case m.modern():
		x = s.newStream(sealed{})
		x.peer.id = ""
		return x, 0, ""
	case m.Method == string(mcp.MethodInitialize):
		x = s.newStream(sealed{ID: rand.Text()})
	case id == "":
		return nil, http.StatusBadRequest, `Without a session: send "initialize" first, and the header Mcp-Session-Id of its answer with all that follows.`
	default:
		known, ok := t.unseal(s.config.Client, id)
		t.mu.Lock()
		defer t.mu.Unlock()
		if !ok || t.ended[known.ID] {
			return nil, http.StatusNotFound, `There is no such session: send "initialize" again.`
		}
		if x = t.open[known.ID]; x == nil {
			x = s.newStream(known)
			x.resume()
			t.add(x)
		}
		t.clock++
		x.used, x.users = t.clock, x.users+1
		return x, 0, ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clock++
	x.used, x.users = t.clock, 1
	t.add(x)
	return x, 0, ""
}

func (s *Server) newStream(id sealed) *stream {
	return &stream{sealed: id, conn: s.newConn(id.ID)}
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
