package pool

import (
	"context"
	"slices"
	"time"
)

// Want raises the key's target to at least one. Fill makes the value.
func (p *Pool[K, V]) Want(key K) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.valuesLocked(key)
	s.asked = time.Now()
	s.want = max(s.want, min(1, p.o.MaxIdle))
}

// Fill makes the missing values in the background, after Return if leased ones
// may cover them, and after Quiet if others are ready.
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
	delay := p.delayLocked(s, missing)
	if s.filling {
		if s.delayed != nil && s.delayed.Stop() {
			s.delayed.Reset(delay)
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

// delayLocked returns how long to wait before so many missing values are made.
func (p *Pool[K, V]) delayLocked(s *values[V], missing int) time.Duration {
	switch quiet := p.o.Quiet - time.Since(s.asked); {
	case missing <= p.expectedLocked(s):
		return p.o.Return
	case quiet > 0 && len(s.ready) > 0:
		return quiet
	}
	return 0
}

// expectedLocked returns the number of leased values that may come back soon.
func (p *Pool[K, V]) expectedLocked(s *values[V]) (n int) {
	for _, since := range s.leases {
		if time.Since(since) < p.o.Return {
			n++
		}
	}
	return n
}

// unreadyLocked returns the number of idle values that are not Ready.
func (p *Pool[K, V]) unreadyLocked(s *values[V]) (n int) {
	for _, one := range s.ready {
		if !p.o.Ready(one.value) {
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
	wait := missing <= 0 || p.delayLocked(s, missing) > 0
	unready := missing > 0 && p.o.MaxUnready > 0 && p.unreadyLocked(s) >= p.o.MaxUnready
	if p.closed || s.dropped || wait || unready || !p.roomLocked(s) {
		s.filling = false
		switch {
		case wait:
			p.fillLocked(key, s)
		case !unready:
			s.want -= max(missing, 0) // no room: lower the target
		}
		p.mu.Unlock()
		return false
	}
	resets := len(s.used) > 0
	if resets {
		s.resetting++ // a Get waits for it
	}
	p.mu.Unlock()
	v, err := p.make(context.Background(), key)
	p.mu.Lock()
	if resets {
		s.resetting--
		defer p.came.Broadcast()
	}
	kept := err == nil && p.addLocked(s, v)
	if !kept {
		s.filling = false // the next Get returns the error
	}
	p.mu.Unlock()
	if err == nil && !kept {
		p.o.Close(v)
	}
	return kept
}

// Remove closes a ready value, lowers its key's target, and reports whether the
// value was there.
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

// Drop removes all keys for which which returns true and closes their idle values.
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
// background work.
func (p *Pool[K, V]) Close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.end)
	}
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

// watchLocked starts the timer that expires the oldest idle value.
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

// expire closes the values that were idle for MaxIdleTime.
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

// Stats counts the idle values of all keys.
type Stats struct {
	Ready   int // for use
	Used    int // not reset yet
	Filling int // keys whose values are being made
}

// Stats returns the current counts.
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
