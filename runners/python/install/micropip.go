package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"coderunner/pyodide"
	"coderunner/runners"
	"coderunner/runners/python/requirement"
	"coderunner/runners/python/resolver"
)

// A program that uses micropip manages its packages itself, and what it installs
// decides the versions: `micropip.install("six<1.16")` followed by `import six`
// means that version.

// Micropip is an Installer, and what the running program may install.
type Micropip struct {
	*Installer
	Used    bool             // the program imports micropip
	imports []pyodide.Import // modules that may be installed when they are imported
	known   map[string]bool  // requirements that were prepared, as texts
	sets    []offered
	Offers  map[string]requirement.Requirement // by module: extras that may be installed when it is imported
	reasons map[string][]runners.PackageError  // why a requirement cannot be installed, by its text
}

// NewMicropip returns what a program of in's may install: nothing yet.
func NewMicropip(in *Installer) *Micropip {
	return &Micropip{
		Installer: in, known: map[string]bool{}, reasons: map[string][]runners.PackageError{}, Offers: map[string]requirement.Requirement{},
	}
}

// offered is a set of packages that go together.
type offered struct {
	packages map[string]resolver.Package
	extras   map[string][]string // that were prepared, by project
	alone    bool                // without what they need
}

// prepareAhead prepares the packages that a program's text installs and imports.
func (m *Micropip) prepareAhead(ctx context.Context, installs []pyodide.Install, missing []pyodide.Import) error {
	m.Used, m.imports = true, missing
	with := together(installs)
	must, may, _ := m.projects(missing)
	wanted := slices.Concat(with, m.Files.Requirements, must, may)
	skipped, err := m.prepareSet(ctx, resolver.Request{Optional: wanted})
	if err != nil {
		return err
	}
	// Contradicting requirements are meant one at a time, and one bad file fails
	// the whole set: so try each alone.
	for i, r := range wanted {
		nowhere := strings.HasPrefix(m.WhyNot(r.Name), resolver.NoSuchPackage)
		if !skipped[r.String()] || i >= len(with) && nowhere {
			continue
		}
		if _, err := m.prepareSet(ctx, resolver.Request{Requirements: []requirement.Requirement{r}}); err != nil {
			return err
		}
	}
	for _, i := range installs {
		if r, err := requirement.Parse(i.Requirement); err == nil && i.Alone {
			if _, err := m.prepareSet(ctx, resolver.Request{Requirements: []requirement.Requirement{r}, Alone: true}); err != nil {
				return err
			}
		}
	}
	return nil
}

// together returns the requirements installed with their dependencies. Malformed
// ones are left out: the program's call reports them.
func together(installs []pyodide.Install) (reqs []requirement.Requirement) {
	for _, i := range installs {
		if r, err := requirement.Parse(i.Requirement); err == nil && !i.Alone {
			reqs = append(reqs, r)
		}
	}
	return reqs
}

// prepareSet adds a set to what may be installed and skips requirements that
// cannot be.
func (m *Micropip) prepareSet(ctx context.Context, q resolver.Request) (skipped map[string]bool, err error) {
	reqs := slices.Concat(q.Requirements, q.Optional)
	if len(reqs) == 0 {
		return nil, nil
	}
	for _, r := range reqs {
		m.known[r.String()] = true
	}
	set, err := m.prepare(ctx, q)
	failed, ok := NotInstalled(err, reqs)
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
		set = &resolver.Set{} // invalid marker: the call reports it
	}
	skipped = map[string]bool{}
	for _, p := range set.Skipped {
		skipped[p.Name] = true
		m.reasons[p.Name] = []runners.PackageError{p}
	}
	if ok && len(reqs) == 1 { // another requirement may be the cause
		m.reasons[reqs[0].String()] = failed.Packages
	}
	m.skip(set.Skipped)
	begun := time.Now()
	err = m.Resolver.Compile(ctx, set.Packages, nil, m.Progress)
	if m.Spent(begun); err != nil {
		return nil, err
	}
	o := offered{packages: map[string]resolver.Package{}, extras: map[string][]string{}, alone: q.Alone}
	m.mu.Lock()
	for _, p := range set.Packages {
		o.packages[p.Name] = p
		delete(m.skipped, p.Name) // another version was skipped
	}
	m.mu.Unlock()
	for _, r := range reqs {
		if !skipped[r.String()] {
			o.extras[r.Name] = append(o.extras[r.Name], r.Extras...)
		}
	}
	m.sets = append(m.sets, o)
	return skipped, nil
}

// take returns the prepared packages that meet the requirements and agree with
// what is installed, false if no set does.
func (m *Micropip) take(reqs []requirement.Requirement, alone bool) ([]resolver.Package, bool) {
	for _, o := range m.sets {
		if found, ok := o.take(reqs); ok && o.alone == alone && !slices.ContainsFunc(found, m.contradicts) {
			return found, true
		}
	}
	return nil, false
}

// contradicts reports whether another version of p is installed.
func (m *Micropip) contradicts(p resolver.Package) bool {
	have, ok := m.Has(p.Name)
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

// Calls returns the host calls of the stand-in for micropip.
func (m *Micropip) Calls() map[string]pyodide.Call {
	return map[string]pyodide.Call{
		"micropip.install": {Do: m.callInstall, MaxArgument: 64 << 10, Waits: true},
		"micropip.list":    {Do: func(context.Context, json.RawMessage) (any, error) { return m.List(), nil }},
		"micropip.wanted":  {Do: m.callWanted},
		"micropip.import":  {Do: m.callImport, Waits: true},
		"extras.import":    {Do: m.callExtra},
	}
}

// callWanted returns the modules that the stand-in may have installed.
func (m *Micropip) callWanted(context.Context, json.RawMessage) (any, error) {
	names := []string{}
	for _, i := range m.imports {
		names = append(names, i.Name)
	}
	return names, nil
}

// callImport installs the package that has one of these modules. If it cannot,
// the import fails by itself.
func (m *Micropip) callImport(ctx context.Context, argument json.RawMessage) (any, error) {
	var name string
	if err := json.Unmarshal(argument, &name); err != nil {
		return nil, errors.New("a module's name must be a string")
	}
	i := slices.IndexFunc(m.imports, func(i pyodide.Import) bool { return i.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("the program does not import %s", name)
	}
	must, _, _ := m.projects([]pyodide.Import{{Name: name}})
	for _, r := range must {
		if found, ok := m.take([]requirement.Requirement{r}, false); ok {
			if err := m.add(found, false); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// callExtra installs the package that has a module of an extra.
func (m *Micropip) callExtra(_ context.Context, argument json.RawMessage) (any, error) {
	var name string
	if err := json.Unmarshal(argument, &name); err != nil || m.Offers[name].Name == "" {
		return nil, fmt.Errorf("%.100s is not prepared", argument)
	}
	if found, ok := m.take([]requirement.Requirement{m.Offers[name]}, false); ok {
		return nil, m.add(found, false)
	}
	return nil, nil
}

// maxInstall bounds the requirements of one call.
const maxInstall = 200

// callInstall installs packages for the running program. An error becomes the
// program's ValueError.
func (m *Micropip) callInstall(ctx context.Context, argument json.RawMessage) (any, error) {
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
		if p, have := m.Has(r.Name); have && !r.Allows(p.Version) {
			//lint:ignore ST1005 the words are micropip's
			return nil, fmt.Errorf("Requested '%s', but %s==%s is already installed", r, p.Name, p.Version)
		}
		if !m.satisfied(r) {
			reqs = append(reqs, r)
		}
	}
	err := m.installNow(ctx, reqs, !asked.Deps)
	if err != nil && errors.Is(context.Cause(ctx), pyodide.ErrWaitLimit) {
		return nil, fmt.Errorf("micropip.install: waited longer than the time limit (%v); list the packages in the argument packages (--package on the command line), whose installation is not counted", m.Timeout)
	}
	if missing, ok := NotInstalled(err, reqs); ok {
		var lines []string
		for _, p := range missing.Packages {
			lines = append(lines, p.Name+": "+p.Reason)
		}
		return nil, errors.New("Can't install\n" + strings.Join(lines, "\n"))
	}
	if err != nil {
		return nil, err
	}
	return m.List(), nil
}

// installNow installs packages for the running program, all of them or none:
// from what was prepared, or, if the policy lets it ask the index, from there.
func (m *Micropip) installNow(ctx context.Context, reqs []requirement.Requirement, alone bool) error {
	if found, ok := m.take(reqs, alone); ok {
		return m.add(found, alone)
	}
	// Their requirements may have been prepared in several sets.
	var found []resolver.Package
	failed := &runners.NotInstalledError{}
	for _, r := range reqs {
		packages, ok := m.take([]requirement.Requirement{r}, alone)
		reasons := m.reasons[r.String()]
		switch {
		case ok:
			found = append(found, packages...)
		case reasons != nil:
			failed.Packages = append(failed.Packages, reasons...)
		case m.known[r.String()] && r.Marker != "":
			// The marker is not true here.
		case m.WhyNot(r.Name) != "":
			failed.Add(r.String(), m.WhyNot(r.Name))
		case m.Refusal != "":
			failed.Add(r.String(), m.Refusal)
		default:
			return m.Install(ctx, resolver.Request{Requirements: reqs, Alone: alone})
		}
	}
	if err := failed.OrNil(); err != nil {
		return err
	}
	return m.add(found, alone)
}
