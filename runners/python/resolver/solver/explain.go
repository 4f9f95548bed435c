package solver

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"coderunner/runners/python/requirement"
)

// conflictReason begins the reason of a contradiction.
const conflictReason = "conflict"

// whyNot returns why no release of a project meets a requirement.
func (s *search) whyNot(p *Project, a ask) string {
	if p.Error != "" {
		return p.Error
	}
	sides := s.sides(a)
	met := func(x side, known []requirement.Version) bool {
		return slices.ContainsFunc(known, func(v requirement.Version) bool { return s.matches(x.specifier, v) })
	}
	var fitting, unfit []requirement.Version
	for _, r := range p.Releases {
		fitting = append(fitting, r.Version)
	}
	for _, u := range p.Unfit {
		unfit = append(unfit, u.Version)
	}
	known := slices.Concat(fitting, unfit)
	if len(sides) > 1 && !slices.ContainsFunc(sides, func(x side) bool { return !met(x, fitting) }) {
		var both []string
		for _, x := range sides {
			both = append(both, fmt.Sprintf("%s (for %s)", x.specifier, x.who))
		}
		return conflictReason + ": no version is " + strings.Join(both, " and ")
	}
	for _, x := range sides {
		if len(known) > 0 && x.specifier != a.Specifier && !met(x, known) {
			return fmt.Sprintf("no version is %s (for %s); the newest is %s", x.specifier, x.who, newestOf(known))
		}
	}
	asked := slices.DeleteFunc(slices.Clone(p.Unfit), func(u Unfit) bool { return !s.matches(a.Specifier, u.Version) })
	if len(asked) > 0 {
		v := newestOf(versions(asked))
		return fmt.Sprintf("no wheel for this runtime: version %s %s", v, p.unfitAt(v))
	}
	switch {
	case len(fitting) > 0:
		return fmt.Sprintf("no version is %s; the newest that fits this runtime is %s", a.Specifier, newestOf(fitting))
	case len(unfit) > 0:
		return fmt.Sprintf("no version is %s; the newest is %s", a.Specifier, newestOf(unfit))
	}
	return "the index lists no files for it"
}

func versions(list []Unfit) (vs []requirement.Version) {
	for _, u := range list {
		vs = append(vs, u.Version)
	}
	return vs
}

// newestOf returns the newest final version, or else the newest. There is one.
func newestOf(vs []requirement.Version) requirement.Version {
	var list []Release
	for _, v := range vs {
		list = append(list, Release{Version: v})
	}
	return newest(list).Version
}

// explain returns why the last attempt failed, one reason for each project, in the
// words of the request if it is named there.
func (s *search) explain() (reasons []Reason) {
	told := map[string]bool{}
	for _, root := range []bool{true, false} {
		for _, f := range s.walked.failed {
			if told[f.Name] || (f.who == byRequest) != root {
				continue
			}
			told[f.Name] = true
			why := f.why
			if !root {
				why += s.neededBy(f)
			}
			f.Marker = ""
			reasons = append(reasons, Reason{f.String(), why})
		}
	}
	return reasons
}

// neededBy names those who ask for just this, or else all who ask.
func (s *search) neededBy(f failure) string {
	var same, all []string
	for _, a := range s.walked.asked[f.Name] {
		if a.parent == "" || slices.Contains(all, a.who) {
			continue
		}
		all = append(all, a.who)
		if a.Specifier == f.Specifier {
			same = append(same, a.who)
		}
	}
	if same == nil {
		same = all
	}
	if same == nil {
		return ""
	}
	return " (needed by " + strings.Join(same, ", ") + ")"
}

// refuseOld returns an error if, for want of something that fits, a version of another
// age would stand for a project that was asked for, or for one that it needs. If the
// search has failed, what the newest lacks is the reason, not what the old one does.
func (s *search) refuseOld(tooMuch map[string][]requirement.Version, failed bool) error {
	if len(s.first) > 0 && !slices.ContainsFunc(s.first, func(r Reason) bool { return !strings.HasPrefix(r.Why, conflictReason) }) {
		return nil
	}
	names := map[string]bool{}
	for _, r := range s.roots {
		names[r.Name] = true
	}
	for name := range tooMuch {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		c := s.walked.chosen[name]
		if c == nil || c.File == "" {
			continue
		}
		newest, day := s.newestWithin(c)
		limit := maxAgeNeeded
		if s.isRoot(name) {
			limit = maxAge
		}
		if day.IsZero() || c.Day.IsZero() || day.Sub(c.Day) <= limit {
			continue
		}
		if !s.isRoot(name) {
			return &Impossible{s.first}
		}
		unfit := c.project.unfitAt(newest)
		if failed && unfit == "" {
			continue
		}
		if unfit == "" {
			unfit = joinReasons(s.first)
		}
		why := fmt.Sprintf("version %s of %d: %s", newest, day.Year(), unfit)
		if !failed {
			why += fmt.Sprintf(". What could be installed, %s, is of %d: if that will do, write %s==%s", c.Version, c.Day.Year(), name, c.Version)
		}
		s.first = []Reason{{name, why}}
		return &Impossible{s.first}
	}
	return nil
}

// newestWithin returns the newest version of a chosen project that is allowed, whether
// it fits or not, and its day.
func (s *search) newestWithin(c *choice) (requirement.Version, time.Time) {
	v, day := c.Version, c.Day
	consider := func(w requirement.Version, d time.Time) {
		if !w.IsPreRelease() && w.Compare(v) > 0 && s.within(s.limits[c.name], w) {
			v, day = w, d
		}
	}
	for _, r := range c.project.Releases {
		consider(r.Version, r.Day)
	}
	for _, u := range c.project.Unfit {
		consider(u.Version, u.Day)
	}
	return v, day
}

// whyOlder returns why a project that was asked for is not the newest that the request
// allows, "" if it is, or if a contradiction is the reason, as for pip.
func (s *search) whyOlder(c *choice) string {
	if c.File == "" || !s.isRoot(c.name) {
		return ""
	}
	newest, _ := s.newestWithin(c)
	if newest.Compare(c.Version) <= 0 {
		return ""
	}
	why := c.project.unfitAt(newest)
	if why == "" && s.lowered(c.name) {
		why = joinReasons(slices.DeleteFunc(slices.Clone(s.first), func(r Reason) bool { return strings.HasPrefix(r.Why, conflictReason) }))
	}
	if why == "" {
		return ""
	}
	return fmt.Sprintf("version %s: %s", newest, why)
}

// answer returns the last walk's choice.
func (s *search) answer(skipped []Reason) *Answer {
	needs := map[string][]string{}
	for name, asks := range s.walked.asked {
		for _, a := range asks {
			needs[a.parent] = append(needs[a.parent], name)
		}
	}
	out := &Answer{Skipped: skipped}
	for _, name := range slices.Sorted(maps.Keys(s.walked.chosen)) {
		c := s.walked.chosen[name]
		slices.Sort(needs[name])
		out.Chosen = append(out.Chosen, Choice{Name: name, Release: c.Release, Needs: slices.Compact(needs[name]), Older: s.whyOlder(c)})
	}
	return out
}

// lowered reports whether older releases of a project were tried.
func (s *search) lowered(name string) bool {
	_, ok := s.ceilings[name]
	return ok
}

func joinReasons(list []Reason) string {
	var parts []string
	for _, r := range list {
		parts = append(parts, r.Requirement+": "+r.Why)
	}
	return strings.Join(parts, "; ")
}

// reasonLine returns why there is no solution, in one line.
func reasonLine(err error) string {
	impossible, ok := errors.AsType[*Impossible](err)
	switch {
	case !ok || len(impossible.Reasons) == 0:
		return "no solution was found"
	case len(impossible.Reasons) == 1:
		return impossible.Reasons[0].Why
	}
	return joinReasons(impossible.Reasons)
}
