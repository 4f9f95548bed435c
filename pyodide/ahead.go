package pyodide

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

// ahead keeps interpreters restored ahead of need, of the snapshots that were
// asked for last, so that a run need not wait for its own. And it keeps
// instances whose programs have ended well as these have left them: to make one
// what it was takes a fifth of what a new one takes.
type ahead struct {
	rt      *Runtime
	max     int
	maxUsed int

	mu      sync.Mutex
	ready   []aheadOne               // the one added last at the end
	used    []aheadOne               // likewise, closed
	recent  []aheadKey               // the last ones that were asked for
	filling map[aheadKey]*time.Timer // until it begins
	lent    map[*Interp]time.Time    // since when
	coming  map[aheadKey]int         // being made of what was lent
	waiting map[aheadKey]int         // for these
	came    *sync.Cond               // of mu
	expiry  *time.Timer              // of what waits longest, nil if nothing does
	closed  bool
	running sync.WaitGroup
}

const (
	// aheadIdle is how long an interpreter waits to be asked for.
	aheadIdle = 5 * time.Minute
	// aheadRecent is how many requests decide what is restored.
	aheadRecent = 32
	// aheadPause is how long the places of interpreters that are in use stay
	// theirs: most programs end sooner, and new instances cost more.
	aheadPause = 20 * time.Millisecond
)

func (a *ahead) init(rt *Runtime, max int) {
	a.rt, a.max, a.maxUsed = rt, max, runtime.GOMAXPROCS(0)
	a.filling = map[aheadKey]*time.Timer{}
	a.lent, a.coming, a.waiting = map[*Interp]time.Time{}, map[aheadKey]int{}, map[aheadKey]int{}
	a.came = sync.NewCond(&a.mu)
}

// aheadKey says what an interpreter is good for.
type aheadKey struct {
	from   *Frozen
	memory int64
}

type aheadOne struct {
	key  aheadKey
	in   *Interp
	made time.Time
}

// take gives an interpreter of a snapshot, restored now or before, and has
// another one restored for the next.
func (a *ahead) take(ctx context.Context, from *Frozen, memory int64) (*Interp, error) {
	key := aheadKey{from, memory}
	in := a.pop(key)
	defer a.refill(key)
	if in == nil {
		var err error
		if in, err = a.restore(ctx, key); err != nil {
			return nil, err
		}
	}
	in.key = key
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lent[in] = time.Now()
	return in, nil
}

// restore makes an interpreter of one that was used, or else a new one.
func (a *ahead) restore(ctx context.Context, key aheadKey) (*Interp, error) {
	a.mu.Lock()
	old := takeLast(&a.used, key)
	a.mu.Unlock()
	if old != nil {
		in, err := old.reuse()
		if err == nil {
			return in, nil
		}
		old.destroy() // of no use
	}
	return a.rt.restore(ctx, key.from, key.memory)
}

// takeLast takes the last one of a key out of a list, nil if there is none.
func takeLast(list *[]aheadOne, key aheadKey) *Interp {
	for i, one := range slices.Backward(*list) {
		if one.key == key {
			*list = slices.Delete(*list, i, i+1)
			return one.in
		}
	}
	return nil
}

// back is told of interpreters that were closed. Of one whose program has ended
// well it makes another one, at once or when there is need. The one that it
// gives, if any, is to be destroyed.
func (a *ahead) back(in *Interp, well bool) (surplus *Interp) {
	key, old := in.key, (*Interp)(nil)
	if well && in.reusable() {
		old = in.strip()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.lent, in)
	switch {
	case old == nil:
		return in
	case a.closed || key.from.closed.Load():
		return old
	case a.count(key)+a.coming[key] >= a.share(key)+a.waiting[key]:
		if a.used = append(a.used, aheadOne{key, old, time.Now()}); len(a.used) > a.maxUsed {
			surplus = a.used[0].in
			a.used = slices.Delete(a.used, 0, 1)
		}
		a.watch()
		return surplus
	}
	a.coming[key]++
	a.running.Add(1)
	go func() {
		defer a.running.Done()
		fresh, err := old.reuse()
		if err != nil {
			old.destroy() // of no use: the next one is restored
		}
		a.arrived(key, fresh)
	}()
	return nil
}

func (a *ahead) pop(key aheadKey) *Interp {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.recent = append(a.recent, key); len(a.recent) > aheadRecent {
		a.recent = a.recent[1:]
	}
	for {
		if in := takeLast(&a.ready, key); in != nil {
			return in
		}
		if a.coming[key] <= a.waiting[key] {
			return nil
		}
		a.waiting[key]++
		a.came.Wait() // in a tenth of what a new instance takes
		if a.waiting[key]--; a.waiting[key] == 0 {
			delete(a.waiting, key)
		}
	}
}

// refill restores interpreters in the background, one at a time for a key,
// until it has its share: at once what those that were just taken do not make
// up for, the rest when they had the time to come back.
func (a *ahead) refill(key aheadKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	pause := aheadPause
	switch have := a.count(key) + a.coming[key]; {
	case have >= a.share(key):
		return
	case have+a.soon(key) < a.share(key):
		pause = 0
	}
	if t := a.filling[key]; a.closed || t != nil && (pause > 0 || !t.Stop()) {
		return
	} else if t != nil {
		t.Reset(0)
		return
	}
	a.running.Add(1)
	a.filling[key] = time.AfterFunc(pause, func() {
		defer a.running.Done()
		for a.wants(key) {
			in, err := a.restore(context.Background(), key)
			if err != nil {
				a.give(key, nil) // the next run will say what is wrong
				return
			}
			a.give(key, in)
		}
	})
}

// wants says whether another one is wanted; if not, filling ends, or pauses
// while those in use may come back.
func (a *ahead) wants(key aheadKey) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	have, soon := a.count(key)+a.coming[key], a.soon(key)
	switch t := a.filling[key]; {
	case a.closed || t == nil || have >= a.share(key):
		delete(a.filling, key)
	case have+soon >= a.share(key):
		a.running.Add(1)
		t.Reset(aheadPause)
	default:
		return true
	}
	return false
}

// soon says how many of a key may come back soon; the caller holds mu.
func (a *ahead) soon(key aheadKey) (n int) {
	for in, since := range a.lent {
		if in.key == key && time.Since(since) < aheadPause {
			n++
		}
	}
	return n
}

// count says how many of a key are ready; the caller holds mu.
func (a *ahead) count(key aheadKey) (n int) {
	for _, one := range a.ready {
		if one.key == key {
			n++
		}
	}
	return n
}

// share is how many of a key are to be ready: as many of the places as it has
// of the recent requests, but one at least and a half of them at most (with no
// places, none).
func (a *ahead) share(key aheadKey) int {
	n := 0
	for _, k := range a.recent {
		if k == key {
			n++
		}
	}
	places := a.max * n / max(len(a.recent), 1)
	return max(min(places, (a.max+1)/2), min(1, a.max))
}

// surplus takes out one that is to go: of a key that has more than its share,
// or else the oldest.
func (a *ahead) surplus() *Interp {
	which := 0
	for i, one := range a.ready {
		if a.count(one.key) > a.share(one.key) {
			which = i
			break
		}
	}
	in := a.ready[which].in
	a.ready = slices.Delete(a.ready, which, which+1)
	return in
}

// expire closes what has waited for too long at the given time.
func (a *ahead) expire(now time.Time) {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return
	}
	a.running.Add(1)
	defer a.running.Done()
	gone := a.remove(func(one aheadOne) bool { return now.Sub(one.made) >= aheadIdle })
	a.expiry = nil
	a.watch()
	a.mu.Unlock()
	for _, in := range gone {
		in.destroy()
	}
}

// remove takes out those that wait, made ready or not, for which which is true;
// the caller holds mu, and destroys them without it.
func (a *ahead) remove(which func(aheadOne) bool) (gone []*Interp) {
	for _, list := range []*[]aheadOne{&a.ready, &a.used} {
		*list = slices.DeleteFunc(*list, func(one aheadOne) bool {
			if which(one) {
				gone = append(gone, one.in)
				return true
			}
			return false
		})
	}
	return gone
}

// watch has the oldest one expire in time; the caller holds mu.
func (a *ahead) watch() {
	var oldest *aheadOne
	for _, list := range [][]aheadOne{a.ready, a.used} {
		if len(list) > 0 && (oldest == nil || list[0].made.Before(oldest.made)) {
			oldest = &list[0]
		}
	}
	if a.expiry == nil && oldest != nil {
		a.expiry = time.AfterFunc(time.Until(oldest.made.Add(aheadIdle)), func() { a.expire(time.Now()) })
	}
}

// give puts an interpreter in; nil ends the filling.
func (a *ahead) give(key aheadKey, in *Interp) {
	var surplus *Interp
	a.mu.Lock()
	switch {
	case in == nil:
		delete(a.filling, key)
	case a.closed || a.filling[key] == nil:
		surplus = in
	default:
		surplus = a.put(key, in)
	}
	a.mu.Unlock()
	if surplus != nil {
		surplus.Close()
	}
}

// arrived puts an interpreter in that was made of a used one; nil: it was not.
func (a *ahead) arrived(key aheadKey, in *Interp) {
	surplus := in
	a.mu.Lock()
	if a.coming[key]--; a.coming[key] == 0 {
		delete(a.coming, key)
	}
	if in != nil && !a.closed && !key.from.closed.Load() {
		surplus = a.put(key, in)
	}
	a.came.Broadcast()
	a.mu.Unlock()
	if surplus != nil {
		surplus.Close()
	}
}

// put adds one that is ready and gives the one that has no place, if any; the
// caller holds mu.
func (a *ahead) put(key aheadKey, in *Interp) (surplus *Interp) {
	a.ready = append(a.ready, aheadOne{key, in, time.Now()})
	if len(a.ready) > a.max {
		surplus = a.surplus()
	}
	a.watch()
	return surplus
}

// drop closes what was restored of a snapshot that is about to be closed; nil
// stands for all, for good.
func (a *ahead) drop(from *Frozen) {
	a.mu.Lock()
	gone := a.remove(func(one aheadOne) bool { return from == nil || one.key.from == from })
	for key := range a.filling {
		if from == nil || key.from == from {
			delete(a.filling, key) // it ends with what it is at
		}
	}
	if from == nil {
		a.closed = true
		if a.expiry != nil {
			a.expiry.Stop()
		}
	}
	a.mu.Unlock()
	for _, in := range gone {
		in.destroy()
	}
	if from == nil {
		a.running.Wait()
	}
}
