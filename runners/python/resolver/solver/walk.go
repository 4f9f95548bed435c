package solver

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"coderunner/runners/python/requirement"
)

// Who asks besides the projects, as reasons name them.
const (
	byRequest     = "the request"
	byConstraints = "the constraints"
)

// side is a range of versions that somebody asks for.
type side struct{ specifier, who string }

// ask is a requirement and who has it: the label of a choice, or the request.
type ask struct {
	requirement.Requirement
	who, parent string // parent is the name in who, "" for the request
}

// choice is the release that a walk has taken of a project.
type choice struct {
	name string
	Release
	project  *Project
	requires []requirement.Requirement
	walked   []string // the extras whose requirements were walked
}

func (c *choice) label() string { return c.name + " " + c.Text }

// failure is a requirement for which nothing could be chosen.
type failure struct {
	ask
	why string
}

// walk is one way through everything that is required.
type walk struct {
	chosen    map[string]*choice
	asked     map[string][]ask // by project
	failed    []failure
	conflicts []ask // with what was chosen before
}

// fetches bounds the projects and releases that are asked for at once.
const fetches = 8

// walk walks level by level, so that what a level needs of the source is fetched side
// by side, and the choice does not depend on the order in which it comes.
func (s *search) walk(ctx context.Context) (*walk, error) {
	w := &walk{chosen: map[string]*choice{}, asked: map[string][]ask{}}
	level := make([]ask, 0, len(s.roots))
	for _, r := range s.roots {
		level = append(level, ask{Requirement: r, who: byRequest})
	}
	for len(level) > 0 {
		if err := s.fetchProjects(ctx, level); err != nil {
			return nil, err
		}
		var fresh []*choice
		for _, a := range level {
			if c := s.take(w, a); c != nil {
				fresh = append(fresh, c)
			}
		}
		if err := s.fetchRequires(ctx, w, fresh); err != nil {
			return nil, err
		}
		var next []ask
		for _, a := range level {
			if c := w.chosen[a.Name]; c != nil && !s.alone {
				next = append(next, s.expand(c, a.Extras)...)
			}
		}
		level = next
	}
	return w, nil
}

// take chooses a release for a requirement, if there is none yet, and returns it.
func (s *search) take(w *walk, a ask) *choice {
	w.asked[a.Name] = append(w.asked[a.Name], a)
	if c := w.chosen[a.Name]; c != nil {
		if !s.matches(a.Specifier, c.Version) {
			w.conflicts = append(w.conflicts, a)
		}
		return nil
	}
	if slices.ContainsFunc(w.failed, func(f failure) bool { return f.Name == a.Name }) {
		return nil
	}
	p := s.projects[a.Name]
	r := s.choose(p, a)
	if r == nil {
		w.failed = append(w.failed, failure{a, s.whyNot(p, a)})
		return nil
	}
	c := &choice{name: a.Name, Release: *r, project: p}
	w.chosen[a.Name] = c
	return c
}

// expand returns the requirements of a choice that the extras bring and that were
// not walked yet.
func (s *search) expand(c *choice, extras []string) (next []ask) {
	if len(extras) == 0 {
		extras = []string{""}
	}
	key := strings.Join(extras, ",")
	if slices.Contains(c.walked, key) {
		return nil
	}
	c.walked = append(c.walked, key)
	for _, r := range c.requires {
		if s.applies(r, extras...) {
			next = append(next, ask{r, c.label(), c.name})
		}
	}
	return next
}

// fetchProjects fetches the projects of a level that are not known yet.
func (s *search) fetchProjects(ctx context.Context, level []ask) error {
	var names []string
	for _, a := range level {
		if s.projects[a.Name] == nil && !slices.Contains(names, a.Name) {
			names = append(names, a.Name)
		}
	}
	found := make([]*Project, len(names))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(fetches)
	for i, name := range names {
		g.Go(func() (err error) {
			found[i], err = s.source.Project(ctx, name)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, name := range names {
		s.projects[name] = found[i]
	}
	return nil
}

// fetchRequires fetches what choices require. One whose metadata cannot be used is
// none.
func (s *search) fetchRequires(ctx context.Context, w *walk, fresh []*choice) error {
	if s.alone {
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(fetches)
	reasons := make([]string, len(fresh))
	for i, c := range fresh {
		g.Go(func() (err error) {
			c.requires, reasons[i], err = s.source.Requires(ctx, c.name, c.Release)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, c := range fresh {
		if reasons[i] == "" {
			reasons[i] = s.badMarker(c.requires)
		}
		if reasons[i] != "" {
			delete(w.chosen, c.name)
			w.failed = append(w.failed, failure{w.asked[c.name][0], reasons[i]})
		}
	}
	return nil
}

// badMarker returns why one of the requirements makes no sense, "" if all do.
func (s *search) badMarker(requires []requirement.Requirement) string {
	for _, r := range requires {
		if _, err := r.Applies(s.env, ""); err != nil {
			return "its metadata cannot be understood: " + err.Error()
		}
	}
	return ""
}

func (s *search) applies(r requirement.Requirement, extras ...string) bool {
	holds, err := r.Applies(s.env, extras...)
	return err == nil && holds
}

// choose returns the release to take for a requirement, nil if none will do.
func (s *search) choose(p *Project, a ask) *Release {
	sides := s.sides(a)
	if p.Offer != nil && s.allows(a.Name, sides, p.Offer.Version) {
		return p.Offer
	}
	var usable []Release
	pre := slices.ContainsFunc(sides, func(x side) bool { c := s.constraint(x.specifier); return c != nil && c.Pre() })
	for _, r := range p.Releases {
		if s.allows(a.Name, sides, r.Version) {
			usable = append(usable, r)
		}
	}
	if len(usable) == 0 && slices.ContainsFunc(sides, func(x side) bool { return requirement.Requirement{Specifier: x.specifier}.Exact() }) {
		for _, r := range p.Yanked {
			if s.allows(a.Name, sides, r.Version) {
				usable = append(usable, r)
			}
		}
	}
	if pre && len(usable) > 0 {
		best := slices.MaxFunc(usable, func(a, b Release) int { return a.Version.Compare(b.Version) })
		return &best
	}
	return newest(usable)
}

// sides returns the ranges that are known to be asked for, and that of a requirement.
func (s *search) sides(a ask) []side {
	sides := slices.Clone(s.limits[a.Name])
	if own := (side{a.Specifier, a.who}); a.Specifier != "" && !slices.Contains(sides, own) {
		sides = append(sides, own)
	}
	return sides
}

func (s *search) allows(name string, sides []side, v requirement.Version) bool {
	ceiling, ok := s.ceilings[name]
	return (!ok || v.Compare(ceiling) <= 0) && s.within(sides, v)
}

func (s *search) within(sides []side, v requirement.Version) bool {
	return !slices.ContainsFunc(sides, func(x side) bool { return !s.matches(x.specifier, v) })
}

// matches reports whether a version, which may be a pre-release, is in a range.
func (s *search) matches(specifier string, v requirement.Version) bool {
	if specifier == "" {
		return true
	}
	c := s.constraint(specifier)
	return c != nil && c.Contains(v)
}

// constraint returns a parsed range, nil if it is none.
func (s *search) constraint(specifier string) *requirement.Range {
	c, ok := s.constraints[specifier]
	if !ok {
		c, _ = requirement.ParseRange(specifier)
		s.constraints[specifier] = c
	}
	return c
}
