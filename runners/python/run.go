package python

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	"coderunner/internal/machine/kernel"
	"coderunner/internal/notebook"
	"coderunner/pyodide"
	"coderunner/runners"
	"coderunner/runners/python/hostdirs"
	"coderunner/runners/python/pypi"
	"coderunner/runners/python/resolver"
	"coderunner/runners/python/snapshots"
)

// Run runs one program. See [runners.Runner].
func (r *Runner) Run(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
	j, err := r.job(req)
	if err != nil {
		return nil, err
	}
	ctx, release := r.cfg.Cache.Hold(ctx)
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
	if missing, ok := asNotInstalled(err, j.reqs); ok {
		o, err = j.notInstalled(ctx, missing), nil
	}
	if err != nil {
		return nil, err
	}
	o.Packages, o.Note = j.pk.list(), j.pk.older()
	prepared := j.pk.prepared()
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
	case j.pk.only && found.Problem != nil:
		return j.unparsable(found.Problem), nil
	}
	j.brings = len(found.Own) > 1 // its own file is one
	if err := j.installImports(ctx, found); err != nil {
		return nil, err
	}
	if err := j.installExtras(ctx, found); err != nil {
		return nil, err
	}
	if j.pk.only {
		return j.printed(runners.Succeeded, 0).Outcome, nil
	}
	j.chooseSnapshot(ctx, found)
	res, err := j.execute(ctx, found)
	if err != nil {
		return nil, err
	}
	o := j.outcome(ctx, res)
	o.Reached(j.net)
	return o, nil
}

// installImports installs the requirements in the files of the program's
// directory and the packages of the modules that it imports and lacks.
func (j *job) installImports(ctx context.Context, found *pyodide.Analysis) error {
	in := j.pk
	missing := in.missing(found.Imports)
	if i := slices.IndexFunc(missing, func(i pyodide.Import) bool { return i.Name == timeZones }); i >= 0 {
		if err := in.installTimeZones(ctx); err != nil {
			return err
		}
		missing = slices.Delete(missing, i, i+1)
	}
	if len(missing) == 0 && len(found.Installs) == 0 {
		return nil // requirements.txt is here to be read, not to be installed
	}
	if in.locked == nil && in.files.Hashes != nil {
		in.lockTo(in.files.Hashes)
	}
	if found.Micropip && !in.only {
		return j.pip.prepareAhead(ctx, found.Installs, missing)
	}
	// pip would install all, but the program may need only some.
	asked := slices.Concat(in.files.Requirements, together(found.Installs))
	if err := in.installOptional(ctx, asked); err != nil {
		return err
	}
	return in.installModules(ctx, in.missing(missing))
}

// chooseSnapshot looks for a snapshot with the program's imports to run on, unless
// a session has its own.
func (j *job) chooseSnapshot(ctx context.Context, found *pyodide.Analysis) {
	if j.live != nil || j.snapshot != nil {
		return
	}
	begun := time.Now()
	defer func() { j.pk.spent(begun) }()
	r := snapshots.Recipe{Mounts: j.pk.mounts()}
	for _, w := range found.Imports {
		if !w.Optional {
			r.Modules = append(r.Modules, w.Name)
		}
	}
	for _, m := range found.Members {
		if pkg, name, _ := strings.Cut(m, ":"); j.pk.importsMember(pkg, name) {
			r.Modules = append(r.Modules, m)
		}
	}
	for _, m := range r.Modules {
		if len(j.pk.installed) == 0 {
			break
		}
		for _, late := range pypi.Known().Late[m] { // only those that are there: versions differ
			if pkg, name, _ := strings.Cut(late, ":"); j.pk.importsMember(pkg, name) {
				r.Modules = append(r.Modules, late)
			}
		}
	}
	if len(r.Modules) > 0 && !j.brings && !j.pip.used {
		slices.Sort(r.Modules)
		z, release := j.engine.snapshots.Find(ctx, r, j.needs(), j.req.Limits.Timeout)
		if z != nil {
			j.snapshot, j.release = z, release
		}
		j.ahead = z == nil && !j.engine.snapshots.Builder.Failed(r.Key())
	}
}

func (j *job) needs() snapshots.Needs {
	return snapshots.Needs{Memory: j.req.Limits.Memory, Env: hostdirs.Environment(j.r.cfg.Policy)}
}

// errAnalysisLimit is the cause of an analysis that exceeds the time limit.
var errAnalysisLimit = errors.New("the program takes too long to parse")

// analyze parses the program, within the program's time limit.
func (j *job) analyze(ctx context.Context) (*pyodide.Analysis, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, j.req.Limits.Timeout, errAnalysisLimit)
	defer cancel()
	source := pyodide.Source{Code: j.req.Code, Name: shownName(j.req), Memory: j.req.Limits.Memory}
	source.Words = j.continued != nil && len(j.pk.current().Installed) > 0
	for _, f := range j.req.Files {
		if f.Asset {
			source.Files = append(source.Files, pyodide.File{Path: f.Path}) // its name may be a module's
			continue
		}
		if strings.HasSuffix(f.Path, ".ipynb") && strings.Contains(j.req.Code, "%run") {
			if code, _, _, err := notebook.Read(f.Data); err == nil {
				f.Path, f.Data = f.Path+".py", []byte(code)
			}
		}
		source.Files = append(append(source.Files, pyodide.File{Path: f.Path, Data: f.Data}), archived(f)...)
	}
	for _, own := range j.req.Own {
		source.Files = append(source.Files, pyodide.File{Path: own + ".py"})
	}
	source.Files = append(source.Files, j.sessionModules()...)
	return j.engine.rt.Analyze(ctx, source)
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
	if j.req.Misses {
		if err := j.procs.FS.WatchMisses(pyodide.Home); err != nil {
			return nil, err
		}
	}
	j.req.Progress.Report(runners.Progress{Phase: "run"})
	j.procs.Sockets = j.in.Sockets
	if j.live != nil {
		j.in.Sockets().Uncalled() // of an earlier call
	}
	unnote := j.procs.Note(j.procs.Main, j.in)
	ended := j.req.Signals.Pass(j.signal)
	res, left, err := j.procs.Run(ctx, max(j.left, 1), func(ctx context.Context) (*pyodide.Result, error) {
		return j.in.Run(ctx, pyodide.Program{
			Code:        j.req.Code,
			Filename:    shownName(j.req),
			Analysis:    found,
			Args:        j.req.Args,
			Dir:         j.req.Dir,
			Timeout:     max(j.left, 1),
			ResultLimit: int(min(j.req.Limits.Output, 1<<30)),
			Offered:     slices.Sorted(maps.Keys(j.pip.offers)),
			Session:     j.continued != nil,
		})
	})
	ended()
	unnote()
	j.uncalled = j.in.Sockets().Uncalled()
	if j.continued != nil {
		j.continued.ProcessesEnded = left
	}
	if err == nil {
		err = j.leave()
	}
	if j.continued != nil {
		err = errors.Join(err, j.keepSession(res, err))
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
		j.pk.spent(begun)
		return err
	}
	j.pk.spent(begun)
	j.pk.resolver, j.pk.lock = j.engine.resolver, j.engine.lock
	j.pk.refusal = j.engine.resolver.Refusal(j.r.cfg.Policy)
	if err := j.continueSession(ctx); err != nil {
		return err
	}
	return j.pk.install(ctx, resolver.Request{Requirements: j.reqs})
}
