package resolver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"deps.dev/util/semver"

	"coderunner/internal/versions"
	"coderunner/runners"
	"coderunner/runners/python/wheel"
)

// A version that has no wheel of any kind, as many old ones have not, is built
// from its sdist, by the sdist's own code: in an interpreter that has neither
// network nor files nor anybody's data, so that there is nothing to take or to
// change. What it makes is checked like any other wheel. What pins it is the
// sdist's digest.

// buildFormat changes whenever sdists must be built again.
const buildFormat = "2"

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
	s.mu.Lock()
	defer s.mu.Unlock()
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
	sdist := Sdist{Filename: p.Filename, Require: s.require}
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

// buildable returns the sdists that may stand for a wheel: those of versions
// without any, unless a newer version has compiled wheels, for then what is older
// was compiled, too.
func (s *session) buildable(name string, sdists map[string]candidate, others map[string]*rest, fitting []candidate) []candidate {
	if s.wheelsOnly || s.unbuilt[name] != "" {
		return nil
	}
	have, compiled := map[string]bool{}, ""
	for _, f := range fitting {
		have[wheel.CanonVersion(f.version)] = true
	}
	for v, r := range others {
		if slices.ContainsFunc(r.notes, isPlatform) && (compiled == "" || semver.PyPI.Compare(v, compiled) > 0) {
			compiled = v
		}
	}
	var found []candidate
	for version, c := range sdists {
		if !have[wheel.CanonVersion(version)] && (compiled == "" || semver.PyPI.Compare(compiled, version) < 0) {
			found = append(found, c)
		}
	}
	return found
}
