package python

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"coderunner/pyodide"
	"coderunner/runners"
	"coderunner/runners/python/requirement"
	"coderunner/runners/python/resolver"
)

//go:embed all:site
var site embed.FS

// standIns are modules of ours that programs find in site-packages.
var standIns = func() fs.FS {
	sub, err := fs.Sub(site, "site")
	if err != nil {
		panic(err) // the folder is embedded
	}
	return sub
}()

// standInsKey changes whenever the stand-ins do, so that no snapshot has older
// ones.
var standInsKey = func() string {
	h := sha256.New()
	err := fs.WalkDir(standIns, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(standIns, name)
		fmt.Fprintf(h, "%s %d %s", name, len(b), b)
		return err
	})
	if err != nil {
		panic(err) // the folder is embedded
	}
	return fmt.Sprintf("stand-ins %x", h.Sum(nil))
}()

// install makes packages available, along with those that are there already,
// which stay as they are. Optional ones that cannot be had are left out.
func (j *job) install(ctx context.Context, reqs, optional []requirement.Requirement) error {
	return j.installWith(ctx, resolver.Request{Requirements: reqs, Optional: optional})
}

// installWith is install with what else a request may say.
func (j *job) installWith(ctx context.Context, q resolver.Request) error {
	q.Requirements = slices.DeleteFunc(slices.Clone(q.Requirements), j.satisfied)
	if len(q.Requirements)+len(q.Optional) == 0 {
		return nil
	}
	begun := time.Now()
	j.mu.Lock()
	left := prepareLimit - j.prepared
	q.Requirements = append(j.pinned(), q.Requirements...)
	j.mu.Unlock()
	defer func() { j.spent(begun) }()
	ctx, cancel := withLimit(ctx, left)
	defer cancel()
	q.Progress, q.Locked = j.req.Progress, j.locked
	set, err := j.engine.resolver.Prepare(ctx, q)
	if err != nil {
		return err
	}
	for _, p := range set.Packages {
		if err := j.add(p, q.Alone); err != nil {
			return err
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, p := range set.Skipped {
		j.skip(p)
	}
	return nil
}

// satisfied says whether a requirement asks for nothing new.
func (j *job) satisfied(r requirement.Requirement) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	have, ok := j.installed[r.Name]
	return ok && len(r.Extras) == 0 && r.Marker == "" && r.Allows(have.Version)
}

// add takes a package in and, once there is an interpreter, shows it there.
func (j *job) add(p resolver.Package, alone bool) error {
	j.mu.Lock()
	old, have := j.installed[p.Name]
	if !have {
		j.installed[p.Name] = p
		if alone {
			j.alone = append(j.alone, p.Name)
		}
	}
	j.mu.Unlock()
	switch {
	case have && old.Version != p.Version:
		return fmt.Errorf("install %s: version %s is installed, the resolver chose %s", p.Name, old.Version, p.Version)
	case have || j.in == nil:
		return nil
	}
	return j.mount(p)
}

func (j *job) mount(p resolver.Package) error {
	m := packageMount(p)
	return j.in.Mount(m.Dir, m.Tree)
}

// mounts gives what goes into site-packages: the stand-ins first, so that no
// package can take their names.
func (j *job) mounts() []pyodide.Mount {
	mounts := []pyodide.Mount{{Dir: pyodide.SitePackages, Tree: standIns, Key: standInsKey}}
	for _, name := range slices.Sorted(maps.Keys(j.installed)) {
		mounts = append(mounts, packageMount(j.installed[name]))
	}
	return mounts
}

// sharedLibraries is where libraries look for those that they need.
const sharedLibraries = "/usr/lib"

// packageMount shows a package. Its tree in the cache is named after its
// contents and how they were prepared.
func packageMount(p resolver.Package) pyodide.Mount {
	tree := os.DirFS(p.Tree)
	if list, err := fs.ReadDir(standIns, "."); err == nil {
		for _, e := range list {
			if _, err := fs.Stat(tree, e.Name()); err == nil {
				tree = without{tree, e.Name()}
			}
		}
	}
	key := p.SHA256 + " " + filepath.Base(filepath.Dir(p.Tree))
	if p.Shared {
		return pyodide.Mount{Dir: sharedLibraries, Tree: os.DirFS(p.Tree), Key: key}
	}
	return pyodide.Mount{Dir: pyodide.SitePackages, Tree: tree, Key: key}
}

// without is a tree without one of its entries. Merging is not enough where a
// package brings a module of the name of ours: its bytecode would be taken for
// our source.
type without struct {
	fs.FS
	name string
}

func (w without) Open(name string) (fs.File, error) {
	if name == w.name || strings.HasPrefix(name, w.name+"/") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return w.FS.Open(name)
}

func (w without) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(w.FS, name)
	if name == "." {
		list = slices.DeleteFunc(list, func(e fs.DirEntry) bool { return e.Name() == w.name })
	}
	return list, err
}

// pinned gives the installed packages as requirements, but for those that are
// there without what they need.
func (j *job) pinned() []requirement.Requirement {
	var reqs []requirement.Requirement
	for _, name := range slices.Sorted(maps.Keys(j.installed)) {
		if slices.Contains(j.alone, name) {
			continue
		}
		reqs = append(reqs, requirement.Requirement{Name: name, Specifier: "==" + j.installed[name].Version})
	}
	return reqs
}

// calls are what the stand-in for micropip asks for.
func (j *job) calls() map[string]pyodide.Call {
	return map[string]pyodide.Call{
		"micropip.install": {Do: j.callInstall, MaxArgument: 64 << 10, Waits: true},
		"micropip.list":    {Do: j.callList},
		"micropip.wanted":  {Do: j.callWanted},
		"micropip.import":  {Do: j.callImport, Waits: true},
	}
}

// waitedTooLong is the error of a call that took what the program may wait for
// its packages, nil if that is not why it ended.
func (j *job) waitedTooLong(ctx context.Context) error {
	if context.Cause(ctx) != pyodide.ErrWaitLimit {
		return nil
	}
	return fmt.Errorf("a program waits for its packages no longer than for itself, %v: name them in the argument packages (--package on the command line), whose installation is not counted", j.req.Limits.Timeout.Round(time.Millisecond))
}

// callWanted gives the modules that the stand-in may ask for.
func (j *job) callWanted(context.Context, json.RawMessage) (any, error) {
	names := []string{}
	for _, m := range j.deferred {
		names = append(names, m.Name)
	}
	return names, nil
}

// callImport installs the package that has one of these modules.
func (j *job) callImport(ctx context.Context, argument json.RawMessage) (any, error) {
	var name string
	if err := json.Unmarshal(argument, &name); err != nil {
		return nil, errors.New("a module's name must be a string")
	}
	i := slices.IndexFunc(j.deferred, func(m pyodide.Import) bool { return m.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("the program does not import %s", name)
	}
	err := j.installModules(ctx, []pyodide.Import{{Name: name}})
	if late := j.waitedTooLong(ctx); err != nil && late != nil {
		return nil, late
	}
	if missing, ok := asNotInstalled(err, nil); ok {
		return nil, missing
	}
	return nil, err
}

// maxInstall bounds the requirements of one call.
const maxInstall = 200

// callInstall installs packages for the running program. What goes wrong is
// told in the answer, as the program's ValueError.
func (j *job) callInstall(ctx context.Context, argument json.RawMessage) (any, error) {
	var asked struct {
		Requirements []string
		Deps         bool
	}
	if err := json.Unmarshal(argument, &asked); err != nil {
		return nil, errors.New("requirements must be strings")
	}
	texts := asked.Requirements
	if len(texts) > maxInstall {
		return nil, fmt.Errorf("%d requirements at once, %d are allowed", len(texts), maxInstall)
	}
	var reqs []requirement.Requirement
	for _, text := range texts {
		r, err := requirement.Parse(text)
		if err != nil {
			return nil, err
		}
		if p, have := j.installed[r.Name]; have && !r.Allows(p.Version) {
			//lint:ignore ST1005 the words are micropip's
			return nil, fmt.Errorf("Requested '%s', but %s==%s is already installed", r, p.Name, p.Version)
		}
		reqs = append(reqs, r)
	}
	err := j.installWith(ctx, resolver.Request{Requirements: reqs, Alone: !asked.Deps})
	if late := j.waitedTooLong(ctx); err != nil && late != nil {
		return nil, late
	}
	if missing, ok := asNotInstalled(err, reqs); ok {
		var lines []string
		for _, p := range missing.Packages {
			lines = append(lines, p.Name+": "+p.Reason)
		}
		return nil, errors.New("Can't install\n" + strings.Join(lines, "\n"))
	}
	if bad, ok := errors.AsType[*runners.RequestError](err); ok {
		return nil, bad
	}
	if err != nil {
		return nil, err
	}
	return j.callList(ctx, nil)
}

// callList lists the packages that the program has.
func (j *job) callList(context.Context, json.RawMessage) (any, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.packages(), nil
}
