package deno

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"coderunner/internal/netpolicy"
	"coderunner/internal/project"
	"coderunner/internal/trace"
	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/ending"
	"coderunner/runners/deno/install"
	"coderunner/runners/deno/process"
	"coderunner/runners/deno/program"
	"coderunner/runners/deno/stacktrace"
)

// job is one run in progress.
type job struct {
	program.Analysis
	layout *project.Layout // nil: there is none
	leases *process.Leases
	req    runners.Request
	binary string
	ready  *install.Prepared

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

	restored bool // its process was, from a snapshot

	script  string                       // its name in stacks: that of main, and in a session another one each time
	again   bool                         // its session's process has run a program
	nonce   string                       // of its session's call
	calls   *toolCalls                   // of its program, nil if it has no tools
	drip    *drip                        // of its program's input, nil if that is not peeked at
	scripts map[string]stacktrace.Script // that its session has run
}

// job checks a request and analyses its program.
func (r *Runner) job(req runners.Request) (*job, error) {
	if err := req.Check(); err != nil {
		return nil, err
	}
	req.Limits = req.Limits.WithDefaults()
	req.Progress = req.Progress.Serial()
	layout, files, err := program.Layout(req)
	if err != nil {
		return nil, err
	}
	req.Files = files
	a, err := program.Analyze(req, r.Config.Policy)
	if i := r.Config.Network.Intercept; i != nil && i.StandIns() && !process.Supervised(r.Config.Policy) {
		return nil, errors.New("record or replay JavaScript: it needs --allow-net, and a system that lets connections be supervised (see coderunner doctor)")
	}
	j := &job{Analysis: a, layout: layout, script: a.Main, leases: r.leases, req: req, begun: time.Now(), stdin: stdin{r: req.Stdin}, left: req.Limits.Timeout}
	j.asks = req.Ask != nil && process.CanAsk(r.Config.Policy)
	if j.asks || process.Supervised(r.Config.Policy) {
		network := r.Config.Network
		network.Ask = req.AskHolding(func() (release func()) { return j.clock.Load().Hold() })
		j.net = r.Config.Policy.Network().NewRun(network)
	}
	return j, err
}

// instance returns a ready Deno, an idle one if there is one. It returns the
// context's cause if ctx ends first.
func (j *job) instance(ctx context.Context) (*process.Instance, error) {
	if begun := time.Now(); !j.fresh {
		in := j.leases.Take(ctx, j.variant())
		j.key = in.Key
		err := in.Await(ctx, j.fill)
		if err == nil && in.Alive() {
			return in, nil
		}
		in.Discard()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if _, unfit := errors.AsType[*process.UnfitError](err); unfit {
			j.leases.LeaveOut(in.Variant, err)
			return j.instance(ctx)
		}
		if err != nil && !in.Launched.Before(begun) {
			return nil, err // another start would fail, too
		}
	}
	in := j.leases.Launch(ctx, j.variant())
	if err := in.Await(ctx, j.fill); err != nil {
		in.Discard()
		return nil, err
	}
	return in, nil
}

// fill puts the program, the request's files and the project into the working directory. A
// session's are put there for each of its programs.
func (j *job) fill(dir *process.RunDir) error {
	if j.req.Session != nil {
		return nil
	}
	if err := dir.Write(j.Main, j.Program.Text(), j.Files); err != nil {
		return err
	}
	return dir.Place(j.layout)
}

// variant returns the variant of the job's process.
func (j *job) variant() process.Variant {
	merged := j.req.Stdout != nil && j.req.Stdout == j.req.Stderr
	v := process.Variant{Binary: j.binary, Memory: j.req.Limits.Memory, Ready: j.ready.Packages, Merged: merged, Session: j.req.Session != nil, Asks: j.asks, Layout: j.layout}
	v.Early = j.leases.Early(v, j.early())
	v.Warm = j.Late() && (j.leases.CanFork(v) || j.leases.Restorable(v))
	return v
}

// early returns the packages that are evaluated before anything else of the program: those
// that it imports statically before any file of its own. It returns nil if there are none, or
// something is prepared for this program before its packages are loaded.
func (j *job) early() *process.Early {
	p := j.Program
	if !p.Certain || p.Decorated || p.Turn || p.Script || len(j.Aliases) > 0 || len(j.req.Args) > 0 {
		return nil
	}
	e := &process.Early{Main: j.Main, Modules: j.Modules()}
	for _, i := range p.Imports {
		if _, builtin := deps.NodeModule(i.Specifier); builtin || !i.Static {
			continue
		}
		if i.Late || !j.Deps.Named(i.Specifier) {
			break
		}
		e.Load = append(e.Load, i.Specifier)
	}
	if len(e.Load) == 0 {
		return nil
	}
	return e
}

// execute runs the job's program, or only loads it.
func (j *job) execute(ctx context.Context, load bool) (*ending.Ending, error) {
	for {
		in, err := j.instance(ctx)
		if err != nil {
			return nil, err
		}
		j.restored = in.Restored()
		running := trace.Begin("the program")
		end := j.attend(ctx, in, load)
		running()
		if end != nil && !load {
			left, _ := in.Dir.Left(nil, runners.File{Path: j.Main, Data: []byte(j.Program.Text())}, j.Files) // fails for sessions only
			end.Files, end.FilesOmitted = left.Changed, left.Omitted
		}
		in.Leave()
		if end != nil {
			return end, nil
		}
		j.fresh = true
	}
}
