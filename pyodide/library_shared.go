package pyodide

import (
	"context"
	"errors"
	"slices"
	"sync"

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
	files map[string]openLibrary    // by digest, until wazero is closed
}

type openLibrary struct {
	*codestore.Stub
	unmap func() error
}

// open returns the stub library with digest sum.
func (s *sharedLibraries) open(sum, file string) (*codestore.Stub, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, ok := s.files[sum]; ok {
		return f.Stub, nil
	}
	stub, unmap, err := OpenStub(file)
	if err != nil {
		return nil, err
	}
	if s.files == nil {
		s.files = map[string]openLibrary{}
	}
	s.files[sum] = openLibrary{stub, unmap}
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
	turn            chan struct{} // holds a token while an interpreter loads it
}

// use returns the library with digest sum, loading it if need be, and appends it
// to used for release. Another interpreter may be loading it, which can take
// minutes where its code has to be compiled: the wait ends with ctx.
func (s *sharedLibraries) use(ctx context.Context, sum string, used *[]*sharedLibrary, make func() (*dylink.Library, int, error)) (*dylink.Library, error) {
	l := s.acquire(sum)
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), s.release(l))
	}
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
	for _, l := range libs {
		if l.users--; l.users > 0 {
			continue
		}
		if l.Library == nil {
			delete(s.known, l.sum)
			continue
		}
		s.idle = append(s.idle, l)
		s.bytes += l.size
	}
	var errs []error
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
	refused   recent.Map[string, error] // by digest: libraries that exceeded their budget
}
