package deno

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/jsparse"
)

// extensions are those of files that Deno runs.
var extensions = []string{".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"}

// edited are the extensions of programs that get edits: modules without tags.
var edited = []string{".js", ".mjs", ".ts", ".mts"}

// job is one run in progress.
type job struct {
	r       *Runner
	req     runners.Request
	pinned  []deps.Package
	main    string // the program's name in the working directory
	shown   string // its name in tracebacks
	program *jsparse.Program
	deps    deps.Dependencies
	binary  string
	ready   *prepared
	begun   time.Time
	stdin   stdin
	left    time.Duration // for all processes of the run together
	lot     *lot          // of its process, nil if that is not pooled

	fresh bool // do not take an idle process
}

// Run runs one program. See [runners.Runner].
func (r *Runner) Run(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
	j, err := r.job(req)
	if err != nil {
		return nil, err
	}
	if err := j.install(ctx); err != nil {
		o, err := unavailable(err)
		return j.finish(ctx, o, err)
	}
	defer func() { r.leases.fill(j.lot) }()
	for {
		end, err := j.execute(ctx, false)
		if err != nil {
			if ctx.Err() != nil {
				return cancelled(), nil
			}
			return nil, err
		}
		o := end.outcome()
		if o.Status == runners.Failed && j.program.HasEdits() && j.unloadable(ctx, end) {
			// Deno's message should be about the user's own text.
			j.program = jsparse.Plain(req.Code)
			continue
		}
		o.Packages, o.Usage = append(o.Packages, j.ready.packages...), end.used
		j.ready.notInstalled(o)
		switch {
		case end.runtimeFailed():
			r.codes.suspect(j.variant(), j.deps)
		case o.Status == runners.Succeeded || o.Status == runners.Failed:
			r.codes.used(j.variant(), j.deps, !j.ready.fresh)
		}
		return o, nil
	}
}

// job checks a request and finds its program's imports.
func (r *Runner) job(req runners.Request) (*job, error) {
	if err := req.Check(); err != nil {
		return nil, err
	}
	req.Limits = req.Limits.WithDefaults()
	req.Progress = req.Progress.Serial()
	j := &job{r: r, req: req, begun: time.Now(), stdin: stdin{r: req.Stdin}, left: req.Limits.Timeout}
	var err error
	if err = j.name(); err != nil {
		return nil, err
	}
	if err = checkNames(req.Files, j.main); err != nil {
		return nil, err
	}
	if j.pinned, err = deps.ParsePackages(req.Packages); err != nil {
		return nil, err
	}
	if slices.Contains(edited, path.Ext(j.main)) {
		j.program = jsparse.ParseMain(req.Code, deps.Fetched)
	} else {
		j.program = jsparse.Parse(req.Code)
	}
	return j, j.depend()
}

// depend finds what the job's program and its files import.
func (j *job) depend() (err error) {
	j.deps, err = dependencies(j.req.Files, deps.Module{Path: j.main, Imports: j.program.Imports}, j.pinned)
	return err
}

// dependencies returns what a program and its files import.
func dependencies(files []runners.File, main deps.Module, pinned []deps.Package) (deps.Dependencies, error) {
	project, err := deps.ReadProject(files, main.Path)
	if err != nil {
		return deps.Dependencies{}, err
	}
	modules := []deps.Module{main}
	for _, file := range files {
		if slices.Contains(extensions, path.Ext(file.Path)) {
			modules = append(modules, deps.Module{Path: file.Path, Imports: jsparse.Parse(string(file.Data)).Imports})
		}
	}
	return deps.Resolve(modules, project, pinned)
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`)

// name chooses the program's file name.
func (j *job) name() error {
	base := map[runners.Language]string{runners.JavaScript: "main.js", runners.TypeScript: "main.ts"}[j.req.Language]
	if base == "" {
		return runners.BadArgument("language", "is %q, which Deno does not run: use javascript or typescript.", j.req.Language)
	}
	j.main, j.shown = base, base
	if j.req.Filename == "" {
		return nil
	}
	j.shown = path.Base(filepath.ToSlash(j.req.Filename))
	switch ext := path.Ext(j.shown); {
	case !slices.Contains(extensions, ext): // Deno would not know what it is
	case plainName.MatchString(j.shown):
		j.main = j.shown
	default:
		j.main = "main" + ext
	}
	return nil
}

// install fetches the runtime and the packages. The error is a
// *[runners.NotInstalledError] when packages cannot be installed.
func (j *job) install(ctx context.Context) error {
	if j.req.Locked {
		if err := j.useLock(); err != nil {
			return err
		}
	}
	var err error
	if j.binary, err = j.r.binary(ctx, j.req.Progress); err != nil {
		return err
	}
	j.ready, err = j.r.install(ctx, j.binary, j.deps, j.req.Progress)
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
		o = cancelled()
	case err != nil:
		return nil, err
	}
	o.Usage.PrepareMS = time.Since(j.begun).Milliseconds()
	return o, nil
}

func cancelled() *runners.Outcome {
	return &runners.Outcome{
		Status: runners.Cancelled, ExitCode: killedCode, Packages: []runners.Package{},
		Error: &runners.Error{Type: "Cancelled", Message: "the run was cancelled"},
	}
}
