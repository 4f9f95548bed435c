package python

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"coderunner/cache"
	"coderunner/internal/builder"
	"coderunner/pyodide"
)

// A program whose set of imports was used before starts from a snapshot that was
// taken after these imports. In a server the first run with a set has the
// snapshot made in the background, and no run waits for it. Other processes may
// not live that long: there the second run makes it, within the program's time
// limit. A set that was found unfit, or takes too long twice, is not tried again.
//
// The importing interpreter runs only the packages' code, never a program's, and
// has no access to the host; the same holds for those that compile packages.

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

// recipe describes a snapshot: mounts and imports.
type recipe struct {
	modules []string // sorted
	mounts  []pyodide.Mount
}

// key returns a digest of the recipe, the same in all processes.
func (r recipe) key() string {
	h := sha256.New()
	for _, m := range r.mounts {
		fmt.Fprintf(h, "%s %s\n", m.Dir, m.Key)
	}
	fmt.Fprintf(h, "%q", r.modules)
	return fmt.Sprintf("%x", h.Sum(nil))
}

// snapshots keeps the snapshots of one runtime. It is safe for concurrent use.
type snapshots struct {
	rt      *pyodide.Runtime
	log     *zap.Logger
	builder *builder.Builder
	waits   bool          // whether a run may wait until its snapshot is made
	wait    time.Duration // for how long

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

func newSnapshots(rt *pyodide.Runtime, c *cache.Cache, log *zap.Logger, waits bool) *snapshots {
	return &snapshots{
		rt: rt, log: log, waits: waits, wait: waitLimit, open: map[string]*snapshotUse{},
		builder: builder.New(builder.Options{
			Cache: c, Kind: "snapshot", MaxEntries: maxSnapshots, MaxBytes: maxSnapshotBytes, MaxFailures: 1, Log: log,
		}),
	}
}

// close ends the work in the background. No snapshot may be in use.
func (s *snapshots) close() error {
	s.builder.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for key, u := range s.open {
		errs = append(errs, u.snapshot.Close())
		delete(s.open, key)
	}
	return errors.Join(errs...)
}

// needs are the run's limits and environment that a snapshot must fit.
type needs struct {
	memory int64
	env    map[string]string
}

// suits reports whether the memory limit fits and no package read a variable that
// is set now.
func (n needs) suits(z *pyodide.Snapshot) bool { return z.Memory() <= n.memory && !z.Asked(n.env) }

// takeLocked returns an open snapshot.
func (s *snapshots) takeLocked(key string) (*pyodide.Snapshot, func()) {
	u := s.open[key]
	if u == nil {
		return nil, nil
	}
	s.clock++
	u.users++
	u.used = s.clock
	return u.snapshot, func() { s.release(u) }
}

func (s *snapshots) release(u *snapshotUse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u.users--; u.users == 0 && u.aside {
		s.closeOne(u)
	}
}

func (s *snapshots) closeOne(u *snapshotUse) {
	if err := u.snapshot.Close(); err != nil {
		s.log.Warn("a snapshot cannot be closed", zap.Error(err))
	}
}

// checked returns z if it suits; otherwise it releases it and returns nil.
func (n needs) checked(z *pyodide.Snapshot, release func()) (*pyodide.Snapshot, func()) {
	if z != nil && !n.suits(z) {
		release()
		return nil, nil
	}
	return z, release
}

// find returns the snapshot of a recipe that is open or on disk.
func (s *snapshots) find(ctx context.Context, r recipe) (*pyodide.Snapshot, func()) {
	key := r.key()
	s.mu.Lock()
	z, release := s.takeLocked(key)
	s.mu.Unlock()
	if z != nil || s.builder.Failed(key) || s.builder.Building(key) {
		return z, release
	}
	ctx, cancel := context.WithTimeout(ctx, findLimit)
	defer cancel()
	z, err := s.rt.FindSnapshot(ctx, r.modules, r.mounts)
	if err != nil && ctx.Err() == nil {
		s.log.Warn("a snapshot cannot be used", zap.Error(err))
	}
	if z == nil || err != nil {
		return nil, nil
	}
	return s.add(key, z)
}

// forRecipe returns the snapshot of a recipe: the open one, the one on disk, or,
// where runs wait and an earlier one wanted it, a new one if that is made
// within limit; 0 is none. Otherwise it returns nil and, in a server, has it made
// in the background.
func (s *snapshots) forRecipe(ctx context.Context, r recipe, n needs, limit time.Duration) (*pyodide.Snapshot, func()) {
	key := r.key()
	z, release := s.find(ctx, r)
	switch {
	case z != nil || s.builder.Failed(key):
	case !s.waits:
		s.builder.Start(key, func(ctx context.Context) error {
			_, release, err := s.make(ctx, r)
			if err == nil {
				release()
			}
			return err
		})
	case s.builder.Wanted(ctx, key):
		z, release = s.makeWithin(ctx, r, limit)
	}
	return n.checked(z, release)
}

// makeWithin makes a snapshot while a run waits, unless an attempt failed before,
// in any process.
func (s *snapshots) makeWithin(ctx context.Context, r recipe, limit time.Duration) (z *pyodide.Snapshot, release func()) {
	key := r.key()
	note := s.rt.SnapshotKey() + " " + key
	if s.builder.Noted(ctx, "unfit", note) {
		s.builder.Fail(key)
		return nil, nil
	}
	most := s.wait
	slow := s.builder.Noted(ctx, "slow", note)
	if slow {
		most *= 2 // the machine may have been busy
	}
	if limit <= 0 || limit > most {
		limit = most
	}
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := s.builder.Build(within, key, func(ctx context.Context) (err error) {
		z, release, err = s.make(ctx, r)
		return err
	})
	if err == nil || ctx.Err() != nil {
		return z, release
	}
	switch late := within.Err() != nil && limit >= s.wait; {
	case errors.Is(err, pyodide.ErrUnfit) || late && slow:
		s.builder.Note(ctx, "unfit", note)
	case late:
		s.builder.Note(ctx, "slow", note)
	}
	s.builder.Fail(key) // so the next run does not wait
	return z, release
}

// make makes a snapshot.
func (s *snapshots) make(ctx context.Context, r recipe) (*pyodide.Snapshot, func(), error) {
	z, err := s.rt.Snapshot(ctx, r.modules, r.mounts)
	if err != nil {
		return nil, nil, fmt.Errorf("snapshot of %s: %w", strings.Join(r.modules, ", "), err)
	}
	z, release := s.add(r.key(), z)
	return z, release, nil
}

// add takes over an open snapshot, unless there is one of the same recipe, and
// returns the one that stays.
func (s *snapshots) add(key string, z *pyodide.Snapshot) (*pyodide.Snapshot, func()) {
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
func (s *snapshots) putAsideLocked() {
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
