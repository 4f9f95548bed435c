package pyodide

import (
	"context"
	"testing"
	"time"

	"coderunner/pyodide/codestore"
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

// UsedInstances is how many instances wait as their programs left them.
func (r *Runtime) UsedInstances() int { return r.pool.Stats().Used }

// DropInstances closes all instances that wait.
func (r *Runtime) DropInstances() { r.pool.Drop(func(poolKey) bool { return true }) }

// Endure returns programs that were interrupted softly so much longer before they
// are stopped for good.
func (in *Interp) Endure(more time.Duration) { in.patience = more }

// ParkOffsets returns the constants of park.go that CPython says itself, and what it says.
func (in *Interp) ParkOffsets() (ours, its [3]uint64, err error) {
	at, err := in.compiled.symbol("_PyRuntime") // it begins with _Py_DebugOffsets
	if err != nil {
		return ours, its, err
	}
	word := func(n uint32) uint64 { v, _ := in.mem.Uint64(at + 8*n); return v }
	const thread, frame = 3 + 3 + 16, 3 + 3 + 16 + 9 // numbers in front of thread_state and interpreter_frame
	return [3]uint64{stateFrame, framePrevious, frameOwner + ownerShift/8}, [3]uint64{word(thread + 4), word(frame + 1), word(frame + 5)}, nil
}

// Later sets Config.Later.
func (r *Runtime) Later() { r.config.Later = true }

// LibraryLayout returns the layout of the machine code of a prepared library.
func (r *Runtime) LibraryLayout(ctx context.Context, library []byte) (codestore.Layout, error) {
	file, _, err := r.prepared(ctx, codestore.Digest(library), "", library, false)
	if err != nil {
		return codestore.Layout{}, err
	}
	stub, unmap, err := OpenStub(file)
	if err != nil {
		return codestore.Layout{}, err
	}
	return stub.Layout, unmap()
}

// LoadedParts returns how many parts of a split library were loaded here, how many more were
// compiled, of how many, and whether they are kept.
func (r *Runtime) LoadedParts(library []byte) (loaded, ahead, all int, kept bool) {
	r.link.running.Wait()
	s := &r.link.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.known[codestore.Digest(library)]
	if l == nil || l.Library == nil || l.Parts == nil {
		return 0, 0, 0, false
	}
	p := l.Parts.(*parts)
	for n, c := range p.code {
		if c != nil {
			loaded++
		} else if p.built[n].Code != nil {
			ahead++
		}
	}
	return loaded, ahead, len(p.Ends), p.first
}
