package httpserve

import (
	"context"
	"sync"
)

// work counts the requests in progress.
type work struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when there is none; nil: nobody waits
}

// begin counts a request until end is called.
func (w *work) begin() (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.n--; w.n == 0 && w.idle != nil {
			close(w.idle)
			w.idle = nil
		}
	}
}

// wait returns when there is no request in progress, or ctx is done.
func (w *work) wait(ctx context.Context) {
	w.mu.Lock()
	if w.n == 0 {
		w.mu.Unlock()
		return
	}
	if w.idle == nil {
		w.idle = make(chan struct{})
	}
	idle := w.idle
	w.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}
