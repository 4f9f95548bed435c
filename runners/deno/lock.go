package deno

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"coderunner/runners"
	"coderunner/runners/deno/deps"
)

// Lock resolves the packages of a program and writes them into it: versions into
// its import specifiers, and Deno's lock file into comments at its end. See
// [runners.Runner].
func (r *Runner) Lock(ctx context.Context, req runners.Request) (*runners.Locked, error) {
	var err error
	req.Locked = false
	if req.Code, _, err = deps.CutLock(req.Code); err != nil {
		return nil, badLock(err)
	}
	j, lock, err := r.resolved(ctx, req)
	if err != nil {
		return nil, err
	}
	if lock == nil {
		return &runners.Locked{Text: req.Code}, nil
	}
	if text, err := j.pin(ctx, lock); err != nil {
		return nil, err
	} else if text != req.Code {
		req.Code = text
		if j, lock, err = r.resolved(ctx, req); err != nil {
			return nil, err
		}
	}
	return &runners.Locked{Text: deps.WithLock(req.Code, lock.Text), Packages: j.ready.packages}, nil
}

// resolved installs the packages of a program and returns their lock, nil if
// there is none.
func (r *Runner) resolved(ctx context.Context, req runners.Request) (*job, *deps.LockFile, error) {
	j, err := r.job(req)
	if err == nil && !j.program.Certain {
		var info *deps.Info
		if info, err = j.info(ctx, req.Code); err == nil {
			j.program.Imports = info.Imports()
			err = j.depend()
		}
	}
	if err == nil {
		err = j.install(ctx)
	}
	if err != nil || !j.ready.locked {
		return j, nil, err
	}
	lock, err := deps.ReadLock(filepath.Join(j.ready.dir, lockName))
	return j, lock, err
}

// info runs "deno info" on a program's text, without network.
func (j *job) info(ctx context.Context, text string) (info *deps.Info, err error) {
	if j.binary, err = j.r.binary(ctx, j.req.Progress); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(j.r.runDirs.base, "lock-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, j.main), []byte(text), 0o600); err != nil {
		return nil, err
	}
	return j.r.info(ctx, preparation{binary: j.binary, dir: dir, what: j.main, offline: true})
}

// pin returns the job's program with a lock's versions in its import specifiers.
// Deno's own parser finds them, one occurrence of each specifier at a time; no
// other byte changes.
func (j *job) pin(ctx context.Context, lock *deps.LockFile) (string, error) {
	text := j.req.Code
	for range maxRounds {
		info, err := j.info(ctx, text)
		if err != nil {
			return "", err
		}
		literals, err := info.Literals(text)
		if err != nil {
			return "", runners.BadArgument("code", "cannot be read by Deno: %v.", err)
		}
		var b strings.Builder
		done := 0
		for _, l := range literals {
			exact, err := lock.Pin(j.deps, l.Specifier)
			if err != nil {
				return "", runners.BadArgument("code", "%v.", err)
			}
			b.WriteString(text[done:l.Start] + exact)
			done = l.End
		}
		b.WriteString(text[done:])
		if b.String() == text {
			return text, nil
		}
		text = b.String()
	}
	return text, nil
}

// maxRounds bounds the calls of "deno info" for a program that repeats specifiers.
// The occurrences that are left have their versions in the lock file only.
const maxRounds = 50

// useLock takes the packages' versions from the program's own lock. What the lock
// does not have cannot be installed.
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
	return runners.BadArgument("code", "has a %v; write it again with \"coderunner lock FILE\".", err)
}

// refused returns the error for packages that Deno could not prepare with a lock,
// which allows no others.
func (i *installation) refused(message string) error {
	reason := deps.Reason(i.deps.Targets[0], message, i.r.cfg.Offline)
	switch {
	case strings.Contains(message, "failed reading lockfile"):
		_, why, _ := strings.Cut(strings.TrimSuffix(reason, ")"), "' (") // after the file's name
		return badLock(fmt.Errorf("%w: %s", deps.ErrLock, strings.TrimSuffix(why, ".")))
	case strings.Contains(message, "lockfile is out of date"):
		reason = "the program's lock does not have all that the program needs; write it again with \"coderunner lock FILE\""
	}
	return &runners.NotInstalledError{Packages: []runners.PackageError{{Name: i.deps.Summary(), Reason: reason}}}
}
