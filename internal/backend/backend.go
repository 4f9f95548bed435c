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

// Backend runs programs. Its fields are not changed after Open.
type Backend struct {
	Policy runners.Policy
	Cache  *cache.Cache
	// Runners has the runner of each language. What programs print and return is
	// without the secrets.
	Runners map[runners.Language]runners.Runner

	cfg       Config
	network   netpolicy.Options
	intercept *intercept.Interceptor // nil: none
	python    *python.Runner         // nil: not opened
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
	c.Limit(cfg.CacheSize, runtimeKinds...)
	b := &Backend{Policy: policy, Cache: c, Runners: map[runners.Language]runners.Runner{},
		cfg: cfg, network: network, intercept: interceptor, ballast: make([]byte, ballastSize)}
	if err := b.openRunners(); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *Backend) openRunners() error {
	only := b.cfg.Only
	if only == "" || host.Runs(only) {
		if err := b.openHost(); err != nil {
			return err
		}
	}
	if only == "" || only != runners.Python && only != runners.Bash && !host.Runs(only) {
		if err := b.openDeno(); err != nil {
			return err
		}
	}
	if only == "" || only == runners.Python || only == runners.Bash {
		if err := b.openPython(); err != nil {
			return err
		}
	}
	if only == "" || only == runners.Bash {
		b.openBash()
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
	}
	return nil
}

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
		Ahead:       b.cfg.Ahead,
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
	p, err := python.New(python.Config{
		Cache:       b.Cache,
		Offline:     b.cfg.Offline,
		Policy:      b.Policy,
		Network:     b.network,
		Index:       b.cfg.PyPIIndex,
		PackageBase: b.cfg.PyodideBase,
		NPMRegistry: b.cfg.NPMRegistry,
		MaxIdle:     b.cfg.Ahead,
		Compile:     compiler.New(memory).Compile,
		Log:         b.cfg.Log.Named("python"),
	})
	if err != nil {
		return fmt.Errorf("open Python: %w", err)
	}
	b.python = p
	b.add(p, runners.Python)
	return nil
}

// openBash opens the shell's runner, which the Python of scripts is part of.
func (b *Backend) openBash() {
	b.add(bash.New(bash.Config{Policy: b.Policy, Machine: func(ctx context.Context, s bash.Script) (*bash.Machine, error) {
		m, err := b.python.Machine(ctx, python.MachineOptions(s))
		if err != nil {
			return nil, err
		}
		return &bash.Machine{FS: m.FS, Kernel: m.Kernel, Network: m.Network, Close: m.Close, Prepared: m.Prepared}, nil
	}}), runners.Bash)
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

// ShowsVariable reports whether programs see a variable of the environment, or a
// placeholder of it.
func (b *Backend) ShowsVariable(name, value string) bool {
	return b.Policy.HostEnv(name) || b.cfg.Secrets.Redact(value) != value
}

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
	var closing errgroup.Group
	for _, r := range b.opened {
		closing.Go(func() error {
			r.warming.Wait()
			return r.Close()
		})
	}
	return errors.Join(closing.Wait(), b.Cache.Close())
}
