package kernel

import (
	"math"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

// watched are the kernels that the host watches.
var watched struct {
	sync.Mutex
	kernels int
	limited bool // the collector, by us
}

// watch adds a kernel, or takes one away, and returns how many there are. One alone has the
// collector keep to what it may hold, so that garbage does not count.
func watch(more int, most int64) int {
	watched.Lock()
	defer watched.Unlock()
	watched.kernels += more
	switch alone := watched.kernels == 1 && more > 0; {
	case alone && debug.SetMemoryLimit(-1) == math.MaxInt64:
		debug.SetMemoryLimit(most)
		watched.limited = true
	case !alone && watched.limited && more != 0:
		debug.SetMemoryLimit(math.MaxInt64)
		watched.limited = false
	}
	return watched.kernels
}

const (
	besides  = 16 << 20 // bytes that the host's heap may grow by besides the limit
	further  = 32 << 20 // bytes more until the programs are ended with the host's process
	fillRate = 8 << 20  // bytes that it may grow by in a millisecond
	lookAt   = 50 * time.Millisecond
)

// WatchMemory fails all processes with [ErrMemory] when the host's heap has grown by more than
// limit bytes: what programs written in Go hold, and nobody has charged them for. Where the
// host has several kernels that is none of them's in particular, and nothing fails. A heap that
// grows on is an overrun. Stop ends the watch, and returns by how much the heap has grown at
// most, as far as it was looked at.
func (k *Kernel) WatchMemory(limit int64) (stop func() int64) {
	before := heap()
	watch(1, before+limit)
	var peak atomic.Int64
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for most, room := limit+besides, limit; ; room = most - peak.Load() {
			select {
			case <-end:
				return
			case <-time.After(min(max(time.Duration(room/fillRate), 1)*time.Millisecond, lookAt)):
			}
			grown := heap() - before
			peak.Store(max(peak.Load(), grown))
			switch {
			case grown <= most || watch(0, 0) != 1:
			case most == limit+besides:
				k.Fail(ErrMemory)
				most += further
			case k.overrun != nil:
				k.overrun(true)
				return
			}
		}
	}()
	return func() int64 {
		close(end)
		<-ended
		watch(-1, 0)
		return peak.Load()
	}
}

// heap returns the bytes that the Go runtime has of the system.
func heap() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64() - sample[1].Value.Uint64())
}
