package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// thing is a value that says what became of it.
type thing struct {
	key    string
	resets int
	closed atomic.Bool
}

// shop makes things and counts them. Making takes a second, a reset 100 ms.
type shop struct {
	*Pool[string, *thing]
	mu        sync.Mutex
	made      int
	all       []*thing
	failNew   error
	failReset error
	unready   map[*thing]bool
}

func newShop(o Options[string, *thing]) *shop {
	s := &shop{unready: map[*thing]bool{}}
	o.New = func(_ context.Context, key string) (*thing, error) {
		time.Sleep(time.Second)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.failNew != nil {
			return nil, s.failNew
		}
		s.made++
		t := &thing{key: key}
		s.all = append(s.all, t)
		return t, nil
	}
	o.Reset = func(t *thing) (*thing, error) {
		time.Sleep(100 * time.Millisecond)
		s.mu.Lock()
		defer s.mu.Unlock()
		t.resets++
		return t, s.failReset
	}
	o.Close = func(t *thing) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if t.closed.Swap(true) {
			panic("closed twice")
		}
	}
	if o.MaxIdleTime == 0 {
		o.MaxIdleTime = time.Hour
	}
	s.Pool = New(o)
	return s
}

// get gets a thing, has the next one made and says how long it took.
func (s *shop) get(t *testing.T, key string) (*thing, time.Duration) {
	t.Helper()
	begun := time.Now()
	v, err := s.Get(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	if v.closed.Load() || v.key != key {
		t.Fatalf("Get(%q) = %+v", key, v)
	}
	took := time.Since(begun)
	s.Fill(key)
	synctest.Wait()
	return v, took
}

// end closes the pool: nothing is left open but what the caller has.
func (s *shop) end(t *testing.T, kept ...*thing) {
	t.Helper()
	s.Close()
	for _, v := range s.all {
		if !v.closed.Load() && !slices.Contains(kept, v) {
			t.Errorf("%+v is still open", v)
		}
	}
}

func (s *shop) ready(key string) int {
	s.Pool.mu.Lock()
	defer s.Pool.mu.Unlock()
	return len(s.valuesLocked(key).ready)
}

// pass lets time go by, and what happens in it happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (s *shop) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.made
}

func TestMadeAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(Options[string, *thing]{MaxIdle: 3})
		for i, want := range []time.Duration{time.Second, 0, 0} {
			if _, took := s.get(t, "a"); took != want {
				t.Errorf("Get %d took %v, want %v", i, took, want)
			}
			pass(time.Minute)
		}
		// Those that are missed at the same time are wanted from then on.
		for i := range 5 {
			want := time.Second
			if i == 0 {
				want = 0
			}
			if _, took := s.get(t, "a"); took > want {
				t.Errorf("Get %d at once took %v", i, took)
			}
		}
		pass(time.Minute)
		if n := s.ready("a"); n != 3 {
			t.Errorf("%d are ready, want 3", n)
		}
		kept := slices.DeleteFunc(slices.Clone(s.all), func(v *thing) bool {
			return slices.ContainsFunc(s.keys["a"].ready, func(one idle[*thing]) bool { return one.value == v })
		})
		s.end(t, kept...)
	})
}

func TestUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(Options[string, *thing]{MaxIdle: 1, MaxUsed: 2, Return: 20 * time.Millisecond})
		v, _ := s.get(t, "a")
		pass(10 * time.Millisecond)
		s.Put("a", v)
		w, took := s.get(t, "a") // waits for the reset
		if w != v || took != 100*time.Millisecond || v.resets != 1 {
			t.Errorf("the same %v after %v and %d resets", w == v, took, v.resets)
		}
		s.Put("a", w)
		pass(time.Minute)
		if s.count() != 1 || s.ready("a") != 1 {
			t.Errorf("%d made, %d ready; want 1, 1", s.count(), s.ready("a"))
		}
		// One that is not back in time is replaced.
		x, took := s.get(t, "a")
		if took != 0 {
			t.Errorf("a ready one took %v", took)
		}
		pass(19 * time.Millisecond)
		if s.count() != 1 {
			t.Errorf("%d made before the time", s.count())
		}
		pass(time.Minute)
		if s.count() != 2 || s.ready("a") != 1 {
			t.Errorf("%d made, %d ready; want 2, 1", s.count(), s.ready("a"))
		}
		s.Put("a", x) // not wanted: it waits as it is
		if pass(time.Minute); x.resets != 2 {
			t.Errorf("%d resets, want 2", x.resets)
		}
		s.get(t, "a")
		if y, took := s.get(t, "a"); y != x || took != 100*time.Millisecond {
			t.Errorf("the used one: %v, after %v", y == x, took)
		}
		pass(time.Minute) // one is made
		s.end(t, s.all...)
	})
}

// TestWaitIsAMiss has a key wanted more of when somebody had to wait.
func TestWaitIsAMiss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(Options[string, *thing]{MaxIdle: 4, Return: 20 * time.Millisecond})
		for range 2 {
			v, _ := s.get(t, "a")
			s.Put("a", v)
		}
		pass(time.Minute)
		if s.count() != 2 || s.ready("a") != 2 {
			t.Errorf("%d made, %d ready; want 2, 2", s.count(), s.ready("a"))
		}
		s.end(t)
	})
}

func TestOnlyUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(Options[string, *thing]{MaxUsed: 2})
		var all []*thing
		for range 3 {
			v, _ := s.get(t, "a")
			all = append(all, v)
		}
		for _, v := range all {
			pass(time.Second)
			s.Put("a", v)
		}
		synctest.Wait()
		if !all[0].closed.Load() || all[1].closed.Load() || all[2].closed.Load() {
			t.Error("it is not the oldest that is closed when there are too many")
		}
		s.failReset = errors.New("broken")
		if v, took := s.get(t, "a"); v == all[2] || took != 1100*time.Millisecond || !all[2].closed.Load() {
			t.Errorf("after a reset that fails: closed %v, %v", all[2].closed.Load(), took)
		}
		s.end(t, s.all[len(s.all)-1])
	})
}

func TestExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(Options[string, *thing]{MaxIdle: 4, MaxUsed: 4, MaxIdleTime: time.Minute})
		v, _ := s.get(t, "a")
		w, _ := s.get(t, "a")
		pass(10 * time.Second)
		s.Put("a", v)
		s.Discard("a")
		pass(45 * time.Second)
		if s.ready("a") != 2 || v.closed.Load() {
			t.Errorf("%d are ready, the used one is closed: %v", s.ready("a"), v.closed.Load())
		}
		pass(time.Minute)
		if s.ready("a") != 0 || !v.closed.Load() {
			t.Errorf("%d are ready, the used one is closed: %v", s.ready("a"), v.closed.Load())
		}
		s.Fill("a")
		pass(time.Minute)
		if made := s.count(); made != 4 {
			t.Errorf("%d made, want 4: what expired is not wanted", made)
		}
		s.end(t, w)
	})
}

// TestRoom has several keys share the places.
func TestRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(Options[string, *thing]{MaxIdle: 3})
		for range 3 {
			s.get(t, "a")
		}
		pass(10 * time.Second)
		for _, key := range []string{"b", "c", "d"} {
			s.get(t, key)
			pass(10 * time.Second)
		}
		got := fmt.Sprint(s.ready("a"), s.ready("b"), s.ready("c"), s.ready("d"))
		if got != "1 1 1 0" {
			t.Errorf("%s are ready, want 1 1 1 0: those that are used keep one", got)
		}
		pass(time.Minute)
		s.get(t, "d")
		pass(10 * time.Second)
		if s.ready("a") != 0 || s.ready("d") != 1 {
			t.Errorf("%d and %d are ready, want 0 and 1", s.ready("a"), s.ready("d"))
		}
		s.end(t, s.all...)
	})
}

func TestDrop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(Options[string, *thing]{MaxIdle: 4, MaxUsed: 4})
		s.Want("a")
		s.Want("b")
		s.Fill("a")
		s.Fill("b")
		pass(500 * time.Millisecond)
		s.Drop(func(key string) bool { return key == "a" })
		pass(time.Minute)
		if s.ready("a") != 0 || s.ready("b") != 1 {
			t.Errorf("%d and %d are ready, want 0 and 1", s.ready("a"), s.ready("b"))
		}
		v := s.keys["b"].ready[0].value
		if !s.Remove("b", v) || s.Remove("b", v) || !v.closed.Load() {
			t.Error("Remove did not find what was there, once")
		}
		s.Fill("b")
		pass(time.Minute)
		if s.ready("b") != 0 {
			t.Error("what was removed is still wanted")
		}
		s.failNew = errors.New("broken")
		if _, err := s.Get(context.Background(), "b"); err != s.failNew {
			t.Error(err)
		}
		s.end(t)
		s.Put("b", &thing{})
	})
}

// TestNotReady has values that are there before they can be used.
func TestNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *shop
		s = newShop(Options[string, *thing]{MaxIdle: 3, Ready: func(v *thing) bool { return !s.unready[v] }})
		s.Want("a")
		s.Fill("a")
		pass(time.Minute)
		first := s.all[0]
		s.unready[first] = true
		if v, _ := s.get(t, "a"); v != first {
			t.Error("not the only one that was there")
		}
		pass(time.Minute)
		if n := s.ready("a"); n != 2 {
			t.Errorf("%d are ready after a miss, want 2", n)
		}
		s.end(t, first)
	})
}

func TestMaxUnready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ready := false
		s := newShop(Options[string, *thing]{MaxIdle: 3, MaxUnready: 1, Ready: func(*thing) bool { return ready }})
		v, _ := s.get(t, "a")
		pass(time.Minute)
		w, _ := s.get(t, "a") // that one was not ready: two are wanted
		pass(time.Minute)
		if n := s.ready("a"); n != 1 {
			t.Errorf("%d are there, which are not ready; want 1", n)
		}
		ready = true
		s.Fill("a")
		pass(time.Minute)
		if n := s.ready("a"); n != 2 {
			t.Errorf("%d are there when they are ready, want 2", n)
		}
		s.end(t, v, w)
	})
}

// TestManyAtOnce is for the race detector: each value has one user at a time.
func TestManyAtOnce(t *testing.T) {
	var mu sync.Mutex
	inUse := map[*thing]bool{}
	made := 0
	p := New(Options[string, *thing]{
		New: func(_ context.Context, key string) (*thing, error) {
			mu.Lock()
			defer mu.Unlock()
			made++
			return &thing{key: key}, nil
		},
		Reset:   func(v *thing) (*thing, error) { v.resets++; return v, nil },
		Close:   func(v *thing) { v.closed.Store(true) },
		MaxIdle: 3, MaxUsed: 2, MaxIdleTime: time.Minute, Return: time.Millisecond,
	})
	var group sync.WaitGroup
	for caller := range 8 {
		group.Go(func() {
			for i := range 200 {
				key := fmt.Sprint((caller + i) % 3)
				v, err := p.Get(context.Background(), key)
				if err != nil {
					t.Error(err)
				}
				p.Fill(key)
				mu.Lock()
				if inUse[v] || v.closed.Load() || v.key != key {
					t.Errorf("%+v, in use: %v", v, inUse[v])
				}
				inUse[v] = true
				mu.Unlock()
				mu.Lock()
				delete(inUse, v)
				mu.Unlock()
				if i%10 == 0 {
					p.Discard(key)
				} else {
					p.Put(key, v)
				}
				if i%50 == 0 {
					p.Drop(func(k string) bool { return k == key })
				}
			}
		})
	}
	group.Wait()
	p.Close()
}

// TestQuiet puts values back in a burst of calls: they are reset when it is over, but for a call
// that finds none, and no more are kept than there were calls at once.
func TestQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(Options[string, *thing]{MaxIdle: 3, MaxUsed: 3, Quiet: time.Second})
		defer s.Close()
		var all []*thing
		for range 4 {
			v, _ := s.get(t, "a")
			all = append(all, v)
		}
		time.Sleep(10 * time.Second) // as many are made as were missing
		if n := s.Stats(); n != (Stats{Ready: 3}) {
			t.Fatalf("before: %+v", n)
		}
		for _, v := range all[:2] {
			s.Put("a", v)
		}
		if n := s.Stats(); n.Ready != 3 || n.Used != 0 || !all[0].closed.Load() {
			t.Errorf("with all that are wanted: %+v", n)
		}

		first, _ := s.get(t, "a")
		second, _ := s.get(t, "a")
		s.Put("a", first)
		time.Sleep(900 * time.Millisecond)
		s.Fill("a")
		s.Put("a", second)
		time.Sleep(50 * time.Millisecond)
		if n := s.Stats(); n.Ready != 1 || n.Used != 2 || first.resets != 0 {
			t.Errorf("during the burst: %+v, %d resets", n, first.resets)
		}
		time.Sleep(100*time.Millisecond + 250*time.Millisecond) // one after the other
		if n := s.Stats(); n.Ready != 3 || n.Used != 0 || first.resets+second.resets != 2 {
			t.Errorf("after it: %+v", n)
		}

		for range 2 {
			s.get(t, "a")
		}
		third, _ := s.get(t, "a")
		s.Put("a", third)
		if v, took := s.get(t, "a"); v != third || took != 100*time.Millisecond { // others are being made
			t.Errorf("a call that finds none ready gets %+v after %v", v, took)
		}
	})
}
