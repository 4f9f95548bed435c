package python

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"coderunner/internal/machine/kernel"
	"coderunner/internal/trace"
	"coderunner/pyodide"
	"coderunner/runners"
	"coderunner/runners/python/install"
	"coderunner/runners/python/resolver"
)

// Run runs one program. See [runners.Runner].
func (r *Runner) Run(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
	j, err := r.job(req)
	if err != nil {
		return nil, err
	}
	ctx, release := r.hold(ctx)
	defer release()
	return j.do(ctx)
}

// do executes the job and returns its Outcome.
func (j *job) do(ctx context.Context) (*runners.Outcome, error) {
	begun := time.Now()
	o, err := j.run(ctx)
	if ctx.Err() != nil && (err != nil || o.Status == runners.Cancelled) {
		o, err = j.cancelled(), nil
	}
	if missing, ok := install.NotInstalled(err, j.reqs); ok {
		o, err = j.notInstalled(ctx, missing), nil
	}
	if lost, ok := errors.AsType[errLost](err); ok {
		o, err = j.lostOutcome(lost), nil
	}
	if err != nil {
		return nil, err
	}
	o.Packages, o.Note = j.pk.List(), j.pk.Older()
	prepared := j.pk.Prepared()
	o.Usage.PrepareMS = prepared.Milliseconds()
	o.Usage.RunMS = max(time.Since(begun)-prepared, 0).Milliseconds()
	return o, nil
}

// run analyses the program, installs what it needs, leases an interpreter and
// runs the program in it. Its error is a *[runners.NotInstalledError] when
// packages cannot be installed.
func (j *job) run(ctx context.Context) (*runners.Outcome, error) {
	defer j.letGo()
	if err := j.prepare(ctx); err != nil {
		return nil, err
	}
	begun := time.Now()
	found, err := j.analyze(ctx)
	j.left = j.req.Limits.Timeout - time.Since(begun)
	switch {
	case errors.Is(err, errAnalysisLimit):
		return j.timedOut(), nil
	case err != nil:
		return nil, err
	case j.pk.Only && found.Problem != nil:
		return j.unparsable(found.Problem), nil
	}
	j.brings = bringsModules(found.Own, shownName(j.req))
	if err := j.pip.Imports(ctx, found); err != nil {
		return nil, err
	}
	if err := j.pip.Extras(ctx, found); err != nil {
		return nil, err
	}
	if j.pk.Only {
		return j.printed(runners.Succeeded, 0).Outcome, nil
	}
	if err := j.chooseSnapshot(ctx, found); err != nil {
		return nil, err
	}
	res, err := j.execute(ctx, found)
	if err != nil {
		return nil, err
	}
	j.makeSnapshot(ctx)
	j.engine.compileRest(slices.Collect(maps.Values(j.pk.Current().Installed)))
	o := j.outcome(ctx, res)
	o.Reached(j.net)
	return o, nil
}

// bringsModules reports whether a program has modules of its own besides its file, by the names
// of its modules. The file and the directories that it is in are among them.
func bringsModules(own []string, file string) bool {
	parts := strings.Split(strings.TrimSuffix(file, path.Ext(file)), "/")
	return slices.ContainsFunc(own, func(name string) bool { return !slices.Contains(parts, name) })
}

// execute runs the program in an interpreter of its own.
func (j *job) execute(ctx context.Context, found *pyodide.Analysis) (*pyodide.Result, error) {
	if err := j.openHostDirs(); err != nil {
		return nil, err
	}
	if err := j.start(ctx); err != nil {
		return nil, err
	}
	if err := j.mountAll(); err != nil {
		return nil, err
	}
	if v := j.req.Project; v != nil {
		j.procs.FS.Missing(func(name string, opens bool) { v.Looked(pyodide.Home, name, opens) })
		defer j.procs.FS.Missing(nil)
	}
	j.req.Progress.Report(runners.Progress{Phase: "run"})
	j.procs.Sockets = j.in.Sockets
	if j.live != nil {
		j.in.Sockets().Uncalled() // of an earlier call
	}
	unnote := j.procs.Note(j.procs.Main, j.in)
	ended := j.req.Signals.Pass(j.signal)
	running := trace.Begin("the program")
	layingOut := j.layOutMeanwhile(ctx, found)
	res, left, err := j.procs.Run(ctx, max(j.left, 1), func(ctx context.Context) (*pyodide.Result, error) {
		run := j.in.Run
		if j.parked() {
			run = j.in.Unpark
		}
		return run(ctx, pyodide.Program{
			Code:        j.req.Code,
			Filename:    shownName(j.req),
			Analysis:    found,
			Args:        j.req.Args,
			Dir:         j.dir(),
			Beside:      j.beside(),
			Path:        j.path,
			Timeout:     max(j.left, 1),
			ResultLimit: int(min(j.req.Limits.Output, 1<<30)),
			Offered:     slices.Sorted(maps.Keys(j.pip.Offers)),
			Session:     j.continued != nil,
			Parks:       j.parks,
		})
	})
	_ = j.procs.Offer(nil) // what is left has no tools; it never fails
	running()
	layingOut()
	ended()
	unnote()
	j.uncalled = j.in.Sockets().Uncalled()
	if j.continued != nil {
		j.continued.ProcessesEnded = left
	}
	switch {
	case j.continued != nil:
		err = j.keepSession(res, err)
	case err == nil:
		err = j.leave()
	}
	return res, err
}

// unseen is how long the program may take to look for a signal. One that is in a long
// call of C code, such as NumPy's, does not.
const unseen = 2 * time.Second

// signal sends the program a signal. One that it cannot see ends it.
func (j *job) signal(s syscall.Signal) {
	main, pending := j.procs.Main, j.in.SignalPending()
	main.Signal(kernel.Signal(s))
	time.AfterFunc(unseen, func() {
		if pending() {
			main.Die(kernel.Signal(s))
		}
	})
}

// prepare opens the runtime and installs the packages that the request names.
func (j *job) prepare(ctx context.Context) (err error) {
	begun := time.Now()
	if j.engine, err = j.r.engine(ctx, j.req.Progress); err != nil {
		j.pk.Spent(begun)
		return err
	}
	j.pk.Spent(begun)
	j.pk.Resolver, j.pk.Lock = j.engine.resolver, j.engine.lock
	j.pk.Refusal = j.engine.resolver.Refusal(j.r.cfg.Policy)
	if err := j.continueSession(ctx); err != nil {
		return err
	}
	return j.pk.Install(ctx, resolver.Request{Requirements: j.reqs})
}
