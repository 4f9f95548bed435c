package inflight

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// TestGroup has work begin while others wait, which a WaitGroup panics about.
func TestGroup(t *testing.T) {
	var b Group
	b.Wait(t.Context()) // for nothing
	var all sync.WaitGroup
	var ran atomic.Int32
	for range 4 {
		all.Go(func() {
			for range 2000 {
				b.Go(func() { ran.Add(1) })
				b.Wait(t.Context())
			}
		})
	}
	all.Wait()
	b.Wait(t.Context())
	if n := ran.Load(); n != 8000 {
		t.Errorf("ran %d, want 8000", n)
	}
}

// TestWait has Wait return when the last of several has ended.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Group
		first, second := make(chan struct{}), make(chan struct{})
		b.Go(func() { <-first })
		b.Go(func() { <-second })
		over := make(chan struct{})
		go func() { b.Wait(t.Context()); close(over) }()
		close(first)
		synctest.Wait()
		select {
		case <-over:
			t.Error("Wait returned while something runs")
		default:
		}
		close(second)
		<-over
	})
}
