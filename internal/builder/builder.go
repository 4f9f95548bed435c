// Package builder builds artefacts that make later runs faster, such as snapshots
// and compiled code: in the background, one at a time, when a run misses one. It
// remembers keys whose builds fail and evicts artefacts on disk.
//
// The caller defines artefacts and lookup; the builder sees keys and a cache kind.
//
// # Locking
//
// Builder.mu guards the builds in progress. It is not held during builds and cache
// operations.
package builder

import (
	"cmp"
	"context"
	"io"
	"sync"

	"coderunner/cache"
	"coderunner/internal/order"
	"coderunner/internal/recent"

	"go.uber.org/zap"
)

const maxWaiting = 16 // builds in the background

// Options configure a [Builder].
type Options struct {
	Cache       *cache.Cache
	Kind        string // of the artefacts' entries in the cache
	MaxEntries  int    // on disk
	MaxBytes    int64  // on disk
	MaxFailures int    // of a key, after which it is not built again
	Log         *zap.Logger
}

// Builder builds artefacts of one kind. It is safe for concurrent use.
type Builder struct {
	o    Options
	ctx  context.Context // of background builds
	stop context.CancelFunc
	turn chan struct{} // holds a token during a background build
	done sync.WaitGroup

	failures recent.Map[string, int] // by key

	mu       sync.Mutex
	closed   bool                // guarded by mu
	building map[string]struct{} // keys of background builds, queued or running; guarded by mu
}

// New returns a Builder. The caller closes it.
func New(o Options) *Builder {
	b := &Builder{o: o, turn: make(chan struct{}, 1), building: map[string]struct{}{}}
	b.ctx, b.stop = context.WithCancel(context.Background())
	return b
}

// Close cancels background builds and waits until they have ended.
func (b *Builder) Close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.stop()
	b.done.Wait()
}

// Wait waits until no background build is queued or running.
func (b *Builder) Wait() { b.done.Wait() }

// Failed reports whether a key has failed MaxFailures times.
func (b *Builder) Failed(key string) bool {
	n, _ := b.failures.Get(key)
	return n >= b.o.MaxFailures
}

// Building reports whether a background build of the key is queued or running.
func (b *Builder) Building(key string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, is := b.building[key]
	return is
}

// Fail counts a failure of a key that Build did not observe.
func (b *Builder) Fail(key string) { b.failures.Update(key, func(n int) int { return n + 1 }) }

// Start runs build in the background and reports true. It reports false while key
// is building, has failed MaxFailures times, or maxWaiting builds are queued.
func (b *Builder) Start(key string, build func(context.Context) error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, is := b.building[key]; b.closed || is || b.Failed(key) || len(b.building) >= maxWaiting {
		return false
	}
	b.building[key] = struct{}{}
	b.done.Go(func() {
		defer func() {
			b.mu.Lock()
			delete(b.building, key)
			b.mu.Unlock()
		}()
		select {
		case b.turn <- struct{}{}:
			defer func() { <-b.turn }()
		case <-b.ctx.Done():
		}
		if b.ctx.Err() != nil {
			return
		}
		if err := b.Build(b.ctx, key, build); err != nil && b.ctx.Err() == nil {
			b.o.Log.Info("an artefact cannot be built", zap.String("kind", b.o.Kind), zap.String("key", key), zap.Error(err))
		}
	})
	return true
}

// Build runs build, then trims. A failure counts unless ctx ended.
func (b *Builder) Build(ctx context.Context, key string, build func(context.Context) error) error {
	ctx, release := b.o.Cache.Hold(ctx)
	defer release()
	err := build(ctx)
	switch {
	case err == nil:
		b.trim(ctx)
	case ctx.Err() == nil:
		b.Fail(key)
	}
	return err
}

// Wanted reports whether it was called for this key before, perhaps in another
// process.
func (b *Builder) Wanted(ctx context.Context, key string) bool {
	if b.Noted(ctx, "wanted", key) {
		return true
	}
	b.Note(ctx, "wanted", key)
	return false
}

// Noted reports whether Note was called for kind and key, perhaps in another process.
func (b *Builder) Noted(ctx context.Context, kind, key string) bool {
	_, ok := b.o.Cache.Find(ctx, cache.Files, kind, key)
	return ok
}

// Note records kind for key in the cache.
func (b *Builder) Note(ctx context.Context, kind, key string) {
	_, err := b.o.Cache.File(ctx, kind, key, func(context.Context, io.Writer) error { return nil })
	if err != nil && ctx.Err() == nil {
		b.o.Log.Warn("a note about an artefact cannot be kept", zap.String("kind", b.o.Kind), zap.Error(err))
	}
}

// trim evicts the least recently used artefacts until MaxEntries and MaxBytes hold.
// Open files of an evicted artefact stay readable.
func (b *Builder) trim(ctx context.Context) {
	all, err := b.o.Cache.List(ctx, b.o.Kind)
	if err != nil {
		if ctx.Err() == nil {
			b.o.Log.Warn("artefacts cannot be counted", zap.String("kind", b.o.Kind), zap.Error(err))
		}
		return // the next one tries again
	}
	order.By(all, func(x, y cache.Entry) int { return cmp.Compare(y.Used.UnixNano(), x.Used.UnixNano()) })
	bytes := int64(0)
	for i, e := range all {
		if bytes += e.Size; i < b.o.MaxEntries && bytes <= b.o.MaxBytes {
			continue
		}
		if err := b.o.Cache.Remove(ctx, e); err != nil && ctx.Err() == nil {
			b.o.Log.Warn("an artefact cannot be removed", zap.String("kind", b.o.Kind), zap.Error(err))
		}
	}
}
