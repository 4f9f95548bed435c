package worker

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// TestLimit: between runs, the collector has room beside what a worker keeps for good, such as the
// module of a language. Else it would mark that again after each run.
func TestLimit(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	kept := make([]*[1 << 10]byte, ownMemory*3/4>>10)
	for i := range kept {
		kept[i] = new([1 << 10]byte)
	}
	debug.FreeOSMemory()
	w := &child{memory: ownMemory / 2}
	w.limit(512 << 20)
	w.limit(-512 << 20)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if room := int64(m.NextGC - m.HeapAlloc); room < ownMemory/16 {
		t.Errorf("the collector runs after %d bytes, with %d in use", room, m.HeapAlloc)
	}
	if limit := debug.SetMemoryLimit(-1); limit > ownMemory+idleRoom {
		t.Errorf("a worker without runs may have %d bytes, want %d at most", limit, ownMemory+idleRoom)
	}
	runtime.KeepAlive(kept)
}
