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

	mu     sync.Mutex
	phase  runners.Progress
	output liveOutput
	detail chan struct{} // has an element when there is news

	stop context.CancelFunc
	done chan struct{}
}

// startReporter reports until stop is called. A nil notify reports nothing.
func startReporter(ctx context.Context, notify notifyFunc) *reporter {
	r := &reporter{
		notify: notify, started: time.Now(),
		phase:  runners.Progress{Phase: "queue"},
		detail: make(chan struct{}, 1),
		done:   make(chan struct{}),
	}
	ctx, r.stop = context.WithCancel(ctx)
	if notify == nil {
		close(r.done)
		return r
	}
	go r.loop(ctx)
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
		text = fmt.Sprintf("%s (%d s)", describePhase(r.phase), int(elapsed.Seconds()))
	}
	r.mu.Unlock()
	r.notify(elapsed.Seconds(), text)
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
	if p.Total > 0 {
		return fmt.Sprintf("%s: %d of %d", text, p.Done, p.Total)
	}
	return text
}
