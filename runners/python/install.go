package python

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"coderunner/runners"
	"coderunner/runners/python/lockfile"
	"coderunner/runners/python/requirement"
	"coderunner/runners/python/resolver"
)

// prepareLimit bounds the preparation of packages in one run, all together.
const prepareLimit = 15 * time.Minute

var errPrepareLimit = errors.New("the preparation took too long")

// installer installs the packages of one run: those that its request and its
// imports name before the program begins, and those of micropip while it runs.
type installer struct {
	resolver *resolver.Resolver
	lock     *lockfile.Lock
	progress runners.ProgressFunc
	code     string            // of the program
	files    requirement.Files // of its directory
	only     bool              // the program is not run, but locked
	timeout  time.Duration     // of the program
	refusal  string            // why a running program may not have the index asked, "" if it may

	// show mounts a package in the program's interpreter, once there is one.
	show func(resolver.Package) error

	// The guest asks for more from within the run, one call at a time; mu is
	// for the race detector's peace when a call outlives the run.
	mu        sync.Mutex
	locked    *resolver.Locked            // nil when everything is allowed
	installed map[string]resolver.Package // by name
	alone     []string                    // those installed without what they need
	skipped   map[string]string           // by project: why it is not installed
	time      time.Duration               // spent on preparation
}

// install makes packages available, along with those that are there already,
// which stay as they are. Optional ones that cannot be installed are left out.
func (in *installer) install(ctx context.Context, q resolver.Request) error {
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
func (in *installer) prepare(ctx context.Context, q resolver.Request) (*resolver.Set, error) {
	begun := time.Now()
	in.mu.Lock()
	left := prepareLimit - in.time
	q.Requirements = append(in.pinnedLocked(), q.Requirements...)
	q.Locked = in.locked
	in.mu.Unlock()
	defer in.spent(begun)
	q.Progress = in.progress
	ctx, cancel := context.WithTimeoutCause(ctx, left, errPrepareLimit)
	defer cancel()
	return in.resolver.Prepare(ctx, q)
}

// prepared returns the time that was spent on preparation.
func (in *installer) prepared() time.Duration {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.time
}

// spent adds to the time of the preparation.
func (in *installer) spent(since time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.time += time.Since(since)
}

// pinnedLocked returns the installed packages as requirements, but for those
// that are there without what they need.
func (in *installer) pinnedLocked() []requirement.Requirement {
	var reqs []requirement.Requirement
	for _, name := range slices.Sorted(maps.Keys(in.installed)) {
		if !slices.Contains(in.alone, name) {
			reqs = append(reqs, requirement.Requirement{Name: name, Specifier: "==" + in.installed[name].Version})
		}
	}
	return reqs
}

// has returns the installed package of a project.
func (in *installer) has(project string) (resolver.Package, bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	p, ok := in.installed[project]
	return p, ok
}

// satisfied reports whether a requirement asks for nothing new.
func (in *installer) satisfied(r requirement.Requirement) bool {
	have, ok := in.has(r.Name)
	return ok && len(r.Extras) == 0 && r.Marker == "" && r.Allows(have.Version)
}

// add takes packages in and, once there is an interpreter, shows them there.
func (in *installer) add(packages []resolver.Package, alone bool) error {
	for _, p := range packages {
		if have, ok := in.has(p.Name); ok {
			if have.Version != p.Version {
				return fmt.Errorf("install %s: version %s is installed, the resolver chose %s", p.Name, have.Version, p.Version)
			}
			continue
		}
		if in.show != nil {
			if err := in.show(p); err != nil {
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

// skip notes why packages are not installed.
func (in *installer) skip(packages []runners.PackageError) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, p := range packages {
		if r, err := requirement.Parse(p.Name); err == nil {
			in.skipped[r.Name] = p.Reason
		}
	}
}

// whyNot returns why a project is not installed, "" if that is not known.
func (in *installer) whyNot(project string) string {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.skipped[project]
}

// list returns the packages that the program has.
func (in *installer) list() []runners.Package {
	in.mu.Lock()
	defer in.mu.Unlock()
	list := []runners.Package{}
	for _, name := range slices.Sorted(maps.Keys(in.installed)) {
		list = append(list, in.installed[name].Package)
	}
	return list
}

// asNotInstalled returns the packages that cannot be installed, if that is what
// the error is about.
func asNotInstalled(err error, asked []requirement.Requirement) (*runners.NotInstalledError, bool) {
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
