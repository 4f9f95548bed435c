package pyodide

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"sync"
	"time"

	"coderunner/internal/recent"
	"coderunner/pyodide/codestore"
	"coderunner/pyodide/dylink"
)

// maxIdle bounds the machine code, in bytes, of loaded libraries that no
// interpreter uses.
const maxIdle = 256 << 20

// sharedLibraries are the prepared libraries that a runtime has loaded.
type sharedLibraries struct {
	mu    sync.Mutex
	known map[string]*sharedLibrary // by digest of the file
	idle  []*sharedLibrary          // unused, the longest unused first
	bytes int                       // of idle
	files map[string]openLibrary    // by path, until wazero is closed
	whole func(sum string) bool     // reports whether the store has the library whole
}

type openLibrary struct {
	*codestore.Stub
	unmap func() error
}

// open returns the stub library in a file.
func (s *sharedLibraries) open(file string) (*codestore.Stub, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, ok := s.files[file]; ok {
		return f.Stub, nil
	}
	stub, unmap, err := OpenStub(file)
	if err != nil {
		return nil, err
	}
	if s.files == nil {
		s.files = map[string]openLibrary{}
	}
	s.files[file] = openLibrary{stub, unmap}
	return stub, nil
}

// keep keeps the parts of split libraries that were compiled. No interpreter is in use.
func (s *sharedLibraries) keep() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, l := range s.known {
		if l.Library != nil && l.Parts != nil {
			errs = append(errs, l.Parts.(*parts).keep(context.Background()))
		}
	}
	return errors.Join(errs...)
}

// close unmaps the files, when wazero's runtime is closed.
func (s *sharedLibraries) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.unmap())
	}
	s.files = nil
	return errors.Join(errs...)
}

type sharedLibrary struct {
	*dylink.Library // nil until it is loaded
	sum             string
	size, users     int
	asked           time.Time     // when whole was called last
	turn            chan struct{} // holds a token while an interpreter loads it
}

// use returns the library with digest sum, loading it if need be, and appends it
// to used for release. Another interpreter may be loading it, which can take
// minutes where its code has to be compiled: the wait ends with ctx.
func (s *sharedLibraries) use(ctx context.Context, sum string, used *[]*sharedLibrary, make func() (*dylink.Library, int, error)) (*dylink.Library, error) {
	l, err := s.lock(ctx, sum)
	if err == nil && l.Library != nil && s.outdated(l) {
		<-l.turn
		if err = s.release(l); err == nil {
			l, err = s.lock(ctx, sum)
		}
	}
	if err != nil {
		return nil, err
	}
	defer func() { <-l.turn }()
	if l.Library == nil {
		lib, size, err := make()
		if err != nil {
			return nil, errors.Join(err, s.release(l))
		}
		l.Library, l.size = lib, size
	}
	*used = append(*used, l)
	return l.Library, nil
}

// askAgain is how long a split library is used before the store is asked again for the whole one.
const askAgain = time.Second

// outdated reports whether a loaded library is split, and the store has it whole. Then the next
// one that uses it loads that; those that use this one keep it.
func (s *sharedLibraries) outdated(l *sharedLibrary) bool {
	if l.Parts == nil {
		return false
	}
	s.mu.Lock()
	superseded, asked := s.known[l.sum] != l, time.Since(l.asked) < askAgain
	if !asked {
		l.asked = time.Now()
	}
	s.mu.Unlock()
	if superseded || asked || !s.whole(l.sum) {
		return superseded
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[l.sum] == l {
		delete(s.known, l.sum)
	}
	return true
}

// lock acquires the library with digest sum, and its turn.
func (s *sharedLibraries) lock(ctx context.Context, sum string) (*sharedLibrary, error) {
	l := s.acquire(sum)
	select {
	case l.turn <- struct{}{}:
		return l, nil
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), s.release(l))
	}
}

func (s *sharedLibraries) acquire(sum string) *sharedLibrary {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.known[sum]
	if l == nil {
		l = &sharedLibrary{sum: sum, turn: make(chan struct{}, 1)}
		if s.known == nil {
			s.known = map[string]*sharedLibrary{}
		}
		s.known[sum] = l
	}
	if l.users == 0 {
		for i, o := range s.idle {
			if o == l {
				s.idle = slices.Delete(s.idle, i, i+1)
				s.bytes -= l.size
				break
			}
		}
	}
	l.users++
	return l
}

// release ends one use of each library.
func (s *sharedLibraries) release(libs ...*sharedLibrary) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, l := range libs {
		if l.users--; l.users > 0 {
			continue
		}
		switch {
		case l.Library == nil:
			delete(s.known, l.sum)
		case s.known[l.sum] != l: // it was superseded
			errs = append(errs, l.Library.Close(context.Background()))
		default:
			s.idle = append(s.idle, l)
			s.bytes += l.size
		}
	}
	for s.bytes > maxIdle {
		l := s.idle[0]
		s.idle = slices.Delete(s.idle, 0, 1) // [1:] would keep it in memory
		s.bytes -= l.size
		delete(s.known, l.sum)
		errs = append(errs, l.Library.Close(context.Background()))
	}
	return errors.Join(errs...)
}

// link is the state of dynamic linking that a runtime's interpreters share.
type link struct {
	main      func() (*dylink.Main, error) // also makes the host module for libraries
	shared    sharedLibraries
	compilers chan struct{} // one slot for each library being compiled for one program
	running   sync.WaitGroup
	ctx       context.Context // ends when the runtime is closed
	stop      context.CancelFunc
	refused   recent.Map[string, error]           // by digest: libraries that exceeded their budget
	parts     recent.Map[[sha256.Size]byte, Part] // by digest of the module: see CompilePart
}
