package python

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"coderunner/pyodide"
	"coderunner/runners"
	"coderunner/runners/python/install"
	"coderunner/runners/python/resolver"
	"coderunner/runners/python/site"
)

// Environment makes interpreters with packages, for Go programs that run Python themselves.
// It is safe for concurrent use.
type Environment struct {
	engine   *engine
	mounts   []pyodide.Mount
	snapshot *pyodide.Snapshot // that has imported modules; nil: the plain one
	release  func()
}

// Environment fetches Pyodide, if the cache lacks it, and installs packages and what they
// need: "numpy", "pydantic>=2". The interpreters will have imported the modules in imports,
// unless importing them leaves what no snapshot can hold, such as an open file. The error is
// a *[runners.NotInstalledError] if packages cannot be installed. The caller closes the
// Environment, before the Runner.
func (r *Runner) Environment(ctx context.Context, packages, imports []string, progress runners.ProgressFunc) (_ *Environment, err error) {
	progress = progress.Serial()
	reqs, err := parseAll(packages)
	if err != nil {
		return nil, err
	}
	ctx, release := r.hold(ctx)
	defer func() {
		if err != nil {
			release()
		}
	}()
	engine, err := r.engine(ctx, progress)
	if err != nil {
		return nil, err
	}
	pk := install.New(nil)
	pk.Resolver, pk.Lock, pk.Progress = engine.resolver, engine.lock, progress
	if err := pk.Install(ctx, resolver.Request{Requirements: reqs}); err != nil {
		if missing, ok := install.NotInstalled(err, reqs); ok {
			err = missing
		}
		return nil, fmt.Errorf("install packages: %w", err)
	}
	found := &pyodide.Analysis{}
	for _, name := range imports {
		found.Imports = append(found.Imports, pyodide.Import{Name: name})
	}
	if err := pk.Compile(ctx, found); err != nil {
		return nil, fmt.Errorf("compile packages: %w", err)
	}
	engine.compileRest(slices.Collect(maps.Values(pk.Current().Installed)))
	e := &Environment{engine: engine, mounts: pk.Mounts(), release: release}
	if len(imports) > 0 {
		e.snapshot, err = engine.rt.Snapshot(ctx, imports, e.mounts)
		if errors.Is(err, pyodide.ErrUnfit) {
			err = nil
		}
	}
	return e, err
}

// New makes an interpreter. It takes what [pyodide.Runtime.New] takes, but for From. The
// caller closes it. What it runs can neither start processes nor install packages: that is
// what [Runner.Run] does.
func (e *Environment) New(ctx context.Context, o pyodide.Options) (*pyodide.Interp, error) {
	o.From = e.snapshot
	o.Env = maps.Clone(o.Env)
	if o.Env == nil {
		o.Env = map[string]string{}
	}
	o.Env["LD_LIBRARY_PATH"] = libraryPath
	in, err := e.engine.rt.New(ctx, o)
	if err != nil || e.snapshot != nil {
		return in, err
	}
	for _, m := range e.mounts {
		if err := in.Mount(m.Dir, m.Tree); err != nil {
			return nil, errors.Join(err, in.Close())
		}
	}
	return in, nil
}

// Close releases the packages. No interpreter may be in use.
func (e *Environment) Close() error {
	defer e.release()
	if e.snapshot == nil {
		return nil
	}
	return e.snapshot.Close()
}

// libraryPath is where shared libraries are looked for, as upstream's.
const libraryPath = site.SharedLibraries + ":" + pyodide.SitePackages
