package server

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"coderunner/runners"
)

// waitHere is what the test looks for in a dump.
func waitHere(c chan struct{}) { <-c }

// TestWatchdog: a call that is silent for longer than it may run is dumped, and
// not one that ends, waits for packages or comes soon after another.
func TestWatchdog(t *testing.T) {
	const limit = 30 * time.Second
	const silence = 2*limit + patience
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.InfoLevel)
		w := &watchdog{log: zap.New(core)}
		end := make(chan struct{})
		go waitHere(end)
		defer close(end)
		req := runners.Request{Language: runners.Python, Limits: runners.Limits{Timeout: limit}}
		watch := func() (runners.ProgressFunc, func()) { return w.watch(req, func(runners.Progress) {}) }
		after := func(d time.Duration, want int) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if got := logs.Len(); got != want {
				t.Fatalf("%d dumps, want %d", got, want)
			}
		}

		_, stop := watch()
		after(silence-1, 0)
		stop()
		news, stop := watch()
		for range 10 { // a long preparation
			after(silence-1, 0)
			news(runners.Progress{Phase: "compile"})
		}
		after(silence+1, 1)
		stop()
		entry := logs.All()[0].ContextMap()
		if text := entry["goroutines"].(string); entry["phase"] != "compile" || !strings.Contains(text, "server.waitHere") || len(text) > maxDump {
			t.Errorf("the dump is %v", entry)
		}
		_, stop = watch()
		after(silence+1, 1)
		stop()
		time.Sleep(dumpGap)
		news, stop = watch()
		for range 11 { // a preparation that never ends
			news(runners.Progress{Phase: "compile"})
			time.Sleep(silence - 1)
		}
		after(0, 2)
		stop()
	})
}
