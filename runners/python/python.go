// Package python runs Python programs: CPython from package pyodide, packages
// from package resolver, the contract of package runners.
//
// It knows neither MCP nor the command line. Every run has an interpreter of its
// own.
//
//	Run ─ requirements ─ resolve ─┐
//	                              ├─ Interp: packages, files, host directories ─ program ─ Outcome
//	runtime (opened once) ────────┘      │ imports, micropip.install: resolve, mount
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
	"context"
	"errors"
	"sync"

	"go.uber.org/zap"

	"coderunner/cache"
	"coderunner/internal/fetch"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/netpolicy"
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

	// MaxIdle bounds the idle interpreters, see [pyodide.Config].
	MaxIdle int

	// Log receives our own errors; nil: none.
	Log *zap.Logger
}

// Runner runs programs. It implements [runners.Runner]. Close ends it.
type Runner struct {
	cfg    Config
	fetch  *fetch.Client
	log    *zap.Logger
	ctx    context.Context // of background work
	cancel context.CancelFunc

	machineFiles func() (*memfs.FS, error) // what programs of other languages find, without Python's library

	sessions *pool.Pool[string, *live] // by the session's key

	mu     sync.Mutex
	closed bool
	open   *opening
}

var _ runners.Runner = (*Runner)(nil)

// engine is the state that all runs share.
type engine struct {
	rt        *pyodide.Runtime
	lock      *lockfile.Lock
	resolver  *resolver.Resolver
	snapshots *snapshots.Store
	files     func() (*memfs.FS, error) // what all programs find when they begin
}

// newFiles returns what all programs find when they begin.
func (e *engine) newFiles(p runners.Policy) (*memfs.FS, error) {
	fsys, err := process.NewFiles(p)
	if err == nil {
		err = e.rt.MountLibrary(fsys)
	}
	return fsys, err
}

// close frees the engine. No run may be in progress.
func (e *engine) close() error {
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
	if _, err := resolver.New(resolver.Config{Cache: c.Cache, Index: c.Index, Base: c.PackageBase}); err != nil {
		return nil, err
	}
	r := &Runner{cfg: c, log: c.Log, fetch: fetch.New(c.Cache, fetch.Options{Offline: c.Offline})}
	if r.log == nil {
		r.log = zap.NewNop()
	}
	r.sessions = newSessions(r.log)
	r.machineFiles = sync.OnceValues(func() (*memfs.FS, error) { return process.NewFiles(c.Policy) })
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
