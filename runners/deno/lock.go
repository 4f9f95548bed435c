package deno

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"coderunner/runners"
	"coderunner/runners/deno/deps"
)

// Lock prepares what the program of a request imports, as Run would, but does
// not run it, and gives the program with Deno's lock file in it: all packages,
// also those that packages need, with version and digest. See [runners.Runner].
func (r *Runner) Lock(ctx context.Context, req runners.Request) (*runners.Locked, error) {
	var err error
	req.Locked = false
	if req.Code, _, err = deps.CutLock(req.Code); err != nil {
		return nil, badLock(err)
	}
	j, err := r.job(req)
	if err != nil {
		return nil, err
	}
	if err := j.install(ctx); err != nil {
		return nil, err
	}
	locked := &runners.Locked{Text: req.Code, Packages: j.ready.packages}
	if !j.ready.locked {
		return locked, nil
	}
	_, lock, err := deps.ReadLock(filepath.Join(j.ready.dir, lockName))
	if err != nil {
		return nil, err
	}
	locked.Text = deps.WithLock(req.Code, lock)
	return locked, nil
}

// useLock has the program's own lock decide on its packages. What the lock does
// not have cannot be installed.
func (j *job) useLock() error {
	if len(j.deps.Targets) == 0 {
		return nil
	}
	_, text, err := deps.CutLock(j.req.Code)
	switch {
	case err != nil:
		return badLock(err)
	case text == nil:
		return runners.BadArgument("code", `has no lock: write one with "coderunner lock FILE".`)
	}
	lock, err := deps.ParseLock(text)
	if err != nil {
		return badLock(fmt.Errorf("%w: %w", deps.ErrLock, err))
	}
	j.deps.Lock = text
	var failures []deps.Failure
	for _, t := range j.deps.Targets {
		if !lock.Has(t) {
			failures = append(failures, deps.Failure{Target: t, Reason: "there is no package of this name and version in the program's lock"})
		}
	}
	j.deps = j.deps.Without(failures)
	return nil
}

func badLock(err error) error {
	return runners.BadArgument("code", "has a lock, but %v; write it again with \"coderunner lock FILE\".", err)
}

// compare compares the lock's digests with those that the registry had when the
// packages were fetched. Deno does so itself, but only with what it fetches.
func (r *Runner) compare(lock *deps.LockFile) error {
	e := &runners.NotInstalledError{}
	for _, p := range lock.Packages() {
		if p.Source != "npm" {
			continue
		}
		switch have, err := r.registryDigest(p.Name, p.Version); {
		case err != nil:
			return fmt.Errorf("compare %s with the lock: %w", p.Name, err)
		case have != p.Integrity:
			e.Add(p.Name, "the lock has another digest of it than the registry")
		}
	}
	return e.OrNil()
}

// maxRegistryFile bounds what Deno keeps of a package's description, in bytes.
const maxRegistryFile = 256 << 20

// registryDigest is the digest of a version of an npm package, as a lock file
// has it: SHA-1 in hexadecimal for packages that have no other.
func (r *Runner) registryDigest(name, version string) (string, error) {
	f, err := os.Open(filepath.Join(r.registryDir(), packagePath(name), "registry.json"))
	if err != nil {
		return "", err
	}
	defer f.Close()
	var about struct {
		Versions map[string]struct {
			Dist struct{ Integrity, Shasum string } `json:"dist"`
		} `json:"versions"`
	}
	if err := json.NewDecoder(io.LimitReader(f, maxRegistryFile)).Decode(&about); err != nil {
		return "", fmt.Errorf("read %s: %w", f.Name(), err)
	}
	v, ok := about.Versions[version]
	if !ok {
		return "", fmt.Errorf("%s has no version %s", f.Name(), version)
	}
	return cmp.Or(v.Dist.Integrity, v.Dist.Shasum), nil
}

// refused says why Deno could not prepare packages out of a lock: nothing is
// asked of the registry that the lock does not have.
func (r *Runner) refused(d deps.Dependencies, message string) error {
	reason := deps.Reason(d.Targets[0], message, r.cfg.Offline)
	switch {
	case strings.Contains(message, "failed reading lockfile"):
		_, why, _ := strings.Cut(strings.TrimSuffix(reason, ")"), "' (") // after the file's name
		return badLock(fmt.Errorf("%w: %s", deps.ErrLock, strings.TrimSuffix(why, ".")))
	case strings.Contains(message, "lockfile is out of date"):
		reason = "the program's lock does not have all that the program needs; write it again with \"coderunner lock FILE\""
	}
	return &runners.NotInstalledError{Packages: []runners.PackageError{{Name: d.Summary(), Reason: reason}}}
}
