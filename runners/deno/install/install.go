// Package install installs what programs import: Deno fetches it, in a process that sees
// only package names, and is confined as programs are.
//
// What a set of imports was resolved to is kept in the cache as a directory with an import map
// and Deno's lock file ([Prepared]), and used again, with the same versions. denocommand.go runs
// Deno's commands, npmcache.go reads what Deno has unpacked, and registry.go what a registry said
// of it.
package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"coderunner/cache"
	"coderunner/internal/fetch"
	"coderunner/internal/recent"
	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/process"
)

// prepareLimit bounds one preparation.
const prepareLimit = 5 * time.Minute

// Installer installs packages. What it has installed it remembers.
type Installer struct {
	*process.Tool
	known  recent.Map[string, *Prepared] // by key
	absent absences
	Peers  recent.Map[string, []string] // by the module of the dependencies that import them
	Stale  func(dir string)             // ends the idle processes that use a prepared directory
}

// Installation is the trusted phase of one run: it installs packages by their
// names and never sees the program.
type Installation struct {
	*Installer
	binary   string
	deps     deps.Dependencies
	progress runners.ProgressFunc
	fetched  map[string]bool // NAME@VERSION and URLs that were downloaded
	instead  map[string]any  // npm's overrides by which packages get substitutes of others
}

// Install installs dependencies. What any process prepared in this cache is used
// again, with the same versions. The error is a *runners.NotInstalledError when
// something that the program cannot be loaded without cannot be installed.
func (of *Installer) Install(ctx context.Context, binary string, d deps.Dependencies, progress runners.ProgressFunc) (*Prepared, error) {
	i := &Installation{Installer: of, binary: binary, deps: d.Without(of.absent.among(d.Targets)), progress: progress, fetched: map[string]bool{}}
	i.instead = deps.Substitutions(of.Config.Policy.FFI.Any(), of.Config.Policy.Run.Any())
	for {
		if len(i.deps.Broken) > 0 {
			return nil, notInstalled(i.deps.Broken)
		}
		p, err := i.once(ctx)
		if err == nil && len(p.Uses.Older) > 0 && d.Lock == nil {
			newest := *i
			newest.deps = i.deps.Newest(p.Uses.Older)
			if newer, err := newest.once(ctx); err == nil {
				p = newer
			}
		}
		if failed, ok := errors.AsType[*deps.FailedError](err); ok {
			of.absent.note(failed.Failures)
			i.deps = i.deps.Without(failed.Failures) // at least one fewer
			continue
		}
		if err != nil || len(i.deps.Missing) == 0 {
			return p, err
		}
		with := *p
		with.missing = map[string]runners.PackageError{}
		for _, f := range i.deps.Missing {
			e := runners.PackageError{Name: f.Target.Asked, Reason: f.Reason}
			with.missing[f.Message()], with.missing[f.Target.Required()] = e, e
		}
		return &with, nil
	}
}

// notInstalled returns the error for targets that cannot be installed.
func notInstalled(failures []deps.Failure) error {
	e := &runners.NotInstalledError{}
	for _, f := range failures {
		e.Add(f.Target.Asked, f.Reason)
	}
	return e.OrNil()
}

// key returns a digest of everything that decides what is prepared.
func (i *Installation) key() string {
	d := i.deps
	return runners.SHA256(runners.JSON([]any{
		12, i.Version, fetch.WithoutUser(i.Config.NPMRegistry), i.Config.JSRURL, process.ImportFlags(i.Config.Policy, i.Config.JSRURL),
		d.Map, d.Module(), string(d.Config), string(d.Lock), d.Overrides, i.instead,
	}))
}

// once installs all dependencies. The error is a *deps.FailedError when some
// cannot be installed.
func (i *Installation) once(ctx context.Context) (*Prepared, error) {
	if i.deps.Empty() {
		return &Prepared{Packages: &process.Packages{}}, nil
	}
	key := i.key()
	if p, ok := i.known.Get(key); ok && i.held(ctx, key, p) && i.Complete(p) {
		return p, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, prepareLimit, errPrepareLimit)
	defer cancel()
	p, err := i.prepare(ctx, key)
	if err != nil && context.Cause(ctx) == errPrepareLimit {
		e := &runners.NotInstalledError{}
		for _, t := range i.deps.Targets {
			e.Add(t.Asked, errPrepareLimit.Error())
		}
		return nil, e
	}
	return p, err
}

// held keeps a prepared directory, and what Deno has of its packages, in the cache
// for the run. It reports whether they are there.
func (i *Installation) held(ctx context.Context, key string, p *Prepared) bool {
	_, ok := i.Config.Cache.Find(ctx, cache.Trees, "deno-graph", key)
	if ok && len(p.Dirs) > 0 {
		_, ok = i.Config.Cache.Find(ctx, cache.Records, "deno-npm", key)
	}
	return ok
}

// prepare returns the prepared directory of a run's packages, from the cache or new.
func (i *Installation) prepare(ctx context.Context, key string) (*Prepared, error) {
	fresh := false
	dir, err := i.Config.Cache.Dir(ctx, "deno-graph", key, func(ctx context.Context, dir string) error {
		fresh = true
		return i.resolve(ctx, dir)
	})
	if err != nil {
		return nil, err
	}
	if fresh {
		i.Stale(dir) // there are some if the directory was removed meanwhile
	}
	p, err := i.load(dir)
	if err != nil {
		return nil, err
	}
	if err := i.record(ctx, key, p); err != nil {
		return nil, err
	}
	i.known.Put(key, p)
	if !fresh {
		return p, nil
	}
	now := *p
	now.Fresh = true
	now.Installed = make([]runners.Package, len(p.Installed))
	for n, pkg := range p.Installed {
		pkg.Cached = !i.fetched[pkg.Name+"@"+pkg.Version] && !i.fetched[pkg.Name]
		now.Installed[n] = pkg
	}
	return &now, nil
}

// record has the cache keep the packages of a prepared directory for the run. Those
// that were removed, perhaps after Deno had found them, are fetched again.
func (i *Installation) record(ctx context.Context, key string, p *Prepared) error {
	listed := slices.Clone(p.Dirs)
	i.keepDirs(p)
	if err := i.intact(ctx, key, p); err != nil || len(p.Dirs) == len(listed) && i.Complete(p) {
		return err
	}
	if err := i.refill(ctx, p); err != nil {
		return err
	}
	had := len(p.Dirs)
	p.Dirs, p.Copies = listed, nil
	if i.keepDirs(p); len(p.Dirs) == had {
		return nil // Deno does not need the others
	}
	return i.Config.Cache.Record(ctx, "deno-npm", key, p.Dirs)
}

var errPrepareLimit = fmt.Errorf("fetching the packages took longer than %v", prepareLimit)

// resolve fills a prepared directory.
func (i *Installation) resolve(ctx context.Context, dir string) error {
	d := i.deps
	files := map[string][]byte{process.MapName: d.Map.JSON(), process.ModuleName: []byte(d.Module())}
	if d.Config != nil {
		files[process.ConfigName] = d.Config
	}
	if d.Lock != nil && len(d.Targets) > 0 {
		files[process.LockName] = d.Lock
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return fmt.Errorf("prepare packages: %w", err)
		}
	}
	if len(d.Targets) == 0 {
		return nil
	}
	i.progress.Report(runners.Progress{Phase: "resolve", Item: d.Summary()})
	if err := i.fetch(ctx, dir, true, d.Lock != nil); err != nil {
		return err
	}
	// Success alone does not prove that the packages were resolved.
	lock, err := deps.ReadLock(filepath.Join(dir, process.LockName))
	if err == nil {
		err = i.elsewhere(lock)
	}
	if err == nil {
		err = i.completeMap(dir, lock)
	}
	switch {
	case err != nil:
	case d.Lock != nil:
		err = i.compare(ctx, dir, lock)
	case len(lock.Packages()) == 0:
		err = fmt.Errorf("prepare packages: Deno resolved nothing of %s", d.Summary())
	}
	if err == nil {
		dirs := i.PackageDirs(lock.Packages())
		err = writeUses(dir, dirs, i.older(lock, dirs))
	}
	return err
}
