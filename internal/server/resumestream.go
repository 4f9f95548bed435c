package server

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"

	"coderunner/internal/answer"
	"coderunner/internal/session"
	"coderunner/runners"
)

// A call of a session changes it, so it goes on to its end when its connection drops, as
// the handshake revisions have it (in 2026-07-28 that cancels it). Its events have ids, are
// kept for a while, and a GET with Last-Event-ID returns those that followed. What comes of
// a call whose client has not come back by then is in the session's history.

const (
	// maxReplays and maxReplayBytes bound the events that are kept for a client.
	maxReplays     = 64
	maxReplayBytes = 32 << 20
	// primed is the first revision whose clients take an event without data, by which
	// they can resume before there is another.
	primed = "2025-11-25"
)

// delivery is where the answer of a session's call goes.
type delivery struct{ lost atomic.Bool }

type deliveryKey struct{}

// detached returns the context of a call that outlives its connection, whose context is
// ctx, and ends with the server.
func (s *Server) detached(ctx context.Context) (context.Context, context.CancelFunc) {
	d := new(delivery)
	context.AfterFunc(ctx, func() { d.lost.Store(true) })
	call, cancel := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), deliveryKey{}, d))
	stop := context.AfterFunc(s.ending.over, cancel)
	return call, func() { stop(); cancel() }
}

// keepUndelivered has the history of a call's session keep its answer if nobody gets it.
func (s *Server) keepUndelivered(ctx context.Context, call *session.Call) {
	if d, ok := ctx.Value(deliveryKey{}).(*delivery); ok {
		call.Undelivered = func(out *runners.Outcome) string {
			if !d.lost.Load() {
				return ""
			}
			kept := s.store.begin()
			defer s.store.keep(kept)
			return answer.New(out, call.Request, s.config.Limits, kept).Text()
		}
	}
}

// replays are the events that a client may ask for again.
type replays struct {
	mu    sync.Mutex
	list  []*replay // the oldest first
	bytes int
}

// replay has the events of one call.
type replay struct {
	owner  string // the MCP session
	key    string // in the ids of its events
	events []string
	done   bool
	more   chan struct{} // closed when there is another event
}

// begin returns where the events of a call are kept, for its session.
func (t *replays) begin(owner string) *replay {
	p := &replay{owner: owner, key: rand.Text(), more: make(chan struct{})}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = append(t.list, p)
	t.shrink()
	return p
}

// add keeps an event and returns it with its id.
func (t *replays) add(p *replay, event string, last bool) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	event = "id: " + p.key + "-" + strconv.Itoa(len(p.events)) + "\n" + event
	p.events, p.done = append(p.events, event), last
	close(p.more)
	p.more = make(chan struct{})
	t.bytes += len(event)
	t.shrink()
	return event
}

// shrink drops the oldest events, all of a call's. t.mu is held.
func (t *replays) shrink() {
	for len(t.list) > 0 && (len(t.list) > maxReplays || t.bytes > maxReplayBytes) {
		for _, event := range t.list[0].events {
			t.bytes -= len(event)
		}
		t.list[0].events, t.list[0].done = nil, true
		t.list = t.list[1:]
	}
}

// after returns the events that follow the one with an id, whether others may come, and
// what is closed when one does. ok is false if the session has no such event any more.
func (t *replays) after(owner, id string) (events []string, done bool, more <-chan struct{}, ok bool) {
	key, number, _ := strings.Cut(id, "-")
	n, err := strconv.Atoi(number)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.list {
		if err == nil && p.key == key && p.owner == owner && n >= 0 && n < len(p.events) {
			return slices.Clone(p.events[n+1:]), p.done, p.more, true
		}
	}
	return nil, false, nil, false
}

// resumeEvents sends the events of a call that followed the last one that its client has.
func (s *Server) resumeEvents(w http.ResponseWriter, r *http.Request) {
	known, ok := s.streams.unseal(s.config.Client, r.Header.Get(sessionHeader))
	id := r.Header.Get(mcp.HeaderLastEventID)
	var events []string
	var done bool
	var more <-chan struct{}
	if ok {
		events, done, more, ok = s.replays.after(known.ID, id)
	}
	if !ok {
		http.Error(w, "There is no such event any more; the history of a session has the answers that nobody got.", http.StatusBadRequest)
		return
	}
	if !s.streams.enter(0) {
		http.Error(w, "Too many of this client's requests are in progress; try again later.", http.StatusTooManyRequests)
		return
	}
	defer s.streams.leave(0)
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(s.ending.over, func() { cancel(nil) })()
	out := &httpAnswer{w: w, stream: true, gone: cancel}
	defer out.keepAlive(ctx)()
	key, _, _ := strings.Cut(id, "-")
	number, _ := strconv.Atoi(id[len(key)+1:])
	for {
		out.mu.Lock()
		for _, event := range events {
			out.event(event)
		}
		out.mu.Unlock()
		if number += len(events); done {
			return
		}
		select {
		case <-more:
		case <-ctx.Done():
			return
		}
		if events, done, more, ok = s.replays.after(known.ID, fmt.Sprint(key, "-", number)); !ok {
			return
		}
	}
}

// keepAnswer has the events of a session's call kept.
func (s *Server) keepAnswer(x *stream, r http.Header, out *httpAnswer) {
	if !out.stream || x.sealed.ID == "" {
		return
	}
	p := s.replays.begin(x.sealed.ID)
	out.keep = func(event string, last bool) string { return s.replays.add(p, event, last) }
	if r.Get(mcp.HeaderProtocolVersion) >= primed {
		out.mu.Lock()
		defer out.mu.Unlock()
		out.event(out.kept("data: \n\n", false))
	}
}
