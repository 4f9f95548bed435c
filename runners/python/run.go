package python

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"coderunner/internal/versions"
	"coderunner/pyodide"
	"coderunner/runners"
	"coderunner/runners/python/hostdirs"
	"coderunner/runners/python/requirement"
	"coderunner/runners/python/resolver"
)

// job is one run on its way.
type job struct {
	r      *Runner
	engine *engine
	req    runners.Request
	reqs   []requirement.Requirement
	stdout *runners.Capture
	stderr *runners.Capture
	in     *pyodide.Interp // nil before start

	pk       *installer        // of its packages
	pip      *micropip         // what the running program may install
	brings   bool              // program has own modules, which may shadow packages'
	left     time.Duration     // of the time limit, after the analysis
	snapshot *pyodide.Snapshot // the snapshot to run on, nil for the plain one

	shown        runners.Displays
	files        []runners.LeftFile // that the program left
	filesOmitted int
}

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
		o, err = j.notInstalled(missing), nil
	}
	if err != nil {
		return nil, err
	}
	o.Packages = j.pk.list()
	prepared := j.pk.prepared()
	o.Usage.PrepareMS = prepared.Milliseconds()
	o.Usage.RunMS = max(time.Since(begun)-prepared, 0).Milliseconds()
	return o, nil
}

// job checks a request and finds the requirements that can be known before the
// program is parsed.
func (r *Runner) job(req runners.Request) (*job, error) {
	if req.Language != runners.Python {
		return nil, runners.BadArgument("language", "is %q, which Python does not run: use python.", req.Language)
	}
	req.Limits = req.Limits.WithDefaults()
	req.Progress = req.Progress.Serial()
	if err := req.Check(); err != nil {
		return nil, err
	}
	reqs, err := parseAll(req.Packages)
	if err != nil {
		return nil, err
	}
	script, err := requirement.ParseScript(req.Code)
	if err == nil {
		err = script.CheckPython(versions.CPythonVersion)
	}
	if err != nil {
		return nil, runners.BadArgument("code", "cannot be run: %v.", err)
	}
	for _, text := range script.Dependencies {
		d, err := requirement.Parse(text)
		if err != nil {
			return nil, runners.BadArgument("code", "has a script block with a dependency that cannot be read: %v.", err)
		}
		reqs = append(reqs, d)
	}
	locked, err := lockOf(req, script)
	if err != nil {
		return nil, err
	}
	files, err := requirement.ReadFiles(fileReader(req.Files))
	if err != nil {
		return nil, runners.BadArgument("files", "have requirements that cannot be read: %v.", err)
	}
	pk := &installer{
		progress: req.Progress, code: req.Code, files: files, locked: locked, timeout: req.Limits.Timeout,
		installed: map[string]resolver.Package{}, skipped: map[string]string{},
	}
	j := &job{r: r, req: req, reqs: reqs, pk: pk, pip: newMicropip(pk)}
	j.stdout, j.stderr = req.Captures()
	return j, nil
}

// fileReader returns a function that returns the contents of a file, or nil.
func fileReader(files []runners.File) func(path string) []byte {
	return func(path string) []byte {
		i := slices.IndexFunc(files, func(f runners.File) bool { return f.Path == path })
		if i < 0 {
			return nil
		}
		return append([]byte{}, files[i].Data...)
	}
}

// run analyses the program, installs what it needs, leases an interpreter and
// runs the program in it. Its error is a *[runners.NotInstalledError] when
// packages cannot be installed.
func (j *job) run(ctx context.Context) (*runners.Outcome, error) {
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
	release := j.chooseSnapshot(ctx, found)
	defer release()
	res, err := j.execute(ctx, found)
	if err != nil {
		return nil, err
	}
	return j.outcome(res), nil
}

// errAnalysisLimit is the cause of an analysis that exceeds the time limit.
var errAnalysisLimit = errors.New("the program takes too long to parse")

// analyze parses the program, within the program's time limit.
func (j *job) analyze(ctx context.Context) (*pyodide.Analysis, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, j.req.Limits.Timeout, errAnalysisLimit)
	defer cancel()
	source := pyodide.Source{Code: j.req.Code, Name: shownName(j.req.Filename), Memory: j.req.Limits.Memory}
	for _, f := range j.req.Files {
		source.Files = append(append(source.Files, pyodide.File(f)), archived(f)...)
	}
	return j.engine.rt.Analyze(ctx, source)
}

// execute runs the program in an interpreter of its own.
func (j *job) execute(ctx context.Context, found *pyodide.Analysis) (*pyodide.Result, error) {
	host, err := hostdirs.Open(j.r.cfg.Policy, j.r.cfg.Cache.Root())
	if err != nil {
		return nil, err
	}
	defer host.Close()
	if err := j.start(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if err := j.in.Close(); err != nil {
			j.r.log.Error("close an interpreter", zap.Error(err))
		}
	}()
	if err := j.mountAll(host); err != nil {
		return nil, err
	}
	j.req.Progress.Report(runners.Progress{Phase: "run"})
	res, err := j.in.Run(ctx, pyodide.Program{
		Code:        j.req.Code,
		Filename:    shownName(j.req.Filename),
		Analysis:    found,
		Args:        j.req.Args,
		Timeout:     max(j.left, 1),
		ResultLimit: int(min(j.req.Limits.Output, 1<<30)),
		Offered:     slices.Sorted(maps.Keys(j.pip.offers)),
	})
	if err == nil {
		j.leave()
	}
	return res, err
}

// calls returns what the program may ask the host for.
func (j *job) calls() map[string]pyodide.Call {
	calls := j.pip.calls()
	calls["display"] = pyodide.Call{MaxArgument: 2 * runners.MaxDisplay, Do: func(_ context.Context, argument json.RawMessage) (any, error) {
		var d struct {
			MIME, Data, Plain string
			Omitted           uint32
		}
		if err := json.Unmarshal(argument, &d); err != nil {
			return nil, errors.New("a display is an object of three strings")
		}
		if d.Omitted > 0 {
			j.shown.Omit(int(d.Omitted))
			return nil, nil
		}
		return nil, j.shown.Add(d.MIME, d.Data, d.Plain)
	}}
	return calls
}

// leave takes the files that the program left.
func (j *job) leave() {
	home, err := fs.Sub(j.in.Files(), pyodide.Home[1:])
	if err != nil {
		return // a constant name
	}
	given := append([]runners.File{{Path: shownName(j.req.Filename), Data: []byte(j.req.Code)}}, j.req.Files...)
	j.files, j.filesOmitted = runners.LeftFiles(home, given)
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
	return j.pk.install(ctx, resolver.Request{Requirements: j.reqs})
}

// start makes the interpreter j.in, which stays nil on error.
func (j *job) start(ctx context.Context) (err error) {
	begun := time.Now()
	defer func() { j.pk.spent(begun) }()
	env := hostdirs.Environment(j.r.cfg.Policy)
	env["LD_LIBRARY_PATH"] = sharedLibraries + ":" + pyodide.SitePackages // as upstream
	j.in, err = j.engine.rt.New(ctx, pyodide.Options{
		From:   j.snapshot,
		Memory: j.req.Limits.Memory,
		Stdin:  j.req.Stdin,
		Stdout: j.stdout,
		Stderr: j.stderr,
		Env:    env,
		Calls:  j.calls(),
	})
	return err
}

// mountAll mounts the program's files and packages. A snapshot with packages has
// those already.
func (j *job) mountAll(host *hostdirs.Dirs) error {
	begun := time.Now()
	defer func() { j.pk.spent(begun) }()
	if j.snapshot == nil {
		for _, m := range j.pk.mounts() {
			if err := j.in.Mount(m.Dir, m.Tree); err != nil {
				return err
			}
		}
	}
	for _, f := range j.req.Files {
		if err := j.in.WriteFile(f.Path, f.Data); err != nil {
			return err
		}
	}
	if err := j.writeProgram(); err != nil {
		return err
	}
	j.pk.show = func(p resolver.Package) error {
		m := packageMount(p)
		return j.in.Mount(m.Dir, m.Tree)
	}
	return host.Mount(j.in)
}

// writeProgram writes the program's file, which pytest, inspect and others read,
// unless the request has a file of that name.
func (j *job) writeProgram() error {
	name := shownName(j.req.Filename)
	if slices.ContainsFunc(j.req.Files, func(f runners.File) bool {
		return f.Path == name || strings.HasPrefix(f.Path, name+"/")
	}) {
		return nil
	}
	return j.in.WriteFile(name, []byte(j.req.Code))
}

// shownName returns the program's name in tracebacks.
func shownName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	if name == "" || strings.ContainsRune(name, 0) {
		return "main.py"
	}
	return name
}
