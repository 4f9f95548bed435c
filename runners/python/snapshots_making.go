package python

import (
	"context"
	"errors"
	"io"
	"time"

	"go.uber.org/zap"

	"coderunner/pyodide"
)

// Which snapshots are made, when, and who waits for it.

// errNoNote ends the look for a note.
var errNoNote = errors.New("no note")

// forRecipe returns the snapshot of a recipe: the open one, the one on disk, or,
// where runs wait and an earlier one wanted it, a new one if that is made
// within limit; 0 is none. Otherwise it gives nil and, in the background, has
// it made.
func (s *snapshots) forRecipe(ctx context.Context, r recipe, n needs, limit time.Duration) (*pyodide.Snapshot, func()) {
	key := r.key()
	z, release := s.there(ctx, r)
	switch {
	case z != nil || s.isUnfit(key):
	case s.waits && s.wantedBefore(ctx, key):
		z, release = s.makeWithin(ctx, r, limit)
	default:
		s.ask(r)
	}
	return n.checked(z, release)
}

// makeWithin makes a snapshot while a run waits, unless that was tried in vain,
// maybe by another process.
func (s *snapshots) makeWithin(ctx context.Context, r recipe, limit time.Duration) (*pyodide.Snapshot, func()) {
	key := r.key()
	if s.noted(ctx, "unfit", s.rt.SnapshotKey()+" "+key) {
		s.setUnfit(key)
		return nil, nil
	}
	within, cancel := ctx, context.CancelFunc(func() {})
	if limit > 0 {
		within, cancel = context.WithTimeout(ctx, limit)
	}
	defer cancel()
	z, release, err := s.make(within, r)
	if err == nil {
		return z, release
	}
	if ctx.Err() == nil {
		s.setUnfit(key) // for whatever reason, the next run need not wait
	}
	if errors.Is(err, pyodide.ErrUnfit) {
		s.note(ctx, "unfit", s.rt.SnapshotKey()+" "+key)
	}
	return nil, nil
}

// background makes the snapshots that runs have asked for.
func (s *snapshots) background() {
	defer close(s.ended)
	for {
		select {
		case <-s.ctx.Done():
			return
		case r := <-s.work:
			if _, release, err := s.make(s.ctx, r); err != nil {
				s.log.Info("no snapshot", zap.Strings("modules", r.modules), zap.Error(err))
			} else {
				release()
			}
			s.mu.Lock()
			delete(s.asked, r.key())
			s.mu.Unlock()
		}
	}
}

// ask has a snapshot made in the background, unless that was asked already. If
// there is too much to do it will be asked for again.
func (s *snapshots) ask(r recipe) {
	key := r.key()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked[key] || s.unfit[key] {
		return
	}
	select {
	case s.work <- r:
		s.asked[key] = true
	default:
	}
}

// wantedBefore reports whether a run has wanted this before, maybe in another
// process, and remembers that one has now.
func (s *snapshots) wantedBefore(ctx context.Context, key string) bool {
	if s.noted(ctx, "wanted", key) {
		return true
	}
	s.note(ctx, "wanted", key)
	return false
}

// noted reports whether note was called, maybe in another process.
func (s *snapshots) noted(ctx context.Context, kind, key string) bool {
	_, err := s.cache.File(ctx, kind, key, func(context.Context, io.Writer) error { return errNoNote })
	return err == nil
}

func (s *snapshots) note(ctx context.Context, kind, key string) {
	_, err := s.cache.File(ctx, kind, key, func(context.Context, io.Writer) error { return nil })
	if err != nil && ctx.Err() == nil {
		s.log.Warn("what was learned of a snapshot cannot be noted", zap.Error(err))
	}
}
