// Package doctor examines what works on this machine, what does not and what to do about
// it: the languages, the cache, the registries and the isolation in force.
package doctor

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"

	"coderunner/internal/backend"
	"coderunner/internal/sandbox"
	"coderunner/runners"
)

// Check is one finding.
type Check struct {
	Name   string
	Status Status
	Detail string
	Fix    string // what to do, or what follows from it; "": nothing
}

// Status is how a check ended.
type Status string

// The statuses.
const (
	OK   Status = "ok"
	No   Status = "no"
	Fact Status = "" // there is nothing to judge
)

// Report is all findings, as Checks and, for programs, in the fields that are JSON.
type Report struct {
	Checks []Check `json:"-"`

	OK       bool              `json:"ok"` // what is not OK must be mended before coderunner works
	Platform string            `json:"platform"`
	Install  Install           `json:"install"`
	Versions map[string]string `json:"versions"`
	Cache    struct {
		Path     string `json:"path"`
		Warning  string `json:"warning,omitempty"`
		Entries  int    `json:"entries"`
		Bytes    int64  `json:"bytes"`
		Sessions int64  `json:"session_bytes"`
		Limit    int64  `json:"limit_bytes"`
	} `json:"cache"`
	Registries []Registry `json:"registries"`
	Languages  []Language `json:"languages"`
	Isolation  struct {
		Python     sandbox.Level `json:"python"`
		JavaScript sandbox.Level `json:"javascript"`
		Workers    sandbox.Level `json:"workers"` // of a server's programs of Python and bash
		Required   bool          `json:"required"`
	} `json:"isolation"`
	Permissions []string `json:"permissions"`
	Advice      []string `json:"advice"`
}

// Registry is whether a registry answers.
type Registry struct {
	Name  string `json:"name"`
	URL   string `json:"url"`
	OK    bool   `json:"ok"`
	MS    int64  `json:"ms"`
	Error string `json:"error,omitempty"`
}

// Language is whether programs of a language run.
type Language struct {
	Language runners.Language `json:"language"`
	OK       bool             `json:"ok"`
	MS       int64            `json:"ms"`
	Error    string           `json:"error,omitempty"`
}

// Examine looks at everything. Runtimes are not fetched: they are asked offline.
func Examine(ctx context.Context, cfg backend.Config, names Packages) *Report {
	cfg = cfg.WithDefaults()
	r := &Report{OK: true, Platform: runtime.GOOS + "/" + runtime.GOARCH, Versions: map[string]string{"coderunner": cfg.Version},
		Permissions: append([]string{}, cfg.Permissions...), Advice: []string{}}
	r.examineLanguages(ctx, cfg)
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(r.Versions))) {
		r.Checks = slices.Insert(r.Checks, 0, Check{Name: name, Detail: r.Versions[name]})
	}
	r.examineInstall(names)
	r.examineCache(ctx, cfg)
	if !cfg.Offline {
		r.examineRegistries(ctx, cfg)
	}
	r.examineIsolation(cfg)
	for _, c := range r.Checks {
		if c.Fix != "" {
			r.Advice = append(r.Advice, c.Fix)
		}
	}
	return r
}

// add takes a finding to judge.
func (r *Report) add(name string, ok bool, detail, fix string) {
	c := Check{name, OK, detail, fix}
	if !ok {
		c.Status = No
	}
	r.Checks = append(r.Checks, c)
}

// fault returns what must be mended.
func (r *Report) fault(format string, a ...any) string {
	r.OK = false
	return fmt.Sprintf(format, a...)
}
