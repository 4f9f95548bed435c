package worker

import (
	"context"
	"time"

	"coderunner/runners"
	"coderunner/runners/bash"
	"coderunner/runners/python"
)

// NewBash returns the runner of bash whose scripts have the Python of p.
func NewBash(policy runners.Policy, p *python.Runner) *bash.Runner {
	return bash.New(bash.Config{Policy: policy, Machine: func(ctx context.Context, s bash.Script) (*bash.Machine, error) {
		m, err := p.Machine(ctx, python.MachineOptions(s))
		if err != nil {
			return nil, err
		}
		return &bash.Machine{FS: m.FS, Kernel: m.Kernel, Network: m.Network, Close: m.Close, Placeholders: m.Placeholders(), Prepared: m.Prepared}, nil
	}})
}

// Runner runs the programs of a language in workers, and leaves all else to a runner of this
// process: also a program that somebody runs at a terminal or on a directory of the host's.
type Runner struct {
	runners.Runner
	Language runners.Language
	Pool     *Pool
}

// preparer is a runner whose language is made ready here, and not in the worker.
type preparer interface {
	Prepare(ctx context.Context, progress runners.ProgressFunc) error
}

// Run implements [runners.Runner].
func (r Runner) Run(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
	if req.Language != r.Language {
		return r.Runner.Run(ctx, req) // which says what it runs
	}
	begun := time.Now()
	if err := req.Check(); err != nil {
		return nil, err
	}
	var err error // whoever waits for the runtime sees the progress
	if g, ok := r.Runner.(preparer); ok {
		err = g.Prepare(ctx, req.Progress)
	} else if req.Language == runners.Python {
		_, err = r.Pool.o.Local.Runtime(ctx, req.Progress)
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return runners.CancelledOutcome(), nil
	default:
		return nil, err
	}
	waited := time.Since(begun)
	o, ok, err := r.Pool.Run(ctx, req)
	if !ok {
		return r.Runner.Run(ctx, req)
	}
	if o != nil {
		o.Usage.PrepareMS += waited.Milliseconds()
	}
	return o, err
}
