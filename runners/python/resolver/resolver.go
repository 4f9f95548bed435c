// Package resolver makes packages available to Python programs: it finds out
// which wheels meet a list of requirements, fetches and verifies them, and unpacks
// and byte-compiles each once.
//
// Package solver chooses the versions. All requests go to the configured index, the
// files it links to, and the base URL of Pyodide's own packages.
// Its caller is package python.
//
// # What is taken
//
// A package of the lock file comes from the base URL in the lock file's
// version, if the request allows that version, the base can be reached and
// everything that the package depends on can be installed likewise. Anything else is
// the index's newest version that fits. A wheel without a SHA-256 from the
// index or the lock file is refused. A version without any wheels is built from its
// sdist (see sdist.go).
// Yanked releases and pre-releases are taken when pip would take them. Which
// wheels fit is decided in wheeltags.go.
//
// # What is remembered
//
// The answer to a request, keyed by all that it depends on but the index's
// contents. It is used without a request to the index for a day ([Fresh]), after
// that only when the index cannot be reached, and for ever when the request names
// the exact version of everything. That a request cannot be met is remembered for
// two minutes, unless something could not be reached. Unpacked wheels are kept by their digest.
//
// # Limits
//
// One index. The search is not complete: it tries a dozen ways out of a
// contradiction and then reports the first.
//
// # Testing
//
// Package python's tests run it with a real interpreter, against an index
// made of built wheels and against the configured one.
package resolver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"coderunner/cache"
	"coderunner/internal/fetch"
	"coderunner/internal/recent"
	"coderunner/internal/versions"
	"coderunner/runners"
	"coderunner/runners/python/lockfile"
	"coderunner/runners/python/requirement"
	"coderunner/runners/python/wheel"
)

// Fresh is how long an answer is used without asking the index again.
const Fresh = 24 * time.Hour

// freshFailure is how long a failed request is remembered: a model that tries a
// wrong name again need not wait again.
const freshFailure = 2 * time.Minute

// baseRetry is how long it is remembered whether the base URL can be reached.
const baseRetry = 5 * time.Minute

// compilations bounds the concurrent compilations.
var compilations = max(2, runtime.GOMAXPROCS(0))

// Trusted is an interpreter for the host's own scripts. Its methods are safe
// for concurrent use; each call has an interpreter of its own.
type Trusted interface {
	// Library compiles a wheel's shared library and keeps the machine code for
	// programs that load the library. The error is the reason why it cannot be
	// loaded, unless it is ctx's or the store's; it is ErrTooCostly if compiling
	// takes too much memory or time.
	Library(ctx context.Context, name string, library []byte) error
	// LayOut makes the machine code of a library faster, if Library has compiled it.
	LayOut(ctx context.Context, library []byte) error
	// LibraryVersion changes whenever Library must be called again.
	LibraryVersion() (string, error)
	// Build builds the wheel of an sdist, by code that is not trusted, in an
	// interpreter without network and files, and returns its name and contents.
	// The error is a *BuildError if the sdist cannot be built.
	Build(ctx context.Context, sdist Sdist) (name string, wheel []byte, err error)
	// Compile compiles modules to bytecode, out of directories that programs will
	// see merged in site-packages, in so many interpreters at once, 0 for the usual
	// number. It calls emit once at a time, and not for modules that do not compile;
	// begins is called for each module.
	Compile(ctx context.Context, trees, modules []string, workers int, emit func(module string, pyc []byte) error, begins func(module string)) error
}

// ErrTooCostly is the error of a library that takes too much to compile.
var ErrTooCostly = errors.New("too costly")

// Config configures a Resolver.
type Config struct {
	Cache   *cache.Cache
	Fetch   *fetch.Client
	Trusted Trusted
	Lock    *lockfile.Lock
	Index   string // simple repository API; "" is the public one
	Base    string // of the lock file's packages; "" is the public one
}

// Resolver prepares packages. It is safe for concurrent use.
type Resolver struct {
	cache   *cache.Cache
	fetch   *fetch.Client
	trusted Trusted
	lock    *lockfile.Lock
	index   *url.URL
	base    *url.URL

	compiling *semaphore.Weighted       // a compilation takes a core and some memory
	bytecode  recent.Map[string, found] // by package's key
	reached   recent.Map[string, reached]
	whole     recent.Map[string, bool] // by package's key: whether nothing is left to compile

	mu        sync.Mutex
	baseAsked time.Time // when the base URL was last tried
	baseErr   string    // why not
}

// New checks the configuration. It fetches nothing.
func New(c Config) (*Resolver, error) {
	r := &Resolver{
		cache: c.Cache, fetch: c.Fetch, trusted: c.Trusted, lock: c.Lock,
		compiling: semaphore.NewWeighted(int64(compilations)),
	}
	r.reached.Weigh = func(f reached) int { return 100 * (len(f.sources) + len(f.libraries)) }
	var err error
	if r.index, err = registry("PIP_INDEX_URL", c.Index, versions.PyPIIndex); err != nil {
		return nil, err
	}
	if r.base, err = registry("PYODIDE_PACKAGE_BASE_URL", c.Base, versions.PyodidePackageBase); err != nil {
		return nil, err
	}
	return r, nil
}

// registry parses a configured URL. Its error does not repeat the URL, which
// may hold a password.
func registry(variable, value, preset string) (*url.URL, error) {
	value = cmp.Or(value, preset)
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "file" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%s is not an http, https or file URL", variable)
	}
	if !strings.HasSuffix(u.Path, "/") {
		u.Path += "/"
		u.RawPath = ""
	}
	return u, nil
}

// Request is a set of requirements to prepare. As JSON, it is what a worker asks of its server.
type Request struct {
	Requirements []requirement.Requirement
	Optional     []requirement.Requirement // left out if they cannot be installed
	Constraints  []requirement.Requirement // for packages that are installed anyway
	Alone        bool                      // without the packages' dependencies
	Progress     runners.ProgressFunc      `json:"-"`

	Locked *Locked // if not nil, nothing else is taken

	// Imports are modules, if any, whose bytecode is compiled while it is found out whether
	// libraries can be loaded.
	Imports []string

	wheelsOnly bool // no sdist is built
}

// Locked is the files that a program allows.
type Locked struct {
	By     string              // their source, for errors: "the program's lock"
	SHA256 map[string][]string // by project
}

func (l *Locked) allows(project, sum string) bool { return slices.Contains(l.SHA256[project], sum) }

// Set is the answer: packages that are ready to be mounted.
type Set struct {
	Packages []Package
	Skipped  []runners.PackageError // optional requirements that cannot be installed
}

// Package is an installed package.
type Package struct {
	runners.Package
	Tree     string   // directory with the package's files, to be merged into site-packages
	Bytecode []string // directories with its bytecode, to be merged likewise
	Shared   bool     // libraries that others need: to be merged into /usr/lib instead
	Needs    []string // names of others of the set
	Older    string   // which newer version cannot be installed, and why; only where it was asked for by name
}

// Requires returns the requirements in the package's metadata, with their markers.
func (p Package) Requires() ([]string, error) {
	m, err := wheel.ReadInstalled(cache.DirFS(p.Tree))
	return m.RequiresDist, err
}

// Sdist is a source distribution to be built.
type Sdist struct {
	Filename string
	Data     []byte
	// Require installs what the build requires and returns the directories that are merged in
	// site-packages.
	Require func(ctx context.Context, requirements []string) (dirs []string, err error)
}

// BuildError is why an sdist cannot be built.
type BuildError struct{ Reason string }

func (e *BuildError) Error() string { return e.Reason }
