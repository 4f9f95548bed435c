package server

import (
	"runtime"
	"sync"
	"time"

	"go.uber.org/zap"

	"coderunner/runners"
)

const (
	// patience is how much longer than its limits, for running and for waiting, a
	// call may be silent.
	patience = time.Minute
	// longestCall bounds a call that is not silent: the preparation of packages is
	// limited to 15 minutes.
	longestCall = 20 * time.Minute
	// dumpGap is the least time between two dumps, maxDump their size in bytes.
	dumpGap = 10 * time.Minute
	maxDump = 64 << 10
)

// watchdog logs what all goroutines wait for when a call outlives its limits, which
// must not happen: so that a hang that nobody can reproduce leaves a trace.
type watchdog struct {
	log *zap.Logger

	mu   sync.Mutex
	last time.Time // of the last dump; guarded by mu
}

// watch watches a call with a time limit until stop is called. The call reports its
// progress to news.
func (w *watchdog) watch(req runners.Request, progress runners.ProgressFunc) (news runners.ProgressFunc, stop func()) {
	begun, silence := time.Now(), 2*req.Limits.Timeout+patience
	var mu sync.Mutex
	phase := "run"
	timer := time.AfterFunc(silence, func() {
		mu.Lock()
		defer mu.Unlock()
		w.dump(zap.String("language", string(req.Language)), zap.String("phase", phase), zap.Duration("since", time.Since(begun)))
	})
	news = func(p runners.Progress) {
		mu.Lock()
		phase = p.Phase
		mu.Unlock()
		if left := longestCall + req.Limits.Timeout - time.Since(begun); left > 0 && timer.Stop() {
			wait := silence
			if p.Phase == askPhase {
				wait += askTime
			}
			timer.Reset(min(wait, left))
		}
		progress(p)
	}
	return news, func() { timer.Stop() }
}

// dump logs the stacks, which hold names of functions and lines but no values.
func (w *watchdog) dump(fields ...zap.Field) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.last.IsZero() && time.Since(w.last) < dumpGap {
		return
	}
	w.last = time.Now()
	stacks := make([]byte, maxDump)
	stacks = stacks[:runtime.Stack(stacks, true)]
	w.log.Warn("a call outlives its limits", append(fields, zap.ByteString("goroutines", stacks))...)
}
