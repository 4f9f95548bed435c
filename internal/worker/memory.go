package worker

import (
	"time"

	"coderunner/internal/process"
)

// The memory of a worker is looked at before it can have filled the room that is left, but
// no less often than every watchInterval.
const (
	watchInterval = 50 * time.Millisecond
	fillRate      = 4 << 20 // bytes a millisecond: two processors that write to new pages
)

// memoryReason is the reason of a worker that had too much memory, threadsReason of one that had
// more than [process.MaxThreads].
const (
	memoryReason  = "memory"
	threadsReason = "threads"
)

// nextLook returns after what time a worker's memory is looked at again.
func nextLook(room int64) time.Duration {
	return min(max(time.Duration(room/fillRate)*time.Millisecond, time.Millisecond), watchInterval)
}

// watch ends the process when its memory or its threads exceed what its runs may have.
func (w *worker) watch() {
	for {
		select {
		case <-w.died:
			return
		case <-w.busy:
		}
		room, busy := w.p.room(w)
		for look := time.NewTimer(nextLook(room)); busy; look.Reset(nextLook(room)) {
			select {
			case <-w.died:
			case <-look.C:
			}
			w.p.noteMemory(w, w.proc.Resident())
			switch room, busy = w.p.room(w); {
			case busy && room < 0:
				w.end(memoryReason)
				busy = false
			case busy && w.proc.Threads() > process.MaxThreads:
				w.end(threadsReason)
				busy = false
			}
		}
	}
}

// noteMemory notes how many bytes a worker has.
func (p *Pool) noteMemory(w *worker, has int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.has = has
	for s := range w.runs {
		s.peak = max(s.peak, has-s.before)
	}
}

// room returns how many bytes more a worker may have, and whether it is to be watched: while
// it runs anything, and until what its runs had has come back. It is retired if that does not.
func (p *Pool) room(w *worker) (bytes int64, busy bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	bytes = ownMemory + w.overrun - w.has
	for s := range w.runs {
		bytes += s.req.Limits.Memory
	}
	switch {
	case len(w.runs) > 0:
		return bytes, true
	case w.has <= ownMemory+idleRoom:
		return 0, false
	case time.Since(w.idle) < returning:
		return idleRoom, true
	}
	w.retired = true
	w.end("retired")
	return 0, false
}
