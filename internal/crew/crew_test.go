package crew

import (
	"testing"
	"testing/synctest"
)

// TestCrew runs more jobs at once than goroutines stay, and one more on one that stayed.
func TestCrew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		c := New(2, end)
		release, ran := make(chan struct{}), 0
		for range 5 {
			c.Go(func() { <-release })
		}
		synctest.Wait()
		close(release)
		synctest.Wait()
		if n := c.waits.Load(); n != 2 {
			t.Errorf("%d goroutines wait, want 2", n)
		}
		for range 3 {
			c.Go(func() { ran++ })
			synctest.Wait()
		}
		if n := c.waits.Load(); n != 2 || ran != 3 {
			t.Errorf("%d goroutines wait after %d jobs, want 2 after 3", n, ran)
		}
		close(end) // synctest fails if a goroutine is left
	})
}
