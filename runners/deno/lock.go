package deno

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"coderunner/runners"
)

// A program's lock is Deno's lock file, in comments at the program's end:
//
//	// /// deno.lock
//	// {
//	//   "version": "5",
//	…
//	// }
//	// ///
const (
	lockBegin = "// /// deno.lock"
	lockEnd   = "// ///"
)

// errLock is wrapped by errors about a lock that cannot be read.
var errLock = errors.New("the program's lock cannot be read")

// cutLock takes the lock out of a program. It gives the program without it, and
// nil if there is none.
func cutLock(code string) (text string, lock []byte, err error) {
	var rest, found strings.Builder
	inside, seen := false, false
	for line := range strings.Lines(code) {
		bare := strings.TrimRight(line, " \t\r\n")
		switch {
		case inside && bare == lockEnd:
			inside = false
		case inside:
			content, ok := strings.CutPrefix(bare, "//")
			if !ok {
				return "", nil, fmt.Errorf("%w: a line of it is no comment: %q", errLock, clip(bare, 80))
			}
			found.WriteString(strings.TrimPrefix(content, " ") + "\n")
		case bare == lockBegin && seen:
			return "", nil, fmt.Errorf("%w: there are two", errLock)
		case bare == lockBegin:
			inside, seen = true, true
		default:
			rest.WriteString(line)
		}
	}
	switch {
	case inside:
		return "", nil, fmt.Errorf("%w: it has no end (%s)", errLock, lockEnd)
	case !seen:
		return code, nil, nil
	case found.Len() > maxLock:
		return "", nil, fmt.Errorf("%w: it is larger than %d bytes", errLock, maxLock)
	}
	return rest.String(), []byte(found.String()), nil
}

// withLock puts a lock behind a program that has none.
func withLock(code string, lock []byte) string {
	var b strings.Builder
	b.WriteString(code)
	if code != "" && !strings.HasSuffix(code, "\n") {
		b.WriteString("\n")
	}
	b.WriteString(lockBegin + "\n")
	for line := range strings.Lines(strings.TrimSpace(string(lock))) {
		b.WriteString(strings.TrimRight("// "+line, " \r\n") + "\n")
	}
	b.WriteString(lockEnd + "\n")
	return b.String()
}

// Lock prepares what the program of a request imports, as Run would, but does
// not run it, and gives the program with Deno's lock file in it: all packages,
// also those that packages need, with version and digest. When they cannot be
// had, the outcome says so and the text is "".
func (r *Runner) Lock(ctx context.Context, req runners.Request) (text string, o *runners.Outcome, err error) {
	req.Locked = false
	if req.Code, _, err = cutLock(req.Code); err != nil {
		return "", nil, badLock(err)
	}
	j, err := r.job(req)
	if err != nil {
		return "", nil, err
	}
	if o, err := j.prepare(ctx); o != nil || err != nil {
		o, err = j.finish(o, err)
		return "", o, err
	}
	o = &runners.Outcome{Status: runners.Succeeded, Packages: j.ready.packages}
	if !j.ready.locked {
		return req.Code, o, nil
	}
	_, lock, err := readLock(filepath.Join(j.ready.dir, lockName))
	if err != nil {
		return "", nil, err
	}
	return withLock(req.Code, lock), o, nil
}

// useLock has the program's own lock decide on its packages. It gives a
// *notInstalled that names those that the lock does not have.
func (j *job) useLock() error {
	if len(j.deps.targets) == 0 {
		return nil
	}
	_, text, err := cutLock(j.req.Code)
	switch {
	case err != nil:
		return badLock(err)
	case text == nil:
		return &runners.RequestError{Argument: "code", Message: "code: the program has no lock; write one with \"coderunner lock FILE\"."}
	}
	lock, err := parseLock(text)
	if err != nil {
		return badLock(fmt.Errorf("%w: %w", errLock, err))
	}
	j.deps.lock = text
	e := &notInstalled{}
	for _, t := range j.deps.targets {
		p, ok := splitPackage(t.specifier)
		p.path = ""
		_, locked := lock.Specifiers[p.String()]
		if _, remote := lock.Remote[t.specifier]; !remote && !(ok && locked) {
			e.packages = append(e.packages, runners.PackageError{Name: t.asked, Reason: "there is no package of this name and version in the program's lock"})
		}
	}
	return e.orNil()
}

func badLock(err error) error {
	return &runners.RequestError{Argument: "code", Message: fmt.Sprintf("code: %v; write it again with \"coderunner lock FILE\".", err)}
}

// compare compares the lock's digests with those that the registry had when the
// packages were fetched. Deno does so itself, but only with what it fetches.
func (r *Runner) compare(lock *lockFile) error {
	e := &notInstalled{}
	for _, p := range lock.packages() {
		if p.Source != "npm" {
			continue
		}
		switch have, err := r.registryDigest(p.Name, p.Version); {
		case err != nil:
			return fmt.Errorf("compare %s with the lock: %w", p.Name, err)
		case have != p.Integrity:
			e.packages = append(e.packages, runners.PackageError{Name: p.Name, Reason: "the lock has another digest of it than the registry"})
		}
	}
	return e.orNil()
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
func (r *Runner) refused(d dependencies, message string) error {
	reason := r.reason(d.targets[0], message)
	switch {
	case strings.Contains(message, "failed reading lockfile"):
		_, why, _ := strings.Cut(strings.TrimSuffix(reason, ")"), "' (") // after the file's name
		return badLock(fmt.Errorf("%w: %s", errLock, strings.TrimSuffix(why, ".")))
	case strings.Contains(message, "lockfile is out of date"):
		reason = "the program's lock does not have all that the program needs; write it again with \"coderunner lock FILE\""
	}
	return &notInstalled{[]runners.PackageError{{Name: d.summary(), Reason: reason}}}
}
