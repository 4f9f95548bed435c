package python

import (
	"context"
	"slices"
	"strings"
	"time"

	"coderunner/pyodide"
	"coderunner/runners/python/hostdirs"
	"coderunner/runners/python/pypi"
	"coderunner/runners/python/snapshots"
)

// chooseSnapshot looks for a snapshot with the program's imports to run on, unless
// a session has its own. Without one, what the imports run is compiled.
func (j *job) chooseSnapshot(ctx context.Context, found *pyodide.Analysis) error {
	begun := time.Now()
	r := j.recipe(found)
	fit := len(r.Modules) > 0 && !j.brings && !j.pip.Used && j.live == nil && j.snapshot == nil
	if fit {
		if z, release := j.engine.snapshots.Ready(ctx, r, j.needs()); z != nil {
			j.snapshot, j.release = z, release
			j.pk.Spent(begun)
			return nil
		}
	}
	j.pk.Spent(begun)
	if err := j.pk.Compile(ctx, found); err != nil || !fit {
		return err
	}
	defer j.pk.Spent(time.Now())
	r.Mounts = j.pk.Mounts()
	z, release, failed := j.findSnapshot(ctx, r)
	if z != nil {
		j.snapshot, j.release = z, release
	}
	j.ahead = z == nil && !failed
	return nil
}

// recipe returns the recipe of the snapshot with the program's imports: with these exactly. A
// snapshot with more of them, or fewer, has another recipe and is not used.
func (j *job) recipe(found *pyodide.Analysis) snapshots.Recipe {
	r := snapshots.Recipe{Mounts: j.pk.Mounts()}
	for _, w := range found.Imports {
		if !w.Optional && (!w.Slip || j.pk.Present(w.Name)) {
			r.Modules = append(r.Modules, w.Name)
		}
	}
	for _, m := range found.Members {
		if pkg, name, _ := strings.Cut(m, ":"); j.pk.ImportsMember(pkg, name) {
			r.Modules = append(r.Modules, m)
		}
	}
	for _, m := range r.Modules {
		if j.pk.Empty() {
			break
		}
		for _, late := range pypi.Known().Late[m] { // only those that are there: versions differ
			if pkg, name, _ := strings.Cut(late, ":"); j.pk.ImportsMember(pkg, name) {
				r.Modules = append(r.Modules, late)
			}
		}
	}
	slices.Sort(r.Modules)
	return r
}

func (j *job) needs() snapshots.Needs {
	return snapshots.Needs{Memory: j.req.Limits.Memory, Env: hostdirs.Environment(j.r.cfg.Policy)}
}

// findSnapshot returns the snapshot of a recipe, nil if there is none yet, and whether one
// cannot be made.
func (j *job) findSnapshot(ctx context.Context, r snapshots.Recipe) (z *pyodide.Snapshot, release func(), failed bool) {
	s := j.engine.snapshots
	if h := j.r.cfg.Host; h != nil {
		if z, release = s.Ready(ctx, r, j.needs()); z == nil {
			failed = h.Snapshot(ctx, r.Modules, j.pk.Current())
		}
		return z, release, failed
	}
	z, release = s.Find(ctx, r, j.needs(), j.req.Limits.Timeout)
	return z, release, z == nil && s.Builder.Failed(r.Key())
}
