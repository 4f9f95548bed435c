package deno

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"coderunner/internal/netpolicy"
	"coderunner/internal/trace"
	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/ending"
	"coderunner/runners/deno/explain"
	"coderunner/runners/deno/install"
	"coderunner/runners/deno/process"
	"coderunner/runners/deno/program"

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
		return j.finish(ctx, err)
	}
	return r.attempt(ctx, j)
}

// attempt runs an installed job. What could not be loaded is loaded again where there is a
// remedy.
func (r *Runner) attempt(ctx context.Context, j *job) (*runners.Outcome, error) {
	defer func() { r.leases.Fill(j.key) }()
	if j.ready.Dir != "" && !r.installer.Complete(j.ready) { // another process has removed some of it
		if err := r.install(ctx, j); err != nil {
			return j.finish(ctx, err)
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
		o := end.Outcome()
		m := j.remedy(ctx, end, o)
		if m == nil {
			r.conclude(j, end, o)
			return o, nil
		}
		r.Log.Info("a program that cannot be loaded is loaded again", zap.String("remedy", m.name), zap.String("error", o.Error.Message))
		if err := m.change(ctx, r, j, o); err != nil {
			return j.finish(ctx, err)
		}
	}
}

// conclude completes the outcome of a program that is not run again.
func (r *Runner) conclude(j *job, end *ending.Ending, o *runners.Outcome) {
	end.Release(o)
	o.Packages, o.Usage = append(o.Packages, j.ready.Installed...), end.Used
	r.reached(o, j.net, end.Report.Refused)
	j.placed(o)
	j.explain(o)
	switch {
	case end.RuntimeFailed():
		r.codes.suspect(j.variant(), j.Deps)
	case j.restored: // all is made that the next could use
	case o.Status == runners.Succeeded || o.Status == runners.Failed:
		v := j.variant()
		r.codes.used(v, j.Deps, !j.ready.Fresh)
		r.leases.UsedEarly(v, j.early())
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
	defer trace.Begin("look for Deno and the packages")()
	var err error
	if j.binary, err = r.Binary(ctx, j.req.Progress); err != nil {
		return err
	}
	j.asked = j.Deps.Module()
	j.peers, _ = r.installer.Peers.Get(j.asked)
	j.ready, err = r.installer.Install(ctx, j.binary, j.Deps.With(j.peers), j.req.Progress)
	if err == nil {
		r.link(j)
	}
	return err
}

// link has the program and its files import from packages what these export.
func (r *Runner) link(j *job) {
	j.Program = r.linker.Link(j.ready.Dirs, j.Program, program.Typed(j.Main))
	for n, p := range j.Parsed {
		if changed := r.linker.Link(j.ready.Dirs, p, program.Typed(j.Files[n].Path)); changed != p {
			j.Files[n].Data = []byte(changed.Edited())
		}
	}
}

// finish returns the outcome of a run whose program did not start, by why it did not.
func (j *job) finish(ctx context.Context, err error) (*runners.Outcome, error) {
	o := runners.CancelledOutcome()
	if missing, ok := errors.AsType[*runners.NotInstalledError](err); ok {
		o = missing.Outcome()
	} else if ctx.Err() == nil {
		return nil, err
	}
	o.Usage.PrepareMS = time.Since(j.begun).Milliseconds()
	j.failed().NotInstalled(o)
	return o, nil
}

// useLock takes the packages' versions from the program's own lock. What the lock
// does not have cannot be installed.
func (j *job) useLock() error {
	if len(j.Deps.Targets) == 0 {
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
	j.Deps.Lock = text
	var failures []deps.Failure
	for _, t := range j.Deps.Targets {
		if !lock.Has(t) {
			failures = append(failures, deps.Failure{Target: t, Reason: "there is no package of this name and version in the program's lock"})
		}
	}
	j.Deps = j.Deps.Without(failures)
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
	a, err := program.None(r.Config.Policy, pinned)
	if err != nil {
		return err
	}
	_, err = r.installer.Install(ctx, binary, a.Deps, progress)
	return err
}

// failed returns the program for what explains its error.
func (j *job) failed() explain.Program {
	return explain.Program{Program: j.Program, Shown: j.Shown, Files: j.req.Files, Ready: j.ready}
}

// explain completes the error of the program.
func (j *job) explain(o *runners.Outcome) {
	j.ready.NotInstalled(o)
	j.failed().Explain(o)
}

// reached adds what the program contacted, and what Deno refused by itself as far as
// its message or the report shows it: the policy says whether it is true. A program
// without a network has said it itself where it prints the flag.
func (r *Runner) reached(o *runners.Outcome, n *netpolicy.Run, refused []string) {
	texts := []string{"", o.Stdout, o.Stderr}
	if o.Error != nil {
		texts[0] = o.Error.Message
	}
	all := strings.Join(texts, "\n")
	if n != nil {
		for _, after := range strings.Split(all, `Requires net access to "`)[1:] { // of these the guard sees nothing
			to, _, _ := strings.Cut(after, `"`)
			refused = append(refused, to)
		}
	} else {
		refused = slices.DeleteFunc(refused, func(to string) bool { return strings.Contains(all, "--allow-net="+to) })
		if len(refused) > 0 {
			n = r.Config.Policy.Network().NewRun(r.Config.Network)
		}
	}
	slices.Sort(refused)
	for _, to := range slices.Compact(refused) {
		n.Avoided(to)
	}
	o.Reached(n)
}

// placed tells the project what the program did not find, and the outcome's reader what was too
// large to copy.
func (j *job) placed(o *runners.Outcome) {
	if j.layout == nil {
		return
	}
	if o.Note == "" && (j.req.Session == nil || j.req.Session.Before == "") {
		o.Note = j.layout.Note
	}
	if o.Error == nil {
		return
	}
	const home = "/home/user" // stands for the working directory
	for n, quoted := range strings.FieldsFunc(o.Error.Message, func(r rune) bool { return strings.ContainsRune("'\"`", r) }) {
		if name := strings.TrimPrefix(quoted, "file://"); n > 0 && n < 20 {
			if !path.IsAbs(name) {
				name = path.Join(home, name)
			}
			j.req.Project.Looked(home, name, true)
		}
	}
}
