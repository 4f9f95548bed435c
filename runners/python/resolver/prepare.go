package resolver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"coderunner/runners"
	"coderunner/runners/python/requirement"
)

// Prepare resolves, fetches and unpacks packages. The error is a
// *[runners.NotInstalledError] when packages cannot be installed and a
// *[runners.RequestError] when a requirement is invalid.
func (r *Resolver) Prepare(ctx context.Context, req Request) (*Set, error) {
	if len(req.Requirements)+len(req.Optional) == 0 {
		return &Set{}, nil
	}
	s := &session{Resolver: r, locked: req.Locked, progress: req.Progress.Serial(), pages: map[string]*project{}, downloaded: map[string]bool{}, costly: map[string]bool{}, unbuilt: map[string]string{}, wheelsOnly: req.wheelsOnly, imports: req.Imports}
	s.require = s.buildRequires
	key := r.key(req)
	old := r.recall(key)
	if old != nil && old.Failed != nil {
		if old.fresh(time.Now()) && !r.fetch.Offline() {
			return nil, &runners.NotInstalledError{Packages: old.Failed}
		}
		old = nil
	}
	if old == nil && r.fetch.Offline() {
		old = r.recallLocked(req)
	}
	if old != nil && (old.fresh(time.Now()) || r.fetch.Offline()) {
		set, err := s.install(ctx, old)
		if err == nil || ctx.Err() != nil {
			return set, err
		}
	}
	set, err := s.resolve(ctx, req, key)
	if old == nil && err != nil && s.unreachable.Load() {
		old = r.recallLocked(req)
	}
	if err != nil && s.unreachable.Load() && old != nil && ctx.Err() == nil {
		// The index cannot be reached: use the older answer.
		if set, err := s.install(ctx, old); err == nil {
			return set, nil
		}
	}
	return set, err
}

// resolve searches versions, installs the answer's packages, and remembers it. It asks
// again when a package of the lock file cannot be fetched, and when a wheel's
// libraries cannot be compiled: there may be a pure wheel.
func (s *session) resolve(ctx context.Context, req Request, key string) (*Set, error) {
	var costly error
	for {
		a, err := s.ask(ctx, req)
		if _, ok := errors.AsType[*runners.NotInstalledError](err); ok && s.avoidCostly() {
			continue // there may be an older version with a wheel
		}
		if err != nil && costly != nil && ctx.Err() == nil {
			return nil, costly
		}
		if failed, ok := errors.AsType[*runners.NotInstalledError](err); ok && ctx.Err() == nil {
			s.refuse(key, failed)
		}
		if err != nil {
			return nil, err
		}
		set, err := s.install(ctx, a)
		if lost, ok := errors.AsType[*baseError](err); ok {
			if s.lose(lost) {
				continue
			}
			reason, _ := s.reason(lost.err)
			err = &runners.NotInstalledError{Packages: []runners.PackageError{{Name: lost.name, Reason: reason}}}
		}
		if err != nil && s.avoidCostly() {
			costly = err
			continue
		}
		if err != nil {
			return nil, err
		}
		if !s.unreachable.Load() {
			// Otherwise the answer might be another one tomorrow: an optional
			// package left out, an older version chosen.
			s.remember(key, a)
		}
		return set, nil
	}
}

// install fetches and unpacks the answer's wheels, several at a time: first those whose
// libraries are to be compiled, which takes longest.
func (s *session) install(ctx context.Context, a *answer) (*Set, error) {
	set := &Set{Packages: make([]Package, len(a.Packages)), Skipped: a.Skipped}
	problems := make([]error, len(a.Packages))
	var g, checks errgroup.Group
	g.SetLimit(4)
	order := make([]int, len(a.Packages))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(a.Packages[i].pure(), a.Packages[j].pure()) })
	for _, i := range order {
		g.Go(func() error {
			pin := a.Packages[i]
			p, err := s.unpack(ctx, pin)
			if set.Packages[i], problems[i] = p, err; err == nil {
				checks.Go(func() error { problems[i] = s.loadable(ctx, pin, p.Tree); return nil })
			}
			return nil
		})
	}
	_ = g.Wait() // the errors are in problems
	early := s.compileEarly(ctx, set.Packages)
	_ = checks.Wait()
	uncompiled := early()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("install packages: %w", context.Cause(ctx))
	}
	failed := &runners.NotInstalledError{}
	for i, err := range problems {
		if err == nil {
			continue
		}
		if _, ok := errors.AsType[*baseError](err); ok {
			return nil, err
		}
		reason, expected := s.reason(err)
		if !expected {
			return nil, err
		}
		pin := a.Packages[i]
		failed.Add(pin.Name+"=="+pin.Version, reason)
	}
	return set, cmp.Or(failed.OrNil(), uncompiled)
}

// maxBuildRequires bounds what a build asks for at once.
const maxBuildRequires = 50

// buildRequires prepares what a build requires, as wheels. Neither the program's
// lock nor its other packages bind it.
func (s *session) buildRequires(ctx context.Context, texts []string) (dirs []string, err error) {
	if len(texts) > maxBuildRequires {
		return nil, fmt.Errorf("%d requirements", len(texts))
	}
	q := Request{Progress: s.progress, wheelsOnly: true}
	for _, text := range texts {
		r, err := requirement.Parse(text)
		if err != nil {
			return nil, err
		}
		q.Requirements = append(q.Requirements, r)
	}
	set, err := s.Prepare(ctx, q)
	if failed, ok := errors.AsType[*runners.NotInstalledError](err); ok {
		return nil, fmt.Errorf("%s: %s", failed.Packages[0].Name, failed.Packages[0].Reason)
	}
	if err != nil {
		return nil, err
	}
	if err := s.Compile(ctx, set.Packages, nil, s.progress); err != nil {
		return nil, err
	}
	for _, p := range set.Packages {
		dirs = append(append(dirs, p.Tree), p.Bytecode...)
	}
	return dirs, nil
}

// avoidCostly excludes files that have turned out to be too costly. It reports
// whether there is a new one.
func (s *session) avoidCostly() bool {
	s.mu.Lock()
	n := len(s.costly) + len(s.unbuilt)
	s.mu.Unlock()
	if n == s.avoided {
		return false
	}
	s.avoided = n
	clear(s.pages)
	return true
}
