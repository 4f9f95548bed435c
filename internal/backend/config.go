package backend

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"coderunner/cache"
	"coderunner/internal/intercept"
	"coderunner/internal/session"
	"coderunner/internal/session/bucket"
	"coderunner/internal/versions"
	"coderunner/runners"
)

// Config is what a backend is opened with. Its zero value has the pinned runtimes,
// allows programs nothing and keeps the user's cache without a limit.
type Config struct {
	Only  runners.Language // the only language whose runner is opened; "": all
	Ahead int              // interpreters that are kept ready for the next runs, and half of the Deno processes
	Log   *zap.Logger      // nil: nothing is logged

	// Workers is how many processes run the programs of Python and bash of each client at a
	// time; 0: they run in this one.
	Workers int

	// Overrun, if not nil, ends this process when a program that runs in it does not end at
	// its limits.
	Overrun func(memory bool)
	Leaving bool // this process ends with the backend

	Portable bool // the cache is for other machines, too

	CacheDir  string // "": in the user's cache directory
	CacheSize int64  // bytes; 0: no limit
	Bundle    string // directory of a cache whose entries are copied, and which is not written; "": none
	Memory    int64  // limit of a run, in bytes; 0: runners.DefaultMemory

	Permissions      []string // Deno's flags
	RequireIsolation bool     // programs that cannot be confined fully are not run
	Secrets          *intercept.Secrets
	Record           string // file for the exchanges of a run, or ""
	Replay           string // file to answer from, or ""
	Version          string // of this program, in what it records

	Offline       bool
	Deno          string   // a Deno to use instead of the pinned one
	HostLanguages []string // NAME or NAME=PATH
	// Languages are those of runners.GuestLanguages that there are; nil: all.
	Languages   []runners.Language
	NPMRegistry string // "": the public ones
	JSRURL      string
	PyPIIndex   string
	PyodideBase string

	SessionDir    string         // "": in the cache's
	SessionLimits session.Limits // zero values mean the defaults
	// SessionStore opens the store that several machines share; nil: there is none.
	SessionStore func() (session.Remote, error)
}

// DefaultCacheSize is enough for the runtimes and about 300 packages.
const DefaultCacheSize = 5 << 30

const (
	// ballastSize is how much of the heap, in bytes, is never written to, and so is
	// no memory. The collector, which lets the heap double, does not run in the
	// middle of a start for the few megabytes that there are: a tenth of a start's
	// processor time.
	ballastSize = 16 << 20

	// compileMemory is how much memory compiling libraries may take, in bytes, and
	// no more than half of what there is.
	compileMemory = 5 << 29

	// storeTime bounds the time in which a store of sessions must answer for the
	// first time.
	storeTime = 30 * time.Second
)

// RuntimeKinds are the kinds of cache entries that the runtimes are made of: those of
// the versions in force are not evicted, those of others are pruned.
var RuntimeKinds = []string{"npm", "module", "machine-code", "stdlib", "deno-binary"}

// WithDefaults returns the configuration with the public registries and the default
// limit where it has none.
func (c Config) WithDefaults() Config {
	c.Log = cmp.Or(c.Log, zap.NewNop())
	for registry, usual := range map[*string]string{&c.NPMRegistry: versions.NPMRegistry, &c.PyPIIndex: versions.PyPIIndex, &c.PyodideBase: versions.PyodidePackageBase} {
		*registry = cmp.Or(*registry, usual)
	}
	c.Memory = runners.Limits{Memory: c.Memory}.WithDefaults().Memory
	return c
}

// SessionStore returns what opens, once, the store of an address s3://BUCKET/PREFIX,
// for [Config].
func SessionStore(address string) (func() (session.Remote, error), error) {
	if !strings.HasPrefix(address, "s3://") {
		return nil, fmt.Errorf("%q is not an address such as s3://BUCKET/PREFIX", address)
	}
	return sync.OnceValues(func() (session.Remote, error) {
		ctx, cancel := context.WithTimeout(context.Background(), storeTime)
		defer cancel()
		return bucket.Open(ctx, address)
	}), nil
}

// OpenSessions opens the sessions of o's namespace: of a client, or of those on this
// machine. They are in the cache's directory, to which no program has access, unless
// the configuration has another, but they are no entries of the cache, and its limits
// do not concern them.
func (c Config) OpenSessions(in *cache.Cache, o session.Options) (*session.Store, error) {
	if o.Dir, o.Limits = c.SessionDir, c.SessionLimits; o.Dir == "" {
		o.Dir = in.Path(cache.Sessions)
	}
	if c.SessionStore != nil {
		var err error
		if o.Remote, err = c.SessionStore(); err != nil {
			return nil, fmt.Errorf("CODE_RUNNER_SESSION_STORE: %w", err)
		}
	}
	return session.Open(o)
}
