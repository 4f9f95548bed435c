package resolver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"deps.dev/util/semver"

	"coderunner/internal/versions"
	"coderunner/runners"
	"coderunner/runners/python/requirement"
	"coderunner/runners/python/wheel"
)

// A version that has no wheel of any kind, as many old ones have not, is built
// from its sdist, by the sdist's own code: in an interpreter that has neither
// network nor files nor anybody's data, so that there is nothing to take or to
// change. What it makes is checked like any other wheel. What pins it is the
// sdist's digest.

// buildFormat changes whenever sdists must be built again.
const buildFormat = "1"

// maxSdist and maxBuildRequires bound an sdist's bytes and what its build asks for.
const (
	maxSdist         = 64 << 20
	maxBuildRequires = 50
)

// Sdist is a source distribution to be built.
type Sdist struct {
	Filename string
	Data     []byte
	// Require installs what the build requires and returns the trees for
	// site-packages.
	Require func(ctx context.Context, requirements []string) ([]fs.FS, error)
}

// BuildError is why an sdist cannot be built.
type BuildError struct{ Reason string }

func (e *BuildError) Error() string { return e.Reason }

// sdist reports whether the pin is to be built.
func (p pin) sdist() bool { return isSdist(p.Filename) && !p.shared() }

func (p pin) maxSize() int64 {
	if p.sdist() {
		return maxSdist
	}
	return maxWheel
}

// wheelName returns the name of the pin's wheel, whose file has the path.
func (p pin) wheelName(path string) string {
	if p.sdist() {
		return filepath.Base(path)
	}
	return p.Filename
}

func isSdist(filename string) bool {
	return strings.HasSuffix(filename, ".tar.gz") || strings.HasSuffix(filename, ".zip")
}

// refusedFile has the reason why an sdist cannot be built, in place of a wheel.
const refusedFile = "refused"

// wheelFile returns the path of a wheel's file, which is named as wheels are.
// It builds an sdist's.
func (s *session) wheelFile(ctx context.Context, p pin) (string, error) {
	if !p.sdist() {
		return s.download(ctx, p)
	}
	key := p.SHA256 + "-" + buildFormat + "-pyodide" + versions.PyodideVersion
	dir, err := s.cache.Dir(ctx, "sdist", key, func(ctx context.Context, dir string) error {
		name, data, err := s.build(ctx, p)
		if failed, ok := errors.AsType[*BuildError](err); ok {
			name, data, err = refusedFile, []byte(failed.Reason), nil
		}
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name), data, 0o644)
	})
	if err != nil {
		return "", err
	}
	list, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(list) == 1 {
		return strings.Join(list, ""), err
	}
	reason, err := os.ReadFile(filepath.Join(dir, refusedFile))
	if err != nil {
		return "", err
	}
	s.downloading.Lock()
	defer s.downloading.Unlock()
	s.unbuilt[p.Name] = string(reason)
	return "", &BuildError{string(reason)}
}

// build builds a wheel and checks that it is of the sdist's project and version
// and fits.
func (s *session) build(ctx context.Context, p pin) (name string, data []byte, err error) {
	path, err := s.download(ctx, p)
	if err != nil {
		return "", nil, err
	}
	s.progress(runners.Progress{Phase: "build", Item: p.Filename})
	sdist := Sdist{Filename: p.Filename, Require: s.buildRequires}
	if sdist.Data, err = os.ReadFile(path); err != nil {
		return "", nil, fmt.Errorf("read sdist: %w", err)
	}
	if name, data, err = s.trusted.Build(ctx, sdist); err != nil {
		return "", nil, err
	}
	n, err := wheel.ParseName(name)
	if err != nil || n.Project != p.Name || !wheel.SameVersion(n.Version, p.Version) || !s.fit(n).ok {
		return "", nil, &BuildError{fmt.Sprintf("its build made %.100q", name)}
	}
	return name, data, nil
}

// buildRequires prepares what a build requires, as wheels. Neither the program's
// lock nor its other packages bind it.
func (s *session) buildRequires(ctx context.Context, texts []string) ([]fs.FS, error) {
	if len(texts) > maxBuildRequires {
		return nil, fmt.Errorf("%d requirements", len(texts))
	}
	q := Request{Progress: s.progress, wheelsOnly: true}
	for _, text := range texts {
		r, err := requirement.Parse(text)
		if err != nil {
			return nil, err
		}
		q.Requirements = append(q.Requirements, r)
	}
	set, err := s.Prepare(ctx, q)
	if failed, ok := errors.AsType[*runners.NotInstalledError](err); ok {
		return nil, fmt.Errorf("%s: %s", failed.Packages[0].Name, failed.Packages[0].Reason)
	}
	if err != nil {
		return nil, err
	}
	var trees []string
	for _, p := range set.Packages {
		trees = append(trees, p.Tree)
	}
	return dirs(trees...), nil
}

// buildable returns the sdists that may stand for a wheel: those of versions
// without any, unless a newer version has compiled wheels, for then what is older
// was compiled, too.
func (s *session) buildable(name string, sdists map[string]candidate, others map[string]*rest, fitting []candidate) []candidate {
	if s.wheelsOnly || s.unbuilt[name] != "" {
		return nil
	}
	var found []candidate
	for version, c := range sdists {
		has := slices.ContainsFunc(fitting, func(f candidate) bool { return wheel.SameVersion(f.Version, version) })
		for v, r := range others {
			has = has || slices.ContainsFunc(r.notes, isPlatform) && semver.PyPI.Compare(v, version) >= 0
		}
		if !has {
			found = append(found, c)
		}
	}
	return found
}
