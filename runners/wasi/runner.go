package wasi

import (
	"context"
	"errors"

	"coderunner/internal/machine/memfs"
	"coderunner/runners"
	"coderunner/runners/bash"
	"coderunner/runners/wasi/guest"
)

// Runner runs programs of one language. It implements [runners.Runner].
type Runner struct {
	guests *Guests
	lang   *guest.Language
	bash   *bash.Runner
}

var _ runners.Runner = (*Runner)(nil)

// Runners returns a runner for each language. Their programs run as the scripts of b do.
func (g *Guests) Runners(b *bash.Runner) map[runners.Language]*Runner {
	all := map[runners.Language]*Runner{}
	for _, l := range g.only {
		all[l.Name] = &Runner{g, l, b}
	}
	return all
}

// Run implements [runners.Runner].
func (r *Runner) Run(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
	if req.Language != r.lang.Name {
		return nil, runners.BadArgument("language", "is %q, which is not what runs %s.", req.Language, r.lang.Name)
	}
	if err := req.Check(); err != nil {
		return nil, err
	}
	if len(req.Packages) > 0 {
		missing := &runners.NotInstalledError{}
		for _, p := range req.Packages {
			missing.Add(p, "no registry of packages of "+string(r.lang.Name)+" is known here; send its files instead")
		}
		return missing.Outcome(), nil
	}
	report := &guest.Report{}
	begin := func(name string, req *runners.Request) bash.Main {
		report.Session = req.Session
		if r.lang.InFiles && req.Session != nil {
			report.Continued = &runners.Continued{Origin: runners.OriginFresh, Kept: true}
		}
		m := bash.Main{Path: "/bin/" + r.lang.Commands[0], Args: []string{r.lang.Commands[0]}, Ended: func(o *runners.Outcome, fsys *memfs.FS) {
			if r.lang.Explain != nil {
				r.lang.Explain(o, fsys, report)
			}
			report.Apply(o, req.Limits)
		}, Continued: func() *runners.Continued { return report.Continued }}
		if r.lang.Args != nil {
			m.Args = append(m.Args, r.lang.Args(name, req.Args, req.Session != nil)...)
		} else {
			m.Args = append(append(m.Args, name), req.Args...)
		}
		if r.lang.Run != nil {
			m.Program = r.guests.program(r.lang, report)
		}
		return m
	}
	return r.bash.RunGuest(ctx, req, &bash.Guest{
		Language: req.Language, File: r.lang.File, Imports: r.lang.Imports, Data: r.lang.Data, Main: begin,
		Prepare: func(ctx context.Context, req *runners.Request, data []byte) error {
			if r.lang.Ready != nil {
				r.lang.Ready(ctx, r.guests.Engine, data)
			}
			return r.guests.make(ctx, r.lang, r.lang.Derived, req.Progress)
		},
	})
}

// Lock implements [runners.Runner].
func (r *Runner) Lock(context.Context, runners.Request) (*runners.Locked, error) {
	return nil, errors.New("a program of " + string(r.lang.Name) + " has no packages")
}

// Warm implements [runners.Runner]. A language is fetched when it is first used: most servers
// never run most of them.
func (r *Runner) Warm(context.Context, []string, runners.ProgressFunc) error { return nil }

// Prepare fetches and compiles the language's module for other processes.
func (r *Runner) Prepare(ctx context.Context, progress runners.ProgressFunc) error {
	if r.lang.Module == nil {
		return nil
	}
	return r.guests.Prepare(ctx, r.lang.Module.Name, progress)
}

// Versions returns the version of the language's interpreter.
func (r *Runner) Versions() map[string]string {
	return map[string]string{string(r.lang.Name): r.lang.Version}
}

// Close implements [runners.Runner]: whoever opened the engine closes it.
func (r *Runner) Close() error { return nil }
