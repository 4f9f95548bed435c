package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// writeTime is how long a message may take to be taken by the client.
	writeTime = 30 * time.Second
	// pingGap is how often a silent answer is shown to be alive: proxies end
	// connections on which nothing happens, some after a minute.
	pingGap = 15 * time.Second
)

// httpAnswer is the answer to one request: JSON, or events if something comes before the
// response.
type httpAnswer struct {
	w       http.ResponseWriter
	stream  bool   // the client takes events
	modern  bool   // of revision 2026-07-28
	started func() // called before the first byte; may be nil
	status  int    // of an answer that is not a stream; 0: by what it is
	gone    context.CancelCauseFunc
	keep    func(event string, last bool) string // keeps an event, and gives it an id; may be nil

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
		a.event(a.kept("event: message\ndata: "+string(data)+"\n\n", last))
	}
	return nil
}

// kept returns an event with its id, if it is kept. a.mu is held.
func (a *httpAnswer) kept(event string, last bool) string {
	if a.keep == nil {
		return event
	}
	return a.keep(event, last)
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
