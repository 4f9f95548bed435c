// Package builder builds artefacts in the background that make later runs
// faster, such as snapshots and compiled code: one at a time, when a run wants
// one that is not there. It remembers which cannot be built, and keeps those on
// disk within bounds.
//
// What an artefact is and how it is found, its caller knows. The builder knows a
// key, and the kind of the entries in the cache.
//
// # Locking
//
// Builder.mu guards what is known of keys. It is not held while anything is
// built or the cache is asked.
package builder

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"coderunner/cache"

	"go.uber.org/zap"
)

const (
	maxWaiting = 16   // builds in the background
	maxKnown   = 1024 // keys; a full memory starts again
)

// Options say how a [Builder] works.
type Options struct {
	Cache       *cache.Cache
	Kind        string // of the artefacts' entries in the cache
	MaxEntries  int    // on disk
	MaxBytes    int64  // on disk
	MaxFailures int    // of a key before it is given up
	Log         *zap.Logger
}

// Builder builds artefacts of one kind. It is safe for concurrent use.
type Builder struct {
	o    Options
	ctx  context.Context // of what is built in the background
	stop context.CancelFunc
	turn chan struct{} // holds a token while something is built in the background
	done sync.WaitGroup

	mu      sync.Mutex
	closed  bool              // guarded by mu
	waiting int               // builds in the background; guarded by mu
	keys    map[string]*state // guarded by mu
}

type state struct {
	building bool
	failures int
}

// New returns a Builder. The caller closes it.
func New(o Options) *Builder {
	b := &Builder{o: o, turn: make(chan struct{}, 1), keys: map[string]*state{}}
	b.ctx, b.stop = context.WithCancel(context.Background())
	return b
}

// Close ends what is built in the background, and waits for that.
func (b *Builder) Close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.stop()
	b.done.Wait()
}

// Wait waits for what is built in the background.
func (b *Builder) Wait() { b.done.Wait() }

// stateLocked returns what is known of a key.
func (b *Builder) stateLocked(key string) *state {
	s := b.keys[key]
	if s == nil {
		if len(b.keys) >= maxKnown {
			for key, old := range b.keys {
				if !old.building {
					delete(b.keys, key)
				}
			}
		}
		s = &state{}
		b.keys[key] = s
	}
	return s
}

// Failed reports whether a key is given up.
func (b *Builder) Failed(key string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.keys[key]
	return s != nil && s.failures >= b.o.MaxFailures
}

// Building reports whether a key is being built in the background.
func (b *Builder) Building(key string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.keys[key]
	return s != nil && s.building
}

// Fail counts a failure of a key's artefact that Build did not see.
func (b *Builder) Fail(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stateLocked(key).failures++
}

// Start has build run in the background, unless it does already, the key is
// given up, or there is too much to do: it may be wanted again later. It reports
// whether build will run.
func (b *Builder) Start(key string, build func(context.Context) error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.stateLocked(key)
	if b.closed || s.building || s.failures >= b.o.MaxFailures || b.waiting >= maxWaiting {
		return false
	}
	s.building = true
	b.waiting++
	b.done.Go(func() {
		defer func() {
			b.mu.Lock()
			s.building = false
			b.waiting--
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

// Build runs build, counts it if it fails, and makes room on disk if it does
// not. It is not a failure that ctx has ended.
func (b *Builder) Build(ctx context.Context, key string, build func(context.Context) error) error {
	err := build(ctx)
	switch {
	case err == nil:
		b.trim(ctx)
	case ctx.Err() == nil:
		b.Fail(key)
	}
	return err
}

// errNoNote ends the look for a note.
var errNoNote = errors.New("no note")

// Wanted reports whether a run has wanted the artefact of a key before, maybe in
// another process, and notes that one has now.
func (b *Builder) Wanted(ctx context.Context, key string) bool {
	if b.Noted(ctx, "wanted", key) {
		return true
	}
	b.Note(ctx, "wanted", key)
	return false
}

// Noted reports whether Note was called, maybe in another process.
func (b *Builder) Noted(ctx context.Context, kind, key string) bool {
	_, err := b.o.Cache.File(ctx, kind, key, func(context.Context, io.Writer) error { return errNoNote })
	return err == nil
}

// Note notes something about a key for all processes.
func (b *Builder) Note(ctx context.Context, kind, key string) {
	_, err := b.o.Cache.File(ctx, kind, key, func(context.Context, io.Writer) error { return nil })
	if err != nil && ctx.Err() == nil {
		b.o.Log.Warn("a note about an artefact cannot be kept", zap.String("kind", b.o.Kind), zap.Error(err))
	}
}

// trim removes the artefacts on disk that have not been used for longest until
// the rest is within bounds. Those in use live on until they are closed.
func (b *Builder) trim(ctx context.Context) {
	all, err := b.o.Cache.List(ctx)
	if err != nil {
		if ctx.Err() == nil {
			b.o.Log.Warn("artefacts cannot be counted", zap.String("kind", b.o.Kind), zap.Error(err))
		}
		return // the next one tries again
	}
	all = slices.DeleteFunc(all, func(e cache.Entry) bool { return e.Kind != b.o.Kind })
	slices.SortFunc(all, func(x, y cache.Entry) int { return cmp.Compare(y.Used.UnixNano(), x.Used.UnixNano()) })
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
