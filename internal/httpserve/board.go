package httpserve

import (
	"cmp"
	"context"
	"path/filepath"
	"sync"
	"time"

	"coderunner/internal/order"
	"coderunner/internal/server"
	"coderunner/runners"
)

// board knows the runs that wait or run, for the status page, and counts those that have
// ended.
type board struct {
	tracer *tracer
	ended  func(*run, *runners.Outcome, error) // set before the first run

	mu   sync.Mutex
	runs map[*run]bool
}

// run is one program. It is a server.Observer.
type run struct {
	board    *board
	client   string
	language runners.Language
	session  string // "": none
	arrived  time.Time
	span     *otlpSpan // nil: it is not sent

	// Guarded by board.mu:
	begun time.Time // zero while it waits
	phase string
}

// observe returns the server.Config.Observe of a client.
func (b *board) observe(client string) func(context.Context, runners.Request, string) server.Observer {
	return func(ctx context.Context, req runners.Request, parent string) server.Observer {
		r := &run{board: b, client: client, language: req.Language, arrived: time.Now()}
		if req.Session != nil {
			r.session = filepath.Base(req.Session.Key)
		}
		r.span = b.tracer.run(ctx, parent, r)
		b.mu.Lock()
		defer b.mu.Unlock()
		b.runs[r] = true
		return r
	}
}

func (r *run) Begun() {
	r.board.mu.Lock()
	defer r.board.mu.Unlock()
	r.begun = time.Now()
}

func (r *run) Progress(p runners.Progress) {
	r.board.mu.Lock()
	defer r.board.mu.Unlock()
	r.phase = p.Phase
}

func (r *run) Call(server, tool string) (ended func(status string)) {
	return r.board.tracer.call(r.span, server, tool)
}

func (r *run) Ended(out *runners.Outcome, err error) {
	r.board.mu.Lock()
	delete(r.board.runs, r)
	r.board.mu.Unlock()
	r.board.tracer.ran(r, out, err)
	r.board.ended(r, out, err)
}

// row is a run on the status page.
type row struct {
	Language runners.Language `json:"language"`
	Session  string           `json:"session,omitempty"`
	State    string           `json:"state"` // "waiting", or its phase
	MS       int64            `json:"ms"`    // since it came
}

// rows returns the runs of a client, the oldest first.
func (b *board) rows(client string) []row {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := []row{}
	for r := range b.runs {
		if r.client != client {
			continue
		}
		state := "waiting"
		if !r.begun.IsZero() {
			state = cmp.Or(r.phase, "run")
		}
		out = append(out, row{r.language, r.session, state, time.Since(r.arrived).Milliseconds()})
	}
	order.By(out, func(a, b row) int { return cmp.Compare(b.MS, a.MS) })
	return out
}
