// Package deno runs JavaScript and TypeScript programs, each in a Deno process
// of its own.
//
// It is called through [runners.Runner] and knows no protocol. A run has two
// phases. In the first, trusted one, "deno cache" fetches the packages that
// the program names; it sees their names only, never the program. In the
// second the program runs without a resolver and with the permissions of the
// policy:
//
//	Request ─ parse ─> specifiers ─ resolve ─> import map ─ prepare ─> lock file
//	   │                                                                 │
//	   └─ parse ─> edits (last value, import.meta.main)                  │
//	                 └─> working directory ─ start ─> bootstrap.js <────────┘
//	Outcome <── streams, report, exit <── the program ┘
//
// The bootstrap is the main module of every process. It waits on stdin for
// its orders, so a few processes are started before there are programs for
// them (pool.go).
//
// # Sources
//
// Deno 2.9: the flags of "deno run" and "deno cache", the lock file's format 5,
// and the texts of its messages, which are in reason.go and outcome.go.
//
// # Locking
//
// Runs share nothing but Deno's cache directory, which they only read, and which
// Deno itself guards. What was prepared is remembered under a mutex of its own
// (memo), the names of working directories under another (runDirs), the processes
// that wait under a third (leases and their pool), which packages have compiled code under a
// fourth (codecache); none of them is taken under another. No lock is held while
// anything waits. What a run leaves to be finished in the background is counted
// (Runner.background), and Close waits for it.
//
// # Limits
//
// A program cannot be interrupted softly: at its time limit it is killed.
// Memory is limited exactly on Linux; elsewhere only V8's heap is. A child
// dies with this process on Linux only. What a program has in its directories, and
// its threads, are counted from time to time. Registry credentials are those in
// the registry's URL; .npmrc is not read. What was resolved for a set of
// imports stays resolved until the cache is cleared.
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

	// Env has the variables that say how the network is reached: proxies and
	// certificates. They are for the trusted phase, and for programs that may
	// use the network, except proxies with a password.
	Env map[string]string

	// Ahead is how many processes are started ahead of need and kept waiting, at
	// most. Each has about 9 MiB of memory of its own. 0 is none, which is
	// right for one run.
	Ahead int

	// Memory is the limit that requests will probably have, in bytes. Warm
	// starts a process ahead for it. 0 is the default one.
	Memory int64

	// Log is told of what goes wrong on our side. nil is none.
	Log *zap.Logger
}

// Runner runs programs. It implements [runners.Runner]. Close ends it.
type Runner struct {
	*tool
	runDirs *runDirs
	known   memo
	absent  absences
	leases  *leases
	codes   *codes

	background sync.WaitGroup // what runs may leave to be finished

	warnOnce sync.Once // that memory cannot be limited
}

// tool is the Deno of a Runner: its binary, its cache and its environment, and
// its commands of the trusted phase.
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

// New makes a Runner. A Deno that the configuration names is looked at: it is
// an error if it cannot be used. Nothing is fetched.
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

// maxCache is how large one of Deno's databases may get, in bytes.
const maxCache = 256 << 20

// trimCaches removes the databases in which the trusted phase keeps what it
// found out about modules, if they have become too large.
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

// Versions returns Deno's.
func (r *Runner) Versions() map[string]string { return map[string]string{"deno": r.version} }

// Close ends the processes that wait and removes the directories of runs. No Run
// may be in progress.
func (r *Runner) Close() error {
	r.leases.close()
	if r.cfg.Ahead == 0 {
		r.codes.store.Wait() // this process is of use to the next ones
	}
	r.codes.store.Close()
	r.background.Wait()
	r.starter.Close()
	r.fetch.Close()
	err := r.runDirs.close()
	r.sweepGen(r.runDirs.base)
	return err
}

// Warm fetches Deno and the packages, which are as in Request.Packages, and
// starts a process ahead if the configuration has room for one.
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
