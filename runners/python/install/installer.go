// Package install installs the packages of one run: those that its request, its files
// and its imports name before the program begins, and those of micropip, pip and
// extras while it runs.
//
// Names sent to the index must not depend on run-time data: they are an exfiltration
// channel. So what the text names is prepared before the run, and the running program
// can install nothing else unless the policy lets it reach the index.
package install

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"coderunner/internal/order"
	"coderunner/pyodide"
	"coderunner/runners"
	"coderunner/runners/python/lockfile"
	"coderunner/runners/python/requirement"
	"coderunner/runners/python/resolver"
	"coderunner/runners/python/site"
)

// prepareLimit bounds the total time of preparing packages in one run.
const prepareLimit = 15 * time.Minute

var errPrepareLimit = errors.New("the preparation took too long")

// Preparer makes packages ready: a *[resolver.Resolver], or one in another process.
type Preparer interface {
	Prepare(ctx context.Context, req resolver.Request) (*resolver.Set, error)
	// Compile is [resolver.Resolver.Compile].
	Compile(ctx context.Context, packages []resolver.Package, modules []string, progress runners.ProgressFunc) error
}

// Installer installs the packages of one run. The exported fields are set before the
// first call.
type Installer struct {
	Resolver Preparer
	Lock     *lockfile.Lock
	Progress runners.ProgressFunc
	Code     string            // of the program
	Files    requirement.Files // that it was given
	Only     bool              // the program is locked, not run
	Timeout  time.Duration     // of the program
	Refusal  string            // why the running program may not reach the index, "" if it may

	// Advice, if not nil, returns the versions that the files ask for among which the program
	// lies. Where they cannot be met, packages are installed without them.
	Advice func() []requirement.Requirement

	// Show mounts a package in the program's interpreter, once there is one.
	Show func(resolver.Package) error

	// mu: the guest calls from within the run, one call at a time, but a call can
	// outlive the run.
	mu        sync.Mutex
	locked    *resolver.Locked            // nil when everything is allowed
	installed map[string]resolver.Package // by name
	alone     []string                    // those installed without their dependencies
	imports   []string                    // modules that the program imports; none if it is not run
	guessed   map[string]bool             // projects that an import of the program meant, and no text named
	skipped   map[string]string           // by project: why it is not installed
	mounted   map[string]bool             // keys of the mounts of a session's interpreter
	time      time.Duration               // spent on preparation
	unadvised string                      // why the versions of the project's files were not taken
}

// New returns an installer that may install what locked allows, nil for everything.
func New(locked *resolver.Locked) *Installer {
	return &Installer{locked: locked, installed: map[string]resolver.Package{}, skipped: map[string]string{}, guessed: map[string]bool{}}
}

// Install installs packages beside the installed ones, which are not changed.
// Optional ones that cannot be installed are left out.
func (in *Installer) Install(ctx context.Context, q resolver.Request) error {
	q.Requirements = slices.DeleteFunc(slices.Clone(q.Requirements), in.satisfied)
	if len(q.Requirements)+len(q.Optional) == 0 {
		return nil
	}
	set, err := in.prepare(ctx, q)
	if err != nil {
		return err
	}
	in.skip(set.Skipped)
	return in.add(set.Packages, q.Alone)
}

// prepare resolves and fetches packages along with those that are installed.
func (in *Installer) prepare(ctx context.Context, q resolver.Request) (*resolver.Set, error) {
	begun := time.Now()
	in.mu.Lock()
	left := prepareLimit - in.time
	q.Requirements = append(in.pinnedLocked(), q.Requirements...)
	q.Locked, q.Imports = in.locked, in.imports
	q.Constraints = in.Files.Constraints
	advice := in.Advice
	in.mu.Unlock()
	if advice != nil {
		q.Constraints = advice()
	}
	defer in.Spent(begun)
	q.Progress = in.Progress
	ctx, cancel := context.WithTimeoutCause(ctx, left, errPrepareLimit)
	defer cancel()
	set, err := in.Resolver.Prepare(ctx, q)
	if failed, ok := errors.AsType[*runners.NotInstalledError](err); ok && advice != nil && len(q.Constraints) > 0 {
		q.Constraints = nil
		if set, err = in.Resolver.Prepare(ctx, q); err == nil {
			in.mu.Lock()
			in.unadvised = fmt.Sprintf("the versions that the project asks for cannot be installed here (%s: %s): others were.", failed.Packages[0].Name, failed.Packages[0].Reason)
			in.Advice = nil
			in.mu.Unlock()
		}
	}
	return set, err
}

// Compile compiles what the program's imports run of the installed packages, as far as
// that can be told.
func (in *Installer) Compile(ctx context.Context, found *pyodide.Analysis) error {
	defer in.Spent(time.Now())
	modules := imported(found)
	in.mu.Lock()
	packages := order.Values(in.installed)
	in.mu.Unlock()
	if len(packages) == 0 || len(modules) == 0 {
		return nil
	}
	if err := in.Resolver.Compile(ctx, packages, modules, in.Progress); err != nil {
		return err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, p := range packages {
		in.installed[p.Name] = p
	}
	return nil
}

// imported returns the modules that a program imports.
func imported(found *pyodide.Analysis) (modules []string) {
	for _, i := range found.Imports {
		modules = append(modules, i.Name)
	}
	for _, m := range found.Members {
		modules = append(modules, strings.ReplaceAll(m, ":", "."))
	}
	return modules
}

// Prepared returns the time spent on preparation.
func (in *Installer) Prepared() time.Duration {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.time
}

// Spent adds the time since a moment to the preparation's.
func (in *Installer) Spent(since time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.time += time.Since(since)
}

// pinnedLocked returns the installed packages as requirements, except those
// installed without their dependencies.
func (in *Installer) pinnedLocked() []requirement.Requirement {
	var reqs []requirement.Requirement
	for _, name := range slices.Sorted(maps.Keys(in.installed)) {
		if !slices.Contains(in.alone, name) {
			reqs = append(reqs, requirement.Requirement{Name: name, Specifier: "==" + in.installed[name].Version})
		}
	}
	return reqs
}

// Has returns the installed package of a project.
func (in *Installer) Has(project string) (resolver.Package, bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	p, ok := in.installed[project]
	return p, ok
}

// satisfied reports whether an installed package surely meets the requirement.
func (in *Installer) satisfied(r requirement.Requirement) bool {
	have, ok := in.Has(r.Name)
	return ok && len(r.Extras) == 0 && r.Marker == "" && r.Allows(have.Version)
}

// add records packages as installed and mounts them in the interpreter, if any.
func (in *Installer) add(packages []resolver.Package, alone bool) error {
	for _, p := range packages {
		if have, ok := in.Has(p.Name); ok {
			if have.Version != p.Version {
				return fmt.Errorf("install %s: version %s is installed, the resolver chose %s", p.Name, have.Version, p.Version)
			}
			continue
		}
		if in.Show != nil {
			if err := in.Show(p); err != nil {
				return err
			}
		}
		in.mu.Lock()
		in.installed[p.Name] = p
		if alone {
			in.alone = append(in.alone, p.Name)
		}
		in.mu.Unlock()
	}
	return nil
}

// skip records why packages are not installed.
func (in *Installer) skip(packages []runners.PackageError) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, p := range packages {
		if r, err := requirement.Parse(p.Name); err == nil {
			in.skipped[r.Name] = p.Reason
		}
	}
}

// WhyNot returns why a project is not installed, "" if unknown.
func (in *Installer) WhyNot(project string) string {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.skipped[project]
}

// Empty reports whether no package is installed.
func (in *Installer) Empty() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.installed) == 0
}

// List returns the installed packages.
func (in *Installer) List() []runners.Package {
	in.mu.Lock()
	defer in.mu.Unlock()
	list := []runners.Package{}
	for _, name := range slices.Sorted(maps.Keys(in.installed)) {
		list = append(list, in.installed[name].Package)
	}
	return list
}

// Older returns which package that the program asked for is not the newest one and
// why, a sentence, "" if there is none. A session is told when the package comes.
func (in *Installer) Older() string {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(in.installed)) {
		if p := in.installed[name]; p.Older != "" && !in.mounted[site.Mount(p).Key] {
			return fmt.Sprintf("%s is %s here, since the newest cannot be installed: %s.", name, p.Version, p.Older)
		}
	}
	return in.unadvised
}

// NotInstalled returns which packages cannot be installed and why; ok is false
// if err has another cause.
func NotInstalled(err error, asked []requirement.Requirement) (*runners.NotInstalledError, bool) {
	if missing, ok := errors.AsType[*runners.NotInstalledError](err); ok {
		return missing, true
	}
	if !errors.Is(err, errPrepareLimit) {
		return nil, false
	}
	missing := &runners.NotInstalledError{}
	for _, r := range asked {
		missing.Add(r.String(), fmt.Sprintf("the preparation took longer than %v", prepareLimit))
	}
	return missing, true
}
