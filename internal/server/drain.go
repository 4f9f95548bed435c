package server

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// ending is the end of serving over HTTP, in two steps: new requests are refused, and later
// the calls in progress are cancelled.
type ending struct {
	ctx    context.Context // done once new requests are refused
	cancel context.CancelFunc
	over   context.Context // done once calls in progress are cancelled
	end    context.CancelFunc
	at     atomic.Int64 // when they will be, in Unix nanoseconds
}

// left is how long calls in progress may still take.
func (e *ending) left() time.Duration { return time.Until(time.Unix(0, e.at.Load())) }

// refused answers a request with 503 if the server is ending, and reports whether it did.
// What belongs to a call in progress is not refused: its cancellation, an answer to its
// question.
func (e *ending) refused(w http.ResponseWriter, m *message) bool {
	if e.ctx.Err() == nil || m.Method == "" || m.key == "" || m.Params.RequestState != nil {
		return false
	}
	w.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(e.left().Seconds())))))
	http.Error(w, "The server is ending; try again later.", http.StatusServiceUnavailable)
	return true
}

// text is what the progress of a call says besides, "" while the server goes on.
func (e *ending) text() string {
	if e.ctx.Err() == nil {
		return ""
	}
	return fmt.Sprintf("; the server is ending: this call is cancelled in %d s", max(0, int(e.left().Seconds())))
}
