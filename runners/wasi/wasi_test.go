package wasi_test

import (
	"cmp"
	"context"
	"errors"
	"os"
	"testing"

	"coderunner/cache"
	"coderunner/internal/fetch"
	"coderunner/internal/testcache"
	"coderunner/internal/versions"
	"coderunner/runners"
	"coderunner/runners/bash"
	"coderunner/runners/python"
	"coderunner/runners/wasi"
	"coderunner/runners/wasi/engine"
)

// newRunners returns the runners of all languages, and bash, whose scripts start them.
func newRunners(t testing.TB) map[runners.Language]runners.Runner {
	t.Helper()
	c, err := cache.Open(testcache.Dir())
	if err != nil {
		t.Fatal(err)
	}
	f := fetch.New(c, fetch.Options{Offline: testing.Short()})
	e := engine.New(engine.Config{Files: c, Fetch: func(ctx context.Context, p fetch.NPMPackage, progress fetch.ProgressFunc) (string, error) {
		p.Registry = cmp.Or(os.Getenv("NPM_CONFIG_REGISTRY"), versions.NPMRegistry)
		return f.NPM(ctx, p, progress)
	}})
	g := wasi.New(e, nil)
	p, err := python.New(python.Config{Cache: c, Offline: testing.Short(), Guests: g})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.Close()
		if err := errors.Join(p.Close(), e.Close(), c.Close()); err != nil {
			t.Error(err)
		}
	})
	b := bash.New(bash.Config{Machine: func(ctx context.Context, s bash.Script) (*bash.Machine, error) {
		m, err := p.Machine(ctx, python.MachineOptions(s))
		if err != nil {
			return nil, err
		}
		return &bash.Machine{FS: m.FS, Kernel: m.Kernel, Network: m.Network, Close: m.Close, Prepared: m.Prepared}, nil
	}})
	all := map[runners.Language]runners.Runner{runners.Bash: b}
	for l, r := range g.Runners(b) {
		all[l] = r
	}
	return all
}
