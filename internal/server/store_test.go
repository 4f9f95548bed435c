package server

import (
	"runtime"
	"testing"
	"weak"
)

// What the servers of a process keep together has a bound, and the one that keeps most
// gives way.
func TestKeptTogether(t *testing.T) {
	data := make([]byte, 90<<20) // counted for each run
	shared := &Kept{}
	var servers []*Server
	for i := range 5 {
		s := newServer(t, Config{Runners: allLanguages(runFunc(echo)), Kept: shared})
		servers = append(servers, s)
		r := s.store.begin()
		r.Keep("out.bin", "application/octet-stream", "", data[:len(data)-i])
		s.store.keep(r)
	}
	if got := shared.Bytes(); got > maxSharedBytes || got < 4*len(data)-10 {
		t.Errorf("%d bytes are kept", got)
	}
	for i, s := range servers {
		if kept := len(s.store.runs) == 1; kept != (i > 0) {
			t.Errorf("server %d keeps %d runs", i, len(s.store.runs))
		}
		s.Forget()
	}
	if shared.Bytes() != 0 || len(shared.stores) != 0 {
		t.Errorf("%d bytes are kept of servers that are gone", shared.Bytes())
	}
}

// A run that is forgotten is not kept in memory.
func TestForgottenRunIsFreed(t *testing.T) {
	s := newServer(t, Config{Runners: allLanguages(runFunc(echo))})
	var runs [maxKeptRuns + 1]weak.Pointer[keptRun]
	for i := range runs {
		r := s.store.begin()
		r.Keep("out.txt", "text/plain", "", []byte("text"))
		s.store.keep(r)
		runs[i] = weak.Make(r)
	}
	runtime.GC()
	for i, r := range runs {
		if freed := r.Value() == nil; freed != (i == 0) {
			t.Errorf("run %d is freed: %t", i, freed)
		}
	}
	runtime.KeepAlive(s)
}
