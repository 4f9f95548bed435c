package runners

import (
	"context"
	"sync"
	"time"

	"coderunner/internal/netpolicy"
)

// Clock is a time limit that stands still while something is waited for that does not count,
// such as the user's answer. It is safe for concurrent use.
type Clock struct {
	mu    sync.Mutex
	timer *time.Timer
	left  time.Duration // as of since
	since time.Time
	holds int
	ended bool
}

// StartClock returns a clock that calls strike when the limit has passed.
func StartClock(limit time.Duration, strike func()) *Clock {
	return &Clock{timer: time.AfterFunc(limit, strike), left: limit, since: time.Now()}
}

// Hold stops the clock until release is called, and so has every other holder's been. A nil
// Clock is one that has not started.
func (c *Clock) Hold() (release func()) {
	if c == nil {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds == 0 {
		if !c.timer.Stop() { // it has struck, or was stopped
			return func() {}
		}
		c.left -= time.Since(c.since)
	}
	c.holds++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.holds--; c.holds > 0 {
			return
		}
		if c.since = time.Now(); !c.ended {
			c.timer.Reset(c.left)
		}
	}
}

// Stop ends the clock, and returns what is left of the limit.
func (c *Clock) Stop() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.timer.Stop()
	if c.holds == 0 {
		c.left -= time.Since(c.since)
	}
	return max(c.left, 0)
}

// AskHolding returns the request's Ask, nil if there is none, with a clock held while
// the user is asked.
func (r *Request) AskHolding(hold func() (release func())) netpolicy.AskFunc {
	if r.Ask == nil {
		return nil
	}
	ask := r.Ask
	return func(ctx context.Context, host string, port uint16) (bool, error) {
		defer hold()()
		return ask(ctx, host, port)
	}
}
