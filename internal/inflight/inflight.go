// Package inflight counts what is in progress, for whoever waits until nothing is.
package inflight

import (
	"context"
	"sync"
)

// Group counts. Unlike with a sync.WaitGroup, more may begin while somebody waits, also as the
// last of it ends. The zero value is ready for use.
type Group struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when there is none; nil: nobody waits
}

// Begin counts one more until end is called.
func (g *Group) Begin() (end func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.n--; g.n == 0 && g.idle != nil {
			close(g.idle)
			g.idle = nil
		}
	}
}

// Go runs f, which is in progress until it returns.
func (g *Group) Go(f func()) {
	end := g.Begin()
	go func() {
		defer end()
		f()
	}()
}

// Wait returns when nothing is in progress, if only for a moment, or ctx is done.
func (g *Group) Wait(ctx context.Context) {
	g.mu.Lock()
	if g.n > 0 && g.idle == nil {
		g.idle = make(chan struct{})
	}
	idle := g.idle
	g.mu.Unlock()
	if idle == nil {
		return
	}
	select {
	case <-idle:
	case <-ctx.Done():
	}
}
