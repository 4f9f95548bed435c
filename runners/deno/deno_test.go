package deno

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"coderunner/cache"
	"coderunner/internal/testcache"
	"coderunner/runners"
	"coderunner/runners/deno/process"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv("CODERUNNER_DENO_TEST_CHILD") != "" {
		child()
	}
	if len(os.Args) > 1 && (os.Args[1] == "--version" || os.Args[1] == "cache") {
		standIn()
	}
	if len(os.Args) > 1 && os.Args[1] == "run" {
		writeEverywhere()
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if shared != "" {
			os.RemoveAll(shared)
		}
		os.Exit(code)
	}))
}

var binaryOnce = sync.OnceValues(func() (string, error) {
	if name := os.Getenv("CODE_RUNNER_DENO"); name != "" {
		return name, nil
	}
	c, err := cache.Open(testcache.Dir())
	if err != nil {
		return "", err
	}
	defer c.Close()
	t, err := process.NewTool(process.Config{Cache: c, NPMRegistry: os.Getenv("NPM_CONFIG_REGISTRY")})
	if err != nil {
		return "", err
	}
	defer t.Fetch.Close()
	return t.Binary(context.Background(), nil)
})

// shared is the directory of sharedDir, once it is there.
var shared string

// sharedDir is a cache that the tests share, so that each package is fetched
// once.
var sharedDir = sync.OnceValues(func() (dir string, err error) {
	shared, err = os.MkdirTemp("", "coderunner-test-cache-")
	return shared, err
})

// open makes a Runner with the flags' policy. Change, if not nil, changes its
// configuration.
func open(t testing.TB, flags string, change func(*process.Config)) *Runner {
	t.Helper()
	if testing.Short() {
		t.Skip("needs Deno")
	}
	binary, err := binaryOnce()
	if err != nil {
		t.Fatalf("there is no Deno to test with: %v", err)
	}
	dir, err := sharedDir()
	if err != nil {
		t.Fatal(err)
	}
	policy, err := runners.ParsePolicy(strings.Fields(flags))
	if err != nil {
		t.Fatal(err)
	}
	cfg := process.Config{Policy: policy, Binary: binary, NPMRegistry: os.Getenv("NPM_CONFIG_REGISTRY"), Env: map[string]string{}}
	for _, name := range append(process.CertificateVariables, process.ProxyVariables...) {
		if v := os.Getenv(name); v != "" {
			cfg.Env[name] = v
		}
	}
	if change != nil {
		change(&cfg)
	}
	if cfg.Cache == nil {
		if cfg.Cache, err = cache.Open(dir); err != nil {
			t.Fatal(err)
		}
	}
	r, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.sessions.Close()
		r.leases.Close()
		r.settle()
		if left := filesOfRuns(r); left != nil {
			t.Errorf("%q of runs are left", left)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(r.RunDirs.Path); !os.IsNotExist(err) {
			t.Errorf("after Close, %s: %v, want it gone", r.RunDirs.Path, err)
		}
		if err := cfg.Cache.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// filesOfRuns returns what is in the directories of runs.
func filesOfRuns(r *Runner) (files []string) {
	for _, pattern := range []string{"r*/*", "r*/*/*"} {
		found, _ := filepath.Glob(filepath.Join(r.RunDirs.Path, pattern))
		for _, name := range found {
			if base := filepath.Base(name); base != "work" && base != "tmp" && base != "gen" {
				files = append(files, name)
			}
		}
	}
	return files
}

// openParked makes a Runner that keeps at most n processes.
func openParked(t testing.TB, n int) *Runner {
	return open(t, "", func(c *process.Config) { c.Ahead = n })
}

// waiting returns the processes that wait, when all of them are ready.
func waiting(t testing.TB, r *Runner) []*process.Instance {
	t.Helper()
	if r.leases.Pool == nil {
		return nil
	}
	for {
		for r.leases.Pool.Stats().Filling > 0 {
			time.Sleep(time.Millisecond)
		}
		all := r.leases.Pool.Ready()
		for _, in := range all {
			if err := in.Await(t.Context(), unfilled); err != nil {
				t.Fatal(err)
			}
		}
		r.Background.Wait(t.Context()) // one that is ready has the next one started
		if s := r.leases.Pool.Stats(); s.Filling == 0 && s.Ready == len(all) {
			return all
		}
	}
}

// unfilled is for a process that gets no program.
func unfilled(*process.RunDir) error { return nil }

// run runs a program that must not be our failure.
func run(t testing.TB, r *Runner, req runners.Request) *runners.Outcome {
	t.Helper()
	if req.Language == "" {
		req.Language = runners.TypeScript
	}
	if req.Limits.Timeout == 0 {
		req.Limits.Timeout = 2 * time.Minute // it hangs; a busy machine may be slow
	}
	o, err := r.Run(context.Background(), req)
	if err != nil {
		t.Fatalf("Run: %v\n%s", err, req.Code)
	}
	return o
}
