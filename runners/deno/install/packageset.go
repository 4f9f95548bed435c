package install

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"coderunner/internal/recent"
	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/process"
	"coderunner/runners/hint"

	"go.uber.org/zap"
)

// Prepared is what a run's packages are. It is never changed.
type Prepared struct {
	*process.Packages
	Installed []runners.Package
	Fresh     bool // prepared by this very run

	// missing has the packages that cannot be installed, by the message that
	// import throws and by the name that require() does not find.
	missing map[string]runners.PackageError
}

// NotInstalled sets NotInstalled if the program ended by the error of importing a
// missing package.
func (p *Prepared) NotInstalled(o *runners.Outcome) {
	if o.Status != runners.Failed || o.Error == nil {
		return
	}
	name := hint.For("javascript").Cut(o.Error.Message)
	if m := hint.Captures(name, "^Cannot find module '*'"); m != nil {
		name = m[0] // as require() says
	}
	if missing, ok := p.missing[name]; ok {
		reason := missing.Name + ": " + missing.Reason
		o.Error.Traceback = strings.Replace(o.Error.Traceback, o.Error.Message, reason, 1)
		o.Error.Message = reason
		o.Status, o.Error.Type, o.Error.Packages = runners.NotInstalled, "NotInstalled", []runners.PackageError{missing}
	}
}

// absences remembers for absentFor which targets could not be installed, so that
// optional ones do not delay each run.
type absences struct {
	recent.Map[string, absence] // by specifier
}

type absence struct {
	reason string
	until  time.Time
}

const absentFor = time.Minute

func (a *absences) note(failures []deps.Failure) {
	for _, f := range failures {
		a.Put(f.Target.Specifier, absence{f.Reason, time.Now().Add(absentFor)})
	}
}

// among returns the targets that are known to be absent and are not needed.
func (a *absences) among(targets []deps.Target) (failures []deps.Failure) {
	for _, t := range targets {
		if have, ok := a.Get(t.Specifier); ok && !t.Needed && time.Now().Before(have.until) {
			failures = append(failures, deps.Failure{Target: t, Reason: have.reason})
		}
	}
	return failures
}

// Complete reports whether a prepared directory and its packages are still in the
// caches, which may have been cleared meanwhile.
func (i *Installer) Complete(p *Prepared) bool {
	needed := append(slices.Clip(p.Dirs), filepath.Join(p.Dir, process.MapName))
	if p.Remote {
		needed = append(needed, filepath.Join(i.DenoDir, "remote"))
	}
	return !slices.ContainsFunc(needed, func(name string) bool {
		_, err := os.Lstat(name)
		return err != nil
	})
}

// load reads a prepared directory.
func (i *Installation) load(dir string) (*Prepared, error) {
	lock, err := deps.ReadLock(filepath.Join(dir, process.LockName))
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, process.MapName))
	if err != nil {
		return nil, fmt.Errorf("prepare packages: %w", err)
	}
	p := &Prepared{Installed: lock.Packages(), Packages: &process.Packages{
		Dir: dir, Set: runners.SHA256(fmt.Appendf(nil, "%s\n%s\n%s", text, i.deps.Module(), lock.Text)), Locked: lock.Text != nil,
		Remote: len(lock.Remote)+len(lock.JSR) > 0, NPM: len(lock.NPM) > 0,
		MapsFiles: bytes.Contains(text, []byte(`"`+deps.Work)), Config: i.deps.Config != nil,
	}}
	p.Dirs, p.Specifiers = i.PackageDirs(p.Installed), i.deps.Specifiers()
	_ = process.ReadJSON(filepath.Join(dir, process.UsesName), &p.Uses) // there is none without packages
	for n := range p.Installed {
		p.Installed[n].Cached = true
	}
	return p, nil
}

// keepDirs removes from p.dirs the packages that Deno did not fetch, because it
// does not need them. If none is left, Deno keeps packages in an unknown
// directory, and the program may read all of npm's.
func (i *Installation) keepDirs(p *Prepared) {
	kept := p.Dirs[:0]
	for _, dir := range p.Dirs {
		if _, err := os.Lstat(dir); err == nil {
			kept = append(kept, dir)
			versions, _ := os.ReadDir(filepath.Dir(dir))
			for _, e := range versions {
				if strings.HasPrefix(e.Name(), filepath.Base(dir)+"_") { // a copy for other peer dependencies
					p.Copies = append(p.Copies, filepath.Join(filepath.Dir(dir), e.Name()))
				}
			}
		}
	}
	if p.Dirs = kept; p.NPM && len(kept) == 0 {
		p.Copies = []string{filepath.Join(i.DenoDir, "npm")}
	}
}

// intact verifies that the packages in Deno's cache are as they were unpacked, and
// fetches changed ones again. Deno itself verifies archives only when it fetches
// them.
func (i *Installation) intact(ctx context.Context, key string, p *Prepared) error {
	if len(p.Dirs) == 0 {
		return nil
	}
	damaged, err := i.Config.Cache.Changed(ctx, "deno-npm", key, p.Dirs)
	if err != nil || len(damaged) == 0 {
		return err
	}
	i.Log.Warn("packages in Deno's cache have changed and are fetched again", zap.Strings("packages", damaged))
	for _, dir := range damaged {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove a damaged package: %w", err)
		}
	}
	if err := i.refill(ctx, p); err != nil {
		return err
	}
	// Packages of other sets, which this one does not need, are gone now.
	there := slices.DeleteFunc(slices.Clone(p.Dirs), func(dir string) bool {
		_, err := os.Lstat(dir)
		return err != nil
	})
	return i.Config.Cache.Record(ctx, "deno-npm", key, there)
}
