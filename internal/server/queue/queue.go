// Package queue hands the places in which programs run to the calls of several clients,
// in turn.
package queue

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Queue hands a bounded number of places to calls. A free place goes to the
// client that has the fewest, and of several to the one that has waited longest
// since it last got one; among a client's streams of calls, and then by arrival,
// likewise. So a client with a hundred calls delays another by one run at most.
// It is safe for concurrent use.
//
// Nobody is stopped so that another gets a place. In a queue that several clients share,
// long calls of one client therefore take half of the places at most, and those of all
// leave one free.
type Queue struct {
	mu      sync.Mutex
	all     int // places
	shared  bool
	places  int // free ones
	clock   int
	clients map[string]*queued
	total   queued // running and waiting of all clients
}

// A call is short, or long.
const (
	short = iota
	long
	kinds
)

// queued is a client with its streams, or a stream with its calls.
type queued struct {
	running, waiting [kinds]int
	served           int // value of clock when it last got a place, or came
	streams          map[string]*queued
	calls            [kinds][]*call // the oldest first
}

type call struct {
	arrived int           // value of clock
	turn    chan struct{} // closed when it is its turn
}

func (x *queued) runs() int  { return x.running[short] + x.running[long] }
func (x *queued) waits() int { return x.waiting[short] + x.waiting[long] }

// New returns a queue with some places, of one client or of several.
func New(places int, shared bool) *Queue {
	return &Queue{all: places, places: places, shared: shared && places > 1, clients: map[string]*queued{}}
}

// Load returns how many calls have a place, and how many wait for one.
func (q *Queue) Load() (running, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.total.runs(), q.total.waits()
}

// Acquire waits for a place, which a call that was cancelled does not get. A call is long
// that may take longer than most. The caller calls leave when it is done with it.
func (q *Queue) Acquire(ctx context.Context, client, stream string, isLong bool) (leave func(), err error) {
	kind := short
	if isLong {
		kind = long
	}
	q.mu.Lock()
	c := q.entry(q.clients, client)
	s := q.entry(c.streams, stream)
	leave = func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.places++
		for _, x := range []*queued{&q.total, c, s} {
			x.running[kind]--
		}
		q.next()
		q.forget(client, stream)
	}
	q.clock++
	waiter := &call{arrived: q.clock, turn: make(chan struct{})}
	s.calls[kind] = append(s.calls[kind], waiter)
	for _, x := range []*queued{&q.total, c, s} {
		x.waiting[kind]++
	}
	if ctx.Err() == nil {
		q.next()
	}
	q.mu.Unlock()
	select {
	case <-waiter.turn:
		if ctx.Err() == nil {
			return leave, nil
		}
	case <-ctx.Done():
	}
	q.mu.Lock()
	if i := slices.Index(s.calls[kind], waiter); i >= 0 {
		s.calls[kind] = slices.Delete(s.calls[kind], i, i+1)
		for _, x := range []*queued{&q.total, c, s} {
			x.waiting[kind]--
		}
		q.forget(client, stream)
		q.mu.Unlock()
		return nil, fmt.Errorf("wait for a free place: %w", context.Cause(ctx))
	}
	q.mu.Unlock()
	leave() // its turn came at the same time
	return nil, fmt.Errorf("wait for a free place: %w", context.Cause(ctx))
}

// entry returns an entry of a map, which is made if there is none. Who comes anew
// goes behind those that wait already.
func (q *Queue) entry(of map[string]*queued, name string) *queued {
	x := of[name]
	if x == nil {
		q.clock++
		x = &queued{served: q.clock, streams: map[string]*queued{}}
		of[name] = x
	}
	return x
}

// next gives the free places to the calls whose turn it is.
func (q *Queue) next() {
	for q.places > 0 {
		c := first(q.clients, func(c *queued) bool { return c.waiting[short] > 0 || c.waiting[long] > 0 && q.mayLong(c) })
		if c == nil {
			return
		}
		mayLong := q.mayLong(c)
		s := first(c.streams, func(s *queued) bool { return s.waiting[short] > 0 || s.waiting[long] > 0 && mayLong })
		kind := short
		if s.waiting[short] == 0 || s.waiting[long] > 0 && mayLong && s.calls[long][0].arrived < s.calls[short][0].arrived {
			kind = long
		}
		turn := s.calls[kind][0].turn
		s.calls[kind] = s.calls[kind][1:]
		q.places--
		q.clock++
		for _, x := range []*queued{&q.total, c, s} {
			x.waiting[kind]--
			x.running[kind]++
			x.served = q.clock
		}
		close(turn)
	}
}

// mayLong reports whether a long call of a client may have a place.
func (q *Queue) mayLong(c *queued) bool {
	return !q.shared || q.total.running[long] < q.all-1 && c.running[long] < max(1, q.all/2)
}

// first returns whose turn it is, nil if nobody is ready.
func first(of map[string]*queued, ready func(*queued) bool) (best *queued) {
	for _, x := range of {
		if ready(x) && (best == nil || x.runs() < best.runs() || x.runs() == best.runs() && x.served < best.served) {
			best = x
		}
	}
	return best
}

// forget drops what has neither places nor calls.
func (q *Queue) forget(client, stream string) {
	c := q.clients[client]
	if c == nil {
		return
	}
	if s := c.streams[stream]; s != nil && s.runs()+s.waits() == 0 {
		delete(c.streams, stream)
	}
	if c.runs()+c.waits() == 0 {
		delete(q.clients, client)
	}
}
