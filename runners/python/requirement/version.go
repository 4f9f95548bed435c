package requirement

import (
	"strings"

	pep440 "github.com/aquasecurity/go-pep440-version"
)

// Version is a version of a project (PEP 440).
type Version = pep440.Version

// ParseVersion parses a version in any spelling that PEP 440 accepts.
func ParseVersion(text string) (Version, error) { return pep440.Parse(text) }

// SameMajor reports whether two versions have the same epoch and first number.
func SameMajor(a, b Version) bool {
	major := func(v Version) string {
		m, _, _ := strings.Cut(v.BaseVersion(), ".")
		return m
	}
	return major(a) == major(b)
}

// Range is a range of versions, such as ">=2,<3". The zero Range has all.
type Range struct {
	specifiers *pep440.Specifiers
	below      []Version // the versions behind "<"
	pre        bool
}

// ParseRange parses a range.
func ParseRange(text string) (*Range, error) {
	if text == "" {
		return &Range{}, nil
	}
	s, err := pep440.NewSpecifiers(text, pep440.WithPreRelease(true))
	if err != nil {
		return nil, err
	}
	r := &Range{specifiers: &s}
	for _, m := range clausePattern.FindAllStringSubmatch(text, -1) {
		v, err := pep440.Parse(strings.TrimSuffix(m[2], ".*"))
		if err != nil {
			continue // "===" takes any text
		}
		r.pre = r.pre || m[1] != "!=" && v.IsPreRelease()
		if m[1] == "<" {
			r.below = append(r.below, v)
		}
	}
	return r, nil
}

// Contains reports whether a version, which may be a pre-release, is in the range.
func (r *Range) Contains(v Version) bool {
	for _, end := range r.below { // "<2" excludes 2rc1
		if v.IsPreRelease() && !end.IsPreRelease() && pep440.MustParse(v.BaseVersion()).Equal(end) {
			return false
		}
	}
	return r.specifiers == nil || r.specifiers.Check(v)
}

// Pre reports whether the range names a pre-release, and so allows all of them.
func (r *Range) Pre() bool { return r.pre }
