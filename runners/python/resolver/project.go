package resolver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"deps.dev/util/pypi"
	"golang.org/x/sync/errgroup"

	"coderunner/runners/python/index"
	"coderunner/runners/python/requirement"
	"coderunner/runners/python/wheel"
)

// maxProjects bounds the projects of one request.
const maxProjects = 500

// callProject returns a project's files to the resolver script.
func (s *session) callProject(ctx context.Context, argument []byte) (any, error) {
	var name string
	if err := json.Unmarshal(argument, &name); err != nil || name == "" || wheel.Normalize(name) != name {
		return nil, fmt.Errorf("%s is not a normalised project name", argument)
	}
	if p := s.pages[name]; p != nil {
		return p, nil
	}
	if s.locked != nil && s.locked.SHA256[name] == nil {
		return &project{Error: NoSuchPackage + " in " + s.locked.By}, nil
	}
	if len(s.pages) >= maxProjects {
		return &project{Error: fmt.Sprintf("the request leads to more than %d projects", maxProjects)}, nil
	}
	files, err := s.page(ctx, name)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	p := &project{byFilename: map[string]candidate{}}
	if err != nil {
		reason, expected := s.reason(err)
		if !expected {
			return nil, err
		}
		p.Error = reason
	}
	if s.locked != nil && err == nil {
		files = slices.DeleteFunc(files, func(f index.File) bool { return !s.locked.allows(name, f.SHA256) })
		if len(files) == 0 {
			p.Error = s.lockedElsewhere(name) + fmt.Sprintf("%s has no file of it with the SHA-256 that %s states, %s", hostOf(s.index), s.locked.By, strings.Join(s.locked.SHA256[name], " or "))
		}
	}
	s.sort(p, name, files)
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

// sort separates the files that fit from the others.
func (s *session) sort(p *project, name string, files []index.File) {
	others, sdists := map[string]*rest{}, map[string]candidate{}
	note := func(version string) *rest {
		if others[version] == nil {
			others[version] = &rest{}
		}
		return others[version]
	}
	p.Days = map[string]string{}
	for _, f := range files {
		if !strings.HasSuffix(f.Filename, ".whl") {
			_, version, err := pypi.SdistVersion(name, f.Filename)
			if err != nil || f.Yanked {
				continue
			}
			p.Days[version] = f.Day
			note(version)
			if isSdist(f.Filename) && (sdists[version].Filename == "" || strings.HasSuffix(f.Filename, ".tar.gz")) {
				sdists[version] = candidate{Filename: f.Filename, Version: version, RequiresPython: f.RequiresPython, Rank: rankSdist, file: f}
			}
			continue
		}
		n, err := wheel.ParseName(f.Filename)
		if err != nil || n.Project != name {
			continue // another project's file, or not installable
		}
		p.Days[n.Version] = f.Day
		how := s.fit(n)
		if s.costly[f.Filename] {
			how = fitness{note: "this platform that cannot be compiled"}
		}
		if !how.ok {
			note(n.Version).notes = append(note(n.Version).notes, how.note)
			continue
		}
		c := candidate{
			Filename: f.Filename, Version: n.Version, RequiresPython: f.RequiresPython,
			Yanked: f.Yanked, Rank: how.rank, file: f, strip: how.strip,
		}
		if _, twice := p.byFilename[f.Filename]; !twice {
			p.byFilename[f.Filename] = c
			p.Files = append(p.Files, c)
		}
	}
	for _, c := range s.buildable(name, sdists, others, p.Files) {
		p.byFilename[c.Filename] = c
		p.Files = append(p.Files, c)
		delete(others, c.Version)
	}
	p.Others = map[string]string{}
	for version, r := range others {
		p.Others[version] = describe(r.notes, s.unbuilt[name])
	}
}

// rest is what a version has instead of a fitting wheel.
type rest struct {
	notes []string // of wheels; none: it has only an sdist
}

// description is the part of a wheel's metadata that the resolver needs.
type description struct {
	Error    string   `json:"error,omitempty"`
	Requires []string `json:"requires"`
	Extras   []string `json:"extras"`
}

// callMetadata returns a wheel's requirements to the resolver script. It fetches
// the wheel, which is most likely needed anyway.
func (s *session) callMetadata(ctx context.Context, argument []byte) (any, error) {
	var which struct{ Project, Filename string }
	if err := json.Unmarshal(argument, &which); err != nil {
		return nil, fmt.Errorf("a wheel is {project, filename}: %w", err)
	}
	pin, err := s.pin(which.Project, which.Filename)
	if err != nil {
		return nil, err
	}
	m, err := s.metadata(ctx, pin)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		reason, expected := s.reason(err)
		if !expected {
			return nil, err
		}
		if _, ok := errors.AsType[*fetchError](err); ok {
			s.unreachable = true
		}
		return description{Error: reason}, nil
	}
	return description{Requires: applicable(pin.Name, m.RequiresDist), Extras: m.ProvidesExtra}, nil
}

// callPlatform returns, for packages of the lock file, the requirements that their
// own metadata have for this platform, which the lock file may lack. It fetches
// them, which are most likely needed anyway.
func (s *session) callPlatform(ctx context.Context, argument []byte) (any, error) {
	var names []string
	if err := json.Unmarshal(argument, &names); err != nil {
		return nil, fmt.Errorf("names of packages: %w", err)
	}
	found := make([][]string, len(names))
	var g errgroup.Group
	g.SetLimit(4)
	for i, name := range names {
		g.Go(func() error {
			pin, err := s.pin(name, "")
			if err != nil || pin.shared() {
				return err
			}
			m, err := s.metadata(ctx, pin)
			if err != nil {
				return nil // installing it will say so
			}
			for j, text := range applicable(name, m.RequiresDist) {
				changed := text != m.RequiresDist[j]
				if r, err := requirement.Parse(text); err == nil && (changed || r.Name == timeZones || strings.Contains(r.Marker, "emscripten")) &&
					(s.locked == nil || s.locked.SHA256[r.Name] != nil) { // older locks do not have it
					found[i] = append(found[i], text)
				}
			}
			return nil
		})
	}
	err := g.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return found, err
}

// onWindows is the part of a marker that is true on Windows only.
var onWindows = regexp.MustCompile(`\b(?:sys_platform|platform_system|os_name)\s*==\s*(?:"(?:win32|Windows|nt)"|'(?:win32|Windows|nt)')`)

// notHere is the part of a marker that is false on Emscripten only.
var notHere = regexp.MustCompile(`\bsys_platform\s*!=\s*(?:"emscripten"|'emscripten')`)

// withSockets are projects that leave out, on any Emscripten, what they need for
// sockets, since a browser has none.
var withSockets = map[string]bool{"httpx2": true}

// applicable makes requirements of a project's metadata that are written for other
// systems apply here, too: tzdata for Windows, since neither system has time zones of
// its own and packages name only Windows, and what wants sockets.
func applicable(project string, requires []string) []string {
	requires = slices.Clone(requires)
	for i, text := range requires {
		r, err := requirement.Parse(text)
		if err != nil || r.Marker == "" {
			continue
		}
		marker := r.Marker
		if r.Name == timeZones {
			marker = onWindows.ReplaceAllString(marker, `python_version >= "3"`)
		}
		if withSockets[project] {
			marker = notHere.ReplaceAllString(marker, `python_version >= "3"`)
		}
		if marker != r.Marker {
			r.Marker = marker
			requires[i] = r.String()
		}
	}
	return requires
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
