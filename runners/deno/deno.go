// Package deno runs JavaScript and TypeScript programs, each in a Deno process
// of its own.
//
// It is called through [runners.Runner] and knows no protocol. A run has two
// phases. In the first, trusted one, "deno cache" fetches the packages that
// the program names; it sees their names only, never the program. In the
// second the program runs without a resolver, with the permissions of the policy:
//
//	Request ─ parse ─> specifiers ─ resolve ─> import map ─ prepare ─> lock file
//	   │                                                                 │
//	   └─ parse ─> edits (last value, import.meta.main)                  │
//	                 └─> working directory ─ start ─> bootstrap.js <────────┘
//	Outcome <── streams, report, exit <── the program ┘
//
// The bootstrap is the main module of every process. It waits on stdin for its
// orders, so a pool keeps a few processes started (pool.go).
//
// # Sources
//
// Deno 2.9: the flags of "deno run" and "deno cache", the lock file's format 5,
// and the texts of its messages, in deps/reason.go and outcome.go.
//
// # Locking
//
// Runs share only Deno's cache directory, which they read and Deno itself guards.
// runDirs, the pool of leases and the memos each have a mutex; none is taken under another, and none is held while anything waits. Close waits for
// the work that runs leave in the background (Runner.background).
//
// # Limits
//
// At its time limit a program is killed, without a softer signal before. Memory is
// limited exactly on Linux; elsewhere only V8's heap is. A child dies with this
// process on Linux only. Threads and disk use are sampled. Registry credentials
// come from the registry's URL; .npmrc is not read. What was resolved for a set
// of imports stays resolved until the cache is cleared.
//
// # Testing
//
// The tests run a real Deno, the one in CODE_RUNNER_DENO or the pinned one,
// unless -short is given.
package deno

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"coderunner/cache"
	"coderunner/internal/fetch"
	"coderunner/internal/recent"
	"coderunner/internal/versions"
	"coderunner/runners"
	"coderunner/runners/deno/codecache"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/process"

	"go.uber.org/zap"
)

//go:embed bootstrap.js
var bootstrapSource string

//go:embed tests.js
var testsSource string

//go:embed seal.js
var sealSource string

// Config configures a [Runner].
type Config struct {
	// Cache is where Deno and packages are kept. The caller closes it, after
	// the Runner.
	Cache *cache.Cache

	// Policy is what programs may touch.
	Policy runners.Policy

	// Binary is a Deno to use instead of the pinned one: a path, or a name
	// that is looked up. "" is the pinned one.
	Binary string

	// NPMRegistry and JSRURL replace the public registries if not "".
	NPMRegistry, JSRURL string

	// Offline forbids fetching anything.
	Offline bool

	// Env has the variables for the network: proxies and certificates. The trusted
	// phase gets them, and programs that may use the network do, except proxies
	// with a password.
	Env map[string]string

	// Ahead is the most idle processes that are kept, of about 9 MiB each. 0 is
	// none, which is right for one run.
	Ahead int

	// Memory is the limit that requests will probably have, in bytes. Warm starts
	// an idle process for it. 0 is the default limit.
	Memory int64

	// Log gets the errors of this package. nil is none.
	Log *zap.Logger
}

// Runner runs programs. It implements [runners.Runner]. Close ends it.
type Runner struct {
	*tool
	runDirs *runDirs
	known   recent.Map[string, *prepared] // by the key of their dependencies
	absent  absences
	leases  *leases
	codes   *codes

	background sync.WaitGroup // work that runs leave behind

	warnOnce sync.Once // for the warning that memory cannot be limited
}

// tool is the Deno of a Runner: its binary, cache and environment, and its
// commands of the trusted phase.
type tool struct {
	cfg     Config
	log     *zap.Logger
	named   string // the Deno that Config names, "" if none
	version string
	denoDir string // DENO_DIR
	fetch   *fetch.Client
	starter *process.Starter
}

var _ runners.Runner = (*Runner)(nil)

// New returns a Runner. It checks a Deno that the configuration names, and fetches
// nothing.
func New(cfg Config) (*Runner, error) {
	if cfg.Cache == nil {
		return nil, errors.New("deno: Config.Cache is nil")
	}
	r := &Runner{tool: &tool{cfg: cfg, log: cfg.Log, version: versions.DenoVersion, denoDir: cfg.Cache.Path("deno"),
		fetch: fetch.New(cfg.Cache, fetch.Options{Offline: cfg.Offline})}}
	if r.log == nil {
		r.log = zap.NewNop()
	}
	var err error
	if cfg.Binary != "" {
		if r.named, r.version, err = checkBinary(cfg.Binary); err != nil {
			return nil, err
		}
	}
	if err := makeDenoDir(r.denoDir); err != nil {
		return nil, err
	}
	if r.runDirs, err = openRunDirs(); err != nil {
		return nil, err
	}
	if err := r.checkDirs(); err != nil {
		r.runDirs.close()
		return nil, err
	}
	r.sweepGen(r.runDirs.base)
	r.starter = process.NewStarter()
	r.leases = newLeases(r, cfg.Ahead)
	r.codes = &codes{r, codecache.New(cfg.Cache, r.log)}
	return r, nil
}

// checkDirs refuses directories that Deno could not use.
func (r *Runner) checkDirs() error {
	for _, dir := range []string{r.runDirs.base, r.denoDir} {
		if strings.Contains(dir, ",") {
			return fmt.Errorf("use %s: Deno's permission flags cannot name a path with a comma; set TMPDIR or CODE_RUNNER_CACHE_DIR", dir)
		}
	}
	if runtime.GOOS != "linux" {
		return nil
	}
	for _, system := range []string{"/dev/", "/proc/", "/sys/"} {
		if strings.HasPrefix(r.runDirs.base, system) {
			return fmt.Errorf("use %s: Deno lets only programs with all permissions write below %s; set TMPDIR to another directory", r.runDirs.base, system)
		}
	}
	return nil
}

// makeDenoDir makes Deno's cache directory.
func makeDenoDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make Deno's cache: %w", err)
	}
	trimCaches(dir)
	if err := closeStorage(dir); err != nil && !os.IsPermission(err) {
		return fmt.Errorf("make Deno's cache: %w", err)
	}
	return nil
}

// maxCache bounds each of Deno's databases, in bytes.
const maxCache = 256 << 20

// trimCaches removes the trusted phase's databases of module analysis that are
// larger than maxCache.
func trimCaches(dir string) {
	databases, _ := filepath.Glob(filepath.Join(dir, "*_cache_v*"))
	for _, name := range databases {
		if info, err := os.Lstat(name); err != nil || info.Size() < maxCache {
			continue
		}
		for _, suffix := range []string{"", "-wal", "-shm"} {
			_ = os.Remove(name + suffix) // the next one tries again
		}
	}
}

// Versions returns Deno's version.
func (r *Runner) Versions() map[string]string { return map[string]string{"deno": r.version} }

// Close ends the idle processes and removes the directories of runs. No Run may be
// in progress.
func (r *Runner) Close() error {
	r.leases.close()
	if r.cfg.Ahead == 0 {
		r.codes.store.Wait() // later processes use the databases
	}
	r.codes.store.Close()
	r.background.Wait()
	r.starter.Close()
	r.fetch.Close()
	err := r.runDirs.close()
	r.sweepGen(r.runDirs.base)
	return err
}

// Warm fetches Deno and the packages, which are as in Request.Packages. Without
// packages it starts an idle process if the configuration allows one.
func (r *Runner) Warm(ctx context.Context, packages []string, progress runners.ProgressFunc) error {
	pinned, err := deps.ParsePackages(packages)
	if err != nil {
		return err
	}
	progress = progress.Serial()
	binary, err := r.binary(ctx, progress)
	if err != nil {
		return err
	}
	if len(pinned) == 0 {
		limits := runners.Limits{Memory: r.cfg.Memory}.WithDefaults()
		r.leases.begin(variant{binary: binary, memory: limits.Memory, ready: &prepared{}})
		return nil
	}
	d, err := dependencies(nil, deps.Module{}, pinned)
	if err != nil {
		return err
	}
	_, err = r.install(ctx, binary, d, progress)
	return err
}
