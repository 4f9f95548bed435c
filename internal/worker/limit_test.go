package worker

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestLimit: when nothing runs, the collector has room beside what a worker keeps for good, such as
// the module of a language, and more between two runs. Else it would mark that again after each run.
func TestLimit(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	kept := make([]*[1 << 10]byte, ownMemory*3/4>>10)
	for i := range kept {
		kept[i] = new([1 << 10]byte)
	}
	debug.FreeOSMemory()
	w := &child{memory: ownMemory / 2, rest: time.AfterFunc(time.Hour, func() {})}
	defer w.rest.Stop()
	w.limit(512 << 20)
	w.limit(-512 << 20)
	after := debug.SetMemoryLimit(-1)
	w.rested()
	if idle := debug.SetMemoryLimit(-1); after < idle+between/2 {
		t.Errorf("a worker may have %d bytes after a run, and %d when it runs nothing", after, idle)
	}
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
