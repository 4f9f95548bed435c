package python

import (
	"context"
	"errors"
	"path/filepath"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"coderunner/internal/builder"
	"coderunner/internal/trace"
	"coderunner/internal/versions"
	"coderunner/pyodide"
	"coderunner/pyodide/codestore"
	"coderunner/runners"
	"coderunner/runners/python/lockfile"
	"coderunner/runners/python/resolver"
	"coderunner/runners/python/snapshots"
	"coderunner/runners/python/trusted"
)

// engine returns the engine, opening it if need be. All waiting runs receive the
// progress. Cancelling ctx ends the wait, not the opening.
func (r *Runner) engine(ctx context.Context, progress runners.ProgressFunc) (*engine, error) {
	o, err := r.opening()
	if err != nil {
		return nil, err
	}
	defer o.watch(progress)()
	select {
	case <-o.done:
		return o.engine, o.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// opening returns the opening in progress or done, or starts one.
func (r *Runner) opening() (*opening, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errors.New("the Python runner is closed")
	}
	if r.open == nil {
		o := &opening{done: make(chan struct{}), waiters: map[*runners.ProgressFunc]bool{}}
		r.open = o
		go func() {
			defer close(o.done)
			o.engine, o.err = r.start(r.ctx, o.report)
			if o.err != nil {
				r.forget(o)
			}
		}()
	}
	return r.open, nil
}

// forget drops a failed opening, so that the next run tries again.
func (r *Runner) forget(o *opening) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == o {
		r.open = nil
	}
}

// Missing returns the names of packages with machine code that cannot be
// installed because the place where Pyodide's builds are cannot be reached.
func (r *Runner) Missing(ctx context.Context) []string {
	e, err := r.engine(ctx, nil)
	if err != nil {
		return nil // a run says why
	}
	return e.own.Missing(ctx)
}

// start fetches Pyodide and opens it.
func (r *Runner) start(ctx context.Context, progress runners.ProgressFunc) (*engine, error) {
	defer trace.Begin("open Pyodide")()
	var dir string
	var err error
	if h := r.cfg.Host; h != nil {
		dir, err = h.Runtime(ctx)
	} else {
		dir, err = r.fetch.NPM(ctx, versions.Pyodide(r.cfg.NPMRegistry), func(done, total int64) {
			progress(runners.Progress{Phase: "download", Item: "pyodide " + versions.PyodideVersion, Done: done, Total: max(total, 0)})
		})
	}
	if err != nil {
		return nil, err
	}
	e := &engine{}
	var reading errgroup.Group // concurrent with opening the runtime
	reading.Go(func() (err error) {
		defer trace.Begin("read Pyodide's lock file")()
		e.lock, err = lockfile.Read(filepath.Join(dir, versions.PyodideLock))
		return err
	})
	config := pyodide.Config{
		Module:   filepath.Join(dir, versions.PyodideWasm),
		Stdlib:   filepath.Join(dir, versions.PyodideStdlib),
		Identity: "pyodide " + versions.PyodideIntegrity, // verified by the cache
		Compile:  r.cfg.Compile,
		MaxIdle:  r.cfg.MaxIdle,
		Later:    true,
		Progress: func(p pyodide.Progress) {
			progress(runners.Progress{Phase: p.Phase, Item: p.Item, Done: p.Done, Total: p.Total})
		},
		Unlaid: func(module string, l codestore.Layout) {
			r.log.Warn("machine code is not laid out anew, and slower", zap.String("module", module),
				zap.String("reason", l.Refused), zap.Int("functions", l.Functions), zap.Int("kept", l.Kept))
		},
	}
	if config.Store = r.cfg.Cache; r.cfg.Host != nil {
		config.Store, config.Prepare, config.Part = r.cfg.Host, r.cfg.Host.Library, r.cfg.Host.Part
	}
	rt, err := pyodide.Open(ctx, config)
	if lerr := reading.Wait(); lerr != nil && err == nil {
		err = errors.Join(lerr, rt.Close())
	}
	if err != nil {
		return nil, err
	}
	e.rt = rt
	e.files = r.filesOf(e.rt)
	if r.cfg.Host != nil {
		e.resolver, e.snapshots = r.cfg.Host, snapshots.New(e.rt, nil, r.log, false)
		return e, nil
	}
	e.own, err = resolver.New(resolver.Config{
		Cache: r.cfg.Cache, Fetch: r.fetch, Trusted: builds{trusted.Interpreters{Runtime: e.rt}, r}, Lock: e.lock, Index: r.cfg.Index, Base: r.cfg.PackageBase,
	})
	if err != nil {
		return nil, errors.Join(err, e.rt.Close())
	}
	e.resolver, e.dir = e.own, dir
	if r.cfg.MaxIdle > 0 { // a server
		e.rest = builder.New(builder.Options{
			Cache: r.cfg.Cache, Kind: "bytecode", MaxEntries: maxBytecode, MaxBytes: maxBytecodeBytes, MaxFailures: 1, Log: r.log,
		})
	}
	e.snapshots = snapshots.New(e.rt, r.cfg.Cache, r.log, e.rest == nil)
	return e, nil
}

// report passes progress to all waiting runs.
func (o *opening) report(p runners.Progress) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = &p
	for f := range o.waiters {
		f.Report(p)
	}
}

// watch calls f with the current progress and each later one until stop is called.
func (o *opening) watch(f runners.ProgressFunc) (stop func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := &f
	o.waiters[key] = true
	select {
	case <-o.done:
	default:
		if o.last != nil {
			f.Report(*o.last)
		}
	}
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.waiters, key)
	}
}

// Warm opens the runtime and prepares packages.
func (r *Runner) Warm(ctx context.Context, packages []string, progress runners.ProgressFunc) error {
	progress = progress.Serial()
	reqs, err := parseAll(packages)
	if err != nil {
		return err
	}
	e, err := r.engine(ctx, progress)
	if err != nil {
		return err
	}
	set, err := e.resolver.Prepare(ctx, resolver.Request{Requirements: reqs, Progress: progress})
	if err != nil {
		return err
	}
	for i := range set.Packages {
		if err := e.own.Rest(ctx, &set.Packages[i], progress); err != nil {
			return err
		}
	}
	// A first interpreter shows that the runtime works.
	in, err := e.rt.New(ctx, pyodide.Options{})
	if err != nil {
		return err
	}
	return in.Close()
}

// The bounds of bytecode on disk.
const (
	maxBytecode      = 1000 // parts of packages
	maxBytecodeBytes = 2 << 30
)

// compileRest compiles in the background what the packages have beyond what was imported.
func (e *engine) compileRest(packages []resolver.Package) {
	for _, p := range packages {
		if e.rest != nil && !p.Shared && !e.own.Whole(p) {
			e.rest.Start(p.Key(), func(ctx context.Context) error { return e.own.Rest(ctx, &p, nil) })
		}
	}
}
