package install

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"coderunner/cache"
	"coderunner/internal/lazyregexp"
	"coderunner/pyodide"
	"coderunner/runners"
	"coderunner/runners/python/imports"
	"coderunner/runners/python/pypi"
	"coderunner/runners/python/requirement"
	"coderunner/runners/python/resolver"
)

// Imports installs the requirements in the files of the program's directory and the
// packages of the modules that it imports and lacks.
func (m *Micropip) Imports(ctx context.Context, found *pyodide.Analysis) error {
	in := m.Installer
	if !in.Only {
		in.imports = imported(found)
	}
	missing := in.missing(found.Imports)
	if i := slices.IndexFunc(missing, func(i pyodide.Import) bool { return i.Name == timeZones }); i >= 0 {
		if err := in.installTimeZones(ctx); err != nil {
			return err
		}
		missing = slices.Delete(missing, i, i+1)
	}
	if len(missing) == 0 && len(found.Installs) == 0 {
		return nil // requirements.txt is here to be read, not to be installed
	}
	if in.locked == nil && in.Files.Hashes != nil {
		in.lockTo(in.Files.Hashes)
	}
	if found.Micropip && !in.Only {
		return m.prepareAhead(ctx, found.Installs, missing)
	}
	// pip would install all, but the program may need only some.
	asked := slices.Concat(in.Files.Requirements, together(found.Installs))
	if err := in.installOptional(ctx, asked); err != nil {
		return err
	}
	return in.installModules(ctx, in.missing(missing))
}

// missing returns the modules that no installed package has.
func (in *Installer) missing(modules []pyodide.Import) []pyodide.Import {
	return slices.DeleteFunc(slices.Clone(modules), func(i pyodide.Import) bool { return in.Present(i.Name) })
}

// lockTo allows only files with these hashes and the installed packages.
func (in *Installer) lockTo(hashes map[string][]string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.locked = &resolver.Locked{By: "requirements.txt", SHA256: maps.Clone(hashes)}
	for _, p := range in.installed {
		in.locked.SHA256[p.Name] = []string{p.SHA256}
	}
}

// installOptional installs the packages that can be installed; the program may
// not need the others.
func (in *Installer) installOptional(ctx context.Context, asked []requirement.Requirement) error {
	asked = slices.DeleteFunc(slices.Clone(asked), in.satisfied)
	err := in.Install(ctx, resolver.Request{Optional: asked})
	failed, ok := NotInstalled(err, asked)
	if !ok || ctx.Err() != nil {
		return err
	}
	in.skip(failed.Packages)
	if len(asked) == 1 || len(failed.Packages) >= len(asked) { // no package can be singled out
		for _, r := range asked {
			in.skip([]runners.PackageError{{Name: r.String(), Reason: failed.Packages[0].Reason}})
		}
		return nil
	}
	for _, r := range asked { // one bad file fails the set: try each alone
		if err := in.installOptional(ctx, []requirement.Requirement{r}); err != nil {
			return err
		}
	}
	return nil
}

// installModules installs the packages that have the modules. An unknown name
// does not stop the run (unless locked); the import fails when reached.
func (in *Installer) installModules(ctx context.Context, missing []pyodide.Import) error {
	must, may, modules := in.projects(missing)
	together := may
	for {
		err := in.Install(ctx, resolver.Request{Requirements: must, Optional: together})
		failed, ok := NotInstalled(err, slices.Concat(must, together))
		switch {
		case ctx.Err() != nil || err != nil && !ok:
			return err
		case err == nil && len(together) == len(may):
			return nil
		case err == nil:
			return in.installOptional(ctx, may)
		case len(together) > 0: // they may be the cause
			together = nil
			continue
		}
		if len(must) == 1 && modules[failed.Packages[0].Name] == "" && in.looksOwn(modules[must[0].String()]) { // the one that needs it
			p := failed.Packages[0]
			failed.Packages = []runners.PackageError{{Name: must[0].String(), Reason: p.Name + ": " + p.Reason}}
		}
		known := true // all failed names are imports, and the index has none of them
		for i, p := range failed.Packages {
			module := modules[p.Name]
			if module == "" || !strings.HasPrefix(p.Reason, resolver.NoSuchPackage) && !in.looksOwn(module) {
				known = false
				continue
			}
			failed.Packages[i].Reason += fmt.Sprintf("; the program imports %s: if that is a file of its own, send it in files; if it is in a package of another name, give its name in packages", module)
		}
		if !known || in.Only || in.locked != nil && in.Files.Hashes == nil {
			return failed
		}
		in.skip(failed.Packages)
		must = slices.DeleteFunc(must, func(r requirement.Requirement) bool { return in.WhyNot(r.Name) != "" })
	}
}

// looksOwn reports whether a module, whose project cannot be installed, may be a package
// of the program's own: it imports a module of that, and the project has its name.
func (in *Installer) looksOwn(module string) bool {
	name := imports.Project(module, in.Lock.ByImport).Name
	return pypi.Known().Instead[name] == "" && regexp.MustCompile(`(?m)^[ \t]*(?:from|import)[ \t]+`+regexp.QuoteMeta(name)+`\.\w`).MatchString(in.Code)
}

// projects returns requirements of the projects that have modules, and a module
// of each by the requirement's text.
func (in *Installer) projects(missing []pyodide.Import) (must, may []requirement.Requirement, modules map[string]string) {
	modules = map[string]string{}
	wanted := map[string]requirement.Requirement{}
	optional := map[string]bool{}
	for _, m := range missing {
		if imports.Gone(m.Name) != "" {
			continue // no project has its name, though one may contain it
		}
		for _, module := range imports.Deeper(m.Name, in.Code) {
			if in.namespace(module) {
				continue
			}
			r := imports.Project(module, in.Lock.ByImport)
			if _, have := in.Has(r.Name); have || r.Name == "" || in.WhyNot(r.Name) != "" {
				continue // the import fails when reached
			}
			if imports.Own(module) {
				in.skip([]runners.PackageError{{Name: r.Name, Reason: fmt.Sprintf("the program imports %s, most likely a file of its own: send it in files; if the package of this name is meant, give its name in packages", module)}})
				continue
			}
			if why := in.slip(module, r); why != "" {
				in.skip([]runners.PackageError{{Name: r.Name, Reason: why}})
				continue
			}
			if _, again := wanted[r.Name]; !again {
				optional[r.Name], in.guessed[r.Name] = true, true
			}
			if wanted[r.Name].Specifier == "" {
				wanted[r.Name] = r
			}
			modules[wanted[r.Name].String()] = module
			optional[r.Name] = optional[r.Name] && (m.Optional || m.Slip)
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

// Present reports whether a module, or a regular package that contains it, is
// in an installed package. The parts of a namespace package come from several
// distributions, so those are searched.
func (in *Installer) Present(name string) bool {
	in.mu.Lock()
	var dirs []string
	for _, p := range in.installed {
		if !p.Shared {
			dirs = append(dirs, p.Tree)
		}
	}
	in.mu.Unlock()
	for part := range strings.SplitSeq(name, ".") {
		var inside []string
		for _, dir := range dirs {
			switch path := filepath.Join(dir, part); {
			case isModule(dir, part), isModule(path, "__init__"):
				return true
			case isDir(path):
				inside = append(inside, path)
			}
		}
		dirs = inside
	}
	return false
}

// Guess returns the package that has the top-level module, if it was installed for an
// import and no text named it.
func (in *Installer) Guess(module string) (resolver.Package, bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for name := range in.guessed {
		p, ok := in.installed[name]
		if ok && (isModule(p.Tree, module) || isDir(filepath.Join(p.Tree, module))) {
			return p, true
		}
	}
	return resolver.Package{}, false
}

// ImportsMember reports whether "from pkg import name" imports a module of an installed
// package: pkg.name, or what gives a lazy package its names when they are asked for.
func (in *Installer) ImportsMember(pkg, name string) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, p := range in.installed {
		dir := filepath.Join(p.Tree, filepath.Join(strings.Split(pkg, ".")...))
		if isDir(dir) && (isModule(dir, name) || isDir(filepath.Join(dir, name)) || isLazy(dir)) {
			return true
		}
	}
	return false
}

// namespace reports whether an installed package has a directory of a module's name.
// For a module that is not present, it is one without code that projects share: an
// import finds it, and a project of that name would be a stranger's.
func (in *Installer) namespace(name string) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, p := range in.installed {
		if !p.Shared && isDir(filepath.Join(p.Tree, filepath.Join(strings.Split(name, ".")...))) {
			return true
		}
	}
	return false
}

// isModule reports whether dir has the module, as a source or compiled.
func isModule(dir, name string) bool {
	if info, err := os.Stat(filepath.Join(dir, name+".py")); err == nil && info.Mode().IsRegular() {
		return true
	}
	list, err := cache.ReadDir(dir)
	return err == nil && slices.ContainsFunc(list, func(e os.DirEntry) bool {
		return strings.HasPrefix(e.Name(), name+".") && strings.HasSuffix(e.Name(), ".so")
	})
}

// isLazy reports whether the package in a directory imports its modules when their names
// are asked for (PEP 562).
func isLazy(dir string) bool {
	f, err := os.Open(filepath.Join(dir, "__init__.py"))
	if err != nil {
		return false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxInit))
	own := []byte("def __getattr__(") // each call looks, and an expression takes a millisecond
	return err == nil && (bytes.HasPrefix(text, own) || bytes.Contains(text, append([]byte("\n"), own...)) ||
		bytes.Contains(text, []byte("lazy.attach")) && lazyLoader.Match(text))
}

const maxInit = 256 << 10 // bytes of an __init__.py that are looked at

var lazyLoader = lazyregexp.New(`\blazy\.attach(?:_stub)?\(`)

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// timeZones is the project with zoneinfo's data, which elsewhere the system has.
const timeZones = "tzdata"

// timeZonesLimit bounds the wait for it: most programs do not need it.
const timeZonesLimit = 30 * time.Second

// installTimeZones installs the time zones for a program that imports zoneinfo.
// It is separate so that the other packages are not resolved again.
func (in *Installer) installTimeZones(ctx context.Context) error {
	reqs := []requirement.Requirement{{Name: timeZones}}
	defer in.Spent(time.Now())
	ctx, cancel := context.WithTimeoutCause(ctx, timeZonesLimit, errPrepareLimit)
	defer cancel()
	set, err := in.Resolver.Prepare(ctx, resolver.Request{Requirements: reqs, Progress: in.Progress, Locked: in.locked})
	if failed, ok := NotInstalled(err, reqs); ok {
		in.skip(failed.Packages)
		return nil // the program may use its own zones, or none
	}
	if err != nil {
		return err
	}
	return in.add(set.Packages, false)
}
