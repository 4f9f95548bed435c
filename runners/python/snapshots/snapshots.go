// Package snapshots keeps snapshots of interpreters that have imported what programs
// import. A program whose set of imports was used before starts from a snapshot that was
// taken after these imports. In a server the first run with a set has the
// snapshot made in the background, and no run waits for it. Other processes may
// not live that long: there the second run makes it, within the program's time
// limit. A set that was found unfit, or takes too long twice, is not tried again.
//
// The importing interpreter runs only the packages' code, never a program's, and
// has no access to the host; the same holds for those that compile packages.
package snapshots

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"coderunner/cache"
	"coderunner/internal/builder"
	"coderunner/pyodide"
)

// The bounds of what is kept.
const (
	maxSnapshots     = 64      // on disk
	maxSnapshotBytes = 4 << 30 // on disk, without holes
	maxOpen          = 32      // in this process
)

// findLimit bounds the wait for another process that is making the same
// snapshot.
const findLimit = 100 * time.Millisecond

// waitLimit bounds the time for which a run waits for its snapshot to be made; half
// of what it waits where that was too short before.
const waitLimit = 20 * time.Second

// Recipe describes a snapshot: mounts and imports.
type Recipe struct {
	Modules []string // sorted
	Mounts  []pyodide.Mount

	// Take, if not nil, makes it in another process: see [pyodide.Runtime.SnapshotBy].
	Take func(ctx context.Context, f *os.File) error
}

// Key returns a digest of the recipe, the same in all processes.
func (r Recipe) Key() string {
	h := sha256.New()
	for _, m := range r.Mounts {
		if m.Derived {
			continue
		}
		fmt.Fprintf(h, "%s %s\n", m.Dir, m.Key)
	}
	fmt.Fprintf(h, "%q", r.Modules)
	return fmt.Sprintf("%x", h.Sum(nil))
}

// Store keeps the snapshots of one runtime. It is safe for concurrent use; its
// exported fields are for who makes it.
type Store struct {
	Builder *builder.Builder
	Waits   bool          // whether a run may wait until its snapshot is made
	Wait    time.Duration // for how long

	rt  *pyodide.Runtime
	log *zap.Logger

	mu    sync.Mutex
	open  map[string]*snapshotUse // by recipe key; guarded by mu
	clock int64                   // guarded by mu
}

// snapshotUse is an open snapshot. It is closed when it was put aside and has no
// users.
type snapshotUse struct {
	snapshot *pyodide.Snapshot
	users    int
	used     int64
	aside    bool
}

// New returns a store. Close frees what it holds.
func New(rt *pyodide.Runtime, c *cache.Cache, log *zap.Logger, waits bool) *Store {
	return &Store{
		rt: rt, log: log, Waits: waits, Wait: waitLimit, open: map[string]*snapshotUse{},
		Builder: builder.New(builder.Options{
			Cache: c, Kind: "snapshot", MaxEntries: maxSnapshots, MaxBytes: maxSnapshotBytes, MaxFailures: 1, Log: log,
		}),
	}
}

// Close ends the work in the background. No snapshot may be in use.
func (s *Store) Close() error {
	s.Builder.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for key, u := range s.open {
		errs = append(errs, u.snapshot.Close())
		delete(s.open, key)
	}
	return errors.Join(errs...)
}

// Needs are the run's limits and environment that a snapshot must fit.
type Needs struct {
	Memory int64
	Env    map[string]string
}

// suits reports whether the memory limit fits and no package read a variable that
// is set now.
func (n Needs) suits(z *pyodide.Snapshot) bool { return z.Memory() <= n.Memory && !z.Asked(n.Env) }

// takeLocked returns an open snapshot.
func (s *Store) takeLocked(key string) (*pyodide.Snapshot, func()) {
	u := s.open[key]
	if u == nil {
		return nil, nil
	}
	s.clock++
	u.users++
	u.used = s.clock
	return u.snapshot, func() { s.release(u) }
}

func (s *Store) release(u *snapshotUse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u.users--; u.users == 0 && u.aside {
		s.closeOne(u)
	}
}

func (s *Store) closeOne(u *snapshotUse) {
	if err := u.snapshot.Close(); err != nil {
		s.log.Warn("a snapshot cannot be closed", zap.Error(err))
	}
}

// checked returns z if it suits; otherwise it releases it and returns nil.
func (n Needs) checked(z *pyodide.Snapshot, release func()) (*pyodide.Snapshot, func()) {
	if z != nil && !n.suits(z) {
		release()
		return nil, nil
	}
	return z, release
}

// ready returns the snapshot of a recipe that is open or on disk.
func (s *Store) ready(ctx context.Context, r Recipe) (*pyodide.Snapshot, func()) {
	key := r.Key()
	s.mu.Lock()
	z, release := s.takeLocked(key)
	s.mu.Unlock()
	if z != nil || s.Builder.Failed(key) || s.Builder.Building(key) {
		return z, release
	}
	ctx, cancel := context.WithTimeout(ctx, findLimit)
	defer cancel()
	z, err := s.rt.FindSnapshot(ctx, r.Modules, r.Mounts)
	if err != nil && ctx.Err() == nil {
		s.log.Warn("a snapshot cannot be used", zap.Error(err))
	}
	if z == nil || err != nil {
		return nil, nil
	}
	return s.add(key, z)
}

// Ready returns the snapshot of a recipe if it is open or on disk.
func (s *Store) Ready(ctx context.Context, r Recipe, n Needs) (*pyodide.Snapshot, func()) {
	return n.checked(s.ready(ctx, r))
}

// Find returns the snapshot of a recipe: the open one, the one on disk, or,
// where runs wait and an earlier one wanted it, a new one if that is made
// within limit; 0 is none. Otherwise it returns nil and, in a server, has it made
// in the background.
func (s *Store) Find(ctx context.Context, r Recipe, n Needs, limit time.Duration) (*pyodide.Snapshot, func()) {
	key := r.Key()
	z, release := s.ready(ctx, r)
	switch {
	case z != nil || s.Builder.Failed(key):
	case !s.Waits:
		s.Builder.Start(key, func(ctx context.Context) error {
			_, release, err := s.make(ctx, r)
			if err == nil {
				release()
			}
			return err
		})
	case s.Builder.Wanted(ctx, key):
		z, release = s.makeWithin(ctx, r, limit)
	}
	return n.checked(z, release)
}

// makeWithin makes a snapshot while a run waits, unless an attempt failed before,
// in any process.
func (s *Store) makeWithin(ctx context.Context, r Recipe, limit time.Duration) (z *pyodide.Snapshot, release func()) {
	key := r.Key()
	note := s.rt.SnapshotKey() + " " + key
	if s.Builder.Noted(ctx, "unfit", note) {
		s.Builder.Fail(key)
		return nil, nil
	}
	most := s.Wait
	slow := s.Builder.Noted(ctx, "slow", note)
	if slow {
		most *= 2 // the machine may have been busy
	}
	if limit <= 0 || limit > most {
		limit = most
	}
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := s.Builder.Build(within, key, func(ctx context.Context) (err error) {
		z, release, err = s.make(ctx, r)
		return err
	})
	if err == nil || ctx.Err() != nil {
		return z, release
	}
	switch late := within.Err() != nil && limit >= s.Wait; {
	case errors.Is(err, pyodide.ErrUnfit) || late && slow:
		s.Builder.Note(ctx, "unfit", note)
	case late:
		s.Builder.Note(ctx, "slow", note)
	}
	s.Builder.Fail(key) // so the next run does not wait
	return z, release
}

// make makes a snapshot.
func (s *Store) make(ctx context.Context, r Recipe) (*pyodide.Snapshot, func(), error) {
	z, err := s.rt.SnapshotBy(ctx, r.Modules, r.Mounts, r.Take)
	if err != nil {
		return nil, nil, fmt.Errorf("snapshot of %s: %w", strings.Join(r.Modules, ", "), err)
	}
	z, release := s.add(r.Key(), z)
	return z, release, nil
}

// add takes over an open snapshot, unless there is one of the same recipe, and
// returns the one that stays.
func (s *Store) add(key string, z *pyodide.Snapshot) (*pyodide.Snapshot, func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[key] != nil {
		s.closeOne(&snapshotUse{snapshot: z})
	} else {
		if len(s.open) >= maxOpen {
			s.putAsideLocked()
		}
		s.open[key] = &snapshotUse{snapshot: z}
	}
	return s.takeLocked(key)
}

// putAsideLocked evicts the least recently used snapshot.
func (s *Store) putAsideLocked() {
	oldest := ""
	for key, u := range s.open {
		if oldest == "" || u.used < s.open[oldest].used {
			oldest = key
		}
	}
	u := s.open[oldest]
	delete(s.open, oldest)
	u.aside = true
	if u.users == 0 {
		s.closeOne(u)
	}
}
