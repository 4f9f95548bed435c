// Package backend opens the runners of all languages from one configuration, with the
// cache, the policy and the network that they share. The command line, the tests of
// servers and programs that embed the runners use it; it knows neither flags nor MCP.
package backend

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"coderunner/cache"
	"coderunner/cache/contents"
	"coderunner/internal/compiler"
	"coderunner/internal/fetch"
	"coderunner/internal/intercept"
	"coderunner/internal/netpolicy"
	"coderunner/internal/sandbox"
	"coderunner/internal/sysmem"
	"coderunner/internal/worker"
	"coderunner/runners"
	"coderunner/runners/bash"
	"coderunner/runners/deno"
	"coderunner/runners/host"
	"coderunner/runners/python"
	"coderunner/runners/python/hostdirs"
	"coderunner/runners/toolbox"
	"coderunner/runners/wasi"
	"coderunner/runners/wasi/engine"
)

// Backend runs programs. Its fields are not changed after Open.
type Backend struct {
	Policy runners.Policy
	Cache  *cache.Cache
	// Runners has the runner of each language. What programs print and return is
	// without the secrets.
	Runners map[runners.Language]runners.Runner
	Hosted  []runners.Language // those of the Runners whose interpreter is the host's

	cfg       Config
	network   netpolicy.Options
	intercept *intercept.Interceptor // nil: none
	tools     *toolbox.Recording     // nil: none
	python    *python.Runner         // nil: not opened
	guests    *wasi.Guests           // likewise
	fetch     *fetch.Client          // of guests; likewise
	compiler  *compiler.Compiler     // likewise
	workers   *worker.Pool           // nil: there are none
	opened    []*opened
	ballast   []byte
}

// opened is a runner, which has one language or several.
type opened struct {
	runners.Runner
	warming sync.WaitGroup // what Close waits for
}

// Open opens the runners that the configuration asks for, for one run or for a server.
// Nothing is fetched yet. The caller closes the backend.
func Open(cfg Config) (*Backend, error) {
	cfg = cfg.WithDefaults()
	policy, err := runners.ParsePolicy(cfg.Permissions)
	if err != nil {
		return nil, fmt.Errorf("DENO_PERMISSION_ARGS: %w", err)
	}
	for _, warning := range policy.Warnings() {
		cfg.Log.Warn(warning)
	}
	if cfg.RequireIsolation { // looking takes a trial start, which others need not wait for
		if level := deno.Isolation(policy); level.Name != sandbox.Full {
			return nil, fmt.Errorf("CODE_RUNNER_ISOLATION=require: the isolation of JavaScript is %s", level)
		}
	}
	if cfg.opensDeno() {
		go PrepareDeno()
	}
	network, interceptor, err := openNetwork(cfg)
	if err != nil {
		return nil, err
	}
	c, err := cache.Open(cfg.CacheDir)
	if err != nil {
		return nil, err
	}
	if warning := c.Warning(); warning != "" {
		cfg.Log.Warn(warning)
	}
	c.Limit(cfg.CacheSize, RuntimeKinds...)
	if cfg.Bundle != "" {
		if err := c.CopyFrom(context.Background(), cfg.Bundle); err != nil {
			return nil, errors.Join(fmt.Errorf("use the bundle %s: %w", cfg.Bundle, err), c.Close())
		}
	}
	b := &Backend{Policy: policy, Cache: c, Runners: map[runners.Language]runners.Runner{},
		cfg: cfg, network: network, intercept: interceptor}
	if cfg.Ahead > 0 {
		b.ballast = make([]byte, ballastSize)
	}
	if err := b.openRunners(); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// PrepareDeno does what the first Deno would wait for.
func PrepareDeno() { deno.Prepare() }

// opensDeno reports whether there is a runner of JavaScript.
func (c Config) opensDeno() bool {
	only := c.Only
	return only == "" || only != runners.Python && only != runners.Bash && !slices.Contains(runners.GuestLanguages, only) && !host.Runs(only)
}

func (b *Backend) openRunners() error {
	only := b.cfg.Only
	guest := slices.Contains(runners.GuestLanguages, only)
	if b.cfg.opensDeno() {
		if err := b.openDeno(); err != nil {
			return err
		}
	}
	if only == "" || only == runners.Python || only == runners.Bash || guest {
		if err := b.openPython(); err != nil {
			return err
		}
	}
	if only == "" || only == runners.Bash || guest {
		b.openBash()
	}
	if only == "" || host.Runs(only) { // the host's Ruby is what the operator asked for
		return b.openHost()
	}
	return nil
}

// add takes a runner for some languages.
func (b *Backend) add(r runners.Runner, languages ...runners.Language) {
	b.opened = append(b.opened, &opened{Runner: r})
	if b.cfg.Secrets != nil {
		r = redacting{r, b.cfg.Secrets}
	}
	for _, l := range languages {
		b.Runners[l] = r
	}
}

// openHost opens the runners of the host's languages.
func (b *Backend) openHost() error {
	for _, name := range b.cfg.HostLanguages {
		r, err := host.New(name)
		if err != nil {
			return fmt.Errorf("CODE_RUNNER_HOST_LANGUAGES: %w", err)
		}
		b.add(r, r.Language())
		b.Hosted = append(b.Hosted, r.Language())
	}
	return nil
}

// processesAhead is how many Deno processes may wait for each interpreter that does: a process
// runs one program, where an interpreter is reset.
const processesAhead = 2

func (b *Backend) openDeno() error {
	d, err := deno.New(deno.Config{
		Cache:       b.Cache,
		Policy:      b.Policy,
		Network:     b.network,
		Binary:      b.cfg.Deno,
		NPMRegistry: b.cfg.NPMRegistry,
		JSRURL:      b.cfg.JSRURL,
		Offline:     b.cfg.Offline,
		Env:         networkEnv(),
		Ahead:       processesAhead * b.cfg.Ahead,
		Leaving:     b.cfg.Leaving,
		Portable:    b.cfg.Portable,
		Memory:      b.cfg.Memory,
		Log:         b.cfg.Log.Named("deno"),
	})
	if err != nil {
		return fmt.Errorf("open Deno: %w", err)
	}
	b.add(d, runners.TypeScript, runners.JavaScript, runners.TSX, runners.JSX)
	return nil
}

func (b *Backend) openPython() error {
	memory := int64(compileMemory)
	if m := sysmem.Total(); m > 0 {
		memory = min(memory, m/2)
	}
	b.compiler = compiler.New(memory)
	b.fetch = fetch.New(b.Cache, fetch.Options{Offline: b.cfg.Offline})
	b.guests = wasi.New(engine.New(engine.Config{Files: b.Cache, Compile: b.compiler.Compile, Fetch: b.fetchGuest}), b.cfg.Languages)
	p, err := python.New(python.Config{
		Cache:       b.Cache,
		Offline:     b.cfg.Offline,
		Policy:      b.Policy,
		Network:     b.network,
		Index:       b.cfg.PyPIIndex,
		PackageBase: b.cfg.PyodideBase,
		NPMRegistry: b.cfg.NPMRegistry,
		MaxIdle:     b.cfg.Ahead,
		Guests:      b.guests,
		Overrun:     b.cfg.Overrun,
		Compile:     b.compiler.Compile,
		Log:         b.cfg.Log.Named("python"),
	})
	if err != nil {
		return fmt.Errorf("open Python: %w", err)
	}
	b.python = p
	if b.cfg.Workers > 0 && worker.Supported() {
		b.workers = worker.NewPool(worker.Options{
			Cache: b.Cache, Policy: b.Policy, Network: b.network, Local: p.Local(), Guests: b.guests, Compile: b.compiler.Compile,
			Env: hostdirs.Environment(b.Policy), Ahead: b.cfg.Ahead, Max: b.cfg.Workers, Log: b.cfg.Log.Named("worker"),
		})
	}
	b.add(b.inWorkers(p, runners.Python), runners.Python)
	return nil
}

// fetchGuest fetches the package of a guest's module.
func (b *Backend) fetchGuest(ctx context.Context, p fetch.NPMPackage, progress fetch.ProgressFunc) (dir string, err error) {
	p.Registry = b.cfg.NPMRegistry
	return b.fetch.NPM(ctx, p, progress)
}

// openBash opens the shell's runner, which the Python of scripts is part of, and those of the
// languages that run beside it.
func (b *Backend) openBash() {
	shell := worker.NewBash(b.Policy, b.python)
	b.add(b.inWorkers(shell, runners.Bash), runners.Bash)
	for l, r := range b.guests.Runners(shell) {
		b.add(b.inWorkers(r, l), l)
	}
}

// inWorkers returns a runner whose programs run in processes of their own, if the
// configuration asks for them.
func (b *Backend) inWorkers(r runners.Runner, l runners.Language) runners.Runner {
	if b.workers == nil {
		return r
	}
	return worker.Runner{Runner: r, Language: l, Pool: b.workers}
}

// Versions returns what the Versions of a Backend would, without making directories for runs
// where the configuration has nothing that only Open can look at.
func Versions(cfg Config) (map[string]string, error) {
	if len(cfg.HostLanguages) > 0 || cfg.Only != "" || cfg.RequireIsolation {
		b, err := Open(cfg)
		if err != nil {
			return nil, err
		}
		return b.Versions(), b.Close()
	}
	if _, err := runners.ParsePolicy(cfg.Permissions); err != nil {
		return nil, fmt.Errorf("DENO_PERMISSION_ARGS: %w", err)
	}
	version, err := deno.Version(cfg.Deno)
	if err != nil {
		return nil, fmt.Errorf("open Deno: %w", err)
	}
	all := map[string]string{"deno": version}
	maps.Copy(all, new(python.Runner).Versions())
	maps.Copy(all, new(bash.Runner).Versions())
	return all, nil
}

// Versions returns the versions of the runtimes, by their names.
func (b *Backend) Versions() map[string]string {
	all := map[string]string{}
	for _, r := range b.opened {
		maps.Copy(all, r.Versions())
	}
	return all
}

// Isolation returns the name of the level at which the kernel confines JavaScript.
func (b *Backend) Isolation() string { return deno.Isolation(b.Policy).Name }

// Missing returns the compiled Python packages that are not in the cache and cannot be
// installed.
func (b *Backend) Missing(ctx context.Context) []string {
	if b.python == nil {
		return nil
	}
	cached := contents.Compiled(ctx, b.Cache)
	return slices.DeleteFunc(b.python.Missing(ctx), func(name string) bool { return slices.Contains(cached, name) })
}

// Close ends what Open began. No run may be in progress. The runners close side by
// side, so that one which waits for a compilation does not keep the other from clearing
// up.
func (b *Backend) Close() error {
	if b.workers != nil {
		b.workers.Close()
	}
	var closing errgroup.Group
	for _, r := range b.opened {
		closing.Go(func() error {
			r.warming.Wait()
			return r.Close()
		})
	}
	err := closing.Wait()
	if b.guests != nil {
		err = errors.Join(err, b.guests.Engine.Close())
		b.fetch.Close()
		b.compiler.Close()
	}
	return errors.Join(err, b.Cache.Close())
}
