package deno

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"coderunner/internal/recent"
	"coderunner/runners"
	"coderunner/runners/deno/deps"
)

// prepared is what a run needs of its packages. It is never changed.
type prepared struct {
	dir      string // with map.json, packages.js, deno.lock and deno.json; "" if none is needed
	locked   bool   // there is a deno.lock
	packages []runners.Package
	remote   bool     // it has modules from URLs
	npm      bool     // it has npm packages
	own      bool     // the import map names files of the program
	config   bool     // there is a deno.json
	dirs     []string // directories of the npm packages
	copies   []string // package directories incl. peer-dependency copies
	set      string   // a digest of the packages in exactly these versions
	fresh    bool     // prepared by this very run

	// missing maps the message an import throws to the package that cannot be
	// installed.
	missing map[string]runners.PackageError
}

// complete reports whether a prepared directory and its packages are still in the
// caches, which may have been cleared meanwhile.
func (i *installation) complete(p *prepared) bool {
	needed := append(slices.Clip(p.dirs), filepath.Join(p.dir, mapName))
	if p.remote {
		needed = append(needed, filepath.Join(i.r.denoDir, "remote"))
	}
	return !slices.ContainsFunc(needed, func(name string) bool {
		_, err := os.Lstat(name)
		return err != nil
	})
}

// notInstalled sets NotInstalled if the program ended by the error of importing a
// missing package.
func (p *prepared) notInstalled(o *runners.Outcome) {
	if o.Status != runners.Failed || o.Error == nil {
		return
	}
	if missing, ok := p.missing[o.Error.Message]; ok {
		o.Status, o.Error.Type, o.Error.Packages = runners.NotInstalled, "NotInstalled", []runners.PackageError{missing}
	}
}

// The files of a prepared directory.
const (
	mapName    = "map.json"
	moduleName = "packages.js"
	lockName   = "deno.lock"
	configName = "deno.json"
)

// load reads a prepared directory.
func (i *installation) load(dir string) (*prepared, error) {
	lock, err := deps.ReadLock(filepath.Join(dir, lockName))
	if err != nil {
		return nil, err
	}
	text := i.deps.Map.JSON()
	set := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s", text, i.deps.Module(), lock.Text))
	p := &prepared{
		dir: dir, set: hex.EncodeToString(set[:]), locked: lock.Text != nil, packages: lock.Packages(),
		remote: len(lock.Remote)+len(lock.JSR) > 0, npm: len(lock.NPM) > 0,
		own: bytes.Contains(text, []byte(`"`+deps.Work)), config: i.deps.Config != nil,
	}
	p.dirs = i.r.packageDirs(p.packages)
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
		p.copies = []string{filepath.Join(i.r.denoDir, "npm")}
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
