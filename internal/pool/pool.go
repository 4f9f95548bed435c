// Package pool keeps idle values that are expensive to make. It makes some before
// they are requested and resets used ones.
//
//	Get ── returns a ready value, a used one after a reset, or a new one
//	Fill ─ makes missing values in the background
//	Put ── takes a used value back; it is reset at once if one is wanted, else when needed
//
// Values are interchangeable within a key. The target per key is the number of
// concurrent misses; all keys share MaxIdle. A value that is idle for MaxIdleTime
// is closed and lowers its key's target. The package knows nothing of
// interpreters and processes: package pyodide and runners/deno use it.
//
// # Locking
//
// A Pool is safe for concurrent use. It calls New, Reset and Close without
// holding its mutex, Ready with it.
package pool

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"coderunner/internal/crew"
)

// recently is how long after its last Get a key's only ready value is protected
// from eviction.
const recently = time.Minute

// Options configure a [Pool]. New and Close must be set.
type Options[K comparable, V comparable] struct {
	New   func(ctx context.Context, key K) (V, error)
	Close func(V)

	// Reset returns a used value to the state of a new one. If it fails, the
	// value is closed.
	Reset func(V) (V, error)

	// Ready reports whether a value can be used at once; nil: all can. A Get
	// that returns one that cannot is a miss.
	Ready func(V) bool

	// MaxUnready is how many values of a key Fill leaves that are not Ready yet; 0: any
	// number. Whoever makes them calls Fill when one of them is.
	MaxUnready int

	MaxIdle     int           // ready values, of all keys
	MaxOf       func(K) int   // ready values of a key, if not nil
	MaxUsed     int           // used values that are not reset yet, of all keys
	MaxIdleTime time.Duration // until an idle value is closed

	// Return is how long Fill waits for leased values before replacing them.
	Return time.Duration

	// Quiet is how long after a key's last Get used values are reset, one after the other, while
	// others are ready: whoever calls often is not slowed down by it. More than are missing are
	// not kept. 0: each is reset at once.
	Quiet time.Duration
}

// Pool keeps values by key.
type Pool[K comparable, V comparable] struct {
	o Options[K, V]

	background sync.WaitGroup
	end        chan struct{} // closed by Close
	crew       *crew.Crew    // resets

	mu     sync.Mutex
	keys   map[K]*values[V]
	came   *sync.Cond  // signals on mu when a reset ends
	expiry *time.Timer // for the oldest idle value; nil if there is none
	closed bool
}

// values are the values of one key, guarded by the pool's mu.
type values[V comparable] struct {
	want      int         // target number of ready values
	asked     time.Time   // the last Get
	ready     []idle[V]   // oldest first
	used      []idle[V]   // oldest first
	resetting int         // in the background
	waiting   int         // Gets that wait for a reset
	leases    []time.Time // when they began, oldest first
	filling   bool
	delayed   *time.Timer // the fill that has not begun
	dropped   bool
}

type idle[V any] struct {
	value V
	since time.Time
}

// New returns an empty Pool.
func New[K comparable, V comparable](o Options[K, V]) *Pool[K, V] {
	p := &Pool[K, V]{o: o, keys: map[K]*values[V]{}, end: make(chan struct{})}
	p.crew = crew.New(1, p.end)
	p.came = sync.NewCond(&p.mu)
	return p
}

// Get leases a value to the caller, who ends the lease with Put or Discard.
func (p *Pool[K, V]) Get(ctx context.Context, key K) (V, error) {
	v, ok := p.take(key)
	if !ok {
		var err error
		if v, err = p.make(ctx, key); err != nil {
			return v, err
		}
	}
	if p.o.Return > 0 {
		p.mu.Lock()
		defer p.mu.Unlock()
		s := p.valuesLocked(key)
		s.leases = append(s.leases, time.Now())
	}
	return v, nil
}

// take takes a ready value, or waits for one that is being reset.
func (p *Pool[K, V]) take(key K) (V, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.valuesLocked(key)
	s.asked = time.Now()
	waited := false
	for len(s.ready) == 0 && s.resetting > s.waiting {
		waited = true
		s.waiting++
		p.came.Wait()
		s.waiting--
	}
	v, ok, hit := p.takeReadyLocked(s)
	if !hit || waited {
		most := p.o.MaxIdle
		if p.o.MaxOf != nil {
			most = min(most, p.o.MaxOf(key))
		}
		s.want = min(s.want+1, most)
	}
	return v, ok
}

// takeReadyLocked takes the newest value that can be used at once, else the
// oldest, which will be ready first. Hit reports the former.
func (p *Pool[K, V]) takeReadyLocked(s *values[V]) (v V, ok, hit bool) {
	if len(s.ready) == 0 {
		return v, false, false
	}
	which := 0
	for i, one := range slices.Backward(s.ready) {
		if hit = p.o.Ready == nil || p.o.Ready(one.value); hit {
			which = i
			break
		}
	}
	v = s.ready[which].value
	s.ready = slices.Delete(s.ready, which, which+1)
	return v, true, hit
}

// make resets a used value, or calls New.
func (p *Pool[K, V]) make(ctx context.Context, key K) (V, error) {
	p.mu.Lock()
	var used []idle[V]
	if s := p.keys[key]; s != nil && len(s.used) > 0 {
		last := len(s.used) - 1
		used, s.used = s.used[last:], s.used[:last:last]
	}
	p.mu.Unlock()
	if len(used) > 0 {
		v, err := p.o.Reset(used[0].value)
		if err == nil {
			return v, nil
		}
		p.o.Close(used[0].value)
	}
	return p.o.New(ctx, key)
}

// maxKeys bounds the empty keys kept.
const maxKeys = 64

// valuesLocked returns the values of a key.
func (p *Pool[K, V]) valuesLocked(key K) *values[V] {
	s := p.keys[key]
	if s == nil {
		if len(p.keys) >= maxKeys {
			maps.DeleteFunc(p.keys, func(_ K, s *values[V]) bool { return s.empty() })
		}
		s = &values[V]{}
		p.keys[key] = s
	}
	return s
}

// empty reports whether the key has no values and none are being made.
func (s *values[V]) empty() bool {
	return len(s.ready)+len(s.used)+s.resetting+s.waiting == 0 && !s.filling
}

// Put takes a value back that Get returned.
func (p *Pool[K, V]) Put(key K, v V) {
	p.mu.Lock()
	s := p.valuesLocked(key)
	s.back()
	missing := s.want + s.waiting - len(s.ready) - s.resetting
	switch {
	case p.closed, p.o.Quiet > 0 && len(s.used) >= missing:
		p.mu.Unlock()
		p.o.Close(v)
		return
	case missing <= 0, p.o.Quiet > 0 && s.waiting == 0:
		s.used = append(s.used, idle[V]{v, time.Now()})
		if p.o.Quiet > 0 {
			p.fillLocked(key, s)
		}
		surplus, found := p.trimUsedLocked()
		p.watchLocked()
		p.mu.Unlock()
		if found {
			p.o.Close(surplus)
		}
		return
	}
	s.resetting++
	p.background.Add(1)
	p.mu.Unlock()
	p.crew.Go(func() {
		defer p.background.Done()
		fresh, err := p.o.Reset(v)
		if err != nil {
			p.o.Close(v)
		}
		p.mu.Lock()
		s.resetting--
		kept := err == nil && p.addLocked(s, fresh)
		p.came.Broadcast()
		p.mu.Unlock()
		if err == nil && !kept {
			p.o.Close(fresh)
		}
	})
}

// Discard ends a lease without putting the value back; the caller closes it.
func (p *Pool[K, V]) Discard(key K) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.valuesLocked(key).back()
}

// back removes the oldest lease.
func (s *values[V]) back() {
	if len(s.leases) > 0 {
		s.leases = s.leases[1:]
	}
}

// trimUsedLocked removes the oldest used value if there are more than MaxUsed.
func (p *Pool[K, V]) trimUsedLocked() (v V, found bool) {
	var oldest *values[V]
	n := 0
	for _, s := range p.keys {
		n += len(s.used)
		if len(s.used) > 0 && (oldest == nil || s.used[0].since.Before(oldest.used[0].since)) {
			oldest = s
		}
	}
	if n <= p.o.MaxUsed {
		return v, false
	}
	v = oldest.used[0].value
	oldest.used = slices.Delete(oldest.used, 0, 1)
	return v, true
}

// addLocked adds a ready value and reports true, if there is room for it.
func (p *Pool[K, V]) addLocked(s *values[V], v V) bool {
	if p.closed || s.dropped || !p.roomLocked(s) {
		return false
	}
	s.ready = append(s.ready, idle[V]{v, time.Now()})
	p.watchLocked()
	return true
}

// roomLocked reports whether s may have one more ready value. It evicts another
// key's value if that key can spare one.
func (p *Pool[K, V]) roomLocked(s *values[V]) bool {
	n := 0
	var spare *values[V]
	for _, other := range p.keys {
		n += len(other.ready)
		if other != s && (len(other.ready) > 1 || len(other.ready) == 1 && time.Since(other.asked) > recently) &&
			(spare == nil || other.asked.Before(spare.asked)) {
			spare = other
		}
	}
	if n < p.o.MaxIdle || s.waiting > 0 {
		return true
	}
	if spare == nil {
		return false
	}
	v := spare.ready[0].value
	spare.ready = slices.Delete(spare.ready, 0, 1)
	spare.want = len(spare.ready)
	p.closeLater([]V{v})
	return true
}

// closeLater closes values in the background, without the mutex.
func (p *Pool[K, V]) closeLater(gone []V) {
	if len(gone) == 0 {
		return
	}
	p.background.Go(func() {
		for _, v := range gone {
			p.o.Close(v)
		}
	})
}
