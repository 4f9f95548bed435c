package deno

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"coderunner/cache"
	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/jsparse"
	"coderunner/runners/deno/process"

	"go.uber.org/zap"
)

// Loading a package takes Deno much longer without V8's code and what it found
// out about the package's modules, which it keeps in databases. What one program
// has written there another one would run; so each has a copy, which it may
// spoil, and each set of packages has databases of its own. They are made by a
// process that loads the packages of the set and runs no program, and which is
// confined as one under the narrowest policy. So a package can put something
// wrong at most where the very same package is loaded.
//
// Which sets get databases is decided by use: in a server the first run of a
// set has them made in the background; other processes may not live that long,
// there the second run does.

// codeKind is what our cache calls the databases of a set.
const codeKind = "deno-code"

const (
	// makeLimit bounds the loading of a set's packages. Close may wait so long.
	makeLimit = 15 * time.Second
	// findLimit bounds the wait for another process that makes the very
	// databases that are looked for.
	findLimit = 20 * time.Millisecond
	// checkEvery is how often a set is checked at most.
	checkEvery = time.Minute
	// maxFailed is how often the databases of a set may not come about, or be
	// dropped after a crash, before a Runner does without.
	maxFailed = 3

	maxCode      = 64 << 20 // of one set, in bytes
	maxCodes     = 256      // sets on disk
	maxCodeBytes = 1 << 30  // on disk
)

// errNoCode says that a set has no databases yet.
var errNoCode = errors.New("no databases")

// codes knows which sets of packages have databases. It is safe for concurrent
// use.
type codes struct {
	r    *Runner
	ctx  context.Context // of what is made in the background
	stop context.CancelFunc
	turn chan struct{} // holds a token while one set's are made

	mu   sync.Mutex
	sets map[string]*codeSet // by key
}

// codeSet is what is known of a set.
type codeSet struct {
	path    string // of the databases as they were used last, "" if there were none
	absent  bool   // nobody had made any when we looked
	making  bool   // or checking
	failed  int
	checked time.Time
}

func newCodes(r *Runner) *codes {
	c := &codes{r: r, turn: make(chan struct{}, 1), sets: map[string]*codeSet{}}
	c.ctx, c.stop = context.WithCancel(context.Background())
	return c
}

// codeKey stands for all that decides what is in the databases, "" if there
// are no packages. V8 takes no code that was made with another limit of its
// heap.
func (r *Runner) codeKey(v variant) string {
	if !v.ready.npm && !v.ready.remote {
		return ""
	}
	b, err := json.Marshal([]any{1, r.version, r.denoDir, heapFlag(v.memory), v.ready.set})
	if err != nil {
		panic(err) // strings always marshal
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// set gives what is known of a set; the caller holds mu.
func (c *codes) set(key string) *codeSet {
	s := c.sets[key]
	if s == nil {
		if len(c.sets) >= maxKnown {
			clear(c.sets)
		}
		s = &codeSet{}
		c.sets[key] = s
	}
	return s
}

// find gives the folder with the databases for a variant, "" if there are none.
// The cache has looked whether they are as they were made.
func (c *codes) find(v variant) string {
	key := c.r.codeKey(v)
	if key == "" {
		return ""
	}
	c.mu.Lock()
	absent := c.set(key).absent
	c.mu.Unlock()
	if absent {
		return ""
	}
	ctx, cancel := context.WithTimeout(c.ctx, findLimit)
	defer cancel()
	dir, err := c.r.cfg.Cache.Dir(ctx, codeKind, key, func(context.Context, string) error { return errNoCode })
	if err != nil && !errors.Is(err, errNoCode) && ctx.Err() == nil {
		c.r.log.Warn("Deno's databases cannot be used", zap.Error(err))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.set(key)
	s.path, s.absent = dir, err != nil
	return dir
}

// used notes that a program has run in a process of the variant. Again says
// that its packages were there before. It may have databases made.
func (c *codes) used(v variant, d deps.Dependencies, again bool) {
	key := c.r.codeKey(v)
	if key == "" || len(d.Targets) == 0 || !again && c.r.cfg.Ahead <= 0 {
		return
	}
	c.mu.Lock()
	s := c.set(key)
	begin := s.absent && !s.making && s.failed < maxFailed && c.ctx.Err() == nil
	if begin {
		s.making = true
	}
	c.mu.Unlock()
	if begin {
		c.r.background.Go(func() { c.make(key, v, d) })
	}
}

// make makes the databases of a set.
func (c *codes) make(key string, v variant, d deps.Dependencies) {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	v.making = true
	ctx, cancel := context.WithTimeout(c.ctx, 2*makeLimit)
	defer cancel()
	dir, err := c.r.cfg.Cache.Dir(ctx, codeKind, key, func(ctx context.Context, dir string) error {
		return c.r.makeCode(ctx, v, d.Loader(), dir)
	})
	if err != nil && c.ctx.Err() == nil {
		c.r.log.Info("a set of packages gets no compiled code", zap.String("packages", d.Summary()), zap.Error(err))
	}
	c.mu.Lock()
	s := c.set(key)
	s.path, s.absent, s.making = dir, err != nil, false
	if err != nil {
		s.failed++
	}
	c.mu.Unlock()
	if err != nil {
		return
	}
	v.making = false
	c.r.park.renew(c.r.variantKey(v))
	c.trim(c.ctx, maxCodes, maxCodeBytes)
}

// suspect has the databases of a variant checked after a Deno that had them has
// failed: they have no checksums that Deno looks at, and what is wrong in them
// ends every Deno that loads it. A program can make its Deno fail as well, so
// the packages are loaded without it; only if that fails, too, are the
// databases dropped.
func (c *codes) suspect(v variant, d deps.Dependencies) {
	key := c.r.codeKey(v)
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.set(key)
	if s.path == "" || s.making || time.Since(s.checked) < checkEvery || c.ctx.Err() != nil {
		return
	}
	s.making, s.checked = true, time.Now()
	c.r.background.Go(func() { c.check(key, v, d) })
}

// check loads a set's packages with its databases.
func (c *codes) check(key string, v variant, d deps.Dependencies) {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	ctx, cancel := context.WithTimeout(c.ctx, 2*makeLimit)
	defer cancel()
	v.narrow = true
	in, end, err := c.r.runLoader(ctx, v, d.Loader())
	if in != nil {
		in.leave()
	}
	c.mu.Lock()
	c.set(key).making = false
	c.mu.Unlock()
	if err == nil && end.runtimeFailed() {
		v.narrow = false
		c.drop(v)
	}
}

// drop removes the databases that a variant had.
func (c *codes) drop(v variant) {
	key := c.r.codeKey(v)
	c.mu.Lock()
	s := c.set(key)
	path := s.path
	if path != "" {
		s.path, s.absent = "", true
		s.failed++
	}
	c.mu.Unlock()
	if path == "" {
		return
	}
	// Those that wait have them, too.
	c.r.park.forget(c.r.variantKey(v))
	if err := c.r.cfg.Cache.Remove(c.ctx, cache.Entry{Section: cache.Trees, Kind: codeKind, Key: key, Path: filepath.Dir(path)}); err != nil {
		c.r.log.Warn("Deno's databases cannot be removed after a crash", zap.Error(err))
	}
}

// trim removes the databases on disk that have not been used for longest until
// those of so many sets are left, with so many bytes.
func (c *codes) trim(ctx context.Context, sets int, bytes int64) {
	all, err := c.r.cfg.Cache.List(ctx)
	if err != nil {
		return // the next one tries again
	}
	all = slices.DeleteFunc(all, func(e cache.Entry) bool { return e.Kind != codeKind })
	slices.SortFunc(all, func(a, b cache.Entry) int { return cmp.Compare(b.Used.UnixNano(), a.Used.UnixNano()) })
	total := int64(0)
	for i, e := range all {
		if total += e.Size; i < sets && total <= bytes {
			continue
		}
		if err := c.r.cfg.Cache.Remove(ctx, e); err != nil && ctx.Err() == nil {
			c.r.log.Warn("Deno's databases cannot be removed", zap.Error(err))
		}
	}
}

// runLoader runs a program of ours that loads packages. The caller calls the
// instance's leave, if there is one.
func (r *Runner) runLoader(ctx context.Context, v variant, loader string) (*instance, *ending, error) {
	in := r.launch(ctx, v)
	if err := in.await(ctx); err != nil {
		in.discard()
		return nil, nil, err
	}
	const main = "main.js"
	if err := in.folder.write(main, loader, nil); err != nil {
		in.discard()
		return nil, nil, err
	}
	j := &job{r: r, main: main, shown: main, program: jsparse.Plain(loader), binary: v.binary, ready: v.ready, begun: time.Now(), left: makeLimit}
	j.req.Limits = runners.Limits{Memory: v.memory, Timeout: makeLimit}.WithDefaults()
	end := j.command(ctx, in, false)
	if end == nil {
		return in, nil, errors.New("load the packages: Deno died")
	}
	return in, end, nil
}

// makeCode fills dir with the databases of a variant's packages.
func (r *Runner) makeCode(ctx context.Context, v variant, loader, dir string) error {
	in, end, err := r.runLoader(ctx, v, loader)
	if in == nil {
		return err
	}
	defer in.leave()
	if err != nil {
		return err
	}
	if in.denoDir == r.denoDir {
		return errors.New("Deno has no directory of its own for a run")
	}
	// A package may end the process while it is loaded.
	if o := end.outcome(); o.Status != runners.Succeeded && o.Status != runners.Failed || end.runtimeFailed() {
		return fmt.Errorf("load the packages: %s", o.Status)
	}
	<-in.p.End()
	if err := r.seal(ctx, v.binary, in.folder); err != nil {
		return fmt.Errorf("finish Deno's databases: %w", err)
	}
	return takeCode(in.folder, dir)
}

// seal has each of the databases in the folder be one file. It is a process of
// its own: whatever the packages did ended with theirs.
func (r *Runner) seal(ctx context.Context, binary string, f *folder) error {
	dir, err := os.MkdirTemp(f.temp(), "seal-")
	if err != nil {
		return err
	}
	script := r.folders.seal()
	spec := r.preparation(binary, script, "")
	spec.Write, spec.Network = []string{f.code(), dir}, false
	args := []string{"run", "--quiet", "--no-config", "--no-lock", "--no-prompt", "--no-remote", "--no-npm", "--allow-read=" + f.code(), "--allow-write=" + f.code(), script, f.code()}
	said := runners.NewCapture(runners.DefaultOutput)
	keep := func(output io.Reader) { _, _ = io.Copy(said, output) }
	state, err := r.starter.Run(ctx, process.Command{
		Path: binary, Args: append(args, codeCaches...), Dir: dir,
		Env: []string{"DENO_DIR=" + dir, "DENO_NO_UPDATE_CHECK=1", "NO_COLOR=1"}, Spec: spec,
	}, keep, keep)
	if err != nil {
		return err
	}
	if !state.Success() {
		words, _ := said.Text()
		return fmt.Errorf("%s%s", state, lastLines(words))
	}
	return nil
}

// takeCode copies the sealed databases out of a run's folder. Nothing of what
// is there is trusted: links are not followed out of it.
func takeCode(f *folder, to string) error {
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return err
	}
	defer root.Close()
	left, some := int64(maxCode), false
	for _, name := range codeCaches {
		from := filepath.Join(filepath.Base(f.code()), name)
		info, err := root.Lstat(from)
		if errors.Is(err, os.ErrNotExist) {
			continue // this set has none
		}
		if err != nil {
			return err
		}
		if left -= info.Size(); left < 0 || !info.Mode().IsRegular() {
			return fmt.Errorf("%s: %v, %d bytes; %d at most are kept", name, info.Mode(), info.Size(), int64(maxCode))
		}
		b, err := root.ReadFile(from)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), b, 0o600); err != nil {
			return err
		}
		some = true
	}
	if !some { // it keeps them elsewhere now
		return errors.New("Deno has made none")
	}
	return nil
}
