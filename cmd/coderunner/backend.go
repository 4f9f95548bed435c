package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"coderunner/cache"
	"coderunner/internal/compiler"
	"coderunner/internal/intercept"
	"coderunner/internal/netpolicy"
	"coderunner/internal/sandbox"
	"coderunner/internal/sysmem"
	"coderunner/runners"
	"coderunner/runners/bash"
	"coderunner/runners/deno"
	"coderunner/runners/host"
	"coderunner/runners/python"
)

// backend is what runs programs.
type backend struct {
	policy       runners.Policy
	python, deno runners.Runner
	bash         *bash.Runner
	host         []*host.Runner
	network      netpolicy.Options
	intercept    *intercept.Interceptor // nil: none
	secrets      *intercept.Secrets     // nil: none
	cache        *cache.Cache
	warming      map[runners.Runner]*sync.WaitGroup // what Close waits for
	ballast      []byte
}

// ballastSize is how much of the heap, in bytes, is never written to, and so is
// no memory. The collector, which lets the heap double, does not run in the
// middle of a start for the few megabytes that there are: a tenth of a start's
// processor time.
const ballastSize = 16 << 20

// serverAhead is how many interpreters, and how many Deno processes, a server
// keeps ready for the next runs. They take about one and nine megabytes each.
const serverAhead = 4

// runtimeKinds are the kinds of cache entries that the runtimes are made of: those of
// the versions in force are not evicted.
var runtimeKinds = []string{"npm", "module", "machine-code", "stdlib"}

// openBackend opens the runners that the configuration asks for, for one run or for
// a server. Nothing is fetched yet. Only the runner of one language is opened if
// that is not "". The caller closes the backend.
func openBackend(cfg Config, only runners.Language, ahead int, log *zap.Logger) (*backend, error) {
	policy, err := runners.ParsePolicy(cfg.Permissions)
	if err != nil {
		return nil, fmt.Errorf("DENO_PERMISSION_ARGS: %w", err)
	}
	for _, warning := range policy.Warnings() {
		log.Warn(warning)
	}
	if cfg.Isolation == isolationRequire { // looking takes a trial start, which others need not wait for
		if level := deno.Isolation(policy); level.Name != sandbox.Full {
			return nil, fmt.Errorf("CODE_RUNNER_ISOLATION=require: the isolation of JavaScript is %s", level)
		}
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
		log.Warn(warning)
	}
	c.Limit(cfg.CacheSize, runtimeKinds...)
	ahead = min(ahead, cfg.Concurrency)
	b := &backend{policy: policy, network: network, intercept: interceptor, secrets: cfg.Secrets, cache: c, warming: map[runners.Runner]*sync.WaitGroup{}, ballast: make([]byte, ballastSize)}
	if only == "" || host.Runs(only) {
		err = b.openHost(cfg)
	}
	if err == nil && only != runners.Python && only != runners.Bash && !host.Runs(only) {
		err = b.openDeno(cfg, ahead, log)
	}
	if err == nil && (only == runners.Python || only == runners.Bash || only == "") {
		err = b.openPython(cfg, ahead, log)
	}
	if err == nil && (only == runners.Bash || only == "") {
		b.openBash(log)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// openHost opens the runners of the host's languages.
func (b *backend) openHost(cfg Config) error {
	for _, name := range cfg.HostLanguages {
		r, err := host.New(name)
		if err != nil {
			return fmt.Errorf("CODE_RUNNER_HOST_LANGUAGES: %w", err)
		}
		b.warming[r] = new(sync.WaitGroup)
		b.host = append(b.host, r)
	}
	return nil
}

// openBash opens the shell's runner, which the Python of scripts is part of.
func (b *backend) openBash(log *zap.Logger) {
	python := b.python.(*python.Runner)
	b.bash = bash.New(bash.Config{Policy: b.policy, Log: log, Python: func(ctx context.Context, req runners.Request) (*bash.Machine, error) {
		m, err := python.Machine(ctx, req)
		if err != nil {
			return nil, err
		}
		return &bash.Machine{FS: m.FS, Kernel: m.Kernel, Network: m.Network, Packages: m.Packages, Close: m.Close}, nil
	}})
	b.warming[b.bash] = new(sync.WaitGroup)
}

func (b *backend) openDeno(cfg Config, ahead int, log *zap.Logger) error {
	d, err := deno.New(deno.Config{
		Cache:       b.cache,
		Policy:      b.policy,
		Network:     b.network,
		Binary:      cfg.Deno,
		NPMRegistry: cfg.NPMRegistry,
		JSRURL:      cfg.JSRURL,
		Offline:     cfg.Offline,
		Env:         networkEnv(),
		Ahead:       ahead,
		Memory:      cfg.Limits.Memory,
		Log:         log.Named("deno"),
	})
	if err != nil {
		return fmt.Errorf("open Deno: %w", err)
	}
	b.deno, b.warming[d] = d, new(sync.WaitGroup)
	return nil
}

func (b *backend) openPython(cfg Config, ahead int, log *zap.Logger) error {
	p, err := python.New(python.Config{
		Cache:       b.cache,
		Offline:     cfg.Offline,
		Policy:      b.policy,
		Network:     b.network,
		Index:       cfg.PyPIIndex,
		PackageBase: cfg.PyodideBase,
		NPMRegistry: cfg.NPMRegistry,
		MaxIdle:     ahead,
		Compile:     compiler.New(compileMemory()).Compile,
		Log:         log.Named("python"),
	})
	if err != nil {
		return fmt.Errorf("open Python: %w", err)
	}
	b.python, b.warming[p] = p, new(sync.WaitGroup)
	return nil
}

// compileMemory is how much memory compiling libraries may take, in bytes.
func compileMemory() int64 {
	const most = 5 << 29
	if m := sysmem.Total(); m > 0 {
		return min(most, m/2)
	}
	return most
}

// networkEnv returns the variables for proxies and certificates. Deno
// gets them, since it fetches npm and JSR packages itself.
func networkEnv() map[string]string {
	env := map[string]string{}
	for _, name := range []string{
		"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy",
		"SSL_CERT_FILE", "SSL_CERT_DIR",
	} {
		if v := os.Getenv(name); v != "" {
			env[name] = v
		}
	}
	return env
}

// languages returns the runner of each language.
func (b *backend) languages() map[runners.Language]runners.Runner {
	m := map[runners.Language]runners.Runner{}
	if b.python != nil {
		m[runners.Python] = b.python
	}
	if b.deno != nil {
		for _, l := range []runners.Language{runners.TypeScript, runners.JavaScript, runners.TSX, runners.JSX} {
			m[l] = b.deno
		}
	}
	if b.bash != nil {
		m[runners.Bash] = b.bash
	}
	for _, r := range b.host {
		m[r.Language()] = r
	}
	if b.secrets != nil {
		for l, r := range m {
			m[l] = redacting{r, b.secrets}
		}
	}
	return m
}

// all returns the runners.
func (b *backend) all() []runners.Runner {
	var out []runners.Runner
	for _, r := range []runners.Runner{b.python, b.deno} {
		if r != nil {
			out = append(out, r)
		}
	}
	if b.bash != nil {
		out = append(out, b.bash)
	}
	for _, r := range b.host {
		out = append(out, r)
	}
	return out
}

// Close ends what openBackend began. No run may be in progress. The runners
// close side by side, so that one which waits for a compilation does not keep
// the other from clearing up.
func (b *backend) Close() error {
	var closing errgroup.Group
	for _, r := range b.all() {
		closing.Go(func() error {
			b.warming[r].Wait()
			return r.Close()
		})
	}
	return errors.Join(closing.Wait(), b.cache.Close())
}

// withCache opens the cache that the configuration names, and no other.
func withCache(cfg Config, use func(*cache.Cache) error) error {
	c, err := cache.Open(cfg.CacheDir)
	if err != nil {
		return err
	}
	if why := c.Unusable(); why != nil {
		return errors.Join(why, c.Close())
	}
	return errors.Join(use(c), c.Close())
}
