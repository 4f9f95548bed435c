package sysmem

import (
	"math"
	"runtime/debug"
	"sync"
	"time"
)

// watched are the programs in this process whose memory is watched.
var watched struct {
	sync.Mutex
	programs int
	limited  bool // the collector, by us
}

// watch adds a program, or takes one away, and returns how many there are. One alone has the
// collector keep to what it may hold, so that garbage does not count.
func watch(more int, most int64) int {
	watched.Lock()
	defer watched.Unlock()
	watched.programs += more
	switch alone := watched.programs == 1 && more > 0; {
	case alone && debug.SetMemoryLimit(-1) == math.MaxInt64:
		debug.SetMemoryLimit(most)
		watched.limited = true
	case !alone && watched.limited && more != 0:
		debug.SetMemoryLimit(math.MaxInt64)
		watched.limited = false
	}
	return watched.programs
}

const (
	besides  = 16 << 20 // bytes that the host's heap may grow by besides the limit
	further  = 32 << 20 // bytes more until the programs are ended with the host's process
	fillRate = 8 << 20  // bytes that it may grow by in a millisecond
	lookAt   = 50 * time.Millisecond
)

// Watch calls over when the heap has grown by more than limit bytes, and again, for the last
// time, when it grows on: what a program holds that is written in Go, and nobody has charged it
// for. Where there are several programs that is none of them's in particular, and nothing is
// called. Stop ends it, and returns by how much the heap has grown at most, as far as it was
// looked at.
func Watch(limit int64, over func(again bool)) (stop func() int64) {
	before := Heap()
	watch(1, before+limit)
	var mu sync.Mutex // guards what follows, and is held while over is called
	var timer *time.Timer
	peak, most, ended := int64(0), limit+besides, false
	look := func() {
		mu.Lock()
		defer mu.Unlock()
		if ended {
			return
		}
		grown := Heap() - before
		if peak = max(peak, grown); grown > most && watch(0, 0) == 1 {
			again := most > limit+besides
			over(again)
			if again {
				return
			}
			most += further
		}
		timer.Reset(nextLook(most - peak))
	}
	mu.Lock()
	timer = time.AfterFunc(nextLook(limit), look) // no goroutine, which most programs would end before its first look
	mu.Unlock()
	return func() int64 {
		mu.Lock()
		defer mu.Unlock()
		ended = true
		timer.Stop()
		watch(-1, 0)
		return peak
	}
}

// nextLook returns after what time the heap may have grown by room.
func nextLook(room int64) time.Duration {
	return min(max(time.Duration(room/fillRate), 1)*time.Millisecond, lookAt)
}
