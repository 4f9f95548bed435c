package deno

import (
	"context"
	"sync"
	"time"

	"coderunner/internal/pool"

	"go.uber.org/zap"
)

// idleLimit is how long a process waits for a program.
const idleLimit = 10 * time.Minute

// leases hands out processes, each to one program. Some are started before
// there is a program for them: of the variants that were used last, as many as
// were missed at a time.
//
//	take ──> one that waits, ready or not, or a new one ──> the run
//	fill ──> starts what was missing, after the run
type leases struct {
	r    *Runner
	pool *pool.Pool[*lot, *instance] // nil: none is started ahead
	ctx  context.Context             // ends with close
	stop context.CancelFunc

	mu   sync.Mutex
	lots map[string]*lot // by key
}

// lot is a variant as the pool knows it: there is one of each.
type lot struct {
	key     string
	variant variant
}

// newLeases makes leases that keep max processes waiting at most.
func newLeases(r *Runner, max int) *leases {
	l := &leases{r: r, lots: map[string]*lot{}}
	l.ctx, l.stop = context.WithCancel(context.Background())
	if max > 0 {
		l.pool = pool.New(pool.Options[*lot, *instance]{
			New:         func(_ context.Context, of *lot) (*instance, error) { return l.launch(of), nil },
			Close:       (*instance).discard,
			Ready:       (*instance).ready,
			MaxIdle:     max,
			MaxIdleTime: idleLimit,
		})
	}
	return l
}

// launch starts a process for the pool.
func (l *leases) launch(of *lot) *instance {
	in := l.r.launch(l.ctx, of.variant)
	in.lot = of
	l.r.background.Go(func() {
		// Nobody should wait for one that cannot be started.
		if <-in.started; in.err != nil && l.pool.Remove(of, in) {
			l.r.log.Warn("a process for later cannot be started", zap.Error(in.err))
		}
	})
	return in
}

// take returns a process of the variant, which the caller must await.
func (l *leases) take(ctx context.Context, v variant) *instance {
	if of := l.lotOf(v); of != nil {
		if in, err := l.pool.Get(ctx, of); err == nil {
			return in
		}
	}
	return l.r.launch(ctx, v)
}

// fill starts the processes of a lot that are missing, in the background.
func (l *leases) fill(of *lot) {
	if of != nil {
		l.pool.Fill(of)
	}
}

// begin has one process of the variant wait at least.
func (l *leases) begin(v variant) {
	if of := l.lotOf(v); of != nil {
		l.pool.Want(of)
		l.pool.Fill(of)
	}
}

// lotOf returns the variant's lot, nil if none of its processes can wait.
func (l *leases) lotOf(v variant) *lot {
	if l.pool == nil {
		return nil
	}
	key := l.r.variantKey(v)
	if key == "" {
		return nil
	}
	l.mu.Lock()
	of := l.lots[key]
	stale := of == nil
	if stale {
		if len(l.lots) >= maxKnown {
			clear(l.lots) // what waits of them expires
		}
		of = &lot{key: key, variant: v}
		l.lots[key] = of
	}
	l.mu.Unlock()
	if stale {
		// Those of a Deno that was replaced.
		l.drop(func(have *lot) bool {
			h := have.variant
			return have != of && h.binary == v.binary && h.memory == v.memory && h.ready.dir == v.ready.dir
		})
	}
	return of
}

// drop ends the processes that wait of some lots: they know what was there when
// they started.
func (l *leases) drop(which func(*lot) bool) {
	if l.pool != nil {
		l.pool.Drop(which)
	}
}

// dropVariant ends the processes that wait of a variant.
func (l *leases) dropVariant(v variant) {
	key := l.r.variantKey(v)
	l.drop(func(of *lot) bool { return of.key == key })
}

// dropPrepared ends those with a directory of the trusted phase.
func (l *leases) dropPrepared(dir string) {
	l.drop(func(of *lot) bool { return of.variant.ready.dir == dir })
}

// close ends all processes that wait. What it began in the background may still
// go on.
func (l *leases) close() {
	l.stop()
	if l.pool != nil {
		l.pool.Close()
	}
}
