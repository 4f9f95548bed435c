// Package deno runs JavaScript and TypeScript programs, each in a Deno process
// of its own.
//
// It is called through [runners.Runner] and knows no protocol. A run goes through
// the stations of the files (run.go): packages are fetched by a trusted process
// that sees their names only, and the program runs in another, without a resolver
// and with the permissions of the policy:
//
//	request ─> analyze ─────> resolve ──> install ───────> lease ─> execute ─> outcome
//	           jsparse:       deps:       deno cache:      a waiting  streams,
//	           imports, edits import map  lock, packages   process    report, exit
//
// Package process keeps a few processes waiting in which everything that does not depend on
// the program is done; a run sends one of them its task (task.go). A program is loaded once;
// remedies.go has what is tried where Deno cannot load it.
//
// # Sources
//
// Deno 2.9: the flags of "deno cache", the lock file's format 5, and the texts of its
// messages, in deps/reason.go and the packages ending and explain.
//
// # Locking
//
// Runs share only Deno's cache directory, which they read and Deno itself guards. Each
// recent.Map has a mutex, and none is held while anything waits. Close waits for the work
// that runs leave in the background (launcher.Background).
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
	"runtime"
	"strings"
	"time"

	"coderunner/internal/pool"
	"coderunner/internal/sandbox"
	"coderunner/runners"
	"coderunner/runners/deno/codecache"
	"coderunner/runners/deno/exports"
	"coderunner/runners/deno/install"
	"coderunner/runners/deno/process"
)

// Config configures a Runner.
type Config = process.Config

// launcher keeps its methods out of Runner's.
type launcher = process.Launcher

// Runner runs programs. It implements [runners.Runner]. Close ends it.
type Runner struct {
	*launcher
	installer install.Installer
	linker    exports.Linker
	leases    *process.Leases
	codes     codes
	sessions  *pool.Pool[string, *kept] // by the session's key

	replayLimit time.Duration // a field so that tests need not wait
}

var _ runners.Runner = (*Runner)(nil)

// New returns a Runner. It checks a Deno that the configuration names, and fetches
// nothing.
func New(cfg Config) (*Runner, error) {
	if cfg.Cache == nil {
		return nil, errors.New("deno: Config.Cache is nil")
	}
	t, err := process.NewTool(cfg)
	if err != nil {
		return nil, err
	}
	if err := process.MakeDenoDir(t.DenoDir); err != nil {
		return nil, err
	}
	var root []byte
	if i := cfg.Network.Intercept; i != nil {
		root = i.Root()
	}
	dirs, err := process.OpenRunDirs(root, cfg.Leaving)
	if err != nil {
		return nil, err
	}
	if err := checkDirs(dirs.Path, t.DenoDir); err != nil {
		return nil, errors.Join(err, dirs.Close())
	}
	t.SweepGen(dirs.Path)
	l := &launcher{Tool: t, RunDirs: dirs, Store: codecache.New(cfg.Cache, t.Log, codecache.Kind, codecache.MaxEntries), Snapshots: codecache.New(cfg.Cache, t.Log, process.SnapshotKind, process.MaxSnapshots)}
	r := &Runner{launcher: l, leases: process.NewLeases(l, cfg.Ahead), sessions: newSessions(), replayLimit: replayLimit}
	r.installer = install.Installer{Tool: t, Stale: r.leases.DropPrepared}
	r.codes = codes{r.leases}
	return r, nil
}

// Prepare finds out, once, what the kernel has to confine programs with. The first start would wait
// for it.
func Prepare() { _, _ = sandbox.OwnNetwork(), sandbox.Delegated() }

// Version returns the version of the Deno that a configuration names, or of the pinned one if
// that is "".
func Version(binary string) (string, error) { return process.Version(binary) }

// checkDirs refuses directories that Deno could not use.
func checkDirs(base, denoDir string) error {
	for _, dir := range []string{base, denoDir} {
		if strings.Contains(dir, ",") {
			return fmt.Errorf("use %s: Deno's permission flags cannot name a path with a comma; set TMPDIR or CODE_RUNNER_CACHE_DIR", dir)
		}
	}
	if runtime.GOOS != "linux" {
		return nil
	}
	for _, system := range []string{"/dev/", "/proc/", "/sys/"} {
		if strings.HasPrefix(base, system) {
			return fmt.Errorf("use %s: Deno lets only programs with all permissions write below %s; set TMPDIR to another directory", base, system)
		}
	}
	return nil
}

// Close ends the idle processes and removes the directories of runs. No Run may be
// in progress.
func (r *Runner) Close() error {
	r.sessions.Close()
	r.leases.Close()
	if r.Config.Ahead == 0 {
		r.Store.Wait() // later processes use the databases
		r.Snapshots.Wait()
	}
	r.Store.Close()
	r.Snapshots.Close()
	// A process that was killed ends meanwhile. What it was doing may have left something.
	err := r.RunDirs.Close()
	r.Background.Wait(context.Background())
	if err != nil {
		r.Dying.Wait(context.Background())
		err = r.RunDirs.Close()
	}
	r.Fetch.Close()
	r.SweepGen(r.RunDirs.Path)
	return err
}

// Isolation returns how the kernel confines a program under a policy, beside Deno's own
// permissions.
func Isolation(p runners.Policy) sandbox.Level { return process.Isolation(p) }

// Confinement returns Isolation with all limits that are in force. It probes the control group.
func Confinement(p runners.Policy) sandbox.Level { return process.Confinement(p) }
