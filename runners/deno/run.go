package deno

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/jsparse"
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
	ctx, release := r.cfg.Cache.Hold(ctx)
	defer release()
	if err := r.install(ctx, j); err != nil {
		o, err := unavailable(err)
		return j.finish(ctx, o, err)
	}
	return r.attempt(ctx, j)
}

// attempt runs an installed job, again where its outcome shows how it could be loaded.
func (r *Runner) attempt(ctx context.Context, j *job) (*runners.Outcome, error) {
	defer func() { r.leases.fill(j.key) }()
	again := false
	for {
		end, err := j.execute(ctx, false)
		if err != nil {
			if ctx.Err() != nil {
				return runners.CancelledOutcome(), nil
			}
			return nil, err
		}
		o := end.outcome()
		if main := j.typedName(o); main != "" && j.unloadable(ctx, end) {
			j.main, j.script = main, main
			continue
		}
		if code := j.quotedCode(o); code != "" && j.unloadable(ctx, end) {
			req := j.req
			if req.Code = code; r.reads(j, req) && r.install(ctx, j) == nil {
				continue
			}
		}
		if !again && o.Status == runners.Failed && j.ready.dir != "" && !r.installer.complete(j.ready) && j.unloadable(ctx, end) {
			again = true // what another process has removed is fetched again
			if err := r.install(ctx, j); err != nil {
				o, err := unavailable(err)
				return j.finish(ctx, o, err)
			}
			continue
		}
		if named := j.destructured(o); named != nil && j.unloadable(ctx, end) {
			j.program = named
			continue
		}
		if name := j.unlisted(o); name != "" && j.unloadable(ctx, end) {
			r.installer.peers.Put(j.asked, append(slices.Clip(j.peers), name))
			if err := r.install(ctx, j); err != nil {
				o, err := unavailable(err)
				return j.finish(ctx, o, err)
			}
			continue
		}
		if plain := j.program.Valueless(); plain != nil && o.Status == runners.Failed && j.unloadable(ctx, end) {
			// Deno's message should be about the user's own text.
			j.program = plain
			continue
		}
		r.conclude(j, end, o)
		return o, nil
	}
}

// conclude completes the outcome of a program that is not run again.
func (r *Runner) conclude(j *job, end *ending, o *runners.Outcome) {
	end.release(o)
	o.Packages, o.Usage = append(o.Packages, j.ready.packages...), end.used
	r.reached(o, j.net, end.report.refused)
	j.placed(o)
	j.explain(o)
	switch {
	case end.runtimeFailed():
		r.codes.suspect(j.variant(), j.deps)
	case o.Status == runners.Succeeded || o.Status == runners.Failed:
		r.codes.used(j.variant(), j.deps, !j.ready.fresh)
	}
}

// typedName returns a name under which Deno compiles JavaScript that cannot be read
// and looks like TypeScript, else "".
func (j *job) typedName(o *runners.Outcome) string {
	if o.Status != runners.Failed || o.Error == nil || o.Error.Type != "SyntaxError" || typed(j.main) || !looksTyped(j.req.Code) {
		return ""
	}
	if name := withTypes(j.main); checkNames(j.req.Files, name) == nil {
		return name
	}
	return ""
}

// quotedCode returns the program in a text that cannot be read, "" if it has none.
func (j *job) quotedCode(o *runners.Outcome) string {
	if o.Status != runners.Failed || o.Error == nil || o.Error.Type != "SyntaxError" {
		return ""
	}
	if code := jsparse.Quoted(j.req.Code); code != j.req.Code {
		return code
	}
	return ""
}

// reads replaces the program of a job by that of another request, if that can be analysed.
func (r *Runner) reads(j *job, req runners.Request) bool {
	a, err := r.analyze(req)
	if err == nil {
		j.analysis, j.script, j.req = a, a.main, req
	}
	return err == nil
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
	if j.binary, err = r.binary(ctx, j.req.Progress); err != nil {
		return err
	}
	j.asked = j.deps.Module()
	j.peers, _ = r.installer.peers.Get(j.asked)
	j.ready, err = r.installer.install(ctx, j.binary, j.deps.With(j.peers), j.req.Progress)
	if err == nil {
		r.installer.wholes(j)
	}
	return err
}

// unnamed matches the message about a name that a module does not export. Of a
// CommonJS module Deno finds only names that its text shows.
var unnamed = regexp.MustCompile(`^The requested module '([^']+)' does not provide an export named '([\w$]+)'`)

// destructured returns the program with names imported as from CommonJS, or as those of
// types, if it could not be loaded for the lack of one, else nil.
func (j *job) destructured(o *runners.Outcome) *jsparse.Program {
	if o.Status != runners.Failed || o.Error == nil {
		return nil
	}
	if m := unnamed.FindStringSubmatch(o.Error.Message); m != nil && deps.Fetched(m[1]) {
		if m[2] == "default" {
			if all := j.program.Unexporting(m[1]); all != nil {
				return all
			}
			if named := j.program.Namespaced(m[1]); named != nil {
				return named
			}
			return j.program.Braced(m[1], func(name string) bool { return j.ready.exports(m[1], name) })
		}
		if typed(j.main) {
			if typeOnly := j.program.TypeOnly(m[1], m[2]); typeOnly != nil {
				return typeOnly
			}
		}
		return j.program.Destructured(m[1], m[2], typed(j.main))
	}
	return nil
}

// maxPeers bounds the packages that are installed because others of a program turned
// out to import them.
const maxPeers = 4

// unlisted returns the package that another one imports without one that it lists or
// the program names, if the program could not be loaded for the lack of it: an optional
// peer, such as react of a library that has parts for React. Otherwise it returns "".
func (j *job) unlisted(o *runners.Outcome) string {
	if o.Status != runners.Failed || o.Error == nil || len(j.peers) >= maxPeers || j.req.Locked {
		return ""
	}
	name := deps.Unlisted(o.Error.Message)
	if slices.Contains(j.peers, name) {
		return "" // it could not be installed
	}
	return name
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

// unloadable reports whether the program cannot be loaded. Its own claim is
// untrusted: it may have run. So it is loaded again in a process that evaluates
// nothing.
func (j *job) unloadable(ctx context.Context, end *ending) bool {
	claims := func(end *ending) bool {
		t := end.report.thrown
		return end.stopped == "" && end.signal == 0 && t != nil && t.escaped && t.load
	}
	if !claims(end) {
		return false
	}
	again, err := j.execute(ctx, true)
	return err == nil && claims(again)
}

// Warm fetches Deno and the packages, which are as in Request.Packages. Without
// packages it starts an idle process if the configuration allows one.
func (r *Runner) Warm(ctx context.Context, packages []string, progress runners.ProgressFunc) error {
	pinned, err := deps.ParsePackages(packages)
	if err != nil {
		return err
	}
	progress = progress.Serial()
	binary, err := r.binary(ctx, progress)
	if err != nil {
		return err
	}
	if len(pinned) == 0 {
		limits := runners.Limits{Memory: r.cfg.Memory}.WithDefaults()
		r.leases.begin(variant{binary: binary, memory: limits.Memory, ready: &prepared{}})
		return nil
	}
	a := analysis{native: r.cfg.Policy.FFI.Any(), starts: r.cfg.Policy.Run.Any(), pinned: pinned, program: jsparse.Plain("")}
	if err := a.resolve(nil); err != nil {
		return err
	}
	_, err = r.installer.install(ctx, binary, a.deps, progress)
	return err
}
