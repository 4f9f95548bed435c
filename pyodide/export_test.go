package pyodide

import (
	"testing"
	"time"

	"coderunner/pyodide/linmem"
)

// NeedWritten skips tests where the system does not tell which pages were
// written to: no instance is used twice there.
func NeedWritten(t *testing.T) {
	t.Helper()
	m, err := linmem.New(linmem.PageSize)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Unmap()
	m.Reallocate(linmem.PageSize)[0] = 1
	if _, err := m.Written(); err != nil {
		t.Skip(err)
	}
}

// AwaitAhead waits until nothing is being restored ahead of need.
func (r *Runtime) AwaitAhead() { r.ahead.running.Wait() }

// AwaitReused waits until what is being made of used interpreters is made.
func (r *Runtime) AwaitReused() {
	r.ahead.mu.Lock()
	defer r.ahead.mu.Unlock()
	for len(r.ahead.coming) > 0 {
		r.ahead.came.Wait()
	}
}

// Used is how many used instances wait to become other interpreters.
func (r *Runtime) Used() int {
	r.ahead.mu.Lock()
	defer r.ahead.mu.Unlock()
	return len(r.ahead.used)
}

// AheadReady is how many interpreters of a snapshot wait.
func (r *Runtime) AheadReady(from *Frozen) (n int) {
	if from == nil {
		from = r.base
	}
	r.ahead.mu.Lock()
	defer r.ahead.mu.Unlock()
	for _, one := range r.ahead.ready {
		if one.key.from == from {
			n++
		}
	}
	return n
}

// ExpireAhead is the moment when what waits now has waited for too long.
func (r *Runtime) ExpireAhead() { r.ahead.expire(time.Now().Add(aheadIdle)) }

// Endure gives programs that were interrupted softly so much longer before they
// are stopped for good.
func (in *Interp) Endure(more time.Duration) { in.patience = more }
