package resolver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"deps.dev/util/pypi"

	"coderunner/internal/lazyregexp"
	"coderunner/internal/order"
	"coderunner/runners/python/index"
	"coderunner/runners/python/lockfile"
	"coderunner/runners/python/requirement"
	"coderunner/runners/python/resolver/solver"
	"coderunner/runners/python/wheel"
)

// search is what one search for versions sees: the session, with the packages of the
// lock file that can be had.
type search struct {
	*session
	offers map[string]lockfile.Package
}

// maxProjects bounds the projects of one request.
const maxProjects = 500

// Project implements [solver.Source].
func (s *search) Project(ctx context.Context, name string) (*solver.Project, error) {
	p, err := s.project(ctx, name)
	if err != nil {
		return nil, err
	}
	out := &solver.Project{Error: p.err}
	if offer, ok := s.offers[name]; ok {
		if v, err := requirement.ParseVersion(offer.Version); err == nil {
			out.Offer = &solver.Release{Version: v, Text: offer.Version}
		}
	}
	type choice struct {
		solver.Release
		rank int
	}
	fits, yanked, unfit := map[string]choice{}, map[string]choice{}, maps.Clone(p.others) // the first two by canonical version
	pythons := map[string]bool{}                                                          // a project has thousands of files and few such texts
	for _, f := range order.Values(p.files) {
		v, err := requirement.ParseVersion(f.version)
		if err != nil {
			continue
		}
		fit, known := pythons[f.RequiresPython]
		if !known {
			fit = s.fitsPython(f.RequiresPython)
			pythons[f.RequiresPython] = fit
		}
		if !fit {
			unfit[f.version] = fmt.Sprintf("needs Python %s, this is %s", f.RequiresPython, s.Resolver.lock.Python)
			continue
		}
		into := fits
		if f.Yanked {
			into = yanked
		}
		key := wheel.CanonVersion(f.version) // 1.0 and 1.0.0 are one version
		if old, known := into[key]; !known || f.rank > old.rank {
			into[key] = choice{solver.Release{Version: v, Text: f.version, File: f.Filename, Day: day(p.days[f.version])}, f.rank}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(fits)) {
		out.Releases = append(out.Releases, fits[key].Release)
	}
	for _, key := range slices.Sorted(maps.Keys(yanked)) {
		out.Yanked = append(out.Yanked, yanked[key].Release)
	}
	for _, text := range slices.Sorted(maps.Keys(unfit)) {
		v, err := requirement.ParseVersion(text)
		if err != nil {
			continue
		}
		if _, known := fits[wheel.CanonVersion(text)]; !known {
			out.Unfit = append(out.Unfit, solver.Unfit{Version: v, Why: unfit[text], Day: day(p.days[text])})
		}
	}
	return out, nil
}

// day parses a date, which is zero if it is none.
func day(text string) time.Time {
	t, _ := time.Parse(time.DateOnly, text)
	return t
}

// fitsPython reports whether a Requires-Python allows this Python. What makes no
// sense does, as for pip.
func (r *Resolver) fitsPython(text string) bool {
	if text == "" {
		return true
	}
	c, err := requirement.ParseRange(text)
	v, err2 := requirement.ParseVersion(r.lock.Python)
	return err != nil || err2 != nil || c.Contains(v)
}

// project returns what the index has of a project.
func (s *session) project(ctx context.Context, name string) (*project, error) {
	s.mu.Lock()
	p, many := s.pages[name], len(s.pages) >= maxProjects
	s.mu.Unlock()
	switch {
	case p != nil:
		return p, nil
	case s.locked != nil && s.locked.SHA256[name] == nil:
		return &project{err: NoSuchPackage + " in " + s.locked.By}, nil
	case many:
		return &project{err: fmt.Sprintf("the request leads to more than %d projects", maxProjects)}, nil
	}
	found, err, _ := s.fetching.Do(name, func() (any, error) { return s.fetchProject(ctx, name) })
	p, _ = found.(*project)
	return p, err
}

// fetchProject asks the index for a project.
func (s *session) fetchProject(ctx context.Context, name string) (*project, error) {
	files, err := s.page(ctx, name)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	p := &project{}
	if err != nil {
		reason, expected := s.reason(err)
		if !expected {
			return nil, err
		}
		p.err = reason
	}
	if s.locked != nil && err == nil {
		files = slices.DeleteFunc(files, func(f index.File) bool { return !s.locked.allows(name, f.SHA256) })
		if len(files) == 0 {
			p.err = s.lockedElsewhere(name) + fmt.Sprintf("%s has no file of it with the SHA-256 that %s states, %s", hostOf(s.index), s.locked.By, strings.Join(s.locked.SHA256[name], " or "))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sortLocked(p, name, files)
	s.pages[name] = p
	return p, nil
}

// lockedElsewhere returns that a lock has Pyodide's own build of a package, if that
// is why no other file will do.
func (s *session) lockedElsewhere(name string) string {
	p, ok := s.lock.ByName[name]
	if !ok || !s.locked.allows(name, p.SHA256) {
		return ""
	}
	return fmt.Sprintf("%s was written where Pyodide's own build of %s %s could be fetched, and allows nothing else: write it anew here, or see to it that the build can be fetched; ", s.locked.By, name, p.Version)
}

// sortLocked separates the files that fit from the others.
func (s *session) sortLocked(p *project, name string, files []index.File) {
	p.files, p.others, p.days = map[string]candidate{}, map[string]string{}, map[string]string{}
	others, sdists := map[string]*rest{}, map[string]candidate{}
	note := func(version string) *rest {
		if others[version] == nil {
			others[version] = &rest{}
		}
		return others[version]
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Filename, ".whl") {
			_, version, err := pypi.SdistVersion(name, f.Filename)
			if err != nil || f.Yanked {
				continue
			}
			p.days[version] = f.Day
			note(version)
			if isSdist(f.Filename) && (sdists[version].Filename == "" || strings.HasSuffix(f.Filename, ".tar.gz")) {
				sdists[version] = candidate{File: f, version: version, rank: rankSdist}
			}
			continue
		}
		n, err := wheel.ParseName(f.Filename)
		if err != nil || n.Project != name {
			continue // another project's file, or not installable
		}
		p.days[n.Version] = f.Day
		how := s.fit(n)
		if s.costly[f.Filename] {
			how = fitness{note: "this platform that cannot be compiled"}
		}
		if !how.ok {
			note(n.Version).notes = append(note(n.Version).notes, how.note)
			continue
		}
		if _, twice := p.files[f.Filename]; !twice {
			p.files[f.Filename] = candidate{File: f, version: n.Version, rank: how.rank, strip: how.strip}
		}
	}
	for _, c := range s.buildable(name, sdists, others, slices.Collect(maps.Values(p.files))) {
		p.files[c.Filename] = c
		delete(others, c.version)
	}
	for version, r := range others {
		p.others[version] = describe(r.notes, s.unbuilt[name])
	}
}

// rest is what a version has instead of a fitting wheel.
type rest struct {
	notes []string // of wheels; none: it has only an sdist
}

// Requires implements [solver.Source]. It fetches the wheel, which is most likely
// needed anyway.
func (s *search) Requires(ctx context.Context, name string, r solver.Release) ([]requirement.Requirement, string, error) {
	if r.File == "" {
		requires, err := s.requiresOffered(ctx, name)
		return requires, "", err
	}
	pin, err := s.pin(name, r.File)
	if err != nil {
		return nil, "", err
	}
	m, err := s.metadata(ctx, pin)
	if ctx.Err() != nil {
		return nil, "", context.Cause(ctx)
	}
	if err != nil {
		reason, expected := s.reason(err)
		if !expected {
			return nil, "", err
		}
		if _, ok := errors.AsType[*fetchError](err); ok {
			s.unreachable.Store(true)
		}
		return nil, reason, nil
	}
	requires, err := applicable(name, m.RequiresDist)
	if err != nil {
		return nil, "its metadata cannot be understood: " + err.Error(), nil
	}
	return requires, "", nil
}

// requiresOffered returns what a package of the lock file requires: what the lock file
// has, and what its own metadata have for this platform, which the lock file may lack.
func (s *search) requiresOffered(ctx context.Context, name string) (requires []requirement.Requirement, err error) {
	for _, d := range s.offers[name].Depends {
		requires = append(requires, requirement.Requirement{Name: d})
	}
	pin, err := s.pin(name, "")
	if err != nil || pin.shared() {
		return requires, err
	}
	m, err := s.metadata(ctx, pin)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return requires, nil // installing it will say so
	}
	for _, text := range m.RequiresDist {
		own, err := applicable(name, []string{text})
		if err != nil {
			continue
		}
		r := own[0]
		if (!strings.Contains(text, r.Marker) || r.Name == timeZones || strings.Contains(r.Marker, "emscripten")) &&
			(s.locked == nil || s.locked.SHA256[r.Name] != nil) { // older locks do not have it
			requires = append(requires, r)
		}
	}
	return requires, nil
}

// onWindows is the part of a marker that is true on Windows only.
var onWindows = lazyregexp.New(`\b(?:sys_platform|platform_system|os_name)\s*==\s*(?:"(?:win32|Windows|nt)"|'(?:win32|Windows|nt)')`)

// notHere is the part of a marker that is false on Emscripten only.
var notHere = lazyregexp.New(`\bsys_platform\s*!=\s*(?:"emscripten"|'emscripten')`)

// withSockets are projects that leave out, on any Emscripten, what they need for
// sockets, since a browser has none.
var withSockets = map[string]bool{"httpx2": true}

// applicable parses the requirements of a project's metadata, and makes those that are
// written for other systems apply here, too: tzdata for Windows, since neither system
// has time zones of its own and packages name only Windows, and what wants sockets.
func applicable(project string, texts []string) ([]requirement.Requirement, error) {
	requires := make([]requirement.Requirement, len(texts))
	for i, text := range texts {
		text, _, _ = strings.Cut(text, " #")
		r, err := requirement.Parse(text)
		if err != nil {
			return nil, err
		}
		if r.Name == timeZones {
			r.Marker = onWindows.ReplaceAllString(r.Marker, `python_version >= "3"`)
		}
		if withSockets[project] {
			r.Marker = notHere.ReplaceAllString(r.Marker, `python_version >= "3"`)
		}
		requires[i] = r
	}
	return requires, nil
}

// timeZones is the project that has the data of module zoneinfo.
const timeZones = "tzdata"

func (s *session) metadata(ctx context.Context, p pin) (*wheel.Metadata, error) {
	path, err := s.wheelFile(ctx, p)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read wheel: %w", err)
	}
	defer f.Close()
	w, err := openWheel(f, p.wheelName(path))
	if err != nil {
		return nil, err
	}
	return &w.Metadata, nil
}
