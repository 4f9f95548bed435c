package deno

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"coderunner/internal/recent"
	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/hint"

	"go.uber.org/zap"
)

// prepared is what a run's packages are. It is never changed.
type prepared struct {
	*Packages
	packages []runners.Package
	fresh    bool // prepared by this very run

	// missing has the packages that cannot be installed, by the message that
	// import throws and by the name that require() does not find.
	missing map[string]runners.PackageError
}

// notFound matches the message of require() about a missing module.
var notFound = regexp.MustCompile(`^Cannot find module '([^']+)'`)

// notInstalled sets NotInstalled if the program ended by the error of importing a
// missing package.
func (p *prepared) notInstalled(o *runners.Outcome) {
	if o.Status != runners.Failed || o.Error == nil {
		return
	}
	name := hint.For("javascript").Cut(o.Error.Message)
	if m := notFound.FindStringSubmatch(name); m != nil {
		name = m[1]
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

// complete reports whether a prepared directory and its packages are still in the
// caches, which may have been cleared meanwhile.
func (i *installer) complete(p *prepared) bool {
	needed := append(slices.Clip(p.dirs), filepath.Join(p.dir, mapName))
	if p.remote {
		needed = append(needed, filepath.Join(i.denoDir, "remote"))
	}
	return !slices.ContainsFunc(needed, func(name string) bool {
		_, err := os.Lstat(name)
		return err != nil
	})
}

// load reads a prepared directory.
func (i *installation) load(dir string) (*prepared, error) {
	lock, err := deps.ReadLock(filepath.Join(dir, lockName))
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, mapName))
	if err != nil {
		return nil, fmt.Errorf("prepare packages: %w", err)
	}
	set := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s", text, i.deps.Module(), lock.Text))
	p := &prepared{packages: lock.Packages(), Packages: &Packages{
		dir: dir, set: hex.EncodeToString(set[:]), locked: lock.Text != nil,
		remote: len(lock.Remote)+len(lock.JSR) > 0, npm: len(lock.NPM) > 0,
		own: bytes.Contains(text, []byte(`"`+deps.Work)), config: i.deps.Config != nil,
	}}
	p.dirs, p.specifiers = i.packageDirs(p.packages), i.deps.Specifiers()
	_ = readJSON(filepath.Join(dir, usesName), &p.uses) // there is none without packages
	for n := range p.packages {
		p.packages[n].Cached = true
	}
	return p, nil
}

// keepDirs removes from p.dirs the packages that Deno did not fetch, because it
// does not need them. If none is left, Deno keeps packages in an unknown
// directory, and the program may read all of npm's.
func (i *installation) keepDirs(p *prepared) {
	kept := p.dirs[:0]
	for _, dir := range p.dirs {
		if _, err := os.Lstat(dir); err == nil {
			kept = append(kept, dir)
			versions, _ := os.ReadDir(filepath.Dir(dir))
			for _, e := range versions {
				if strings.HasPrefix(e.Name(), filepath.Base(dir)+"_") { // a copy for other peer dependencies
					p.copies = append(p.copies, filepath.Join(filepath.Dir(dir), e.Name()))
				}
			}
		}
	}
	if p.dirs = kept; p.npm && len(kept) == 0 {
		p.copies = []string{filepath.Join(i.denoDir, "npm")}
	}
}

// intact verifies that the packages in Deno's cache are as they were unpacked, and
// fetches changed ones again. Deno itself verifies archives only when it fetches
// them.
func (i *installation) intact(ctx context.Context, key string, p *prepared) error {
	if len(p.dirs) == 0 {
		return nil
	}
	damaged, err := i.cfg.Cache.Changed(ctx, "deno-npm", key, p.dirs)
	if err != nil || len(damaged) == 0 {
		return err
	}
	i.log.Warn("packages in Deno's cache have changed and are fetched again", zap.Strings("packages", damaged))
	for _, dir := range damaged {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove a damaged package: %w", err)
		}
	}
	if err := i.refill(ctx, p); err != nil {
		return err
	}
	// Packages of other sets, which this one does not need, are gone now.
	there := slices.DeleteFunc(slices.Clone(p.dirs), func(dir string) bool {
		_, err := os.Lstat(dir)
		return err != nil
	})
	return i.cfg.Cache.Record(ctx, "deno-npm", key, there)
}
