package session_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"coderunner/internal/session"
	"coderunner/runners"
)

// Any machine goes on with what another left, and sees what became of it.
func TestRemote(t *testing.T) {
	m := newMemory()
	a, b := open(t, session.Options{Remote: m}), open(t, session.Options{Remote: m})
	call(t, a, "s", add("a"))
	call(t, b, "s", add("b"))
	call(t, a, "s", add("c"))
	if got := show(t, b, "s"); got != "abc log=abc" {
		t.Errorf("b sees %q", got)
	}
	if n, err := b.Rewind(t.Context(), "s", 1); err != nil || n != 4 {
		t.Errorf("Rewind = %d, %v", n, err)
	}
	if got := show(t, a, "s"); got != "a log=a" {
		t.Errorf("after a rewind a sees %q", got)
	}
	if err := b.Fork(t.Context(), "s", "copy", 3); err != nil {
		t.Error(err)
	}
	if got := show(t, a, "copy"); got != "abc log=abc" {
		t.Errorf("the copy is %q", got)
	}
	third := open(t, session.Options{Remote: m})
	list, err := third.List(t.Context())
	if err != nil || len(list) != 2 || list[0].Name != "copy" || list[1].State != 4 {
		t.Errorf("List = %+v, %v", list, err)
	}
	if info, err := third.Describe("s"); err != nil || len(info.History) != 4 || info.Oldest != 1 {
		t.Errorf("Describe = %+v, %v", info, err)
	}
	if err := b.Close(t.Context(), "s"); err != nil {
		t.Error(err)
	}
	var refused *session.Error
	if _, err := a.ReadFile(t.Context(), "s", "log"); !errors.As(err, &refused) {
		t.Errorf("a closed session: %v", err)
	}
	call(t, b, "s", add("x")) // a session of the same name, of which a has other states
	if got := show(t, a, "s"); got != "x log=x" {
		t.Errorf("a new session of that name is %q", got)
	}
	for _, name := range []string{"s", "copy"} {
		if err := a.Close(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
	if len(m.objects) > 0 {
		t.Errorf("left: %v", slices.Sorted(maps.Keys(m.objects)))
	}
}

// A history that one server thins is thin for all, and what is needed stays.
func TestRemoteHistory(t *testing.T) {
	m := newMemory()
	limits := session.Limits{History: 4}
	a, b := open(t, session.Options{Remote: m, Limits: limits}), open(t, session.Options{Remote: m, Limits: limits})
	for i := range 20 {
		call(t, []*session.Store{a, b}[i/3%2], "s", add(string(rune('a'+i))))
	}
	if got := show(t, open(t, session.Options{Remote: m}), "s"); got != "abcdefghijklmnopqrst log=abcdefghijklmnopqrst" {
		t.Errorf("it is %q", got)
	}
	if n := len(m.objects); n > 1+3*7 { // the head; a state has two blobs
		t.Errorf("%d objects are left", n)
	}
	info, err := a.Describe("s")
	if err != nil || info.State != 20 {
		t.Fatalf("%+v, %v", info, err)
	}
	for n := info.Oldest; n <= 20; n++ {
		c := open(t, session.Options{Remote: m})
		if err := c.Fork(t.Context(), "s", fmt.Sprintf("at%d", n), n); err != nil {
			t.Errorf("state %d: %v", n, err)
		}
	}
}

// A server that is killed, or cut off, while it has a session loses it to the next one; what
// it had not told anybody is gone, and it cannot write any more.
func TestRemoteHolderGone(t *testing.T) {
	m := newMemory()
	synctest.Test(t, func(t *testing.T) {
		var cut atomic.Bool
		a := open(t, session.Options{Remote: &link{Remote: m, before: func(context.Context, string) error {
			if cut.Load() {
				return errors.New("no network")
			}
			return nil
		}}})
		b := open(t, session.Options{Remote: m})
		call(t, a, "s", add("a"))
		failed := make(chan error, 1)
		started := make(chan bool)
		go func() {
			_, err := a.Run(t.Context(), session.Call{Session: "s", Request: runners.Request{Language: runners.Python}}, func(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
				close(started)
				<-ctx.Done() // its lease is lost
				return add("lost").run(ctx, req)
			})
			failed <- err
		}()
		<-started
		cut.Store(true)
		begun := time.Now()
		call(t, b, "s", add("b"))
		if took := time.Since(begun); took < 10*time.Second || took > 20*time.Second {
			t.Errorf("the session was taken over after %v", took)
		}
		if err := <-failed; err == nil {
			t.Error("the server that was cut off says that it kept a state")
		}
		cut.Store(false)
		for _, s := range []*session.Store{a, b} {
			if got := show(t, s, "s"); got != "ab log=ab" {
				t.Errorf("it is %q", got)
			}
		}
	})
}

// A server that stops for longer than its lease, and does not know, makes no state over
// that of another, and none is made over its own.
func TestRemoteStale(t *testing.T) {
	for _, staleFirst := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory()
			var taken atomic.Bool
			thaw := make(chan bool)
			a := open(t, session.Options{Remote: &link{Remote: m, before: func(_ context.Context, request string) error {
				if taken.Load() && request == "put default/s/head" { // its heart beats no more
					<-thaw
				}
				return nil
			}}})
			b := open(t, session.Options{Remote: m})
			call(t, a, "s", add("0"))
			started := make(chan bool)
			run := func(s *session.Store, word string, finish <-chan bool) <-chan *runners.Continued {
				done := make(chan *runners.Continued, 1)
				go func() {
					out, err := s.Run(t.Context(), session.Call{Session: "s", Request: runners.Request{Language: runners.Python}}, func(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
						started <- true
						<-finish
						return add(word).run(ctx, req)
					})
					if err != nil {
						t.Errorf("%s: %v", word, err)
						out = &runners.Outcome{Continued: &runners.Continued{}}
					}
					done <- out.Continued
				}()
				<-started
				return done
			}
			finish := map[string]chan bool{"a": make(chan bool), "b": make(chan bool)}
			done := map[string]<-chan *runners.Continued{"a": run(a, "a", finish["a"])}
			taken.Store(true)
			done["b"] = run(b, "b", finish["b"]) // after the lease has run out
			first, second := "b", "a"
			if staleFirst {
				first, second = "a", "b"
			}
			close(finish[first])
			synctest.Wait() // its state is made
			close(finish[second])
			synctest.Wait()
			close(thaw)
			won, lost := <-done[first], <-done[second]
			if !won.Kept || lost.Kept || !strings.Contains(lost.Refused, "another server") {
				t.Errorf("%s first: %+v, %+v", first, won, lost)
			}
			if got, want := show(t, open(t, session.Options{Remote: m}), "s"), "0"+first+" log=0"+first; got != want {
				t.Errorf("%s first: it is %q, want %q", first, got, want)
			}
		})
	}
}

// Whatever request fails, before or after it had its effect, a session is what it was
// before a call or after it, and goes on.
func TestRemoteFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for n := range 40 {
			for _, late := range []bool{false, true} {
				m := newMemory()
				var count atomic.Int32
				count.Store(1000)
				fail := func(context.Context, string) error {
					if count.Add(-1) == 0 {
						return errors.New("reset by peer")
					}
					return nil
				}
				l := &link{Remote: m, before: fail}
				if late {
					l = &link{Remote: m, after: fail}
				}
				a, b := open(t, session.Options{Remote: l, Limits: session.Limits{History: 2}}), open(t, session.Options{Remote: m})
				call(t, b, "s", add("0"))
				call(t, b, "s", add("1"))
				count.Store(int32(n + 1))
				_, err := a.Run(t.Context(), session.Call{Session: "s", Request: runners.Request{Language: runners.Python}}, add("2").run)
				used := count.Load() > 0 // nothing failed: all requests have had their turn
				got := show(t, open(t, session.Options{Remote: m}), "s")
				if got != "01 log=01" && got != "012 log=012" || err == nil && got != "012 log=012" {
					t.Errorf("request %d, late %v, %v: it is %q", n, late, err, got)
				}
				count.Store(1000)
				call(t, a, "s", add("3"))
				if again := show(t, b, "s"); again != strings.Replace(got, " log=", "3 log=", 1)+"3" {
					t.Errorf("request %d, late %v: it went on as %q", n, late, again)
				}
				if used && late {
					return
				}
			}
		}
		t.Error("a call takes more than 40 requests")
	})
}

// Times of the remote store are compared with each other and never with ours.
func TestRemoteClock(t *testing.T) {
	for _, skew := range []time.Duration{-1000 * time.Hour, 1000 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory()
			m.skew = skew
			limits := session.Limits{TTL: time.Hour, Sessions: 2}
			a := open(t, session.Options{Remote: m, Limits: limits})
			call(t, a, "old", add("a"))
			time.Sleep(50 * time.Minute)
			call(t, a, "young", add("a"))
			b := open(t, session.Options{Remote: m, Limits: limits})
			new := func() error {
				_, err := b.Run(t.Context(), session.Call{Session: "third", Request: runners.Request{Language: runners.Python}}, add("x").run)
				return err
			}
			if err := new(); err == nil || !strings.Contains(err.Error(), "2 sessions") {
				t.Errorf("skew %v: a third session: %v", skew, err)
			}
			time.Sleep(20 * time.Minute)
			call(t, a, "young", add("b"))
			if err := new(); err != nil {
				t.Errorf("skew %v: %v", skew, err)
			}
			if names, err := m.Names(t.Context(), "default/"); err != nil || !slices.Equal(names, []string{"third", "young"}) {
				t.Errorf("skew %v: %v, %v", skew, names, err)
			}
		})
	}
}

// Many servers use one session at once, and none of what they were told is lost.
func TestRemoteHammer(t *testing.T) {
	const servers, calls = 4, 8
	m := newMemory()
	var wg sync.WaitGroup
	for i := range servers {
		s := open(t, session.Options{Remote: m})
		for range 2 {
			wg.Go(func() {
				for range calls / 2 {
					out, err := s.Run(t.Context(), session.Call{Session: "s", Request: runners.Request{Language: runners.Python}}, add(fmt.Sprint(i)).run)
					if err != nil || !out.Continued.Kept {
						t.Errorf("%+v, %v", out, err)
					}
				}
			})
		}
	}
	wg.Wait()
	got := show(t, open(t, session.Options{Remote: m}), "s")
	for i := range servers {
		if n := strings.Count(got, fmt.Sprint(i)); n != 2*calls {
			t.Errorf("server %d: %d words of %d in %q", i, n, 2*calls, got)
		}
	}
}
