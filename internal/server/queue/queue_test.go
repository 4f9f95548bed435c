package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// Clients take turns, the streams of one take turns, and the calls of a stream keep
// their order.
func TestQueueIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(1)
		hold, err := q.Acquire(t.Context(), "z", "")
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var got []string
		for i, name := range []string{"a1", "a1", "a1", "a2", "b", "c", "b"} {
			go func() {
				leave, err := q.Acquire(t.Context(), name[:1], name[1:])
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
		if running, waiting, own, ownWaiting := q.Load("a"); running != 1 || waiting != 7 || own != 0 || ownWaiting != 4 {
			t.Errorf("Load = %d, %d, %d, %d", running, waiting, own, ownWaiting)
		}
		hold()
		synctest.Wait()
		// a's streams take turns, and a, b and c take turns.
		if want := []string{"a1.0", "b.4", "c.5", "a2.3", "b.6", "a1.1", "a1.2"}; !slices.Equal(got, want) {
			t.Errorf("order %v, want %v", got, want)
		}
		if len(q.clients) != 0 || q.waiting != 0 || q.places != 1 {
			t.Errorf("left: %d clients, %d waiting, %d places", len(q.clients), q.waiting, q.places)
		}
	})
}

// A client that always has something waiting takes turns with those that come and go.
func TestQueueStarvesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(1)
		hold, _ := q.Acquire(t.Context(), "z", "")
		patient := make(chan bool)
		go func() {
			leave, err := q.Acquire(t.Context(), "patient", "")
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
				leave, err := q.Acquire(t.Context(), fmt.Sprint(i), "")
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
		q := New(1)
		hold, _ := q.Acquire(t.Context(), "a", "")
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error)
		go func() {
			_, err := q.Acquire(ctx, "b", "")
			failed <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v", err)
		}
		hold()
		if len(q.clients) != 0 || q.waiting != 0 || q.places != 1 {
			t.Errorf("left: %d clients, %d waiting, %d places", len(q.clients), q.waiting, q.places)
		}
	})
}
