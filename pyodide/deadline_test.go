package pyodide

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestDeadlineStrikesTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var soft, hard time.Duration
		startDeadline(time.Second, time.Hour, softGrace, func() { soft = time.Since(begin) }, func() { hard = time.Since(begin) })
		time.Sleep(5 * time.Second)
		if soft != time.Second || hard != time.Second+softGrace {
			t.Errorf("soft after %v, hard after %v", soft, hard)
		}
	})
}

func TestDeadlinePauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var soft time.Duration
		d := startDeadline(time.Second, time.Hour, softGrace, func() { soft = time.Since(begin) }, func() {})
		time.Sleep(400 * time.Millisecond)
		d.pause()
		d.pause()
		time.Sleep(time.Minute)
		d.resume()
		time.Sleep(time.Minute)
		d.resume()
		time.Sleep(599 * time.Millisecond)
		if d.hasStruck() {
			t.Fatal("struck before its time")
		}
		time.Sleep(time.Second)
		if want := 2*time.Minute + time.Second; soft != want {
			t.Errorf("soft after %v, want %v", soft, want)
		}
	})
}

func TestDeadlineStopsAndExtends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var hard time.Duration
		d := startDeadline(time.Second, time.Hour, softGrace, func() {}, func() { hard = time.Since(begin) })
		d.extend(time.Hour) // not struck yet: nothing to extend
		time.Sleep(time.Second + softGrace/2)
		d.extend(time.Second)
		d.extend(time.Second) // only once
		time.Sleep(time.Minute)
		if want := 2*time.Second + softGrace; hard != want {
			t.Errorf("hard after %v, want %v", hard, want)
		}
		d = startDeadline(time.Second, time.Hour, softGrace, func() { t.Error("struck after stop") }, func() {})
		d.stop()
		time.Sleep(time.Minute)
		startDeadline(0, 0, softGrace, func() { t.Error("no limit, but struck") }, func() {}).stop()
		time.Sleep(time.Minute)
	})
}

// TestDeadlineBudget has programs that wait: they are struck when limit and
// budget are used up, whether they wait then or not.
func TestDeadlineBudget(t *testing.T) {
	for _, c := range []struct {
		name       string
		pause, run time.Duration // one after the other, until it strikes
		want, hard time.Duration
	}{
		{"one pause", time.Hour, 0, 3 * time.Second, 3*time.Second + softGrace},
		{"many pauses", 100 * time.Millisecond, 0, 3 * time.Second, 3*time.Second + softGrace},
		{"in between", 500 * time.Millisecond, 400 * time.Millisecond, 2500 * time.Millisecond, 2500*time.Millisecond + softGrace},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				var soft, hard time.Duration
				d := startDeadline(time.Second, 2*time.Second, softGrace, func() { soft = time.Since(begin) }, func() { hard = time.Since(begin) })
				for first := true; hard == 0; first = false {
					if left, limited := d.pause(); first && (left != 2*time.Second || !limited) {
						t.Errorf("budget %v, limited %v", left, limited)
					}
					time.Sleep(c.pause)
					d.resume()
					time.Sleep(c.run)
				}
				if soft != c.want || hard != c.hard {
					t.Errorf("soft after %v, hard after %v; want %v, %v", soft, hard, c.want, c.hard)
				}
			})
		})
	}
}

// TestDeadlineNoBudgetAfterStrike has a program that ignores the interrupt and
// waits: it is stopped all the same.
func TestDeadlineNoBudgetAfterStrike(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var hard time.Duration
		d := startDeadline(time.Second, time.Hour, softGrace, func() {}, func() { hard = time.Since(begin) })
		time.Sleep(time.Second)
		synctest.Wait()
		if left, _ := d.pause(); left != 0 {
			t.Errorf("%v left to wait", left)
		}
		time.Sleep(time.Minute)
		if want := time.Second + softGrace; hard != want {
			t.Errorf("hard after %v, want %v", hard, want)
		}
	})
}

func TestDeadlineIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var soft time.Duration
		d := startDeadline(time.Second, time.Minute, softGrace, func() { soft = time.Since(begin) }, func() {})
		time.Sleep(400 * time.Millisecond)
		release := d.hold()
		d.pause()
		time.Sleep(time.Hour)
		d.resume()
		release()
		time.Sleep(time.Second)
		if want := time.Hour + time.Second; soft != want {
			t.Errorf("soft after %v, want %v", soft, want)
		}
		d.hold()()
	})
}

// TestDeadlineOfStarvedPrograms has programs that get little or no processor time
// after the soft strike.
func TestDeadlineOfStarvedPrograms(t *testing.T) {
	for _, c := range []struct {
		name  string
		share float64       // of a processor
		sees  time.Duration // the strike, after it; 0: never
		waits bool          // for the host
		want  time.Duration // from the soft strike to the hard one
	}{
		{"a processor of its own", 1, 0, false, softGrace},
		{"half a processor", 0.5, 0, false, 2 * softGrace},
		{"hardly any", 0.001, 0, false, slowGrace},
		{"sees it late", 0.125, 250 * time.Millisecond, false, 250*time.Millisecond + softGrace},
		{"sees it and sleeps", 0, time.Millisecond, false, time.Millisecond + softGrace},
		{"waits for the host", 0, 0, true, softGrace},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				var hard time.Duration
				d := startDeadline(time.Second, 0, softGrace, func() {}, func() { hard = time.Since(begin) })
				d.measureBy(func() time.Duration { return time.Duration(c.share * float64(time.Since(begin))) })
				if c.waits {
					d.pause()
				}
				time.Sleep(time.Second + c.sees)
				synctest.Wait()
				if c.sees > 0 {
					d.sawStrike()
				}
				time.Sleep(time.Minute)
				if got := hard - time.Second; got.Round(time.Millisecond) != c.want {
					t.Errorf("the hard strike came %v after the soft one, want %v", got, c.want)
				}
			})
		})
	}
}
