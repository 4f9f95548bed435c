package deno

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"coderunner/internal/netpolicy"
	"coderunner/internal/project"
	"coderunner/runners"
)

// job is one run in progress.
type job struct {
	analysis
	layout *project.Layout // nil: there is none
	leases *leases
	req    runners.Request
	binary string
	ready  *prepared

	asked string   // the module of deps, without peers
	peers []string // packages that others of deps turned out to import

	begun time.Time
	stdin stdin
	left  time.Duration // for all processes of the run together
	key   string        // of its process, "" if that is not pooled

	net   *netpolicy.Run // nil: there is no network
	asks  bool           // Deno allows what net refuses, and asks the user about
	clock atomic.Pointer[runners.Clock]
	fresh bool // do not take an idle process

	script string // its name in stacks: that of main, and in a session another one each time
	again  bool   // its session's process has run a program
	nonce  string // of its session's call
}

// job checks a request and analyses its program.
func (r *Runner) job(req runners.Request) (*job, error) {
	if err := req.Check(); err != nil {
		return nil, err
	}
	req.Limits = req.Limits.WithDefaults()
	req.Progress = req.Progress.Serial()
	layout := project.NewLayout(req.Project)
	if layout != nil {
		main, _, err := programName(req)
		if err != nil {
			return nil, err
		}
		layout, req.Files = withOwnModules(layout, req, main)
	}
	a, err := r.analyze(req)
	if i := r.cfg.Network.Intercept; i != nil && i.StandIns() && !supervised(r.cfg.Policy) {
		return nil, errors.New("record or replay JavaScript: it needs --allow-net, and a system that lets connections be supervised (see coderunner doctor)")
	}
	j := &job{analysis: a, layout: layout, script: a.main, leases: r.leases, req: req, begun: time.Now(), stdin: stdin{r: req.Stdin}, left: req.Limits.Timeout}
	j.asks = req.Ask != nil && canAsk(r.cfg.Policy) && !(ownNetwork(r.cfg.Policy) && req.Session == nil && j.serves())
	if j.asks || supervised(r.cfg.Policy) {
		network := r.cfg.Network
		network.Ask = req.AskHolding(func() (release func()) { return j.clock.Load().Hold() })
		j.net = r.cfg.Policy.Network().NewRun(network)
	}
	return j, err
}

// instance returns a ready Deno, an idle one if there is one. It returns the
// context's cause if ctx ends first.
func (j *job) instance(ctx context.Context) (*instance, error) {
	if begun := time.Now(); !j.fresh {
		in := j.leases.take(ctx, j.variant())
		j.key = in.key
		err := in.await(ctx)
		if err == nil && in.alive() {
			return in, nil
		}
		in.discard()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil && !in.begun.Before(begun) {
			return nil, err // another start would fail, too
		}
	}
	in := j.leases.launch(ctx, j.variant())
	if err := in.await(ctx); err != nil {
		in.discard()
		return nil, err
	}
	return in, nil
}

// variant returns the variant of the job's process.
func (j *job) variant() variant {
	merged := j.req.Stdout != nil && j.req.Stdout == j.req.Stderr
	return variant{binary: j.binary, memory: j.req.Limits.Memory, ready: j.ready, merged: merged, kept: j.req.Session != nil, asks: j.asks, layout: j.layout}
}

// execute runs the job's program, or only loads it.
func (j *job) execute(ctx context.Context, load bool) (*ending, error) {
	for {
		in, err := j.instance(ctx)
		if err != nil {
			return nil, err
		}
		if err := in.dir.write(j.main, j.program.Edited(), j.files); err != nil {
			in.discard()
			return nil, err
		}
		if err := in.dir.place(j.layout); err != nil {
			in.discard()
			return nil, err
		}
		end := j.attend(ctx, in, load)
		if end != nil && !load {
			left, _ := in.dir.left(nil, runners.File{Path: j.main, Data: []byte(j.program.Edited())}, j.files) // fails for sessions only
			end.files, end.filesOmitted = left.Changed, left.Omitted
		}
		in.leave()
		if end != nil {
			return end, nil
		}
		j.fresh = true
	}
}
