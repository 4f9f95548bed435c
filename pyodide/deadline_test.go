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
		startDeadline(time.Second, softGrace, func() { soft = time.Since(begin) }, func() { hard = time.Since(begin) })
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
		d := startDeadline(time.Second, softGrace, func() { soft = time.Since(begin) }, func() {})
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
		d := startDeadline(time.Second, softGrace, func() {}, func() { hard = time.Since(begin) })
		d.extend(time.Hour) // not struck yet: nothing to extend
		time.Sleep(time.Second + softGrace/2)
		d.extend(time.Second)
		d.extend(time.Second) // only once
		time.Sleep(time.Minute)
		if want := 2*time.Second + softGrace; hard != want {
			t.Errorf("hard after %v, want %v", hard, want)
		}
		d = startDeadline(time.Second, softGrace, func() { t.Error("struck after stop") }, func() {})
		d.stop()
		time.Sleep(time.Minute)
		startDeadline(0, softGrace, func() { t.Error("no limit, but struck") }, func() {}).stop()
		time.Sleep(time.Minute)
	})
}
