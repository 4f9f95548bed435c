package requirement

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Range is a range of versions, such as ">=2,<3". The zero Range has all.
type Range struct{ specifiers []specifier }

// specifier is one part of a Range, such as ">=2".
type specifier struct {
	operator string
	text     string  // what follows the operator
	version  Version // zero if the text is none, which only "===" allows
	prefix   bool    // whether ".*" follows the version
}

// operators has the longer ones first.
var operators = []string{"===", "~=", "==", "!=", "<=", ">=", "<", ">"}

// ParseRange parses a range.
func ParseRange(text string) (*Range, error) {
	r := &Range{}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		i := slices.IndexFunc(operators, func(o string) bool { return strings.HasPrefix(part, o) })
		if i < 0 {
			return nil, fmt.Errorf("%.100q is not a range of versions", text)
		}
		s, err := parseSpecifier(operators[i], strings.TrimSpace(part[len(operators[i]):]))
		if err != nil {
			return nil, err
		}
		r.specifiers = append(r.specifiers, s)
	}
	return r, nil
}

// String returns the range without blanks, in the order given.
func (r *Range) String() string {
	var parts []string
	for _, s := range r.specifiers {
		parts = append(parts, s.operator+s.text)
	}
	return strings.Join(parts, ",")
}

// parseSpecifier parses an operator and what follows it.
func parseSpecifier(operator, text string) (specifier, error) {
	s := specifier{operator: operator, text: text}
	if operator == "===" {
		if text == "" || strings.ContainsAny(text, " \t\r\n;)") {
			return s, fmt.Errorf("=== does not go with %q", text)
		}
		s.version, _ = ParseVersion(text) // any text will do
		return s, nil
	}
	text, s.prefix = strings.CutSuffix(text, ".*")
	v, err := ParseVersion(text)
	if err != nil {
		return s, fmt.Errorf("%s is not a version", text)
	}
	s.version = v
	numbers := !v.IsPreRelease() && v.post == 0 && v.local == nil
	equality := operator == "==" || operator == "!="
	switch {
	case !slices.Contains(operators, operator):
		return s, fmt.Errorf("%s is not an operator", operator)
	case s.prefix && !(equality && numbers), v.local != nil && !equality:
		return s, fmt.Errorf("%s does not go with %s", operator, s.text)
	case operator == "~=" && len(v.release) < 2:
		return s, errors.New("~= needs a version of two numbers or more")
	}
	return s, nil
}

// Contains reports whether a version, which may be a pre-release, is in the range.
func (r *Range) Contains(v Version) bool {
	return !slices.ContainsFunc(r.specifiers, func(s specifier) bool { return !s.contains(v) })
}

// Pre reports whether the range names a pre-release, and so allows all of them.
func (r *Range) Pre() bool {
	return slices.ContainsFunc(r.specifiers, func(s specifier) bool { return s.operator != "!=" && s.version.IsPreRelease() })
}

func (s *specifier) contains(v Version) bool {
	end := s.version
	public := v
	public.local = nil
	switch s.operator {
	case "===":
		return strings.EqualFold(v.String(), s.text)
	case "==":
		return s.equals(v)
	case "!=":
		return !s.equals(v)
	case "~=":
		return v.Compare(end) >= 0 && v.startsWith(end.epoch, end.release[:len(end.release)-1])
	case ">=":
		return v.Compare(end) >= 0
	case "<=":
		return public.Compare(end) <= 0
	case ">":
		// What shares all this with 1 is a post-release of it, which ">1" excludes.
		same := v.compareRelease(end) == 0 && v.phase == end.phase && v.pre == end.pre
		return public.Compare(end) > 0 && !(same && end.post == 0 && end.dev == 0)
	}
	// "<2" is "<2.dev0", which excludes 2rc1.
	if !end.IsPreRelease() {
		end.dev = 1
		if end.post == 0 {
			end.phase = developmental
		}
	}
	return v.Compare(end) < 0
}

func (s *specifier) equals(v Version) bool {
	if s.prefix {
		return v.startsWith(s.version.epoch, s.version.release)
	}
	if s.version.local == nil {
		v.local = nil
	}
	return v.Compare(s.version) == 0
}

// startsWith reports whether the version has an epoch and the first numbers of a
// release.
func (v Version) startsWith(epoch uint64, release []uint64) bool {
	for i, n := range release {
		if v.number(i) != n {
			return false
		}
	}
	return v.epoch == epoch
}
