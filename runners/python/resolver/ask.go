package resolver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"coderunner/internal/trace"
	"coderunner/runners"
	"coderunner/runners/python/requirement"
	"coderunner/runners/python/resolver/solver"
)

// ask searches versions that meet the request.
func (s *session) ask(ctx context.Context, req Request) (*answer, error) {
	defer trace.Begin("resolve " + summary(req))()
	s.progress(runners.Progress{Phase: "resolve", Item: summary(req)})
	env := requirement.Environ(s.lock.Python, strings.ReplaceAll(strings.TrimPrefix(s.lock.Platform, "emscripten_"), "_", "."))
	for _, r := range slices.Concat(req.Requirements, req.Optional, req.Constraints) {
		if _, err := r.Applies(env, ""); err != nil {
			return nil, &runners.RequestError{Argument: "packages", Message: fmt.Sprintf("packages: %q is not a Python requirement: %s", r.String(), err)}
		}
	}
	first := slices.Concat(req.Requirements, req.Optional)
	if !req.Alone {
		defer s.fetchAhead(ctx, first)()
	}
	s.probe(ctx, first, env)
	offers, lockReasons := s.offered()
	found, err := solver.Solve(ctx, &search{s, offers}, solver.Question{
		Requirements: req.Requirements, Optional: req.Optional, Constraints: req.Constraints, Alone: req.Alone, Env: env,
	})
	if impossible, ok := errors.AsType[*solver.Impossible](err); ok {
		failed := s.reasons(impossible.Reasons, lockReasons)
		if len(failed) == 0 {
			failed = []runners.PackageError{{Name: "the request", Reason: "no solution was found in reasonable time"}}
		}
		return nil, &runners.NotInstalledError{Packages: failed}
	}
	if err != nil {
		return nil, fmt.Errorf("resolve packages: %w", err)
	}
	a := &answer{Format: answerFormat, When: time.Now().UTC(), Skipped: s.reasons(found.Skipped, lockReasons)}
	for _, c := range found.Chosen {
		pin, err := s.pin(c.Name, c.File)
		if err != nil {
			return nil, err
		}
		pin.Needs, pin.Older = c.Needs, c.Older
		a.Packages = append(a.Packages, pin)
	}
	a.Pinned = s.locked != nil || pinned(req.Requirements, a.Packages)
	return a, nil
}

// probe finds out whether the base URL can be reached, and fetches the search's first pages
// meanwhile. The search asks again for those that cannot be fetched.
func (s *session) probe(ctx context.Context, first []requirement.Requirement, env requirement.Environment) {
	known := s.probeBase(ctx)
	var pages errgroup.Group
	pages.SetLimit(8)
	asked := map[string]bool{}
	for _, r := range first {
		if applies, _ := r.Applies(env, ""); applies && !asked[r.Name] {
			asked[r.Name] = true
			pages.Go(func() error { _, err := s.project(ctx, r.Name); return err })
		}
	}
	_ = pages.Wait()
	<-known
}

// maxAhead bounds the pages that fetchAhead fetches.
const maxAhead = 16

// fetchAhead begins to fetch the pages of what the lock file's builds of the projects depend on:
// the search, which would learn of it level by level, most likely asks for them.
func (s *session) fetchAhead(ctx context.Context, first []requirement.Requirement) (stop func()) {
	var names []string
	for _, r := range first {
		names = append(names, s.lock.ByName[r.Name].Depends...)
	}
	ctx, cancel := context.WithCancel(ctx)
	var pages errgroup.Group
	known := map[string]bool{}
	for ; len(names) > 0 && len(known) < maxAhead; names = names[1:] {
		name := names[0]
		if p, ok := s.lock.ByName[name]; ok && !known[name] && p.Type == "package" {
			known[name] = true
			names = append(names, p.Depends...)
			pages.Go(func() error { _, err := s.project(ctx, name); return err })
		}
	}
	return func() {
		cancel()
		_ = pages.Wait() // the search has asked again for what it needed
	}
}

// reasons adds to why packages cannot be installed why the lock file's builds of them
// cannot.
func (s *session) reasons(list []solver.Reason, lockReasons map[string]string) (failed []runners.PackageError) {
	for _, f := range list {
		why := f.Why
		r, err := requirement.Parse(f.Requirement)
		if more := lockReasons[r.Name]; err == nil && more != "" && r.Allows(s.lock.ByName[r.Name].Version) {
			why += "; " + more
		}
		failed = append(failed, runners.PackageError{Name: f.Requirement, Reason: why})
	}
	return failed
}

// summary returns the request's name in progress messages.
func summary(req Request) string {
	names := map[string]bool{}
	for _, r := range slices.Concat(req.Requirements, req.Optional) {
		names[r.Name] = true
	}
	if len(names) > 3 {
		return fmt.Sprintf("%d packages", len(names))
	}
	return strings.Join(slices.Collect(maps.Keys(names)), ", ")
}
