package pyodide

import (
	"context"
	"sync"
)

// ahead keeps interpreters restored ahead of need, of the snapshots that were
// asked for last, so that a run need not wait for its own.
type ahead struct {
	rt  *Runtime
	max int

	mu      sync.Mutex
	ready   []aheadOne // the one added last at the end
	filling map[aheadKey]bool
	closed  bool
	running sync.WaitGroup
}

// aheadKey says what an interpreter is good for.
type aheadKey struct {
	from   *Frozen
	memory int64
}

type aheadOne struct {
	key aheadKey
	in  *Interp
}

// take gives an interpreter of a snapshot, restored now or before, and has
// another one restored for the next.
func (a *ahead) take(ctx context.Context, key aheadKey) (*Interp, error) {
	in := a.pop(key)
	if a.max > 0 {
		defer a.refill(key)
	}
	if in != nil {
		return in, nil
	}
	return a.rt.restore(ctx, key.from, key.memory)
}

func (a *ahead) pop(key aheadKey) *Interp {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := len(a.ready) - 1; i >= 0; i-- {
		if one := a.ready[i]; one.key == key {
			a.ready = append(a.ready[:i], a.ready[i+1:]...)
			return one.in
		}
	}
	return nil
}

// refill restores interpreters in the background, one at a time for a key,
// until a half of the places is taken by it; whoever was put in first makes
// room.
func (a *ahead) refill(key aheadKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || a.filling[key] {
		return
	}
	a.filling[key] = true
	a.running.Add(1)
	go func() {
		defer a.running.Done()
		for a.wants(key) {
			in, err := a.rt.restore(context.Background(), key.from, key.memory)
			if err != nil {
				a.give(key, nil) // the next run will say what is wrong
				return
			}
			a.give(key, in)
		}
	}()
}

// wants says whether another one is wanted; if not, filling ends.
func (a *ahead) wants(key aheadKey) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for _, one := range a.ready {
		if one.key == key {
			n++
		}
	}
	if !a.closed && a.filling[key] && n < (a.max+1)/2 {
		return true
	}
	delete(a.filling, key)
	return false
}

// give puts an interpreter in; nil ends the filling.
func (a *ahead) give(key aheadKey, in *Interp) {
	var surplus *Interp
	a.mu.Lock()
	switch {
	case in == nil:
		delete(a.filling, key)
	case a.closed || !a.filling[key]:
		surplus = in
	default:
		a.ready = append(a.ready, aheadOne{key, in})
		if len(a.ready) > a.max {
			surplus = a.ready[0].in
			a.ready = a.ready[1:]
		}
	}
	a.mu.Unlock()
	if surplus != nil {
		surplus.Close()
	}
}

// drop closes what was restored of a snapshot that is about to be closed; nil
// stands for all, for good.
func (a *ahead) drop(from *Frozen) {
	a.mu.Lock()
	var gone []*Interp
	kept := a.ready[:0]
	for _, one := range a.ready {
		if from == nil || one.key.from == from {
			gone = append(gone, one.in)
		} else {
			kept = append(kept, one)
		}
	}
	a.ready = kept
	for key := range a.filling {
		if from == nil || key.from == from {
			delete(a.filling, key) // it ends with what it is at
		}
	}
	a.closed = a.closed || from == nil
	a.mu.Unlock()
	for _, in := range gone {
		in.Close()
	}
	if from == nil {
		a.running.Wait()
	}
}
