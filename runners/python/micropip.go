package python

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"coderunner/pyodide"
	"coderunner/runners"
	"coderunner/runners/python/requirement"
	"coderunner/runners/python/resolver"
)

// A program that uses micropip looks after its packages itself, and what it
// will install decides over versions: `micropip.install("six<1.16")` followed
// by `import six` means that version. But which names the registry is asked for
// must not depend on what the program knows, or it could send that away in
// them. So what stands in its text is prepared before it begins, in a way that
// only the text decides, and while it runs that is all that it may install.

// offer is what a running program may install.
type offer struct {
	imports []pyodide.Import // modules that it may ask for when they are imported
	known   map[string]bool  // requirements that were prepared, as texts
	sets    []offered
	reasons map[string][]runners.PackageError // why some cannot be installed, by text
}

// offered is a set of packages that go together.
type offered struct {
	packages map[string]resolver.Package
	extras   map[string][]string // that were prepared, by project
	alone    bool                // without what they need
}

// prepareOffer prepares what the text of a program installs and imports.
func (in *installer) prepareOffer(ctx context.Context, installs []pyodide.Install, missing []pyodide.Import) error {
	in.offer = offer{imports: missing, known: map[string]bool{}, reasons: map[string][]runners.PackageError{}}
	with := together(installs)
	must, may, _ := in.projects(missing)
	wanted := slices.Concat(with, in.files.Requirements, must, may)
	skipped, err := in.prepareSet(ctx, resolver.Request{Optional: wanted})
	if err != nil {
		return err
	}
	// Of requirements that contradict each other the program means one at a
	// time, and a file of one that is no good may have been in the way of others.
	for i, r := range wanted {
		nowhere := strings.HasPrefix(in.whyNot(r.Name), resolver.NoSuchPackage)
		if !skipped[r.String()] || i >= len(with) && nowhere {
			continue
		}
		if _, err := in.prepareSet(ctx, resolver.Request{Requirements: []requirement.Requirement{r}}); err != nil {
			return err
		}
	}
	for _, i := range installs {
		if r, err := requirement.Parse(i.Requirement); err == nil && i.Alone {
			if _, err := in.prepareSet(ctx, resolver.Request{Requirements: []requirement.Requirement{r}, Alone: true}); err != nil {
				return err
			}
		}
	}
	return nil
}

// together returns what a program installs with what it needs, as far as it can
// be parsed: of the rest the call will tell.
func together(installs []pyodide.Install) (reqs []requirement.Requirement) {
	for _, i := range installs {
		if r, err := requirement.Parse(i.Requirement); err == nil && !i.Alone {
			reqs = append(reqs, r)
		}
	}
	return reqs
}

// prepareSet adds a set to the offer, without what cannot be installed.
func (in *installer) prepareSet(ctx context.Context, q resolver.Request) (skipped map[string]bool, err error) {
	reqs := slices.Concat(q.Requirements, q.Optional)
	if len(reqs) == 0 {
		return nil, nil
	}
	for _, r := range reqs {
		in.offer.known[r.String()] = true
	}
	set, err := in.prepare(ctx, q)
	failed, ok := asNotInstalled(err, reqs)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case ok:
		set = &resolver.Set{}
		for _, r := range reqs {
			set.Skipped = append(set.Skipped, runners.PackageError{Name: r.String(), Reason: failed.Packages[0].Reason})
		}
	case err != nil:
		if _, bad := errors.AsType[*runners.RequestError](err); !bad {
			return nil, err
		}
		set = &resolver.Set{} // a marker that makes no sense: the call will say so
	}
	skipped = map[string]bool{}
	for _, p := range set.Skipped {
		skipped[p.Name] = true
		in.offer.reasons[p.Name] = []runners.PackageError{p}
	}
	if ok && len(reqs) == 1 { // it may be for want of another
		in.offer.reasons[reqs[0].String()] = failed.Packages
	}
	in.skip(set.Skipped)
	o := offered{packages: map[string]resolver.Package{}, extras: map[string][]string{}, alone: q.Alone}
	in.mu.Lock()
	for _, p := range set.Packages {
		o.packages[p.Name] = p
		delete(in.skipped, p.Name) // another version of it was
	}
	in.mu.Unlock()
	for _, r := range reqs {
		if !skipped[r.String()] {
			o.extras[r.Name] = append(o.extras[r.Name], r.Extras...)
		}
	}
	in.offer.sets = append(in.offer.sets, o)
	return skipped, nil
}

// take returns the packages of the offer that requirements need and that go
// with what is installed, false if there are none.
func (in *installer) take(reqs []requirement.Requirement, alone bool) ([]resolver.Package, bool) {
	for _, o := range in.offer.sets {
		if found, ok := o.take(reqs); ok && o.alone == alone && !slices.ContainsFunc(found, in.contradicts) {
			return found, true
		}
	}
	return nil, false
}

// contradicts reports whether another version is installed.
func (in *installer) contradicts(p resolver.Package) bool {
	have, ok := in.has(p.Name)
	return ok && have.Version != p.Version
}

// take returns the packages that the requirements need.
func (o *offered) take(reqs []requirement.Requirement) ([]resolver.Package, bool) {
	var found []resolver.Package
	seen := map[string]bool{}
	var names []string
	for _, r := range reqs {
		p, ok := o.packages[r.Name]
		if !ok || !r.Allows(p.Version) || slices.ContainsFunc(r.Extras, func(e string) bool { return !slices.Contains(o.extras[r.Name], e) }) {
			return nil, false
		}
		names = append(names, r.Name)
	}
	for len(names) > 0 {
		name := names[0]
		names = names[1:]
		if p, ok := o.packages[name]; ok && !seen[name] {
			seen[name] = true
			found = append(found, p)
			names = append(names, p.Needs...)
		}
	}
	return found, true
}

// offers reports whether the program installs its packages itself.
func (in *installer) offers() bool { return in.offer.known != nil }

// calls are what the stand-in for micropip asks for.
func (in *installer) calls() map[string]pyodide.Call {
	return map[string]pyodide.Call{
		"micropip.install": {Do: in.callInstall, MaxArgument: 64 << 10, Waits: true},
		"micropip.list":    {Do: func(context.Context, json.RawMessage) (any, error) { return in.list(), nil }},
		"micropip.wanted":  {Do: in.callWanted},
		"micropip.import":  {Do: in.callImport, Waits: true},
	}
}

// callWanted returns the modules that the stand-in may ask for.
func (in *installer) callWanted(context.Context, json.RawMessage) (any, error) {
	names := []string{}
	for _, m := range in.offer.imports {
		names = append(names, m.Name)
	}
	return names, nil
}

// callImport installs the package that has one of these modules, if it can be
// installed: if not, the import fails by itself.
func (in *installer) callImport(ctx context.Context, argument json.RawMessage) (any, error) {
	var name string
	if err := json.Unmarshal(argument, &name); err != nil {
		return nil, errors.New("a module's name must be a string")
	}
	i := slices.IndexFunc(in.offer.imports, func(m pyodide.Import) bool { return m.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("the program does not import %s", name)
	}
	must, _, _ := in.projects([]pyodide.Import{{Name: name}})
	for _, r := range must {
		if found, ok := in.take([]requirement.Requirement{r}, false); ok {
			if err := in.add(found, false); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// maxInstall bounds the requirements of one call.
const maxInstall = 200

// callInstall installs packages for the running program. What goes wrong is
// told in the answer, as the program's ValueError.
func (in *installer) callInstall(ctx context.Context, argument json.RawMessage) (any, error) {
	var asked struct {
		Requirements []string
		Deps         bool
	}
	if err := json.Unmarshal(argument, &asked); err != nil {
		return nil, errors.New("requirements must be strings")
	}
	if n := len(asked.Requirements); n > maxInstall {
		return nil, fmt.Errorf("%d requirements at once, %d are allowed", n, maxInstall)
	}
	var reqs []requirement.Requirement
	for _, text := range asked.Requirements {
		r, err := requirement.Parse(text)
		if err != nil {
			return nil, err
		}
		if p, have := in.has(r.Name); have && !r.Allows(p.Version) {
			//lint:ignore ST1005 the words are micropip's
			return nil, fmt.Errorf("Requested '%s', but %s==%s is already installed", r, p.Name, p.Version)
		}
		if !in.satisfied(r) {
			reqs = append(reqs, r)
		}
	}
	err := in.installNow(ctx, reqs, !asked.Deps)
	if err != nil && errors.Is(context.Cause(ctx), pyodide.ErrWaitLimit) {
		return nil, fmt.Errorf("a program waits for its packages no longer than for itself, %v: name them in the argument packages (--package on the command line), whose installation is not counted", in.timeout)
	}
	if missing, ok := asNotInstalled(err, reqs); ok {
		var lines []string
		for _, p := range missing.Packages {
			lines = append(lines, p.Name+": "+p.Reason)
		}
		return nil, errors.New("Can't install\n" + strings.Join(lines, "\n"))
	}
	if err != nil {
		return nil, err
	}
	return in.list(), nil
}

// installNow installs packages for the running program, all of them or none:
// from its offer, or, if the policy lets it ask the index, from there.
func (in *installer) installNow(ctx context.Context, reqs []requirement.Requirement, alone bool) error {
	if found, ok := in.take(reqs, alone); ok {
		return in.add(found, alone)
	}
	// Their requirements may have been prepared in several sets.
	var found []resolver.Package
	failed := &runners.NotInstalledError{}
	for _, r := range reqs {
		packages, ok := in.take([]requirement.Requirement{r}, alone)
		reasons := in.offer.reasons[r.String()]
		switch {
		case ok:
			found = append(found, packages...)
		case reasons != nil:
			failed.Packages = append(failed.Packages, reasons...)
		case in.offer.known[r.String()] && r.Marker != "":
			// The marker is not true here.
		case in.refusal != "":
			failed.Add(r.String(), in.refusal)
		default:
			return in.install(ctx, resolver.Request{Requirements: reqs, Alone: alone})
		}
	}
	if err := failed.OrNil(); err != nil {
		return err
	}
	return in.add(found, alone)
}
