package deno

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/install"
	"coderunner/runners/deno/process"
)

// Lock resolves the packages of a program and writes them into it: versions into
// its import specifiers, and Deno's lock file into comments at its end. See
// [runners.Runner].
func (r *Runner) Lock(ctx context.Context, req runners.Request) (*runners.Locked, error) {
	var err error
	req.Locked = false
	if req.Code, _, err = deps.CutLock(req.Code); err != nil {
		return nil, install.BadLock(err)
	}
	j, lock, err := r.resolved(ctx, req)
	if err != nil {
		return nil, err
	}
	if lock == nil {
		return &runners.Locked{Text: req.Code}, nil
	}
	if text, err := r.pin(ctx, j, lock); err != nil {
		return nil, err
	} else if text != req.Code {
		req.Code = text
		if j, lock, err = r.resolved(ctx, req); err != nil {
			return nil, err
		}
	}
	return &runners.Locked{Text: deps.WithLock(req.Code, lock.Text), Packages: j.ready.Installed}, nil
}

// resolved installs the packages of a program and returns their lock, nil if
// there is none.
func (r *Runner) resolved(ctx context.Context, req runners.Request) (*job, *deps.LockFile, error) {
	j, err := r.job(req)
	if err == nil && !j.Program.Certain {
		var info *deps.Info
		if info, err = r.modules(ctx, j, req.Code); err == nil {
			j.Program.Imports = info.Imports()
			err = j.Resolve(j.req.Files)
		}
	}
	if err == nil {
		err = r.install(ctx, j)
	}
	if err != nil || !j.ready.Locked {
		return j, nil, err
	}
	lock, err := deps.ReadLock(filepath.Join(j.ready.Dir, process.LockName))
	return j, lock, err
}

// modules runs "deno info" on a program's text, without network.
func (r *Runner) modules(ctx context.Context, j *job, text string) (info *deps.Info, err error) {
	if j.binary, err = r.Binary(ctx, j.req.Progress); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(r.RunDirs.Path, "lock-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	main := filepath.Join(dir, filepath.FromSlash(j.Main))
	if err := errors.Join(os.MkdirAll(filepath.Dir(main), 0o700), os.WriteFile(main, []byte(text), 0o600)); err != nil {
		return nil, err
	}
	return r.installer.Info(ctx, install.Preparation{Binary: j.binary, Dir: dir, What: j.Main, Offline: true})
}

// pin returns the job's program with a lock's versions in its import specifiers.
// Deno's own parser finds them, one occurrence of each specifier at a time; no
// other byte changes.
func (r *Runner) pin(ctx context.Context, j *job, lock *deps.LockFile) (string, error) {
	text := j.req.Code
	for range maxRounds {
		info, err := r.modules(ctx, j, text)
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
			exact, err := lock.Pin(j.Deps, l.Specifier)
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
