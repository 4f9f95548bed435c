package worker

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"coderunner/cache"
	"coderunner/internal/netpolicy"
	"coderunner/internal/sandbox"
	"coderunner/internal/worker/wire"
	"coderunner/runners"
	"coderunner/runners/python"
	"coderunner/runners/wasi"
)

// Options are what a [Pool] is made of.
type Options struct {
	Binary  string // to start as a worker; "": this one
	Cache   *cache.Cache
	Policy  runners.Policy
	Network netpolicy.Options // of programs, besides the policy
	Local   *python.Local     // what is done for workers
	Guests  *wasi.Guests      // whose modules are made ready for them; nil: there are none
	Compile func(ctx context.Context, dir string, memory int64) error
	Env     map[string]string // of the host's environment, what programs may see
	Ahead   int               // interpreters that a worker keeps ready
	Max     int               // workers of a client at a time
	Log     *zap.Logger
}

// Bounds of a worker's life.
const (
	maxRuns   = 10_000
	maxIdle   = 11 * time.Minute // without a run: longer than a runner keeps a session's interpreter
	idleRoom  = 32 << 20         // bytes that it may keep besides ownMemory when it runs nothing
	returning = time.Second      // in which a worker gives the memory of its runs back
	maxIdlers = 16               // workers, of all clients, that run nothing
	spareWait = 300 * time.Millisecond
)

// Pool starts workers and runs programs in them. It is safe for concurrent use. Close ends
// all.
type Pool struct {
	o      Options
	policy *netpolicy.Policy // of the network, from the options'
	ctx    context.Context
	cancel context.CancelFunc

	mu       sync.Mutex
	workers  []*worker
	sessions map[string]*worker // that may have the session's interpreter, by its key
	spare    *worker
	starting chan struct{} // closed when the start in progress is over, nil if there is none
	startErr error
	closed   bool
	left     sync.WaitGroup // goroutines of workers
}

// NewPool returns a pool and starts a spare worker in the background.
func NewPool(o Options) *Pool {
	p := &Pool{o: o, policy: o.Policy.Network(), sessions: map[string]*worker{}}
	if o.Binary == "" {
		p.o.Binary = self()
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	o.Local.Confine(p)
	p.prepare(0)
	return p
}

// Supported reports whether the system lets processes pass open files to one another,
// without which there are no workers.
func Supported() bool {
	ours, theirs, err := wire.Pair()
	if err != nil {
		return false
	}
	ours.Close()
	theirs.Close()
	return true
}

// Confinement returns how well the kernel confines workers.
func Confinement() sandbox.Level {
	if !Supported() {
		return sandbox.Level{Name: sandbox.None, Missing: []string{"programs run in the server's process, since there are no workers on this system"}}
	}
	return sandbox.Probe()
}

// self returns the path of this binary, or a link to it where its file was replaced.
func self() string {
	const link = "/proc/self/exe"
	name, _ := os.Executable() // starting it says why not
	running, err := os.Stat(link)
	if err != nil {
		return name
	}
	if file, err := os.Stat(name); err == nil && os.SameFile(file, running) {
		return name
	}
	return link
}

// Close ends all workers. No run may be in progress.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	all := slices.Clone(p.workers)
	if p.spare != nil {
		all = append(all, p.spare)
	}
	p.mu.Unlock()
	p.cancel()
	for _, w := range all {
		w.end("closed")
	}
	p.left.Wait()
	for _, w := range all {
		<-w.died
	}
}

// prepare starts the spare worker after a while, unless there is one.
func (p *Pool) prepare(after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.spare != nil || p.starting != nil {
		return
	}
	done := make(chan struct{})
	p.starting = done
	p.left.Go(func() {
		select {
		case <-time.After(after):
		case <-p.ctx.Done():
		}
		w, err := start(p.ctx, p)
		p.mu.Lock()
		defer p.mu.Unlock()
		defer close(done)
		p.starting, p.startErr = nil, err
		switch {
		case err != nil:
			if p.ctx.Err() == nil {
				p.o.Log.Error("start a worker", zap.Error(err))
			}
		case p.closed:
			w.end("closed")
		default:
			p.spare = w
		}
	})
}

// startTries is how often a worker is started for a run: it may be killed meanwhile.
const startTries = 20

// takeLocked returns the spare worker, once there is one, or one that the client has got meanwhile
// from another call of its. p.mu is released meanwhile.
func (p *Pool) takeLocked(ctx context.Context, s *served) (*worker, error) {
	for failed := 0; p.spare == nil; {
		starting := p.starting
		p.mu.Unlock()
		if starting == nil {
			p.prepare(0)
		} else {
			select {
			case <-starting:
			case <-ctx.Done():
			}
		}
		p.mu.Lock()
		if w := p.ownLocked(s); w != nil {
			return w, nil
		}
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case p.closed:
			return nil, errors.New("the workers are closed")
		case p.spare == nil && p.starting == nil && p.startErr != nil:
			if failed++; failed == startTries {
				return nil, p.startErr
			}
		}
	}
	w := p.spare
	p.spare = nil
	return w, nil
}

// choose returns a worker of the client for a run, which counts as its own from then on.
func (p *Pool) choose(ctx context.Context, s *served) (*worker, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.ownLocked(s)
	if w == nil {
		var err error
		if w, err = p.takeLocked(ctx, s); err != nil {
			return nil, err
		}
		if !slices.Contains(p.workers, w) {
			w.client = s.req.Client
			p.workers = append(p.workers, w)
			defer p.later()
		}
	}
	if x := s.req.Session; x != nil {
		p.sessions[x.Key] = w
	}
	s.before = w.has
	if w.runs[s] = true; len(w.runs) == 1 {
		select {
		case w.busy <- struct{}{}:
		default: // it is watched
		}
	}
	if w.begun++; w.begun >= maxRuns {
		w.retired = true
	}
	return w, nil
}

// ownLocked returns the worker that the client has for a run, nil if it is to get another.
func (p *Pool) ownLocked(s *served) *worker {
	client, alone := s.req.Client, s.alone()
	mine := slices.DeleteFunc(slices.Clone(p.workers), func(w *worker) bool { return w.client != client || w.retired })
	w := (*worker)(nil)
	if x := s.req.Session; x != nil {
		if at := p.sessions[x.Key]; at != nil && slices.Contains(mine, at) {
			w = at
		}
	}
	if w == nil && len(mine) > 0 {
		least := slices.MinFunc(mine, func(a, b *worker) int { return a.load() - b.load() })
		if least.load() == 0 || !alone && !least.taken() || len(mine) >= p.o.Max {
			w = least
		}
	}
	return w
}

func (p *Pool) later() { go p.prepare(spareWait) }

// alone reports whether a run wants to be its worker's only one.
func (s *served) alone() bool { return s.req.Language == runners.Bash }

// taken reports whether a worker runs what wants to be the only one. The pool's mu is held.
func (w *worker) taken() bool {
	for s := range w.runs {
		if s.alone() {
			return true
		}
	}
	return false
}

// load is how much a worker has to do. The pool's mu is held.
func (w *worker) load() int {
	if w.taken() {
		return len(w.runs) + runtime.GOMAXPROCS(0)
	}
	return len(w.runs)
}

// leave notes that a run has ended. The last one of a worker that has ended removes what is
// left of that.
func (p *Pool) leave(w *worker, s *served) {
	p.mu.Lock()
	p.forget(w, s)
	last := w.gone && len(w.runs) == 0
	p.mu.Unlock()
	if last {
		w.remove()
	}
}

// forget takes a run that has ended from its worker, and ends workers that are not needed any
// more. p.mu is held.
func (p *Pool) forget(w *worker, s *served) {
	if delete(w.runs, s); len(w.runs) > 0 {
		return
	}
	w.idle = time.Now()
	w.drain(min(2*runtime.GOMAXPROCS(0), maxLines)) // as many as an impatient client has in use
	if w.retired {
		w.end("retired")
	}
	var idle []*worker
	for _, other := range p.workers {
		if len(other.runs) == 0 && !other.retired {
			idle = append(idle, other)
		}
	}
	slices.SortFunc(idle, func(a, b *worker) int { return b.idle.Compare(a.idle) })
	for i, other := range idle {
		if i >= maxIdlers || time.Since(other.idle) > maxIdle {
			other.retired = true
			other.end("idle")
		}
	}
}

// gone forgets a worker that has ended, and reports whether it has no runs.
func (p *Pool) gone(w *worker) (idle bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.gone = true
	p.workers = slices.DeleteFunc(p.workers, func(x *worker) bool { return x == w })
	if p.spare == w {
		p.spare = nil
		go p.prepare(spareWait)
	}
	for key, at := range p.sessions {
		if at == w {
			delete(p.sessions, key)
		}
	}
	return len(w.runs) == 0
}

func (o *Options) settings() settings {
	s := settings{
		Permissions: o.Policy.Args, Env: o.Env, CacheRoot: o.Cache.Root(), Refusal: o.Local.Refusal(o.Policy),
		Ahead: o.Ahead, Memory: ownMemory / 2, // the rest is none of the collector's
	}
	if o.Guests != nil {
		s.Guests = o.Guests.Languages()
	}
	if i := o.Network.Intercept; i != nil {
		s.Intercepted, s.Root = true, i.Root()
	}
	return s
}
