package queue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// Clients take turns, the streams of one take turns, and the calls of a stream keep
// their order.
func TestQueueIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(1, true)
		hold, err := q.Acquire(t.Context(), "z", "", false)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var got []string
		for i, name := range []string{"a1", "a1", "a1", "a2", "b", "c", "b"} {
			go func() {
				leave, err := q.Acquire(t.Context(), name[:1], name[1:], false)
				if err != nil {
					t.Errorf("acquire %s: %v", name, err)
					return
				}
				mu.Lock()
				got = append(got, fmt.Sprintf("%s.%d", name, i))
				mu.Unlock()
				leave()
			}()
			synctest.Wait()
		}
		if running, waiting := q.Load(); running != 1 || waiting != 7 {
			t.Errorf("Load = %d, %d", running, waiting)
		}
		hold()
		synctest.Wait()
		// a's streams take turns, and a, b and c take turns.
		if want := []string{"a1.0", "b.4", "c.5", "a2.3", "b.6", "a1.1", "a1.2"}; !slices.Equal(got, want) {
			t.Errorf("order %v, want %v", got, want)
		}
		if len(q.clients) != 0 || q.total.waits() != 0 || q.places != 1 {
			t.Errorf("left: %d clients, %d waiting, %d places", len(q.clients), q.total.waits(), q.places)
		}
	})
}

// A client that always has something waiting takes turns with those that come and go.
func TestQueueStarvesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(1, true)
		hold, _ := q.Acquire(t.Context(), "z", "", false)
		patient := make(chan bool)
		go func() {
			leave, err := q.Acquire(t.Context(), "patient", "", false)
			if err == nil {
				leave()
			}
			close(patient)
		}()
		synctest.Wait()
		served := 0
		for i := range 5 { // a new client each time, which comes while the last has the place
			got := make(chan func())
			go func() {
				leave, err := q.Acquire(t.Context(), fmt.Sprint(i), "", false)
				if err != nil {
					t.Error(err)
				}
				got <- leave
			}()
			synctest.Wait()
			hold()
			hold = <-got
			served++
			select {
			case <-patient:
				if served > 1 {
					t.Errorf("%d clients that came later were served first", served-1)
				}
				hold()
				return
			default:
			}
		}
		hold()
		t.Error("the client that waited was not served")
	})
}

func TestQueueCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(1, true)
		hold, _ := q.Acquire(t.Context(), "a", "", false)
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error)
		go func() {
			_, err := q.Acquire(ctx, "b", "", false)
			failed <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v", err)
		}
		hold()
		if len(q.clients) != 0 || q.total.waits() != 0 || q.places != 1 {
			t.Errorf("left: %d clients, %d waiting, %d places", len(q.clients), q.total.waits(), q.places)
		}
	})
}

// TestLongCalls has one client ask for every place for long: another one's short call begins
// at once, and its long one, too, while places are left.
func TestLongCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(8, true)
		begun := map[string]int{}
		leaves := map[string][]func(){}
		var mu sync.Mutex
		call := func(client string, isLong bool) {
			go func() {
				leave, err := q.Acquire(t.Context(), client, "", isLong)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				begun[client]++
				leaves[client] = append(leaves[client], leave)
			}()
			synctest.Wait()
		}
		want := func(what string, n map[string]int) {
			t.Helper()
			if !maps.Equal(begun, n) {
				t.Errorf("%s: %v began, want %v", what, begun, n)
			}
		}
		for range 10 {
			call("greedy", true)
		}
		want("long calls of one", map[string]int{"greedy": 4})
		for range 5 {
			call("second", true)
		}
		want("long calls of another", map[string]int{"greedy": 4, "second": 3})
		call("third", true)
		want("a long call where one place is left", map[string]int{"greedy": 4, "second": 3})
		call("third", false)
		want("a short one, behind a long one of the same stream", map[string]int{"greedy": 4, "second": 3, "third": 1})
		leaves["greedy"][0]()
		synctest.Wait()
		want("a place that becomes free goes to who has fewest", map[string]int{"greedy": 4, "second": 3, "third": 2})
		leaves["greedy"] = leaves["greedy"][1:]
		// When all leave, all that waited get their turn.
		for n := 0; n < 17; {
			mu.Lock()
			var all []func()
			for client, list := range leaves {
				all = append(all, list...)
				delete(leaves, client)
			}
			mu.Unlock()
			if len(all) == 0 {
				break
			}
			for _, leave := range all {
				leave()
				n++
			}
			synctest.Wait()
		}
		want("in the end", map[string]int{"greedy": 10, "second": 5, "third": 2})
		if len(q.clients) != 0 || q.total.waits()+q.total.runs() != 0 || q.places != 8 {
			t.Errorf("left: %d clients, %d waiting, %d places", len(q.clients), q.total.waits(), q.places)
		}
	})
}

// TestOneClientHasAll: where there is no other client, long calls may have every place.
func TestOneClientHasAll(t *testing.T) {
	q := New(3, false)
	for range 3 {
		if _, err := q.Acquire(t.Context(), "a", "", true); err != nil {
			t.Fatal(err)
		}
	}
	if running, waiting := q.Load(); running != 3 || waiting != 0 {
		t.Errorf("%d run, %d wait", running, waiting)
	}
}
