// Package queue hands the places in which programs run to the calls of several clients,
// in turn.
package queue

import (
	"context"
	"fmt"
	"sync"
)

// Queue hands a bounded number of places to calls. A free place goes to the
// client that has the fewest, and of several to the one that has waited longest
// since it last got one; among a client's streams of calls, and then by arrival,
// likewise. So a client with a hundred calls delays another by one run at most.
// It is safe for concurrent use.
type Queue struct {
	mu      sync.Mutex
	places  int // free ones
	clock   int
	waiting int
	clients map[string]*queued
}

// queued is a client with its streams, or a stream with its calls.
type queued struct {
	running, waiting int
	served           int // value of clock when it last got a place, or came
	streams          map[string]*queued
	calls            []chan struct{} // the oldest first; closed when it is its turn
}

// New returns a queue with some places.
func New(places int) *Queue {
	return &Queue{places: places, clients: map[string]*queued{}}
}

// Load returns how many calls have a place, and how many wait for one: all of
// them, and those of a client.
func (q *Queue) Load(client string) (running, waiting, ownRunning, ownWaiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for name, c := range q.clients {
		running += c.running
		if name == client {
			ownRunning, ownWaiting = c.running, c.waiting
		}
	}
	return running, q.waiting, ownRunning, ownWaiting
}

// Acquire waits for a place, which a call that was cancelled does not get. The caller
// calls leave when it is done with it.
func (q *Queue) Acquire(ctx context.Context, client, stream string) (leave func(), err error) {
	q.mu.Lock()
	c := q.entry(q.clients, client)
	s := q.entry(c.streams, stream)
	leave = func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.places++
		c.running--
		s.running--
		q.next()
		q.forget(client, stream)
	}
	if q.places > 0 && ctx.Err() == nil { // then nobody waits
		q.take(c, s)
		q.mu.Unlock()
		return leave, nil
	}
	turn := make(chan struct{})
	s.calls = append(s.calls, turn)
	q.waiting++
	c.waiting++
	s.waiting++
	q.mu.Unlock()
	select {
	case <-turn:
		if ctx.Err() == nil {
			return leave, nil
		}
	case <-ctx.Done():
	}
	q.mu.Lock()
	for i, w := range s.calls {
		if w == turn {
			s.calls = append(s.calls[:i:i], s.calls[i+1:]...)
			q.waiting--
			c.waiting--
			s.waiting--
			q.forget(client, stream)
			q.mu.Unlock()
			return nil, fmt.Errorf("wait for a free place: %w", context.Cause(ctx))
		}
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

// take gives a place to a call of a stream.
func (q *Queue) take(c, s *queued) {
	q.places--
	q.clock++
	c.running, c.served = c.running+1, q.clock
	s.running, s.served = s.running+1, q.clock
}

// next gives a free place to the call whose turn it is.
func (q *Queue) next() {
	if q.waiting == 0 {
		return
	}
	c := first(q.clients)
	s := first(c.streams)
	turn := s.calls[0]
	s.calls = s.calls[1:]
	q.waiting--
	c.waiting--
	s.waiting--
	q.take(c, s)
	close(turn)
}

// first returns whose turn it is.
func first(of map[string]*queued) (best *queued) {
	for _, x := range of {
		if x.waiting > 0 && (best == nil || x.running < best.running || x.running == best.running && x.served < best.served) {
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
	if s := c.streams[stream]; s != nil && s.running+s.waiting == 0 {
		delete(c.streams, stream)
	}
	if c.running+c.waiting == 0 {
		delete(q.clients, client)
	}
}
