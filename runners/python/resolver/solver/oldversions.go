package solver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"coderunner/runners/python/requirement"
)

const (
	// What stands in for the newest version, for want of anything that fits, may be
	// this much older, and what another project needs this much.
	maxAge       = 730 * 24 * time.Hour
	maxAgeNeeded = 5 * 365 * 24 * time.Hour
)

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
