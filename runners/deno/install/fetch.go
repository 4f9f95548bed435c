package install

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/process"
)

// fetch fetches everything that the module of a prepared directory imports.
func (i *Installation) fetch(ctx context.Context, dir string, locked, frozen bool) error {
	c := Preparation{
		Binary: i.binary, command: []string{"cache"}, imports: filepath.Join(dir, process.MapName), Dir: dir, What: process.ModuleName, frozen: frozen,
		downloaded: func(address string) {
			i.progress.Report(runners.Progress{Phase: "download", Item: path.Base(address)})
			i.fetched[deps.PackageOf(address)] = true
		},
	}
	if locked {
		c.lock = filepath.Join(dir, process.LockName)
	}
	if c.manifest = len(i.deps.Overrides)+len(i.instead) > 0 && !frozen; c.manifest {
		if err := i.override(dir); err != nil {
			return err
		}
	}
	message, err := "", error(nil)
	for range maxForgone {
		if _, message, err = i.deno(ctx, c); err != nil || message == "" || frozen || !i.Forgo(message) {
			break
		}
	}
	switch {
	case err != nil:
		return err
	case message == "" && c.manifest:
		return deps.WithoutWorkspace(c.lock)
	case message == "":
		return nil
	case i.deps.Lock != nil:
		return i.refused(message)
	}
	return i.blame(ctx, c, message)
}

// refill fetches the packages of a prepared directory again after they were
// removed from Deno's cache.
func (i *Installation) refill(ctx context.Context, p *Prepared) error {
	if p.Dir == "" || len(i.deps.Targets) == 0 {
		return nil
	}
	i.Stale(p.Dir)
	return i.fetch(ctx, p.Dir, p.Locked, p.Locked)
}

// maxBlamed bounds the targets that blame fetches one by one.
const maxBlamed = 8

// blame returns which targets cannot be installed, since "deno cache" reports only
// the first. "deno info" reports all that the registries do not have. For what it
// does not report, such as a damaged archive, up to maxBlamed targets are fetched
// one by one.
func (i *Installation) blame(ctx context.Context, c Preparation, message string) error {
	targets, e := i.deps.Targets, &deps.FailedError{}
	fail := func(t deps.Target, message string) {
		e.Failures = append(e.Failures, deps.Failure{Target: t, Reason: deps.Reason(t, message, i.Config.Offline)})
	}
	if len(targets) > 1 {
		asked := c
		asked.lock, asked.frozen = "", false
		info, err := i.Info(ctx, asked)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil {
			wrong := info.Errors()
			for _, t := range targets {
				switch text := wrong[t.Specifier]; {
				case text != "" && deps.Unreachable(message):
					fail(t, message)
				case text != "":
					fail(t, text)
				}
			}
		}
		if len(e.Failures) > 0 {
			return e
		}
	}
	if len(targets) > 1 && len(targets) <= maxBlamed {
		for _, t := range targets {
			_, message, err := i.deno(ctx, Preparation{Binary: i.binary, command: c.command, Dir: c.Dir, What: t.Specifier, downloaded: func(string) {}})
			if err != nil {
				return err
			}
			if message != "" {
				fail(t, message)
			}
		}
	}
	if len(e.Failures) == 0 { // there is one target, or they fail only together
		for _, t := range targets {
			fail(t, message)
		}
	}
	return e
}

func BadLock(err error) error {
	return runners.BadArgument("code", "has a %v; write it again with \"coderunner lock FILE\".", err)
}

// refused returns the error for packages that Deno could not prepare with a lock,
// which allows no others.
func (i *Installation) refused(message string) error {
	reason := deps.Reason(i.deps.Targets[0], message, i.Config.Offline)
	switch {
	case strings.Contains(message, "failed reading lockfile"):
		_, why, _ := strings.Cut(strings.TrimSuffix(reason, ")"), "' (") // after the file's name
		return BadLock(fmt.Errorf("%w: %s", deps.ErrLock, strings.TrimSuffix(why, ".")))
	case strings.Contains(message, "lockfile is out of date"):
		reason = "the program's lock does not have all that the program needs; write it again with \"coderunner lock FILE\""
	}
	return &runners.NotInstalledError{Packages: []runners.PackageError{{Name: i.deps.Summary(), Reason: reason}}}
}
