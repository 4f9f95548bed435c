package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"coderunner/internal/process"
	"coderunner/internal/worker/wire"
	"coderunner/runners"
	"coderunner/runners/python/resolver"
	"coderunner/runners/toolbox"
)

// Grace is how long a run may take to end after its time limit, for the traceback of a
// program of Python and the variables of a session, and after it was cancelled.
const (
	bashGrace    = 250 * time.Millisecond
	pythonGrace  = 800 * time.Millisecond
	sessionGrace = 1500 * time.Millisecond // more
	cancelGrace  = 250 * time.Millisecond
)

// grace is how long after its limit a run's worker is ended.
func (p *Pool) grace(r runners.Request) time.Duration {
	if r.Language != runners.Python {
		return bashGrace
	}
	grace := pythonGrace
	if r.Session != nil {
		grace += sessionGrace
	}
	if p.policy.Any() || r.Ask != nil {
		grace += r.Limits.Timeout // for which its clock may stand still while it waits for others
	}
	return grace
}

// Run runs a program of Python or bash in a worker of the client. It reports false if the
// request cannot cross, since it has somebody's terminal or directory.
func (p *Pool) Run(ctx context.Context, req runners.Request) (out *runners.Outcome, ok bool, err error) {
	message, ok, err := encodeRequest(req)
	if !ok || err != nil {
		return nil, ok, err
	}
	req.Limits = req.Limits.WithDefaults()
	req.Progress = req.Progress.Serial()
	if ctx.Err() != nil {
		return runners.CancelledOutcome(), true, nil
	}
	held, release := p.o.Cache.Hold(context.WithoutCancel(ctx))
	defer release()
	held, cancel := context.WithCancel(held)
	defer cancel()
	network := p.o.Network
	s := &served{
		req: req, ctx: held, said: runners.NewCapture(req.Limits.Output), packages: map[string]resolver.Package{}, ports: map[int]any{},
	}
	if network.Intercept = nil; req.Ask != nil {
		network.Ask = s.ask
	}
	s.network = p.policy.NewRun(network)
	if s.w, err = p.choose(ctx, s); err != nil {
		if ctx.Err() != nil {
			return runners.CancelledOutcome(), true, nil
		}
		return nil, true, err
	}
	defer p.leave(s.w, s)
	defer s.afterwards()
	out, err = s.run(ctx, message, p.grace(req))
	return out, true, err
}

// run runs the program in the worker.
func (s *served) run(ctx context.Context, message request, grace time.Duration) (*runners.Outcome, error) {
	s.begin()
	s.begun = time.Now()
	line, err := s.w.line(s)
	if err != nil {
		return s.died()
	}
	defer s.end(line)
	if x := s.req.Session; x != nil {
		if s.dir, err = line.saveDir(s.w); err != nil {
			return s.died()
		}
		message.Save = s.dir
		defer func() {
			if line.dir == "" {
				os.RemoveAll(s.dir)
			}
		}()
	}
	s.clock = runners.StartClock(s.req.Limits.Timeout+grace, func() { s.abandon(runners.TimedOut) })
	defer s.clock.Stop()
	s.tools = toolbox.New(s.ctx, &s.req, s.clock.Hold)
	defer context.AfterFunc(ctx, func() { time.AfterFunc(cancelGrace, func() { s.abandon(runners.Cancelled) }) })()
	var e outcome
	if _, err := s.conn.Call(ctx, callRun, message, &e); err != nil {
		if errors.Is(err, wire.ErrClosed) {
			return s.died()
		}
		return nil, err
	}
	o, err := s.outcome(&e)
	if err == nil && o.Continued != nil && o.Continued.Kept {
		line.dir = s.dir // what was there was taken
	}
	return o, err
}

// outcome checks what the worker reports, and adds what the server knows.
func (s *served) outcome(e *outcome) (*runners.Outcome, error) {
	o, err := e.decode()
	if err != nil {
		return nil, err
	}
	if o.Status == runners.Paused && (s.req.Tools == nil || s.req.Session == nil || o.Continued == nil || !o.Continued.Kept) {
		return nil, errors.New("a worker reports a parked program, and none can be")
	}
	if e.Empty && s.req.Session != nil {
		if _, err := s.leave(s.ctx, s.req.Session, leaving{Told: told{Dirs: map[string][]entry{".": {}}}}); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	left := s.left
	s.mu.Unlock()
	if left != nil {
		o.Files, o.FilesOmitted = left.Changed, left.Omitted
	}
	o.Packages = slices.DeleteFunc(o.Packages, func(p runners.Package) bool {
		_, ok := s.w.prepared.Load(p.Name + "==" + p.Version)
		return !ok
	})
	if o.Continued != nil && o.Continued.Kept {
		if x := s.req.Session; x != nil && len(e.Keeps) > 0 {
			if kept, err := s.keep(s.ctx, x, e.Keeps); err != nil || !kept {
				return nil, errors.Join(errors.New("what the session has saved was damaged while the program ran"), err)
			}
		}
		switch err := s.takeSaved(); {
		case errors.Is(err, fs.ErrNotExist): // the worker has ended since, and its directory with it
			return s.died()
		case err != nil:
			return nil, err
		}
	}
	o.Reached(s.network)
	return o, nil
}

// others is how long the other runs of a worker may take to end before it is ended because
// of one that does not stop.
const others = 2 * time.Second

// abandon ends a run that does not stop: its caller has an outcome at once, and its worker is
// ended when nothing else runs in it.
func (s *served) abandon(status runners.Status) {
	s.w.p.mu.Lock()
	defer s.w.p.mu.Unlock()
	if s.over || s.abandoned != "" {
		return // its line may be another's by now
	}
	s.abandoned, s.w.retired = status, true
	s.w.overrun += s.req.Limits.Memory
	s.conn.End()
	time.AfterFunc(others, func() { s.w.end(overrunReason) })
}

// endingTime is how long a worker whose run has lost its connection may take to end by itself;
// brokenReason is the reason of one that does not.
const (
	endingTime   = time.Second
	brokenReason = "protocol"
)

// overrunReason is the reason of a worker in which a run did not stop.
const overrunReason = "overrun"

// died returns the outcome of a run that was abandoned, or whose worker has ended.
func (s *served) died() (*runners.Outcome, error) {
	s.w.p.mu.Lock()
	status, peak := s.abandoned, s.peak
	s.w.p.mu.Unlock()
	o := &runners.Outcome{Status: cmp.Or(status, runners.Crashed), ExitCode: 128 + 9, Packages: []runners.Package{}}
	o.Printed(s.said, runners.NewCapture(0))
	o.Usage.RunMS, o.Usage.PeakMemoryBytes = time.Since(s.begun).Milliseconds(), peak
	if status == "" {
		select {
		case <-s.w.died:
		case <-time.After(endingTime):
			s.w.end(brokenReason)
			<-s.w.died
		}
	}
	switch reason := s.w.why(); {
	case status != "":
		o.Usage.CPUMS = min(o.Usage.RunMS, s.w.proc.Usage().CPU.Milliseconds()) // at most: others run there, too
	case reason == memoryReason:
		o.Status = runners.OutOfMemory
	case reason == overrunReason:
		o.Error = &runners.Error{Type: "Crash", Message: "another program of the same client did not stop, and the process that ran both was ended; run this one again"}
	case reason == threadsReason:
		o.Error = &runners.Error{Type: "Crash", Message: fmt.Sprintf("the process that ran the program and others of the same client had more than %d threads and was ended: run fewer at once", process.MaxThreads)}
	default:
		o.Error = &runners.Error{Type: "Crash", Message: "the process that ran the program ended: the program exceeded what it can do, by recursion or by its memory"}
	}
	if o.Error == nil {
		o.Error = s.req.Limits.Exceeded(o.Status)
	}
	if x := s.req.Session; x != nil {
		o.Continued = &runners.Continued{Origin: runners.OriginFresh, Gone: true}
		if x.Before != "" {
			o.Continued.Origin = runners.OriginRestored
		}
	}
	o.Reached(s.network)
	return o, nil
}
