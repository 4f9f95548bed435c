// Package solver chooses the versions of Python projects that meet a list of
// requirements.
//
// It walks from the request through everything that is required, breadth first, and
// takes the newest release that fits. A contradiction begins another walk that knows
// both sides. A project that asks for what cannot be met is tried in ever older
// releases, in steps that double, and then in newer ones again as far as they do:
// each try may cost a download, so that a complete search, as pip's, is no option.
//
// It knows no index and no files: a [Source] has them.
//
// # Limits
//
// The search is not complete: after some thirty walks it reports the first reasons.
package solver

import (
	"context"
	"slices"
	"time"

	"coderunner/runners/python/requirement"
)

// Source is what there is to choose from. Its methods are called from several
// goroutines. Their errors end the search.
type Source interface {
	// Project returns what can be had of a project, by its normalised name.
	Project(ctx context.Context, name string) (*Project, error)
	// Requires returns what a release requires. The reason, if not "", is why its
	// metadata cannot be used.
	Requires(ctx context.Context, name string, r Release) (requires []requirement.Requirement, reason string, err error)
}

// Project is what can be had of a project.
type Project struct {
	Offer    *Release  // of the lock file, taken before all others
	Releases []Release // of the index: one a version, those that fit this runtime
	Yanked   []Release // likewise; taken only where the version is asked for exactly
	Unfit    []Unfit   // versions of which nothing fits
	Error    string    // why there is nothing
}

// Release is a version that can be installed.
type Release struct {
	Version requirement.Version
	Text    string    // the version as the index spells it
	File    string    // "" for one of the lock file
	Day     time.Time // of its upload; zero: unknown
}

// Unfit is a version that cannot be installed, and why.
type Unfit struct {
	Version requirement.Version
	Why     string
	Day     time.Time
}

// newest returns the newest of the final releases, or else of all. Without any it is nil.
func newest(list []Release) *Release {
	if len(list) == 0 {
		return nil
	}
	best := slices.MaxFunc(list, func(a, b Release) int {
		if pre := a.Version.IsPreRelease(); pre != b.Version.IsPreRelease() {
			return map[bool]int{true: -1, false: 1}[pre]
		}
		return a.Version.Compare(b.Version)
	})
	return &best
}

// unfitAt returns why a version of the project cannot be installed, "" if none is known.
func (p *Project) unfitAt(v requirement.Version) string {
	for _, u := range p.Unfit {
		if u.Version.Compare(v) == 0 {
			return u.Why
		}
	}
	return ""
}

// Answer is a choice without contradictions, sorted by name.
type Answer struct {
	Chosen  []Choice
	Skipped []Reason // optional requirements that cannot be met
}

// Choice is a project's release.
type Choice struct {
	Name string
	Release
	Needs []string // the projects that it requires, sorted
	Older string   // which newer version cannot be installed, and why; only for what was asked for by name
}

// Reason is why a requirement cannot be met.
type Reason struct{ Requirement, Why string }

// Impossible is the error of requirements that cannot be met.
type Impossible struct{ Reasons []Reason }

func (e *Impossible) Error() string {
	if len(e.Reasons) == 0 {
		return "no solution was found"
	}
	return e.Reasons[0].Requirement + ": " + e.Reasons[0].Why
}
