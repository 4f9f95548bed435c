package baton

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// model is what the threads share without a lock: the race detector reports a turn
// that overlaps with another.
type model struct {
	b      *Baton
	inside int
	turns  int
	tokens int // of a semaphore
	taken  int
	given  int
}

// turn checks that nobody else has the baton.
func (m *model) turn(t *testing.T) {
	if m.inside++; m.inside != 1 {
		t.Error("two threads have the baton")
	}
	m.turns++
}

// act does something at random that gives the baton away.
func (m *model) act(t *testing.T, me *Thread, r *rand.Rand) (goesOn bool) {
	defer m.turn(t)
	m.inside--
	switch r.IntN(5) {
	case 0:
		return me.Yield()
	case 1:
		me.Release()
		if r.IntN(2) == 0 {
			time.Sleep(time.Duration(r.IntN(50)) * time.Microsecond)
		}
		return me.Acquire()
	case 2:
		m.tokens++
		m.given++
		return me.Yield()
	case 3:
		stop := make(chan struct{})
		timer := time.AfterFunc(time.Duration(r.IntN(100))*time.Microsecond, func() { close(stop) })
		defer timer.Stop()
		return m.take(me, stop, -1)
	}
	return m.take(me, nil, time.Duration(r.IntN(100))*time.Microsecond)
}

// take waits for a token.
func (m *model) take(me *Thread, stop <-chan struct{}, limit time.Duration) bool {
	how := me.Wait(func() bool { return m.tokens > 0 }, stop, limit)
	if m.tokens > 0 && how == Ready {
		m.tokens--
		m.taken++
	}
	return how != Ended
}

// TestModel has threads act at random, start others, and end by themselves or by
// End, which comes at some moment in half of the rounds.
func TestModel(t *testing.T) {
	for seed := range uint64(60) {
		m := &model{}
		var preempted atomic.Int32
		b, main := New(50*time.Microsecond, func() { preempted.Add(1) })
		m.b = b
		m.turn(t)
		var wg sync.WaitGroup
		var start func(depth int)
		start = func(depth int) {
			me, r := b.Add(), rand.New(rand.NewPCG(seed, uint64(m.turns)))
			wg.Go(func() {
				goesOn := me.Begin()
				m.turn(t)
				for n := r.IntN(200); n > 0 && goesOn; n-- {
					if depth > 0 && r.IntN(20) == 0 {
						start(depth - 1)
					}
					goesOn = m.act(t, me, r)
				}
				m.inside--
				me.Release()
			})
		}
		r := rand.New(rand.NewPCG(seed, 1<<40))
		for range 1 + r.IntN(8) {
			start(2)
		}
		if seed%2 == 0 {
			time.AfterFunc(time.Duration(r.IntN(3000))*time.Microsecond, b.End)
		}
		for n := 0; n < 100 && m.act(t, main, r); n++ {
		}
		m.inside--
		main.Release()
		wg.Wait()
		if m.given != m.taken+m.tokens || m.inside != 0 || b.holder != nil || len(b.queue)+len(b.waiting) != 0 {
			t.Fatalf("seed %d: %d tokens given, %d taken, %d left; %d inside, holder %v, %d in the queue, %d waiting",
				seed, m.given, m.taken, m.tokens, m.inside, b.holder, len(b.queue), len(b.waiting))
		}
	}
}

// TestOrder has threads run first come, first served, and First.
func TestOrder(t *testing.T) {
	b, main := New(time.Hour, func() {})
	var order []int
	var wg sync.WaitGroup
	threads := make([]*Thread, 4)
	for i := range threads {
		threads[i] = b.Add()
		wg.Go(func() {
			threads[i].Begin()
			order = append(order, i)
			threads[i].Yield()
			order = append(order, i+10)
			threads[i].Release()
		})
	}
	b.First(threads[2])
	main.Release()
	wg.Wait()
	if want := []int{2, 0, 1, 3, 12, 10, 11, 13}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
	if !main.Acquire() {
		t.Error("Acquire reports the end")
	}
}

// TestWait has the outcomes.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, main := New(time.Second, func() {})
		never := func() bool { return false }
		begin := time.Now()
		if how := main.Wait(never, nil, 3*time.Second); how != TimedOut || time.Since(begin) != 3*time.Second {
			t.Errorf("a wait of 3s: %v after %v", how, time.Since(begin))
		}
		if idle := b.Idle(); idle != 3*time.Second || b.Idle() != 0 {
			t.Errorf("idle for %v", idle)
		}
		stop := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(stop) })
		if how := main.Wait(never, stop, -1); how != Interrupted {
			t.Errorf("an interrupted wait: %v", how)
		}
		other, done := b.Add(), false
		go func() {
			other.Begin()
			done = true
			other.Release()
		}()
		if how := main.Wait(func() bool { return done }, nil, -1); how != Ready || !done {
			t.Errorf("a wait for another thread: %v", how)
		}
		time.AfterFunc(time.Second, b.End)
		if how := main.Wait(never, nil, -1); how != Ended {
			t.Errorf("a wait that End ends: %v", how)
		}
		if how := main.Wait(func() bool { return true }, nil, 0); how != Ended || main.Yield() {
			t.Errorf("a wait after End: %v", how)
		}
	})
}

// TestPreempt has a holder that is asked to yield while others wait, and only then.
func TestPreempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []time.Duration
		begin := time.Now()
		b, main := New(time.Second, func() { asked = append(asked, time.Since(begin)) })
		time.Sleep(10 * time.Second)
		other := b.Add()
		go func() {
			other.Begin()
			other.Wait(func() bool { return false }, nil, 2*time.Second)
			other.Release()
		}()
		time.Sleep(2500 * time.Millisecond) // asked at 11s and 12s
		main.Yield()                        // at 12.5s: the other one waits until 14.5s
		time.Sleep(5 * time.Second)         // asked at 13.5s, 14.5s and from then on
		main.Yield()
		synctest.Wait()
		time.Sleep(time.Minute)
		b.End()
		want := []time.Duration{11e9, 12e9, 13.5e9, 14.5e9, 15.5e9, 16.5e9}
		if len(asked) < len(want) || !slices.Equal(asked[:len(want)], want) || asked[len(asked)-1] > 18*time.Second {
			t.Errorf("asked at %v, want %v", asked, want)
		}
	})
}
