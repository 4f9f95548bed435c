package process

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"coderunner/internal/pool"
	"coderunner/internal/recent"

	"go.uber.org/zap"
)

// IdleLimit bounds how long a process stays idle.
const IdleLimit = 10 * time.Minute

// usualRun is how long a run may take for its zygote to be waited for before another is started:
// twice as long as the first that loads Node's part takes on a slow machine. If it were shorter
// than that one, each would be the first of its zygote.
const usualRun = 300 * time.Millisecond

// burst is how long after a call the next of a burst of calls comes at most.
const burst = 10 * time.Millisecond

// Leases pools started processes by variant: one more each time that none was ready, and one
// less when one was not used for IdleLimit. Each process runs one program.
//
//	take ──> an idle process, ready or not, or a new one ──> the run
//	fill ──> starts the missing ones, after the run, and leaves it a processor
type Leases struct {
	*Launcher
	Pool *pool.Pool[string, *Instance] // by variantKey; nil: no process is kept idle
	ctx  context.Context               // ends with close
	stop context.CancelFunc

	// ClockLimit bounds how long a process waits whose packages have asked for the time, and
	// EarlyMemory the memory of all that wait with packages, in bytes.
	ClockLimit  time.Duration
	EarlyMemory int64

	variants recent.Map[string, Variant] // by variantKey; idle processes of a forgotten one expire
}

// NewLeases returns leases with at most so many idle processes.
func NewLeases(of *Launcher, most int) *Leases {
	l := &Leases{Launcher: of, ClockLimit: time.Minute, EarlyMemory: 384 << 20}
	l.ctx, l.stop = context.WithCancel(context.Background())
	if most > 0 {
		l.Pool = pool.New(pool.Options[string, *Instance]{
			New:        func(_ context.Context, key string) (*Instance, error) { return l.launchFor(key) },
			Close:      (*Instance).Discard,
			Reset:      (*Instance).again,
			Ready:      (*Instance).ready,
			MaxUnready: max(runtime.GOMAXPROCS(0)-1, 1),
			MaxIdle:    most,
			MaxOf: func(key string) int {
				v, _ := l.variants.Get(key)
				switch forks := l.CanFork(v); { // another is forked in 2 ms
				case forks && v.Warm:
					return max(most/4, 1)
				case forks:
					return max(most/2, 1)
				}
				return most
			},
			MaxUsed:     most,
			MaxIdleTime: IdleLimit,
			Return:      usualRun,
			Quiet:       burst,
		})
	}
	return l
}

// launchFor starts a process for the pool.
func (l *Leases) launchFor(key string) (*Instance, error) {
	v, ok := l.variants.Get(key)
	if !ok {
		return nil, errForgotten
	}
	in := &Instance{Launcher: l.Launcher, Variant: v, Key: key}
	if l.CanFork(v) {
		in.home = l
	}
	in.begin(l.ctx)
	l.Background.Go(func() {
		// A process that cannot be started must not be leased.
		if <-in.started; in.err != nil && l.Pool.Remove(key, in) && !unfit(in.err) {
			l.Log.Warn("a process for the pool cannot be started", zap.Error(in.err))
		}
		if in.err == nil && v.Early != nil {
			l.boundEarly(in)
		}
		if slices.Contains(l.Pool.Ready(), in) { // else the end of its run fills
			l.Pool.Fill(key)
		}
	})
	return in, nil
}

// errForgotten ends the start of a process for the pool. Get never sees it.
var errForgotten = errors.New("the variant was not used for long")

// Take returns a process of the variant, which the caller must await.
func (l *Leases) Take(ctx context.Context, v Variant) *Instance {
	if key := l.key(v); key != "" {
		if in, err := l.Pool.Get(ctx, key); err == nil {
			if in.home == nil {
				l.Pool.Discard(key) // it does not come back
			}
			return in
		}
	}
	return l.Launch(ctx, v)
}

// Fill starts the missing processes of a key, if not "", in the background.
func (l *Leases) Fill(key string) {
	if key != "" {
		l.Pool.Fill(key)
	}
}

// Begin keeps at least one process of the variant idle.
func (l *Leases) Begin(v Variant) {
	if key := l.key(v); key != "" {
		l.Pool.Want(key)
		l.Pool.Fill(key)
	}
}

// key returns the pool's key for a variant, "" if its processes cannot be pooled.
func (l *Leases) key(v Variant) string {
	if l.Pool == nil {
		return ""
	}
	key := l.variantKey(v)
	if _, known := l.variants.Get(key); known || key == "" {
		return key
	}
	l.variants.Put(key, v)
	// The idle processes of a replaced Deno.
	l.drop(func(k string, have Variant) bool {
		return k != key && have.Binary == v.Binary && have.Memory == v.Memory && have.Ready.Dir == v.Ready.Dir && have.Early.key() == v.Early.key() && have.Warm == v.Warm
	})
	return key
}

// drop ends the idle processes of the matching variants: their view of the cache
// is stale.
func (l *Leases) drop(which func(key string, v Variant) bool) {
	if l.Pool != nil {
		l.Pool.Drop(func(key string) bool {
			v, ok := l.variants.Get(key)
			return !ok || which(key, v)
		})
	}
}

// DropVariant ends the idle processes of a variant.
func (l *Leases) DropVariant(v Variant) {
	key := l.variantKey(v)
	l.drop(func(have string, _ Variant) bool { return have == key })
}

// DropPrepared ends the idle processes that use a prepared directory.
func (l *Leases) DropPrepared(dir string) {
	l.drop(func(_ string, v Variant) bool { return v.Ready.Dir == dir })
}

// Close ends all idle processes. Its work in the background may continue.
func (l *Leases) Close() {
	l.stop()
	if l.Pool != nil {
		l.Pool.Close()
	}
}
