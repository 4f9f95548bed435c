// Package pyodidetest is the real Pyodide, for tests.
package pyodidetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"coderunner/cache"
	"coderunner/internal/fetch"
	"coderunner/internal/testcache"
	"coderunner/internal/versions"
	"coderunner/pyodide"
	"coderunner/pyodide/codestore"
)

// Cache opens the user's package cache, which tests share with programs: what
// is in it is verified, and the first test run on a machine fills it. It skips
// the test with -short.
func Cache(t testing.TB) *cache.Cache {
	t.Helper()
	if testing.Short() {
		t.Skip("needs Pyodide and the registries")
	}
	c, err := sharedCache()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var sharedCache = sync.OnceValues(func() (*cache.Cache, error) {
	return cache.Open(testcache.Dir())
})

// Runtime opens the pinned Pyodide, once in a process. It skips the test with
// -short, and without the registry, except where the variable CI is set.
func Runtime(t testing.TB) *pyodide.Runtime {
	t.Helper()
	Cache(t)
	rt, err := sharedRuntime()
	if err != nil {
		if os.Getenv("CI") == "" {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	return rt
}

var sharedRuntime = sync.OnceValues(func() (*pyodide.Runtime, error) {
	c, err := sharedCache()
	if err != nil {
		return nil, err
	}
	return open(c, 0)
})

// Open opens the pinned Pyodide anew, with interpreters kept ahead of need. The
// caller closes it.
func Open(t testing.TB, ahead int) (*pyodide.Runtime, error) {
	Runtime(t) // or skip
	return open(Cache(t), ahead)
}

// OpenIn is Open with a store in which nothing is compiled yet.
func OpenIn(t testing.TB, store pyodide.Store, ahead int) (*pyodide.Runtime, error) {
	Runtime(t) // or skip
	return open(store, ahead)
}

func open(store pyodide.Store, ahead int) (*pyodide.Runtime, error) {
	c, err := sharedCache()
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	fetcher := fetch.New(c, fetch.Options{})
	defer fetcher.Close()
	dir, err := fetcher.NPM(ctx, versions.Pyodide(os.Getenv("NPM_CONFIG_REGISTRY")), nil)
	if err != nil {
		return nil, err
	}
	return pyodide.Open(ctx, pyodide.Config{
		Module:   filepath.Join(dir, versions.PyodideWasm),
		Stdlib:   filepath.Join(dir, versions.PyodideStdlib),
		Identity: "pyodide " + versions.PyodideIntegrity,
		Store:    store,
		MaxIdle:  ahead,
		Unlaid: func(module string, l codestore.Layout) {
			panic(fmt.Sprintf("%s is not laid out anew: %+v", module, l))
		},
	})
}
