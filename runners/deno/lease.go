package deno

import (
	"context"
	"errors"
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
	pool *pool.Pool[string, *instance] // by variantKey; nil: no process is kept idle
	ctx  context.Context               // ends with close
	stop context.CancelFunc

	variants recent.Map[string, variant] // by variantKey; idle processes of a forgotten one expire
}

// newLeases returns leases with at most max idle processes.
func newLeases(of *launcher, max int) *leases {
	l := &leases{launcher: of}
	l.ctx, l.stop = context.WithCancel(context.Background())
	if max > 0 {
		l.pool = pool.New(pool.Options[string, *instance]{
			New:         func(_ context.Context, key string) (*instance, error) { return l.launchFor(key) },
			Close:       (*instance).discard,
			Ready:       (*instance).ready,
			MaxIdle:     max,
			MaxIdleTime: idleLimit,
		})
	}
	return l
}

// launchFor starts a process for the pool.
func (l *leases) launchFor(key string) (*instance, error) {
	v, ok := l.variants.Get(key)
	if !ok {
		return nil, errForgotten
	}
	in := l.launch(l.ctx, v)
	in.key = key
	l.background.Go(func() {
		// A process that cannot be started must not be leased.
		if <-in.started; in.err != nil && l.pool.Remove(key, in) {
			l.log.Warn("a process for the pool cannot be started", zap.Error(in.err))
		}
	})
	return in, nil
}

// errForgotten ends the start of a process for the pool. Get never sees it.
var errForgotten = errors.New("the variant was not used for long")

// take returns a process of the variant, which the caller must await.
func (l *leases) take(ctx context.Context, v variant) *instance {
	if key := l.key(v); key != "" {
		if in, err := l.pool.Get(ctx, key); err == nil {
			return in
		}
	}
	return l.launch(ctx, v)
}

// fill starts the missing processes of a key, if not "", in the background.
func (l *leases) fill(key string) {
	if key != "" {
		l.pool.Fill(key)
	}
}

// begin keeps at least one process of the variant idle.
func (l *leases) begin(v variant) {
	if key := l.key(v); key != "" {
		l.pool.Want(key)
		l.pool.Fill(key)
	}
}

// key returns the pool's key for a variant, "" if its processes cannot be pooled.
func (l *leases) key(v variant) string {
	if l.pool == nil {
		return ""
	}
	key := l.variantKey(v)
	if _, known := l.variants.Get(key); known || key == "" {
		return key
	}
	l.variants.Put(key, v)
	// The idle processes of a replaced Deno.
	l.drop(func(k string, have variant) bool {
		return k != key && have.binary == v.binary && have.memory == v.memory && have.ready.dir == v.ready.dir
	})
	return key
}

// drop ends the idle processes of the matching variants: their view of the cache
// is stale.
func (l *leases) drop(which func(key string, v variant) bool) {
	if l.pool != nil {
		l.pool.Drop(func(key string) bool {
			v, ok := l.variants.Get(key)
			return !ok || which(key, v)
		})
	}
}

// dropVariant ends the idle processes of a variant.
func (l *leases) dropVariant(v variant) {
	key := l.variantKey(v)
	l.drop(func(have string, _ variant) bool { return have == key })
}

// dropPrepared ends the idle processes that use a prepared directory.
func (l *leases) dropPrepared(dir string) {
	l.drop(func(_ string, v variant) bool { return v.ready.dir == dir })
}

// close ends all idle processes. Its work in the background may continue.
func (l *leases) close() {
	l.stop()
	if l.pool != nil {
		l.pool.Close()
	}
}
