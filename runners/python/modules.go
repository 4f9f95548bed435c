package python

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"coderunner/pyodide"
	"coderunner/runners"
	"coderunner/runners/python/imports"
	"coderunner/runners/python/requirement"
	"coderunner/runners/python/resolver"
)

// installImports installs what the program imports and does not have.
//
// A program that uses micropip looks after its packages itself, and what it
// will install decides over versions. So nothing is done in advance for it;
// the stand-in asks for the rest when an import is reached.
func (j *job) installImports(ctx context.Context, found *pyodide.Analysis) error {
	missing := slices.DeleteFunc(slices.Clone(found.Imports), func(i pyodide.Import) bool { return j.present(i.Name) })
	if found.Micropip && !j.only {
		j.deferred = missing
		return nil
	}
	return j.installModules(ctx, missing)
}

// installModules installs the packages that have modules.
func (j *job) installModules(ctx context.Context, missing []pyodide.Import) error {
	must, may, modules := j.projects(missing)
	err := j.install(ctx, must, may)
	failed, ok := asNotInstalled(err, slices.Concat(must, may))
	if !ok {
		return err
	}
	if len(must) == 0 && ctx.Err() == nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		for _, p := range failed.Packages {
			j.skip(p)
		}
		return nil // the program copes, or says itself what it lacks
	}
	if j.guessedTooMuch(ctx, failed, must, modules) {
		return nil
	}
	for i, p := range failed.Packages {
		if module := modules[p.Name]; module != "" && strings.HasPrefix(p.Reason, resolver.NoSuchPackage) {
			failed.Packages[i].Reason += fmt.Sprintf("; the program imports %s: if that is in a package of another name, give its name in packages", module)
		}
	}
	return failed
}

// projects finds the projects that have modules, and a module for each.
func (j *job) projects(missing []pyodide.Import) (must, may []requirement.Requirement, modules map[string]string) {
	modules = map[string]string{}
	wanted := map[string]requirement.Requirement{}
	optional := map[string]bool{}
	for _, m := range missing {
		if imports.Gone(m.Name) != "" {
			continue // no project has it, though one may bring it along
		}
		for _, module := range imports.Deeper(m.Name, j.req.Code) {
			r := imports.Project(module, j.engine.lock.ByImport)
			if _, have := j.installed[r.Name]; have || r.Name == "" || m.Optional && j.skipped[r.Name] != "" {
				continue // the program will see for itself
			}
			if _, again := modules[r.Name]; !again {
				modules[r.Name], optional[r.Name] = module, true
			}
			if wanted[r.Name].Specifier == "" {
				wanted[r.Name] = r
			}
			optional[r.Name] = optional[r.Name] && m.Optional
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if optional[name] {
			may = append(may, wanted[name])
		} else {
			must = append(must, wanted[name])
		}
	}
	return must, may, modules
}

// skip notes why an optional requirement cannot be had.
func (j *job) skip(p runners.PackageError) {
	if j.skipped == nil {
		j.skipped = map[string]string{}
	}
	if r, err := requirement.Parse(p.Name); err == nil {
		j.skipped[r.Name] = p.Reason
	}
}

// guessedTooMuch handles modules that have no package of their own: when the
// only trouble is that there is no package of their names, the others are
// installed, and it is true if those have the modules.
func (j *job) guessedTooMuch(ctx context.Context, failed *runners.NotInstalledError, must []requirement.Requirement, modules map[string]string) bool {
	var homeless []string
	rest := slices.Clone(must)
	for _, p := range failed.Packages {
		if modules[p.Name] == "" || !strings.HasPrefix(p.Reason, resolver.NoSuchPackage) {
			return false
		}
		homeless = append(homeless, modules[p.Name])
		rest = slices.DeleteFunc(rest, func(r requirement.Requirement) bool { return r.Name == p.Name })
	}
	if j.install(ctx, rest, nil) != nil {
		return false
	}
	return !slices.ContainsFunc(homeless, func(module string) bool { return !j.hasModule(module) })
}

// hasModule says whether an installed package has the module, or the package
// that it is in.
func (j *job) hasModule(module string) bool {
	top, _, _ := strings.Cut(module, ".")
	for _, p := range j.installed {
		for _, name := range []string{top + ".py", top} {
			if _, err := os.Stat(filepath.Join(p.Tree, name)); err == nil {
				return true
			}
		}
	}
	return false
}

// timeZones is the project that has what zoneinfo reads: there is no system
// here to have it.
const timeZones = "tzdata"

// timeZonesLimit bounds the wait for it, which most programs could do without.
const timeZonesLimit = 30 * time.Second

// usesTimeZones finds an import of zoneinfo.
var usesTimeZones = regexp.MustCompile(`(?m)^[ \t]*(?:import|from)[ \t].*\bzoneinfo\b`)

// addTimeZones installs the time zones for a program that imports zoneinfo. It
// does so apart from other packages, which need not be resolved again for it.
func (j *job) addTimeZones(ctx context.Context) error {
	if !j.zoned() || j.installed[timeZones].Name != "" {
		return nil
	}
	reqs := []requirement.Requirement{{Name: timeZones}}
	limited, cancel := withLimit(ctx, timeZonesLimit)
	defer cancel()
	set, err := j.engine.resolver.Prepare(limited, resolver.Request{Requirements: reqs, Progress: j.req.Progress, Locked: j.locked})
	if failed, ok := asNotInstalled(err, reqs); ok && ctx.Err() == nil {
		for _, p := range failed.Packages {
			j.skip(p)
		}
		return nil // it may know other zones, or need none
	}
	if err != nil {
		return err
	}
	for _, p := range set.Packages {
		if err := j.add(p, false); err != nil {
			return err
		}
	}
	return nil
}

// zoned says whether the program wants time zones.
func (j *job) zoned() bool {
	imports := func(code string) bool {
		return strings.Contains(code, "zoneinfo") && usesTimeZones.MatchString(code) // the first is much faster
	}
	return imports(j.req.Code) || slices.ContainsFunc(j.req.Files, func(f runners.File) bool {
		return strings.HasSuffix(f.Path, ".py") && imports(string(f.Data))
	})
}
