package solver

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

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
