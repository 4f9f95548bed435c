package deno

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
)

// idleLimit is how long a process waits for a program.
const idleLimit = 10 * time.Minute

// recently is how long ago the last use of a variant may be for its last waiting
// process to be left alone when another variant wants one.
const recently = time.Minute

// park keeps processes that were started ahead of need. It does so for the
// variants that were used last, and for each as many as were missed at a time,
// up to its maximum for all together.
//
//	take ──> the oldest of the variant, ready or not ──> the run
//	fill ──> starts what is missing, after the run
//
// Each process is used once. One that was not used for a while, or whose variant
// is not wanted any more, is ended.
type park struct {
	r    *Runner
	max  int
	ctx  context.Context // ends with the park
	stop context.CancelFunc

	mu     sync.Mutex
	closed bool
	lots   []*lot // the one that was used last is the last
}

// lot is what the park knows of a variant.
type lot struct {
	key     string
	variant variant
	want    int // processes
	used    time.Time
	parked  []*instance // the oldest first
}

func newPark(r *Runner, max int) *park {
	p := &park{r: r, max: max}
	p.ctx, p.stop = context.WithCancel(context.Background())
	return p
}

// take gives a process of the variant, which the caller must await, or nil if
// there is none. The variant is wanted from now on. Key stands for it, for fill.
func (p *park) take(v variant) (in *instance, key string) {
	if p.max == 0 {
		return nil, ""
	}
	key = p.r.variantKey(v)
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lot(key, v)
	if l == nil {
		return nil, ""
	}
	missed := true
	if len(l.parked) > 0 {
		in, l.parked = l.parked[0], l.parked[1:]
		in.idle.Stop()
		select {
		case <-in.started:
			missed = false
		default:
		}
	}
	if missed {
		l.want = min(l.want+1, p.max)
	}
	return in, key
}

// begin starts a process of the variant, if there is none.
func (p *park) begin(v variant) {
	if p.max == 0 {
		return
	}
	key := p.r.variantKey(v)
	p.mu.Lock()
	if l := p.lot(key, v); l != nil {
		l.want = max(l.want, 1)
	}
	p.mu.Unlock()
	p.fill(key)
}

// lot finds or makes the lot of a variant, and makes it the last. It is nil if
// there can be none.
func (p *park) lot(key string, v variant) *lot {
	if p.closed || key == "" {
		return nil
	}
	l := &lot{key: key, variant: v}
	for _, have := range slices.Clone(p.lots) {
		switch {
		case have.key == key:
			l = have
			p.lots = slices.DeleteFunc(p.lots, func(x *lot) bool { return x == have })
		case have.variant.binary == v.binary && have.variant.memory == v.memory && have.variant.ready.dir == v.ready.dir:
			p.drop(have) // the Deno was replaced
		}
	}
	l.used = time.Now()
	p.lots = append(p.lots, l)
	if len(p.lots) > 2*p.max {
		p.drop(p.lots[0])
	}
	return l
}

// drop forgets a lot and ends its processes.
func (p *park) drop(l *lot) {
	p.lots = slices.DeleteFunc(p.lots, func(have *lot) bool { return have == l })
	l.empty()
}

// empty ends the processes of a lot; the caller holds the park's mu.
func (l *lot) empty() {
	for _, in := range l.parked {
		in.idle.Stop()
		in.discard()
	}
	l.parked = nil
}

// fill starts, in the background, the processes of the variant that key stands
// for that are missing.
func (p *park) fill(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.lots, func(l *lot) bool { return l.key == key })
	if p.closed || i < 0 {
		return
	}
	for l := p.lots[i]; len(l.parked) < l.want && p.room(l); {
		p.add(l)
	}
}

// add starts a process in the background.
func (p *park) add(l *lot) {
	in := p.r.launch(p.ctx, l.variant)
	in.key = l.key
	in.idle = time.AfterFunc(idleLimit, func() { p.remove(l, in) })
	l.parked = append(l.parked, in)
	p.r.background.Go(func() {
		// Nobody should wait for one that cannot be started.
		if <-in.started; in.err != nil && p.remove(l, in) {
			p.r.log.Warn("a process for later cannot be started", zap.Error(in.err))
		}
	})
}

// room reports whether there may be one more process, of lot l. It ends one of
// another lot if that can spare it.
func (p *park) room(l *lot) bool {
	n := 0
	for _, have := range p.lots {
		n += len(have.parked)
	}
	if n < p.max {
		return true
	}
	for _, have := range p.lots {
		if have != l && len(have.parked) > 0 && (len(have.parked) > 1 || time.Since(have.used) > recently) {
			in := have.parked[0]
			in.idle.Stop()
			in.discard()
			have.parked = have.parked[1:]
			have.want = len(have.parked)
			return true
		}
	}
	return false
}

// remove ends a process if it is still in its lot, and reports whether it was.
func (p *park) remove(l *lot, in *instance) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(l.parked, in)
	if i < 0 {
		return false
	}
	l.parked = slices.Delete(l.parked, i, i+1)
	l.want = len(l.parked)
	in.idle.Stop()
	in.discard()
	return true
}

// forget ends the processes of the variant that key stands for.
func (p *park) forget(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.IndexFunc(p.lots, func(l *lot) bool { return l.key == key }); i >= 0 {
		p.drop(p.lots[i])
	}
}

// forgetPrepared ends the processes of the variants with a prepared directory:
// they know what was there when they started.
func (p *park) forgetPrepared(dir string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range slices.Clone(p.lots) {
		if l.variant.ready.dir == dir {
			p.drop(l)
		}
	}
}

// renew replaces the waiting processes of the variant that key stands for, since
// new ones know more.
func (p *park) renew(key string) {
	p.mu.Lock()
	if i := slices.IndexFunc(p.lots, func(l *lot) bool { return l.key == key }); i >= 0 {
		p.lots[i].empty()
	}
	p.mu.Unlock()
	p.fill(key)
}

// close ends all processes. What it began in the background may still go on.
func (p *park) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for len(p.lots) > 0 {
		p.drop(p.lots[0])
	}
	p.stop()
}
