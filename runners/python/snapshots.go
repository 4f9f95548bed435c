package python

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"coderunner/cache"
	"coderunner/pyodide"
	"coderunner/runners/python/hostdirs"
)

// A program whose packages were imported before begins with them in memory: in
// an interpreter made of a snapshot that was taken after the imports. Which
// sets of imports get one is decided by use. A server has the snapshot made in
// the background by the first run with a set, and no run waits for it. Other
// processes may not live that long: there the second run makes it, which takes
// as long as the program may at most, and once a set was found to be unfit none
// tries again.
//
// The importing interpreter runs the packages' own code and no program's, with
// nothing of the host at hand; so do those that compile them.

// chooseSnapshot looks for a snapshot that has what the program imports, and
// has the interpreter made of it. The caller calls release after the run.
func (j *job) chooseSnapshot(ctx context.Context, wanted []pyodide.Import) (release func()) {
	begun := time.Now()
	defer func() { j.pk.spent(begun) }()
	r := recipe{mounts: j.pk.mounts()}
	for _, w := range wanted {
		if !w.Optional {
			r.modules = append(r.modules, w.Name)
		}
	}
	if len(r.modules) > 0 && !j.brings && !j.pk.offers() {
		slices.Sort(r.modules)
		if j.snapshot, release = j.engine.snapshots.forRecipe(ctx, r, j.needs(), j.req.Limits.Timeout); j.snapshot != nil {
			return release
		}
	}
	return func() {}
}

// The bounds of what is kept.
const (
	maxSnapshots     = 64      // on disk
	maxSnapshotBytes = 4 << 30 // on disk, holes not counted as such
	maxOpen          = 32      // in this process
	maxUnfit         = 1024    // recipes that are known not to do
)

// findLimit bounds the wait for another process that is making the very
// snapshot that is looked for. One that is there is found without waiting.
const findLimit = 100 * time.Millisecond

// recipe is what a snapshot is made of.
type recipe struct {
	modules []string // sorted
	mounts  []pyodide.Mount
}

// key is the same for the same recipe, in all processes.
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
	rt    *pyodide.Runtime
	cache *cache.Cache
	log   *zap.Logger
	waits bool // whether a run may wait until its snapshot is made

	ctx    context.Context // of the work in the background
	cancel context.CancelFunc
	work   chan recipe
	ended  chan struct{}

	mu    sync.Mutex
	open  map[string]*snapshotUse // by recipe key
	clock int64
	unfit map[string]bool // recipes that cannot be frozen
	asked map[string]bool // recipes that the background has to do, or is at
}

// snapshotUse is an open snapshot. It is closed when it was put aside and
// nobody uses it.
type snapshotUse struct {
	frozen *pyodide.Snapshot
	users  int
	used   int64
	aside  bool
}

func newSnapshots(rt *pyodide.Runtime, c *cache.Cache, log *zap.Logger, waits bool) *snapshots {
	s := &snapshots{
		rt: rt, cache: c, log: log, waits: waits,
		work: make(chan recipe, 16), ended: make(chan struct{}),
		open: map[string]*snapshotUse{}, unfit: map[string]bool{}, asked: map[string]bool{},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	go s.background()
	return s
}

// close ends the work in the background. No snapshot may be in use.
func (s *snapshots) close() error {
	s.cancel()
	<-s.ended
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for key, u := range s.open {
		errs = append(errs, u.frozen.Close())
		delete(s.open, key)
	}
	return errors.Join(errs...)
}

// needs is what a snapshot has to suit.
type needs struct {
	memory int64
	env    map[string]string
}

func (j *job) needs() needs { return needs{j.req.Limits.Memory, hostdirs.Environment(j.r.cfg.Policy)} }

// suits says whether a program may begin on a snapshot: it has the memory, and
// no package would have found more in its environment.
func (n needs) suits(z *pyodide.Snapshot) bool { return z.Memory() <= n.memory && !z.Asked(n.env) }

// take gives an open snapshot; the caller holds mu.
func (s *snapshots) take(key string) (*pyodide.Snapshot, func()) {
	u := s.open[key]
	if u == nil {
		return nil, nil
	}
	s.clock++
	u.users++
	u.used = s.clock
	return u.frozen, func() { s.release(u) }
}

func (s *snapshots) release(u *snapshotUse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u.users--; u.users == 0 && u.aside {
		s.closeOne(u)
	}
}

func (s *snapshots) closeOne(u *snapshotUse) {
	if err := u.frozen.Close(); err != nil {
		s.log.Warn("a snapshot cannot be closed", zap.Error(err))
	}
}

// checked gives a snapshot back that does not suit.
func (n needs) checked(z *pyodide.Snapshot, release func()) (*pyodide.Snapshot, func()) {
	if z != nil && !n.suits(z) {
		release()
		return nil, nil
	}
	return z, release
}

// there gives the snapshot of a recipe that is open or on disk.
func (s *snapshots) there(ctx context.Context, r recipe) (*pyodide.Snapshot, func()) {
	key := r.key()
	s.mu.Lock()
	z, release := s.take(key)
	skip := s.unfit[key] || s.asked[key]
	s.mu.Unlock()
	if z != nil || skip {
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

func (s *snapshots) isUnfit(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unfit[key]
}

func (s *snapshots) setUnfit(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.unfit) >= maxUnfit {
		clear(s.unfit)
	}
	s.unfit[key] = true
}

// make makes a snapshot, and room for it.
func (s *snapshots) make(ctx context.Context, r recipe) (*pyodide.Snapshot, func(), error) {
	key := r.key()
	z, err := s.rt.Snapshot(ctx, r.modules, r.mounts)
	if err != nil {
		if ctx.Err() == nil {
			s.setUnfit(key)
		}
		return nil, nil, err
	}
	z, release := s.add(key, z)
	s.trim(ctx)
	return z, release, nil
}

// add takes over an open snapshot, unless there is one of the same recipe, and
// gives the one that stays.
func (s *snapshots) add(key string, z *pyodide.Snapshot) (*pyodide.Snapshot, func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[key] != nil {
		s.closeOne(&snapshotUse{frozen: z})
	} else {
		if len(s.open) >= maxOpen {
			s.putAside()
		}
		s.open[key] = &snapshotUse{frozen: z}
	}
	return s.take(key)
}

// putAside closes the snapshot that has not been used for longest.
func (s *snapshots) putAside() {
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

// trim removes the snapshots on disk that have not been used for longest until
// the rest is within bounds. Those in use live on until they are closed.
func (s *snapshots) trim(ctx context.Context) {
	all, err := s.cache.List(ctx)
	if ctx.Err() != nil {
		return // the process ends; another one will do it
	}
	if err != nil {
		s.log.Warn("snapshots cannot be counted", zap.Error(err))
		return
	}
	all = slices.DeleteFunc(all, func(e cache.Entry) bool { return e.Kind != "snapshot" })
	slices.SortFunc(all, func(a, b cache.Entry) int { return cmp.Compare(b.Used.UnixNano(), a.Used.UnixNano()) })
	bytes := int64(0)
	for i, e := range all {
		if bytes += e.Size; i < maxSnapshots && bytes <= maxSnapshotBytes {
			continue
		}
		if err := s.cache.Remove(ctx, e); err != nil && ctx.Err() == nil {
			s.log.Warn("a snapshot cannot be removed", zap.Error(err))
		}
	}
}
