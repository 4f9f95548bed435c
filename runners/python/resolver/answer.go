package resolver

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2/maybe"

	"coderunner/cache"
	"coderunner/internal/fetch"
	"coderunner/internal/versions"
	"coderunner/runners"
	"coderunner/runners/python/requirement"
)

// answerFormat changes whenever answers of older versions must not be used.
const answerFormat = 8

// maxAnswer bounds a remembered answer's file in bytes.
const maxAnswer = 4 << 20

// The sources of packages, as outcomes name them.
const (
	sourcePyPI    = "pypi"
	sourcePyodide = "pyodide"
)

// answer is the result of a request.
type answer struct {
	Format   int       `json:"format"`
	When     time.Time `json:"when"`
	Pinned   bool      `json:"pinned"` // the request fixes every version
	Packages []pin     `json:"packages"`

	// Skipped are optional requirements that cannot be met.
	Skipped []runners.PackageError `json:"skipped,omitempty"`

	// Failed is why the request cannot be met; then there are no packages.
	Failed []runners.PackageError `json:"failed,omitempty"`
}

// fresh reports whether the answer may be used without asking the index.
func (a *answer) fresh(now time.Time) bool {
	age, limit := now.Sub(a.When), Fresh
	if a.Failed != nil {
		limit = freshFailure
	}
	return a.Pinned || age >= 0 && age < limit
}

// refuse remembers that a request cannot be met, if the index said so and the
// network did not fail.
func (s *session) refuse(key string, failed *runners.NotInstalledError) {
	if !s.unreachable.Load() && len(s.lost) == 0 && s.BaseUnreachable() == "" && !s.fetch.Offline() {
		s.remember(key, &answer{Format: answerFormat, When: time.Now().UTC(), Failed: failed.Packages})
	}
}

// pinned reports whether the requirements name every package's exact version.
func pinned(reqs []requirement.Requirement, packages []pin) bool {
	exact := map[string]bool{}
	for _, r := range reqs {
		exact[r.Name] = exact[r.Name] || r.Exact()
	}
	for _, p := range packages {
		if !exact[p.Name] {
			return false
		}
	}
	return len(packages) > 0
}

// key returns a digest of a request and of all that its answer depends on, except
// the index's contents.
func (r *Resolver) key(req Request) string {
	return runners.SHA256(runners.JSON([]any{
		answerFormat, requirement.Key(req.Requirements), requirement.Key(req.Optional), requirement.Key(req.Constraints), req.Locked, req.Alone,
		req.wheelsOnly, fetch.WithoutUser(r.index.String()), fetch.WithoutUser(r.base.String()), r.lock.Digest,
		versions.PyodideVersion,
	}))
}

func (r *Resolver) answerPath(key string) string {
	return r.cache.Path("python", "answers", key+".json")
}

// recall returns the remembered answer, or nil. A missing or damaged file is not an
// error: the request is resolved again.
func (r *Resolver) recall(key string) *answer {
	text, err := cache.ReadSummed(r.answerPath(key), maxAnswer)
	var a answer
	if err != nil || json.Unmarshal(text, &a) != nil || a.Format != answerFormat {
		return nil
	}
	return &a
}

// recallLocked returns an answer to a request that names the file of each package, as a
// session's does, made of the remembered answers to others; nil if a file is in none.
func (r *Resolver) recallLocked(req Request) *answer {
	if req.Locked == nil || len(req.Optional) > 0 {
		return nil
	}
	names, err := filepath.Glob(r.answerPath("*"))
	if err != nil {
		return nil
	}
	known := map[string]pin{} // by project
	for _, name := range names {
		a := r.recall(strings.TrimSuffix(filepath.Base(name), ".json"))
		if a == nil {
			continue
		}
		for _, p := range a.Packages {
			if req.Locked.allows(p.Name, p.SHA256) {
				known[p.Name] = p
			}
		}
	}
	a := &answer{Format: answerFormat, When: time.Now(), Pinned: true}
	for _, q := range req.Requirements {
		p, ok := known[q.Name]
		if !ok || q.Specifier != "=="+p.Version || len(req.Locked.SHA256[q.Name]) != 1 {
			return nil
		}
		a.Packages = append(a.Packages, p)
	}
	return a
}

// remember stores an answer, replacing an older one atomically. If that fails, the
// request is resolved again next time.
func (r *Resolver) remember(key string, a *answer) {
	b, err := json.MarshalIndent(a, "", " ")
	if err != nil {
		return
	}
	path := r.answerPath(key)
	if os.MkdirAll(filepath.Dir(path), 0o700) == nil {
		_ = maybe.WriteFile(path, cache.Summed(b), 0o600)
	}
}
