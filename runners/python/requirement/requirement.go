// Package requirement finds out which packages a program needs: from requirement
// strings, from the program's inline metadata, and from the names of the
// modules it imports.
//
// Package python asks it before it resolves. It does not use the network: package
// resolver finds out whether a package exists.
//
// # Sources
//
// Requirements: https://packaging.python.org/en/latest/specifications/dependency-specifiers/
// (PEP 508). Inline metadata:
// https://packaging.python.org/en/latest/specifications/inline-script-metadata/ (PEP 723).
// Versions and ranges: https://packaging.python.org/en/latest/specifications/version-specifiers/
// (PEP 440), with the answers of the library packaging 26.4.
//
// # Limits
//
// Requirements with a URL are refused: packages come from the configured index. The
// numbers of a version are less than 2^63.
//
// # Testing
//
// FuzzParse, FuzzScript and FuzzVersion. RATIONALE.md of package python says why
// versions are parsed here.
package requirement

import (
	"fmt"
	"slices"
	"strings"

	"coderunner/internal/lazyregexp"
	"coderunner/runners/python/wheel"
)

// maxLength bounds a requirement's text.
const maxLength = 2000

// Requirement is one requirement of a program.
type Requirement struct {
	Name      string   // normalised
	Extras    []string // normalised, sorted
	Specifier string   // ">=2,<3", without blanks, in the order given
	Marker    string   // as written; it is for the resolver to parse
}

// String returns the requirement in canonical form: equal requirements have equal
// texts.
func (r Requirement) String() string {
	s := r.Name
	if len(r.Extras) > 0 {
		s += "[" + strings.Join(r.Extras, ",") + "]"
	}
	s += r.Specifier
	if r.Marker != "" {
		s += "; " + r.Marker
	}
	return s
}

// Exact reports whether the requirement allows one version only.
func (r Requirement) Exact() bool {
	for part := range strings.SplitSeq(r.Specifier, ",") {
		if version, ok := strings.CutPrefix(part, "=="); ok && !strings.HasSuffix(version, ".*") {
			return true
		}
	}
	return false
}

// Allows reports whether a version is in the requirement's range.
func (r Requirement) Allows(version string) bool {
	c, err := ParseRange(r.Specifier)
	v, err2 := ParseVersion(version)
	return err == nil && err2 == nil && c.Contains(v)
}

const (
	identifier = `[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?`
	blank      = `[ \t]*`
	version    = `[A-Za-z0-9_.*+!-]+`
	clause     = `(?:===|~=|==|!=|<=|>=|<|>)` + blank + version
	clauses    = clause + `(?:` + blank + `,` + blank + clause + `)*` + blank + `,?`
)

var requirementPattern = lazyregexp.New(`^` + blank + `(` + identifier + `)` + blank +
	`(?:\[(` + blank + `(?:` + identifier + blank + `(?:,` + blank + identifier + blank + `)*)?)\]` + blank + `)?` +
	`(` + clauses + `|\(` + blank + clauses + blank + `\))?` + blank + `(?:;(.*))?$`)

// Parse parses a requirement (PEP 508). The error is one sentence that quotes
// it.
func Parse(text string) (Requirement, error) {
	var r Requirement
	bad := func(why string) (Requirement, error) {
		return r, fmt.Errorf("%.100q is not a Python requirement: %s", text, why)
	}
	switch {
	case len(text) > maxLength:
		return bad("it is too long")
	case strings.HasPrefix(text, "npm:"), strings.HasPrefix(text, "jsr:"):
		return bad("npm: and jsr: packages are for javascript and typescript")
	case strings.Contains(text, "://"):
		return bad("packages are taken from the configured index, not from URLs; write its name")
	}
	m := requirementPattern.FindStringSubmatch(text)
	if m == nil {
		return bad(`write a name and, if need be, a range of versions, such as "pydantic>=2,<3"`)
	}
	r.Name = wheel.Normalize(m[1])
	for extra := range strings.SplitSeq(m[2], ",") {
		if extra = strings.TrimSpace(extra); extra != "" {
			r.Extras = append(r.Extras, wheel.Normalize(extra))
		}
	}
	slices.Sort(r.Extras)
	r.Extras = slices.Compact(r.Extras)
	versions, err := ParseRange(strings.Trim(m[3], "()"))
	if err != nil {
		return bad(err.Error())
	}
	r.Specifier = versions.String()
	r.Marker = strings.TrimSpace(m[4])
	if strings.HasSuffix(strings.TrimSpace(text), ";") || strings.ContainsAny(r.Marker, "\r\n\x00") {
		return bad("what follows the semicolon is not a marker")
	}
	return r, nil
}

// Key returns the requirements sorted and without duplicates, for comparison.
func Key(list []Requirement) []string {
	texts := make([]string, 0, len(list))
	for _, r := range list {
		texts = append(texts, r.String())
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}
