package deno

import (
	"context"
	"errors"
	"fmt"
	"time"

	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/install"
	"coderunner/runners/deno/jsparse"
	"coderunner/runners/deno/process"

	"go.uber.org/zap"
)

// Run runs one program. See [runners.Runner].
func (r *Runner) Run(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
	if req.Session != nil {
		return r.continueSession(ctx, req)
	}
	j, err := r.job(req)
	if err != nil {
		return nil, err
	}
	ctx, release := r.Config.Cache.Hold(ctx)
	defer release()
	if err := r.install(ctx, j); err != nil {
		o, err := unavailable(err)
		return j.finish(ctx, o, err)
	}
	return r.attempt(ctx, j)
}

// attempt runs an installed job. What could not be loaded is loaded again where there is a
// remedy.
func (r *Runner) attempt(ctx context.Context, j *job) (*runners.Outcome, error) {
	defer func() { r.leases.Fill(j.key) }()
	if j.ready.Dir != "" && !r.installer.Complete(j.ready) { // another process has removed some of it
		if err := r.install(ctx, j); err != nil {
			o, err := unavailable(err)
			return j.finish(ctx, o, err)
		}
	}
	for {
		end, err := j.execute(ctx, false)
		if err != nil {
			if ctx.Err() != nil {
				return runners.CancelledOutcome(), nil
			}
			return nil, err
		}
		o := end.outcome()
		m := j.remedy(ctx, end, o)
		if m == nil {
			r.conclude(j, end, o)
			return o, nil
		}
		r.Log.Info("a program that cannot be loaded is loaded again", zap.String("remedy", m.name), zap.String("error", o.Error.Message))
		if err := m.change(ctx, r, j, o); err != nil {
			o, err := unavailable(err)
			return j.finish(ctx, o, err)
		}
	}
}

// conclude completes the outcome of a program that is not run again.
func (r *Runner) conclude(j *job, end *ending, o *runners.Outcome) {
	end.release(o)
	o.Packages, o.Usage = append(o.Packages, j.ready.Installed...), end.used
	r.reached(o, j.net, end.report.refused)
	j.placed(o)
	j.explain(o)
	switch {
	case end.runtimeFailed():
		r.codes.suspect(j.variant(), j.deps)
	case o.Status == runners.Succeeded || o.Status == runners.Failed:
		r.codes.used(j.variant(), j.deps, !j.ready.Fresh)
	}
}

// install fetches the runtime and the packages. The error is a
// *[runners.NotInstalledError] when packages cannot be installed.
func (r *Runner) install(ctx context.Context, j *job) error {
	if j.req.Locked {
		if err := j.useLock(); err != nil {
			return err
		}
	}
	var err error
	if j.binary, err = r.Binary(ctx, j.req.Progress); err != nil {
		return err
	}
	j.asked = j.deps.Module()
	j.peers, _ = r.installer.Peers.Get(j.asked)
	j.ready, err = r.installer.Install(ctx, j.binary, j.deps.With(j.peers), j.req.Progress)
	if err == nil {
		r.linker.link(j)
	}
	return err
}

// unavailable returns the Outcome for a *runners.NotInstalledError, or err.
func unavailable(err error) (*runners.Outcome, error) {
	if missing, ok := errors.AsType[*runners.NotInstalledError](err); ok {
		return missing.Outcome(), nil
	}
	return nil, err
}

// finish returns the outcome of a run whose program did not start.
func (j *job) finish(ctx context.Context, o *runners.Outcome, err error) (*runners.Outcome, error) {
	switch {
	case err != nil && ctx.Err() != nil:
		o = runners.CancelledOutcome()
	case err != nil:
		return nil, err
	}
	o.Usage.PrepareMS = time.Since(j.begun).Milliseconds()
	j.locatePackage(o)
	return o, nil
}

// useLock takes the packages' versions from the program's own lock. What the lock
// does not have cannot be installed.
func (j *job) useLock() error {
	if len(j.deps.Targets) == 0 {
		return nil
	}
	_, text, err := deps.CutLock(j.req.Code)
	switch {
	case err != nil:
		return install.BadLock(err)
	case text == nil:
		return runners.BadArgument("code", `has no lock: write one with "coderunner lock FILE".`)
	}
	lock, err := deps.ParseLock(text)
	if err != nil {
		return install.BadLock(fmt.Errorf("%w: %w", deps.ErrLock, err))
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

// Warm fetches Deno and the packages, which are as in Request.Packages. Without
// packages it starts an idle process if the configuration allows one.
func (r *Runner) Warm(ctx context.Context, packages []string, progress runners.ProgressFunc) error {
	pinned, err := deps.ParsePackages(packages)
	if err != nil {
		return err
	}
	progress = progress.Serial()
	binary, err := r.Binary(ctx, progress)
	if err != nil {
		return err
	}
	if len(pinned) == 0 {
		limits := runners.Limits{Memory: r.Config.Memory}.WithDefaults()
		r.leases.Begin(process.Variant{Binary: binary, Memory: limits.Memory, Ready: &process.Packages{}})
		return nil
	}
	a := analysis{native: r.Config.Policy.FFI.Any(), starts: r.Config.Policy.Run.Any(), pinned: pinned, program: jsparse.Plain("")}
	if err := a.resolve(nil); err != nil {
		return err
	}
	_, err = r.installer.Install(ctx, binary, a.deps, progress)
	return err
}
