package pool

import (
	"context"
	"slices"
	"time"
)

// Want notes that one value of a key at least is wanted, which Fill makes.
func (p *Pool[K, V]) Want(key K) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.valuesLocked(key)
	s.asked = time.Now()
	s.want = max(s.want, min(1, p.o.MaxIdle))
}

// Fill makes, in the background, the values of a key that are wanted and not
// ready: at once those that the lent ones do not make up for, the rest when
// these have had the time to come back.
func (p *Pool[K, V]) Fill(key K) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.keys[key]; s != nil {
		p.fillLocked(key, s)
	}
}

func (p *Pool[K, V]) fillLocked(key K, s *values[V]) {
	missing := s.want - len(s.ready) - s.resetting
	if p.closed || s.dropped || missing <= 0 {
		return
	}
	delay := time.Duration(0)
	if missing <= p.expectedLocked(s) {
		delay = p.o.Return
	}
	if s.filling {
		if delay == 0 && s.delayed != nil && s.delayed.Stop() {
			s.delayed.Reset(0)
			s.delayed = nil
		}
		return
	}
	s.filling = true
	p.background.Add(1)
	t := time.AfterFunc(delay, func() {
		defer p.background.Done()
		for p.fillOne(key, s) {
		}
	})
	if delay > 0 {
		s.delayed = t
	}
}

// expectedLocked returns how many of the lent values may come back soon.
func (p *Pool[K, V]) expectedLocked(s *values[V]) (n int) {
	for _, since := range s.lent {
		if time.Since(since) < p.o.Return {
			n++
		}
	}
	return n
}

// fillOne makes a value, and reports whether to go on.
func (p *Pool[K, V]) fillOne(key K, s *values[V]) bool {
	p.mu.Lock()
	s.delayed = nil
	missing := s.want - len(s.ready) - s.resetting
	wait := missing <= p.expectedLocked(s)
	if p.closed || s.dropped || wait || !p.roomLocked(s) {
		s.filling = false
		if wait {
			p.fillLocked(key, s)
		} else {
			s.want -= max(missing, 0) // others need the places more
		}
		p.mu.Unlock()
		return false
	}
	p.mu.Unlock()
	v, err := p.make(context.Background(), key)
	p.mu.Lock()
	kept := err == nil && p.addLocked(key, s, v)
	if !kept {
		s.filling = false // after an error the next Get says what is wrong
	}
	p.mu.Unlock()
	if err == nil && !kept {
		p.o.Close(v)
	}
	return kept
}

// Remove closes a ready value, which is not wanted any more, and reports whether
// it was there.
func (p *Pool[K, V]) Remove(key K, v V) bool {
	p.mu.Lock()
	s := p.keys[key]
	i := -1
	if s != nil {
		i = slices.IndexFunc(s.ready, func(one idle[V]) bool { return one.value == v })
	}
	if i >= 0 {
		s.ready = slices.Delete(s.ready, i, i+1)
		s.want = len(s.ready)
	}
	p.mu.Unlock()
	if i >= 0 {
		p.o.Close(v)
	}
	return i >= 0
}

// Drop closes the idle values of all keys for which which returns true, and
// forgets them.
func (p *Pool[K, V]) Drop(which func(K) bool) {
	var gone []V
	p.mu.Lock()
	for key, s := range p.keys {
		if which(key) {
			for _, one := range slices.Concat(s.ready, s.used) {
				gone = append(gone, one.value)
			}
			s.ready, s.used, s.dropped = nil, nil, true
			delete(p.keys, key)
		}
	}
	p.mu.Unlock()
	for _, v := range gone {
		p.o.Close(v)
	}
}

// Close closes all idle values, and those that are put back later. It waits for
// what happens in the background.
func (p *Pool[K, V]) Close() {
	p.mu.Lock()
	p.closed = true
	for _, s := range p.keys {
		if s.delayed != nil && s.delayed.Stop() {
			p.background.Done()
		}
	}
	if p.expiry != nil && p.expiry.Stop() {
		p.background.Done()
	}
	p.mu.Unlock()
	p.Drop(func(K) bool { return true })
	p.background.Wait()
}

// watchLocked has the oldest value expire in time.
func (p *Pool[K, V]) watchLocked() {
	oldest := time.Time{}
	for _, s := range p.keys {
		for _, list := range [][]idle[V]{s.ready, s.used} {
			if len(list) > 0 && (oldest.IsZero() || list[0].since.Before(oldest)) {
				oldest = list[0].since
			}
		}
	}
	if p.expiry != nil || oldest.IsZero() || p.closed {
		return
	}
	p.background.Add(1)
	p.expiry = time.AfterFunc(time.Until(oldest.Add(p.o.MaxIdleTime)), func() {
		defer p.background.Done()
		p.expire()
	})
}

// expire closes what has waited for too long.
func (p *Pool[K, V]) expire() {
	now := time.Now()
	var gone []V
	p.mu.Lock()
	for key, s := range p.keys {
		n := len(s.ready)
		for _, list := range []*[]idle[V]{&s.ready, &s.used} {
			*list = slices.DeleteFunc(*list, func(one idle[V]) bool {
				if now.Sub(one.since) < p.o.MaxIdleTime {
					return false
				}
				gone = append(gone, one.value)
				return true
			})
		}
		if len(s.ready) < n {
			s.want = len(s.ready)
		}
		if s.empty() && now.Sub(s.asked) >= p.o.MaxIdleTime {
			delete(p.keys, key)
		}
	}
	p.expiry = nil
	p.watchLocked()
	p.mu.Unlock()
	for _, v := range gone {
		p.o.Close(v)
	}
}

// Stats says what waits, of all keys.
type Stats struct {
	Ready   int // for use
	Used    int // as it was put back
	Filling int // keys whose values are being made
}

// Stats returns what waits now.
func (p *Pool[K, V]) Stats() (s Stats) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, of := range p.keys {
		s.Ready += len(of.ready)
		s.Used += len(of.used)
		if of.filling {
			s.Filling++
		}
	}
	return s
}

// Ready returns the values that are ready now, of all keys.
func (p *Pool[K, V]) Ready() (all []V) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.keys {
		for _, one := range s.ready {
			all = append(all, one.value)
		}
	}
	return all
}
