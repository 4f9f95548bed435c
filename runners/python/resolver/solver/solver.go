package solver

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"coderunner/internal/order"
	"coderunner/runners/python/requirement"
)

// Question is what is to be solved.
type Question struct {
	Requirements []requirement.Requirement
	Optional     []requirement.Requirement // left out if they cannot be met
	Constraints  []requirement.Requirement // for projects that are chosen anyway
	Alone        bool                      // without what the projects require
	Env          requirement.Environment
}

// Solve answers a question. The error is an *[Impossible] if there is no answer, or
// the source's.
func Solve(ctx context.Context, source Source, q Question) (*Answer, error) {
	projects := map[string]*Project{} // asked for once
	try := func(roots []requirement.Requirement) (*search, error) {
		s := &search{
			source: source, env: q.Env, alone: q.Alone, projects: projects, constraints: map[string]*requirement.Range{},
			ceilings: map[string]requirement.Version{}, attempts: maxAttempts, fixed: q.Constraints,
		}
		for _, r := range roots {
			if s.applies(r, "") {
				s.roots = append(s.roots, r)
			}
		}
		return s, s.solve(ctx)
	}
	required := slices.Clone(q.Requirements)
	s, err := try(slices.Concat(required, q.Optional))
	switch {
	case err == nil:
		return s.answer(nil), nil
	case !isImpossible(err) || len(q.Optional) == 0:
		return nil, err
	}
	if s, err = try(required); err != nil {
		return nil, err
	}
	var skipped []Reason
	for _, extra := range q.Optional {
		more, err := try(slices.Concat(required, []requirement.Requirement{extra}))
		switch {
		case isImpossible(err):
			skipped = append(skipped, Reason{extra.String(), reasonLine(err)})
		case err != nil:
			return nil, err
		default:
			s, required = more, append(required, extra)
		}
	}
	return s.answer(skipped), nil
}

func isImpossible(err error) bool {
	_, ok := errors.AsType[*Impossible](err)
	return ok
}

// search is the search for one list of requirements.
type search struct {
	source      Source
	env         requirement.Environment
	alone       bool
	roots       []requirement.Requirement
	fixed       []requirement.Requirement // the constraints
	projects    map[string]*Project
	constraints map[string]*requirement.Range

	ceilings map[string]requirement.Version // by project: the newest version to consider
	limits   map[string][]side              // by project: what the attempt has learned
	walked   *walk                          // the last one
	first    []Reason                       // why the first attempt failed
	attempts int
}

const (
	maxWalks    = 60 // of one attempt
	maxAttempts = 30
)

// solve searches. After it, walked has the answer.
func (s *search) solve(ctx context.Context) error {
	tooMuch := map[string][]requirement.Version{} // by project: versions that asked for too much
	for {
		name, older, err := s.attempt(ctx)
		switch {
		case err != nil:
			return err
		case name == "" && older == nil && s.done():
			if err := s.refine(ctx, tooMuch); err != nil {
				return err
			}
			return s.refuseOld(tooMuch, false)
		case name == "" || s.attempts <= 0:
			if err := s.refuseOld(tooMuch, true); err != nil {
				return err
			}
			return &Impossible{s.first}
		}
		tooMuch[name] = append(tooMuch[name], s.walked.chosen[name].Version)
		s.ceilings[name] = older[min(1<<(len(tooMuch[name])-1), len(older))-1].Version
	}
}

// done reports whether the last walk is an answer.
func (s *search) done() bool { return len(s.walked.failed)+len(s.walked.conflicts) == 0 }

// attempt walks until nothing new is learned. If that is no answer, it returns the
// project to try in older releases, newest first, or "" if there is none.
func (s *search) attempt(ctx context.Context) (name string, older []Release, err error) {
	s.attempts--
	s.limits = map[string][]side{}
	for _, r := range s.roots {
		s.learn(r, byRequest)
	}
	for _, r := range s.fixed {
		if s.applies(r, "") {
			s.learn(r, byConstraints)
		}
	}
	for i := range maxWalks {
		if s.walked, err = s.walk(ctx); err != nil {
			return "", nil, err
		}
		learned := false
		for _, a := range s.walked.conflicts {
			learned = s.learn(a.Requirement, a.who) || learned
		}
		if learned || i < maxWalks/2 && s.forget() {
			continue
		}
		break
	}
	if len(s.walked.failed) == 0 {
		return "", nil, nil
	}
	if s.first == nil {
		s.first = s.explain()
	}
	return s.blame(ctx)
}

// learn keeps the range of a requirement for the next walk, and reports whether it is new.
func (s *search) learn(r requirement.Requirement, who string) bool {
	x := side{r.Specifier, who}
	if r.Specifier == "" || slices.Contains(s.limits[r.Name], x) {
		return false
	}
	s.limits[r.Name] = append(s.limits[r.Name], x)
	return true
}

// forget drops what releases asked for that are not chosen any more, and reports
// whether there was any.
func (s *search) forget() (dropped bool) {
	for name, sides := range s.limits {
		kept := slices.DeleteFunc(slices.Clone(sides), func(x side) bool {
			parent, _, _ := strings.Cut(x.who, " ")
			c := s.walked.chosen[parent]
			return x.who != byRequest && x.who != byConstraints && (c == nil || c.label() != x.who)
		})
		dropped = dropped || len(kept) < len(sides)
		s.limits[name] = kept
	}
	return dropped
}

// refine tries newer releases again of those that were tried in steps.
func (s *search) refine(ctx context.Context, tooMuch map[string][]requirement.Version) error {
	for _, name := range slices.Sorted(maps.Keys(tooMuch)) {
		good := s.ceilings[name]
		bad := slices.MinFunc(tooMuch[name], requirement.Version.Compare)
		for s.attempts > 0 {
			between := slices.DeleteFunc(slices.Clone(s.projects[name].Releases), func(r Release) bool {
				return r.Version.Compare(good) <= 0 || r.Version.Compare(bad) >= 0 || !s.within(s.limits[name], r.Version)
			})
			if len(between) == 0 {
				break
			}
			order.By(between, func(a, b Release) int { return a.Version.Compare(b.Version) })
			best := s.walked
			middle := between[len(between)/2].Version
			s.ceilings[name] = middle
			if _, _, err := s.attempt(ctx); err != nil {
				return err
			}
			if s.done() {
				good = middle
			} else {
				bad, s.walked = middle, best
			}
		}
		s.ceilings[name] = good
	}
	return nil
}

// blame returns a project that could be older, so that what failed is not asked for.
func (s *search) blame(ctx context.Context) (name string, older []Release, err error) {
	for _, f := range s.walked.failed {
		if s.best(f.Requirement) != nil {
			continue
		}
		if always, err := s.inevitable(ctx, f.Name, nil, map[string]bool{}); always || err != nil {
			return "", nil, err
		}
	}
	for _, f := range s.walked.failed {
		conflict := strings.HasPrefix(f.why, conflictReason)
		var suspects []string
		for _, x := range s.limits[f.Name] {
			parent, _, _ := strings.Cut(x.who, " ")
			suspects = append(suspects, parent)
		}
		for _, a := range s.walked.asked[f.Name] {
			suspects = append(suspects, a.parent)
		}
		for _, name := range suspects {
			if older := s.older(name, conflict); len(older) > 0 {
				return name, older, nil
			}
		}
	}
	return "", nil, nil
}

// best returns the newest version that meets a requirement, whatever else is wanted.
func (s *search) best(r requirement.Requirement) *requirement.Version {
	p := s.projects[r.Name]
	if p == nil {
		return nil
	}
	list := slices.Concat(p.Releases, p.Yanked)
	if p.Offer != nil {
		list = append(list, *p.Offer)
	}
	list = slices.DeleteFunc(list, func(x Release) bool { return !s.matches(r.Specifier, x.Version) })
	if found := newest(list); found != nil {
		return &found.Version
	}
	return nil
}

// inevitable reports whether a project that cannot be installed is needed however old
// the others are: by the request, or by versions of all ages of a project of which that
// is true. One old version of each tells, where trying them takes a dozen. tried is the
// version that needs what is missing.
func (s *search) inevitable(ctx context.Context, name string, tried *requirement.Version, seen map[string]bool) (bool, error) {
	seen[name] = true
	for _, a := range s.walked.asked[name] {
		if a.who == byRequest {
			return true, nil
		}
	}
	for _, a := range s.walked.asked[name] {
		parent := s.walked.chosen[a.parent]
		if parent == nil || seen[a.parent] {
			continue
		}
		always, err := s.alwaysNeeds(ctx, parent, name, tried)
		if always && err == nil {
			always, err = s.inevitable(ctx, a.parent, &parent.Version, seen)
		}
		if always || err != nil {
			return always, err
		}
	}
	return false, nil
}

// alwaysNeeds reports whether the oldest release of a project that would be tried still
// needs another one, and gets it in the major version tried, or not at all.
func (s *search) alwaysNeeds(ctx context.Context, parent *choice, name string, tried *requirement.Version) (bool, error) {
	older := s.older(parent.name, false)
	if len(older) == 0 {
		return true, nil
	}
	oldest := older[len(older)-1]
	if s.isRoot(parent.name) && !parent.Day.IsZero() { // see refuseOld
		for _, r := range slices.Backward(older) {
			if !r.Day.IsZero() && parent.Day.Sub(r.Day) <= maxAge {
				oldest = r
				break
			}
		}
	}
	requires, reason, err := s.source.Requires(ctx, parent.name, oldest)
	if err != nil || reason != "" {
		return false, err // trying it will say so
	}
	extras := []string{""}
	for _, a := range s.walked.asked[parent.name] {
		extras = append(extras, a.Extras...)
	}
	for _, r := range requires {
		if r.Name != name || !s.applies(r, extras...) {
			continue
		}
		if s.projects[name] == nil {
			return false, nil
		}
		best := s.best(r)
		return best == nil || tried != nil && requirement.SameMajor(*best, *tried), nil
	}
	return false, nil
}

func (s *search) isRoot(name string) bool {
	return slices.ContainsFunc(s.roots, func(r requirement.Requirement) bool { return r.Name == name })
}

// older returns the older releases of a chosen project, newest first. When the trouble
// is that something has no wheel, an older major version would not be what was meant;
// when it is a contradiction, anything goes.
func (s *search) older(name string, conflict bool) []Release {
	c := s.walked.chosen[name]
	if c == nil || c.File == "" {
		return nil
	}
	list := slices.DeleteFunc(slices.Clone(c.project.Releases), func(r Release) bool {
		return r.Version.Compare(c.Version) >= 0 || r.Version.IsPreRelease() && !c.Version.IsPreRelease() ||
			!conflict && !requirement.SameMajor(r.Version, c.Version) || !s.within(s.limits[name], r.Version)
	})
	order.By(list, func(a, b Release) int { return b.Version.Compare(a.Version) })
	return list
}
