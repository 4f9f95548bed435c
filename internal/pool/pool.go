// Package pool keeps values that are expensive to make: some are made before
// they are asked for, and some are used again.
//
//	Get ── a ready value, one that was used and is reset, or a new one ──> the caller
//	Fill ─ makes, in the background, what is wanted and not there
//	Put ── takes a used value back; it is reset at once if one is wanted, else when needed
//
// A key says what a value is good for. Of each key as many are wanted as were
// missed at the same time, MaxIdle of all keys at most; a value that nobody
// asked for within MaxIdleTime is closed, and is not wanted any more. The
// package knows nothing of interpreters and processes: package pyodide and
// runners/deno use it.
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
)

// recently is how long ago the last Get of a key may be for its only ready
// value to be left alone when another key wants one.
const recently = time.Minute

// Options say what a pool keeps. New and Close must be set.
type Options[K comparable, V comparable] struct {
	New   func(ctx context.Context, key K) (V, error)
	Close func(V)

	// Reset makes a value that was put back what a new one is. If it fails,
	// the value is closed.
	Reset func(V) (V, error)

	// Ready reports whether a value can be used at once; nil: all can. A Get of
	// one that cannot is a miss, too.
	Ready func(V) bool

	MaxIdle     int           // values that wait ready for use, of all keys
	MaxUsed     int           // values that wait as they were put back, of all keys
	MaxIdleTime time.Duration // that a value waits

	// Return is how soon most values are put back: before, no new ones are made
	// in their place.
	Return time.Duration
}

// Pool keeps values by key.
type Pool[K comparable, V comparable] struct {
	o Options[K, V]

	background sync.WaitGroup

	mu     sync.Mutex
	keys   map[K]*values[V]
	came   *sync.Cond  // of mu: a reset has ended
	expiry *time.Timer // of what waits longest, nil if nothing does
	closed bool
}

// values are those of one key. They are guarded by the pool's mu.
type values[V comparable] struct {
	want      int       // how many are to be ready
	asked     time.Time // the last Get
	ready     []idle[V] // the oldest first
	used      []idle[V] // likewise
	resetting int       // in the background
	waiting   int       // Gets that wait for them
	lent      []time.Time
	filling   bool
	delayed   *time.Timer // the filling, if it has not begun
	dropped   bool
}

type idle[V any] struct {
	value V
	since time.Time
}

// New makes an empty pool.
func New[K comparable, V comparable](o Options[K, V]) *Pool[K, V] {
	p := &Pool[K, V]{o: o, keys: map[K]*values[V]{}}
	p.came = sync.NewCond(&p.mu)
	return p
}

// Get returns a value that is the caller's until it is put back or discarded.
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
		s.lent = append(s.lent, time.Now())
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
		s.want = min(s.want+1, p.o.MaxIdle)
	}
	return v, ok
}

// takeReadyLocked takes the newest value that can be used at once, or else the
// oldest, which will be the first that can.
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

// make makes a value of one that was used, or else a new one.
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

// maxKeys is how many keys are remembered that have no values.
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

// empty reports whether nothing is there and nothing on its way.
func (s *values[V]) empty() bool {
	return len(s.ready)+len(s.used)+s.resetting+s.waiting == 0 && !s.filling
}

// Put takes a value back that Get returned.
func (p *Pool[K, V]) Put(key K, v V) {
	p.mu.Lock()
	s := p.valuesLocked(key)
	s.back()
	switch {
	case p.closed:
		p.mu.Unlock()
		p.o.Close(v)
		return
	case len(s.ready)+s.resetting >= s.want+s.waiting:
		s.used = append(s.used, idle[V]{v, time.Now()})
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
	go func() {
		defer p.background.Done()
		fresh, err := p.o.Reset(v)
		if err != nil {
			p.o.Close(v)
		}
		p.mu.Lock()
		s.resetting--
		kept := err == nil && p.addLocked(key, s, fresh)
		p.came.Broadcast()
		p.mu.Unlock()
		if err == nil && !kept {
			p.o.Close(fresh)
		}
	}()
}

// Discard notes that a value that Get returned is not put back.
func (p *Pool[K, V]) Discard(key K) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.valuesLocked(key).back()
}

// back notes that one of the lent values is not lent any more.
func (s *values[V]) back() {
	if len(s.lent) > 0 {
		s.lent = s.lent[1:]
	}
}

// trimUsedLocked takes out the used value that waits longest, if there are too
// many.
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

// addLocked makes a value a ready one, if there is room and it is wanted.
func (p *Pool[K, V]) addLocked(key K, s *values[V], v V) bool {
	if p.closed || s.dropped || !p.roomLocked(s) {
		return false
	}
	s.ready = append(s.ready, idle[V]{v, time.Now()})
	p.watchLocked()
	return true
}

// roomLocked reports whether there may be one more ready value, of s. It closes
// one of another key if that can spare it.
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

// closeLater closes values without the mutex.
func (p *Pool[K, V]) closeLater(gone []V) {
	if len(gone) == 0 {
		return
	}
	p.background.Add(1)
	go func() {
		defer p.background.Done()
		for _, v := range gone {
			p.o.Close(v)
		}
	}()
}
