// Package python runs Python programs: CPython from package pyodide, packages
// from package resolver, the contract of package runners.
//
// It knows neither MCP nor the command line. Every run has an interpreter of its
// own.
//
//	job ─ analyze ─ install ─┐
//	                         ├─ lease: interpreter, packages, files, host directories ─ run ─ outcome
//	runtime (opened once) ───┘                                   │ imports, micropip.install: install
//
// The stations are files and packages of these names. Package process has the processes
// that a program starts, package snapshots what interpreters start from, package trusted
// what the host itself runs in one.
//
// # What a program sees
//
// The packages that its request, its inline metadata (PEP 723) and its import
// statements name, in site-packages, read-only; its files in the working
// directory; of the host's environment the variables that the policy lists, of
// the host's files those that the policy lets it read, under their own names.
// The module micropip is a stand-in that asks this package.
//
// # Locking
//
// A Runner is safe for concurrent use. The first run that needs the runtime opens
// it in the background; a run that stops waiting does not stop the opening.
//
// # Limits
//
// Programs start no processes of the host, whatever the policy allows. They can
// write only to host files that they can also read.
//
// # Testing
//
// Tests run the real thing, with an index made of built wheels and, unless
// -short is given, with the configured one. runnertest holds it to the
// contract.
package python

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"coderunner/cache"
	"coderunner/internal/builder"
	"coderunner/internal/fetch"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/netpolicy"
	"coderunner/internal/order"
	"coderunner/internal/pool"
	"coderunner/internal/versions"
	"coderunner/pyodide"
	"coderunner/runners"
	"coderunner/runners/python/lockfile"
	"coderunner/runners/python/process"
	"coderunner/runners/python/requirement"
	"coderunner/runners/python/resolver"
	"coderunner/runners/python/snapshots"
)

// Config configures a [Runner].
type Config struct {
	// Cache is where Pyodide and packages are kept. The caller closes it,
	// after the Runner.
	Cache *cache.Cache

	// Offline forbids fetching anything.
	Offline bool

	// Policy is what programs may access.
	Policy runners.Policy

	// Network is what the network of programs is made of, besides the policy.
	Network netpolicy.Options

	// Index is the Python package index, PackageBase where the packages of
	// Pyodide's lock file are, NPMRegistry where Pyodide itself is. Each
	// replaces the public one if not "".
	Index, PackageBase, NPMRegistry string

	// Compile, if not nil, compiles shared libraries in a process of its own, with
	// limits: see [pyodide.Config].
	Compile func(ctx context.Context, dir string, memory int64) error

	// Host, if not nil, does what needs the network or writes to the cache, and neither is
	// used here: Cache, Index, PackageBase and NPMRegistry are not needed then, but where the
	// cache is, which programs never write to.
	Host      Host
	CacheRoot string

	// Guests are other languages, which processes start as commands; nil: there are none.
	Guests process.Guests

	// Overrun, if not nil, ends this process: see [kernel.Options].
	Overrun func(memory bool)

	// MaxIdle bounds the idle interpreters, see [pyodide.Config].
	MaxIdle int

	// Log receives our own errors; nil: none.
	Log *zap.Logger
}

// Runner runs programs. It implements [runners.Runner]. Close ends it.
type Runner struct {
	cfg    Config
	fetch  *fetch.Client
	places *resolver.Resolver // before the runtime is open: it knows the registries
	log    *zap.Logger
	ctx    context.Context // of background work
	cancel context.CancelFunc

	long time.Duration // see layOutMeanwhile

	bin          func() (fs.FS, error)     // what /bin shows
	machineFiles func() (*memfs.FS, error) // what programs of other languages find, without Python's library

	sessions *pool.Pool[string, *live] // by the session's key

	mu       sync.Mutex
	closed   bool
	open     *opening
	confined Confined // nil: packages' code runs here
}

var _ runners.Runner = (*Runner)(nil)

// engine is the state that all runs share.
type engine struct {
	rt        *pyodide.Runtime
	lock      *lockfile.Lock
	resolver  packages
	own       *resolver.Resolver // the same, nil with a Host
	dir       string             // of Pyodide's files
	snapshots *snapshots.Store
	rest      *builder.Builder          // of what no import has needed yet; nil where the process ends soon
	files     func() (*memfs.FS, error) // what all programs find when they begin
}

// newFiles returns what all programs find when they begin, without Python's library.
func (r *Runner) newFiles() (*memfs.FS, error) {
	bin, err := r.bin()
	if err != nil {
		return nil, err
	}
	return process.NewFiles(r.cfg.Policy, bin)
}

// filesOf returns what returns the same with the library of a runtime.
func (r *Runner) filesOf(rt *pyodide.Runtime) func() (*memfs.FS, error) {
	return sync.OnceValues(func() (*memfs.FS, error) {
		fsys, err := r.newFiles()
		if err == nil {
			err = rt.MountLibrary(fsys)
		}
		return fsys, err
	})
}

// close frees the engine. No run may be in progress.
func (e *engine) close() error {
	if e.rest != nil {
		e.rest.Close()
	}
	return errors.Join(e.snapshots.Close(), e.rt.Close())
}

// opening is an engine being opened. Its results are set when done is closed.
type opening struct {
	done   chan struct{}
	engine *engine
	err    error

	mu      sync.Mutex
	last    *runners.Progress
	waiters map[*runners.ProgressFunc]bool
}

// New returns a Runner. It checks the configuration and fetches nothing.
func New(c Config) (*Runner, error) {
	places, err := resolver.New(resolver.Config{Cache: c.Cache, Index: c.Index, Base: c.PackageBase})
	if err != nil {
		return nil, err
	}
	r := &Runner{cfg: c, places: places, log: c.Log, long: longRun, fetch: fetch.New(c.Cache, fetch.Options{Offline: c.Offline})}
	if c.Host == nil {
		r.cfg.CacheRoot = c.Cache.Root()
	}
	r.log = cmp.Or(r.log, zap.NewNop())
	r.sessions = newSessions(r.log)
	r.bin = sync.OnceValues(func() (fs.FS, error) { return process.Bin(c.Guests) })
	r.machineFiles = sync.OnceValues(r.newFiles)
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r, nil
}

// Versions returns the versions of Pyodide and CPython.
func (r *Runner) Versions() map[string]string {
	return map[string]string{"pyodide": versions.PyodideVersion, "cpython": versions.CPythonVersion}
}

// Close ends the runner. No Run may be in progress.
func (r *Runner) Close() error {
	r.cancel()
	r.mu.Lock()
	open := r.open
	r.open, r.closed = nil, true
	r.mu.Unlock()
	defer r.fetch.Close()
	if open == nil {
		return nil
	}
	<-open.done
	r.sessions.Close()
	if open.engine == nil {
		return nil
	}
	return open.engine.close()
}

// parseAll parses the argument packages.
func parseAll(packages []string) ([]requirement.Requirement, error) {
	var reqs []requirement.Requirement
	for _, text := range packages {
		r, err := requirement.Parse(text)
		if err != nil {
			return nil, runners.BadArgument("packages", "cannot be read: %v.", err)
		}
		reqs = append(reqs, r)
	}
	return reqs, nil
}

// Lock prepares the packages of a request's program, as Run would, and does not run
// it. See [runners.Runner]. Of micropip.install's requirements only literal ones
// are known.
func (r *Runner) Lock(ctx context.Context, req runners.Request) (*runners.Locked, error) {
	j, err := r.job(req)
	if err != nil {
		return nil, err
	}
	j.pk.Only = true
	o, err := j.do(ctx)
	switch {
	case err != nil:
		return nil, err
	case o.Status == runners.NotInstalled:
		return nil, &runners.NotInstalledError{Packages: o.Error.Packages}
	case o.Status == runners.Cancelled:
		return nil, context.Cause(ctx)
	case o.Status != runners.Succeeded:
		return nil, fmt.Errorf("analyse the program: %s: %s", o.Status, o.Error.Message)
	}
	lock := []requirement.Locked{}
	for _, p := range o.Packages {
		lock = append(lock, requirement.Locked{Name: p.Name, Version: p.Version, Source: p.Source, SHA256: p.SHA256})
	}
	order.By(lock, func(a, b requirement.Locked) int { return strings.Compare(a.Name, b.Name) })
	text, err := requirement.WriteLock(req.Code, lock)
	if err != nil {
		return nil, runners.BadArgument("code", "cannot take a lock: %v.", err)
	}
	return &runners.Locked{Text: text, Packages: o.Packages}, nil
}
