package python

import (
	"context"
	"os"

	"coderunner/internal/netpolicy"
	"coderunner/pyodide"
	"coderunner/runners"
	"coderunner/runners/python/hostdirs"
	"coderunner/runners/python/install"
	"coderunner/runners/python/process"
	"coderunner/runners/python/resolver"
	"coderunner/runners/python/snapshots"
	"coderunner/runners/python/trusted"
)

// Host does for a Runner what needs the network of the host or writes to the cache. The
// calls of a run have its context or one below it. Methods are safe for concurrent use.
//
// [Runner.Local] does it for other processes.
type Host interface {
	// Store has what is derived from Pyodide and from packages. It builds nothing: the error
	// for what it lacks is pyodide.ErrNotPrepared.
	pyodide.Store
	packages

	// Runtime returns the directory with Pyodide's files, once the Store has what is derived
	// from them.
	Runtime(ctx context.Context) (dir string, err error)
	// Hold is [cache.Cache.Hold].
	Hold(ctx context.Context) (_ context.Context, release func())
	// Library prepares a library: see pyodide.Config.Prepare.
	Library(ctx context.Context, name string, library []byte) error
	// Part compiles a part of a library: see pyodide.Config.Part.
	Part(ctx context.Context, module []byte) (pyodide.Part, error)
	// Snapshot has a snapshot made of an interpreter that has imported modules of installed
	// packages, some time, and reports whether that has failed before.
	Snapshot(ctx context.Context, modules []string, installed install.State) (failed bool)
	// Network returns what the run of ctx may reach. Ask and i, if they are not nil, are the
	// run's.
	Network(ctx context.Context, ask netpolicy.AskFunc, i netpolicy.Interceptor) process.Network
}

// packages is what a run needs of a [resolver.Resolver].
type packages interface {
	install.Preparer
	Refusal(p runners.Policy) string
	BaseUnreachable() string
	Indexed(ctx context.Context, project string) bool
}

func (r *Runner) hold(ctx context.Context) (context.Context, func()) {
	if r.cfg.Host != nil {
		return r.cfg.Host.Hold(ctx)
	}
	return r.cfg.Cache.Hold(ctx)
}

func (r *Runner) network(ctx context.Context, policy *netpolicy.Policy, ask netpolicy.AskFunc, i netpolicy.Interceptor) process.Network {
	if r.cfg.Host != nil {
		return r.cfg.Host.Network(ctx, ask, i)
	}
	network := r.cfg.Network
	network.Ask, network.Intercept = ask, i
	return process.Direct(policy.NewRun(network))
}

func (r *Runner) openHostDirs() (*hostdirs.Dirs, error) {
	return hostdirs.Open(r.cfg.Policy, r.cfg.CacheRoot)
}

// Confined runs code of packages in a process of its own.
type Confined interface {
	// Snapshot writes a snapshot to f: see [Runner.TakeSnapshot].
	Snapshot(ctx context.Context, modules []string, installed install.State, f *os.File) error
	// Build is [resolver.Trusted.Build].
	Build(ctx context.Context, sdist resolver.Sdist) (name string, wheel []byte, err error)
	// Compile is [resolver.Trusted.Compile].
	Compile(ctx context.Context, trees, modules []string, workers int, emit func(module string, pyc []byte) error, begins func(module string)) error
}

// Confine has the code of packages run elsewhere.
func (l *Local) Confine(c Confined) {
	l.r.mu.Lock()
	defer l.r.mu.Unlock()
	l.r.confined = c
}

func (r *Runner) elsewhere() Confined {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.confined
}

// builds are the trusted interpreters of a runner, which may be elsewhere.
type builds struct {
	trusted.Interpreters
	r *Runner
}

// Build implements [resolver.Trusted].
func (b builds) Build(ctx context.Context, sdist resolver.Sdist) (name string, wheel []byte, err error) {
	if c := b.r.elsewhere(); c != nil {
		return c.Build(ctx, sdist)
	}
	return b.Interpreters.Build(ctx, sdist)
}

// Compile implements [resolver.Trusted].
func (b builds) Compile(ctx context.Context, trees, modules []string, workers int, emit func(module string, pyc []byte) error, begins func(module string)) error {
	if c := b.r.elsewhere(); c != nil {
		return c.Compile(ctx, trees, modules, workers, emit, begins)
	}
	return b.Interpreters.Compile(ctx, trees, modules, workers, emit, begins)
}

// Trusted returns the interpreters of this process, for what a [Confined] does in its own.
func (r *Runner) Trusted(ctx context.Context) (resolver.Trusted, error) {
	e, err := r.engine(ctx, nil)
	if err != nil {
		return nil, err
	}
	return trusted.Interpreters{Runtime: e.rt}, nil
}

// TakeSnapshot writes a snapshot of an interpreter that has imported modules of installed
// packages: what a [Confined] does in its process.
func (r *Runner) TakeSnapshot(ctx context.Context, modules []string, installed install.State, f *os.File) error {
	e, err := r.engine(ctx, nil)
	if err != nil {
		return err
	}
	pk := install.New(nil)
	pk.Resume(installed)
	return e.rt.TakeSnapshot(ctx, f, modules, pk.Mounts())
}

// Local is what a [Host] in another process asks for: its runs have this one's cache,
// packages and network. The runtime is opened when it is needed.
type Local struct{ r *Runner }

// Local returns what the runner does for others.
func (r *Runner) Local() *Local { return &Local{r} }

// Runtime is [Host.Runtime], with the progress of opening it here.
func (l *Local) Runtime(ctx context.Context, progress runners.ProgressFunc) (dir string, err error) {
	e, err := l.r.engine(ctx, progress)
	if err != nil {
		return "", err
	}
	return e.dir, nil
}

// Prepare is [Host.Prepare].
func (l *Local) Prepare(ctx context.Context, q resolver.Request) (*resolver.Set, error) {
	e, err := l.r.engine(ctx, q.Progress)
	if err != nil {
		return nil, err
	}
	return e.own.Prepare(ctx, q)
}

// Compile is [Host.Compile]. The packages must be those that Prepare has returned.
func (l *Local) Compile(ctx context.Context, packages []resolver.Package, modules []string, progress runners.ProgressFunc) error {
	e, err := l.r.engine(ctx, progress)
	if err != nil {
		return err
	}
	return e.own.Compile(ctx, packages, modules, progress)
}

// Rest compiles in the background what Compile has left of packages.
func (l *Local) Rest(ctx context.Context, packages []resolver.Package) {
	if e, err := l.r.engine(ctx, nil); err == nil {
		e.compileRest(packages)
	}
}

// Refusal is [Host.Refusal].
func (l *Local) Refusal(p runners.Policy) string { return l.r.places.Refusal(p) }

// BaseUnreachable is [Host.BaseUnreachable].
func (l *Local) BaseUnreachable(ctx context.Context) string {
	e, err := l.r.engine(ctx, nil)
	if err != nil {
		return err.Error()
	}
	return e.own.BaseUnreachable()
}

// Indexed is [Host.Indexed].
func (l *Local) Indexed(ctx context.Context, project string) bool {
	e, err := l.r.engine(ctx, nil)
	return err == nil && e.own.Indexed(ctx, project)
}

// Library is [Host.Library].
func (l *Local) Library(ctx context.Context, name string, library []byte) error {
	e, err := l.r.engine(ctx, nil)
	if err != nil {
		return err
	}
	return e.rt.PrepareLibrary(ctx, name, library)
}

// Part is [Host.Part].
func (l *Local) Part(ctx context.Context, module []byte) (pyodide.Part, error) {
	e, err := l.r.engine(ctx, nil)
	if err != nil {
		return pyodide.Part{}, err
	}
	return e.rt.CompilePart(ctx, module)
}

// Snapshot has made in the background what [Host.Snapshot] asks for. The packages must be those
// that Prepare has returned.
func (l *Local) Snapshot(ctx context.Context, modules []string, installed install.State) {
	e, err := l.r.engine(ctx, nil)
	if err != nil {
		return
	}
	recipe := recipeOf(modules, installed)
	if c := l.r.elsewhere(); c != nil {
		recipe.Take = func(ctx context.Context, f *os.File) error { return c.Snapshot(ctx, modules, installed, f) }
	}
	if z, release := e.snapshots.Find(ctx, recipe, snapshots.Needs{Memory: runners.MaxMemory}, 0); z != nil {
		release()
		l.r.layOut(ctx, e, modules, installed)
	}
}

// Failed reports whether a snapshot cannot be made.
func (l *Local) Failed(ctx context.Context, modules []string, installed install.State) bool {
	e, err := l.r.engine(ctx, nil)
	return err != nil || e.snapshots.Builder.Failed(recipeOf(modules, installed).Key())
}

func recipeOf(modules []string, installed install.State) snapshots.Recipe {
	pk := install.New(nil)
	pk.Resume(installed)
	return snapshots.Recipe{Modules: modules, Mounts: pk.Mounts()}
}
