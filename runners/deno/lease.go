package deno

import (
	"context"
	"time"

	"coderunner/internal/pool"
	"coderunner/internal/recent"

	"go.uber.org/zap"
)

// idleLimit bounds how long a process stays idle.
const idleLimit = 10 * time.Minute

// leases pools started processes by variant, as many per variant as were missed
// at once. Each process runs one program.
//
//	take ──> an idle process, ready or not, or a new one ──> the run
//	fill ──> starts the missing ones, after the run
type leases struct {
	*launcher
	pool *pool.Pool[*lot, *instance] // nil: no process is kept idle
	ctx  context.Context             // ends with close
	stop context.CancelFunc

	lots recent.Map[string, *lot] // by key
}

// lot is the pool's key for a variant. There is one of each.
type lot struct {
	key     string
	variant variant
}

// newLeases returns leases with at most max idle processes.
func newLeases(of *launcher, max int) *leases {
	l := &leases{launcher: of}
	l.ctx, l.stop = context.WithCancel(context.Background())
	if max > 0 {
		l.pool = pool.New(pool.Options[*lot, *instance]{
			New:         func(_ context.Context, of *lot) (*instance, error) { return l.launchFor(of), nil },
			Close:       (*instance).discard,
			Ready:       (*instance).ready,
			MaxIdle:     max,
			MaxIdleTime: idleLimit,
		})
	}
	return l
}

// launchFor starts a process for the pool.
func (l *leases) launchFor(of *lot) *instance {
	in := l.launch(l.ctx, of.variant)
	in.lot = of
	l.background.Go(func() {
		// A process that cannot be started must not be leased.
		if <-in.started; in.err != nil && l.pool.Remove(of, in) {
			l.log.Warn("a process for the pool cannot be started", zap.Error(in.err))
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
	return l.launch(ctx, v)
}

// fill starts the missing processes of a lot in the background.
func (l *leases) fill(of *lot) {
	if of != nil {
		l.pool.Fill(of)
	}
}

// begin keeps at least one process of the variant idle.
func (l *leases) begin(v variant) {
	if of := l.lotOf(v); of != nil {
		l.pool.Want(of)
		l.pool.Fill(of)
	}
}

// lotOf returns the variant's lot, nil if its processes cannot be pooled.
func (l *leases) lotOf(v variant) *lot {
	if l.pool == nil {
		return nil
	}
	key := l.variantKey(v)
	if key == "" {
		return nil
	}
	fresh := false
	of := l.lots.Update(key, func(have *lot) *lot { // idle processes of a forgotten one expire
		if fresh = have == nil; fresh {
			return &lot{key: key, variant: v}
		}
		return have
	})
	if fresh {
		// The lots of a replaced Deno.
		l.drop(func(have *lot) bool {
			h := have.variant
			return have != of && h.binary == v.binary && h.memory == v.memory && h.ready.dir == v.ready.dir
		})
	}
	return of
}

// drop ends the idle processes of the matching lots: their view of the cache is
// stale.
func (l *leases) drop(which func(*lot) bool) {
	if l.pool != nil {
		l.pool.Drop(which)
	}
}

// dropVariant ends the idle processes of a variant.
func (l *leases) dropVariant(v variant) {
	key := l.variantKey(v)
	l.drop(func(of *lot) bool { return of.key == key })
}

// dropPrepared ends the idle processes that use a prepared directory.
func (l *leases) dropPrepared(dir string) {
	l.drop(func(of *lot) bool { return of.variant.ready.dir == dir })
}

// close ends all idle processes. Its work in the background may continue.
func (l *leases) close() {
	l.stop()
	if l.pool != nil {
		l.pool.Close()
	}
}
