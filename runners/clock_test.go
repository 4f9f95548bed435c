package runners

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		(*Clock)(nil).Hold()()
		struck := false
		begun := time.Now()
		c := StartClock(10*time.Second, func() { struck = true })
		time.Sleep(4 * time.Second)
		release := c.Hold()
		time.Sleep(time.Hour)
		release()
		time.Sleep(5 * time.Second)
		if struck {
			t.Error("it strikes too early")
		}
		time.Sleep(time.Second + 1)
		if !struck || c.Stop() != 0 {
			t.Error("it does not strike")
		}
		c.Hold()()
		c = StartClock(10*time.Second, func() { t.Error("it strikes") })
		time.Sleep(time.Second)
		release = c.Hold()
		time.Sleep(time.Minute)
		if left := c.Stop(); left != 9*time.Second {
			t.Errorf("%v are left", left)
		}
		release()
		time.Sleep(time.Since(begun))
		struck = false
		c = StartClock(10*time.Second, func() { struck = true })
		first, second := c.Hold(), c.Hold()
		time.Sleep(time.Minute)
		first()
		time.Sleep(time.Minute)
		second()
		time.Sleep(9 * time.Second)
		if struck {
			t.Error("it goes on while one of two holds it")
		}
		time.Sleep(time.Second + 1)
		if !struck {
			t.Error("it does not go on after two have held it")
		}
	})
}
