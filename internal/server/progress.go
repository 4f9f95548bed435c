package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"coderunner/runners"
)

const (
	// firstProgress is when a call that still runs first reports progress. Most
	// calls have ended by then.
	firstProgress = 300 * time.Millisecond
	// progressGap is the least time between two notifications of news.
	progressGap = 500 * time.Millisecond
	// heartbeat is the most time between two notifications. Clients give a
	// silent call up after 60 s, some sooner.
	heartbeat = 4 * time.Second
)

// reporter reports the progress of a call to the client.
type reporter struct {
	notify  notifyFunc
	started time.Time
	ending  *ending

	mu         sync.Mutex
	phase      runners.Progress
	phaseBegan time.Time
	phaseFrom  int64 // its Done then
	output     liveOutput
	detail     chan struct{} // has an element when there is news

	stop context.CancelFunc
	done chan struct{}
}

// startReporter reports until stop is called. A nil notify reports nothing.
func startReporter(ctx context.Context, notify notifyFunc, e *ending) *reporter {
	r := &reporter{
		notify: notify, started: time.Now(), ending: e,
		phase:  runners.Progress{Phase: "queue"},
		detail: make(chan struct{}, 1),
		done:   make(chan struct{}),
	}
	ctx, r.stop = context.WithCancel(ctx)
	if notify == nil {
		close(r.done)
		return r
	}
	told := context.AfterFunc(e.ctx, r.wake)
	go func() {
		defer told()
		r.loop(ctx)
	}()
	return r
}

// close returns when the last notification has been written, so that none
// comes after the response.
func (r *reporter) close() {
	r.stop()
	<-r.done
}

// set is the [runners.ProgressFunc] of the call.
func (r *reporter) set(p runners.Progress) {
	r.mu.Lock()
	same := describePhase(r.phase) == describePhase(p)
	if r.phase.Phase != p.Phase || r.phase.Item != p.Item {
		r.phaseBegan, r.phaseFrom = time.Now(), p.Done
	}
	r.phase = p
	r.mu.Unlock()
	if !same {
		r.wake()
	}
}

func (r *reporter) loop(ctx context.Context) {
	defer close(r.done)
	for more := wait(ctx, firstProgress, nil); more; {
		r.send()
		more = wait(ctx, progressGap, nil) && wait(ctx, heartbeat, r.detail)
	}
}

// wait lets a time pass, or less when there is news. It reports false when ctx
// is done.
func wait(ctx context.Context, d time.Duration, news <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-news:
	case <-timer.C:
	}
	return ctx.Err() == nil
}

// printed is the Printed of the program's request.
func (r *reporter) printed(p []byte) {
	r.mu.Lock()
	r.output.add(p)
	r.mu.Unlock()
	r.wake()
}

// wake lets the next notification come as soon as it may.
func (r *reporter) wake() {
	select {
	case r.detail <- struct{}{}:
	default:
	}
}

// send reports what the program has printed since the last time, or else the
// present state. The number is the time in seconds, which always rises, as the
// protocol wants.
func (r *reporter) send() {
	elapsed := time.Since(r.started)
	r.mu.Lock()
	text := r.output.next()
	if text == "" {
		text = fmt.Sprintf("%s (%d s%s)", describePhase(r.phase), int(elapsed.Seconds()), r.left())
	}
	r.mu.Unlock()
	r.notify(elapsed.Seconds(), text+r.ending.text())
}

// left returns the seconds that the phase still takes at its speed, in words, "" if that
// cannot be told.
func (r *reporter) left() string {
	p, took := r.phase, time.Since(r.phaseBegan)
	if done := p.Done - r.phaseFrom; done > 0 && p.Total > p.Done && took > time.Second {
		return fmt.Sprintf(", about %d s left", int(took.Seconds()*float64(p.Total-p.Done)/float64(done))+1)
	}
	return ""
}

// askPhase is the phase in which the user is asked about a host.
const askPhase = "ask"

// describePhase puts a state into words.
func describePhase(p runners.Progress) string {
	switch p.Phase {
	case "queue":
		return "waiting for a free place"
	case "session":
		return "waiting for the session " + p.Item
	case "", "start", "run":
		return "running"
	}
	if p.Phase == askPhase {
		return "waiting for the user, who is asked about " + p.Item
	}
	text := p.Phase
	if p.Item != "" {
		text += " " + p.Item
	}
	if p.Phase == "download" {
		if p.Total > 0 {
			return fmt.Sprintf("%s: %.1f of %.1f MB", text, float64(p.Done)/1e6, float64(p.Total)/1e6)
		}
		return fmt.Sprintf("%s: %.1f MB", text, float64(p.Done)/1e6)
	}
	if p.Phase == "compile" && p.Total > 0 { // the unit is for comparison alone
		return fmt.Sprintf("%s: %d %%", text, 100*p.Done/p.Total)
	}
	if p.Total > 0 {
		return fmt.Sprintf("%s: %d of %d", text, p.Done, p.Total)
	}
	return text
}
