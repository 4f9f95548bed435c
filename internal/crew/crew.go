// Package crew runs jobs on goroutines that stay for the next ones: a stack that has grown stays as
// large, and a new goroutine's would be copied, frame by frame, each time that it grows.
package crew

import "sync/atomic"

// Crew is such goroutines. It is safe for concurrent use.
type Crew struct {
	stay  int32
	end   <-chan struct{}
	jobs  chan func() // to a goroutine that waits
	waits atomic.Int32
}

// New returns a Crew of which so many goroutines at most wait for a job, until end is closed.
func New(stay int, end <-chan struct{}) *Crew {
	return &Crew{stay: int32(stay), end: end, jobs: make(chan func())}
}

// Go runs a job in a goroutine.
func (c *Crew) Go(job func()) {
	select {
	case c.jobs <- job:
	default:
		go c.work(job)
	}
}

func (c *Crew) work(job func()) {
	for {
		job()
		job = nil // which may hold much
		if c.waits.Add(1) > c.stay {
			c.waits.Add(-1)
			return
		}
		select {
		case job = <-c.jobs:
			c.waits.Add(-1)
		case <-c.end:
			return
		}
	}
}
