package emscripten

import (
	"context"
	"sync"
	"time"
)

// waits ends the waiting of host functions.
type waits struct {
	mu          sync.Mutex
	cancel      context.CancelFunc // of the wait in progress; guarded by mu
	interrupted time.Time          // when an interrupt found no wait; guarded by mu
}

// interruptLife is how long an interrupt that found nothing waiting is kept
// for a wait that is about to begin.
const interruptLife = 50 * time.Millisecond

func (w *waits) interrupt() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cancel != nil {
		w.cancel()
	} else {
		w.interrupted = time.Now()
	}
}

// begin returns a context that ends when ctx does or when the program is
// interrupted. done must be called when the wait is over.
func (w *waits) begin(ctx context.Context) (wait context.Context, done func()) {
	wait, cancel := context.WithCancel(ctx)
	w.mu.Lock()
	w.cancel = cancel
	if !w.interrupted.IsZero() && time.Since(w.interrupted) < interruptLife {
		cancel()
	}
	w.interrupted = time.Time{}
	w.mu.Unlock()
	return wait, func() {
		w.mu.Lock()
		w.cancel = nil
		w.mu.Unlock()
		cancel()
	}
}

// Wait calls f, which may wait for the host until its context ends: when ctx does,
// or when a signal has come and the main thread waits. Other threads run meanwhile, and
// the guest rests.
func (p *Process) Wait(ctx context.Context, f func(context.Context)) {
	p.Compute(ctx, func(ctx context.Context) {
		defer p.Guest.Rest()()
		f(ctx)
	})
}

// Compute is Wait for what uses the processor for the guest: it does not rest.
func (p *Process) Compute(ctx context.Context, f func(context.Context)) {
	begin := p.clock.monotonic()
	done, threads := func() {}, p.Guest.Threads
	if threads == nil || threads.Main() {
		ctx, done = p.waits.begin(ctx) // before another thread may interrupt it
	}
	var back func() time.Duration
	if threads != nil {
		back = threads.Leave()
	}
	defer func() { // also when f ends the program
		done()
		if back != nil {
			p.clock.waited += back()
		} else {
			p.clock.waited += p.clock.monotonic() - begin
		}
	}()
	f(ctx)
}

// Interruptible returns a context for a wait of the main thread that Wait does not
// do: it ends when ctx does or when a signal has come. done must be called when the
// wait is over.
func (p *Process) Interruptible(ctx context.Context) (wait context.Context, done func()) {
	return p.waits.begin(ctx)
}

// clock is the time of one process.
type clock struct {
	now    func() time.Time
	zero   time.Time     // when the monotonic clock showed 0
	latest time.Duration // that the monotonic clock has shown
	waited time.Duration // what the program has spent in waiting, in all

	start, shown time.Duration        // what the clock of the processor showed first and last
	begun        time.Duration        // what it showed when cpu was set
	cpu          func() time.Duration // see MeasureBy
}

// monotonic returns the time since the program started. It never goes back, even
// if the host's clock does.
func (k *clock) monotonic() time.Duration {
	k.latest = max(k.latest, k.now().Sub(k.zero))
	return k.latest
}

// busy returns the processor time. Where nothing measures it, it is the monotonic
// clock without the time that the program waited for the host, which on a busy
// machine is too much.
func (k *clock) busy() time.Duration {
	if k.cpu != nil {
		k.shown = k.begun + k.cpu()
	} else {
		k.shown = max(k.shown, k.monotonic()-k.waited)
	}
	return k.shown
}

// MeasureBy sets what returns the processor time that passes from now on; nil: it is
// unknown. The clock of the processor goes on from what it showed.
func (p *Process) MeasureBy(cpu func() time.Duration) {
	if cpu == nil {
		p.clock.busy()
	}
	p.clock.begun, p.clock.cpu = p.clock.shown, cpu
}

// ProcessorTime returns the processor time of the process so far.
func (p *Process) ProcessorTime() time.Duration { return p.clock.busy() - p.clock.start }
