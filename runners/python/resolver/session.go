package resolver

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/singleflight"

	"coderunner/internal/fetch"
	"coderunner/runners"
	"coderunner/runners/python/index"
)

// pin is one wheel, exactly.
type pin struct {
	Name     string `json:"name"`
	Version  string `json:"version"`
	Filename string `json:"filename"`
	URL      string `json:"url"` // without credentials
	SHA256   string `json:"sha256"`
	Source   string `json:"source"`
	Strip    bool   `json:"strip,omitempty"` // only the Python part is used

	Needs []string `json:"needs,omitempty"` // names of others of the answer
	Older string   `json:"older,omitempty"` // see Package
}

func (p pin) withoutUser() pin {
	p.URL = fetch.WithoutUser(p.URL)
	return p
}

// pure returns 1 if no library of the pin is to be compiled, else 0.
func (p pin) pure() int {
	if p.Strip || p.sdist() || strings.HasSuffix(p.Filename, "-none-any.whl") {
		return 1
	}
	return 0
}

// shared reports whether the pin is an archive of shared libraries, not a wheel.
func (p pin) shared() bool { return p.Source == sourcePyodide && strings.HasSuffix(p.Filename, ".zip") }

// The largest files, in bytes.
const (
	maxWheel = 1 << 30
	maxSdist = 64 << 20
)

// project is what the index has of a project.
type project struct {
	err    string               // why there is nothing
	files  map[string]candidate // that fit, by name
	others map[string]string    // by version: why nothing fits
	days   map[string]string    // by version: when it was uploaded
}

// candidate is a wheel that can be used here, or an sdist that may be built.
type candidate struct {
	index.File
	version string
	rank    int
	strip   bool
}

// sdist reports whether the pin is to be built.
func (p pin) sdist() bool { return isSdist(p.Filename) && !p.shared() }

func (p pin) maxSize() int64 {
	if p.sdist() {
		return maxSdist
	}
	return maxWheel
}

// wheelName returns the name of the pin's wheel, whose file has the path.
func (p pin) wheelName(path string) string {
	if p.sdist() {
		return filepath.Base(path)
	}
	return p.Filename
}

func isSdist(filename string) bool {
	return strings.HasSuffix(filename, ".tar.gz") || strings.HasSuffix(filename, ".zip")
}

// session is the state of one request. Each step of a request (ask, download,
// unpack, build) is a method in a file of its own, since all share what was learned
// of the index.
type session struct {
	*Resolver
	progress    runners.ProgressFunc
	require     func(ctx context.Context, requirements []string) ([]string, error) // for builds, see [Sdist]
	locked      *Locked                                                            // see [Request]
	lost        map[string]string                                                  // packages of the lock file that could not be fetched, and why
	avoided     int                                                                // how many of costly and unbuilt the search knows
	wheelsOnly  bool                                                               // no sdist is built
	imports     []string                                                           // see [Request]
	unreachable atomic.Bool                                                        // the index or one of its files could not be reached
	fetching    singleflight.Group                                                 // of pages, by project

	mu         sync.Mutex // guards what follows
	pages      map[string]*project
	downloaded map[string]bool   // by SHA-256
	costly     map[string]bool   // files whose libraries are ErrTooCostly
	unbuilt    map[string]string // by project: why its sdist cannot be built
}

// pin returns a file of a project's page, or, without a name, the lock file's build.
func (s *session) pin(name, filename string) (pin, error) {
	if filename == "" {
		p, ok := s.lock.ByName[name]
		if !ok {
			return pin{}, fmt.Errorf("resolve packages: %s is not in the lock file", name)
		}
		return pin{
			Name: name, Version: p.Version, Filename: p.FileName, SHA256: p.SHA256, Source: sourcePyodide,
			URL: s.base.JoinPath(p.FileName).String(),
		}.withoutUser(), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.pages[name].files[filename]
	if !ok {
		return pin{}, fmt.Errorf("resolve packages: %s has no file %s", name, filename)
	}
	return pin{
		Name: name, Version: f.version, Filename: filename, SHA256: f.SHA256, Source: sourcePyPI,
		Strip: f.strip, URL: f.URL,
	}.withoutUser(), nil
}
