package deno

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coderunner/cache"
	"coderunner/internal/fetch"
	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/process"
)

// flip changes one byte in the middle of a file that nobody may write.
func flip(t *testing.T, name string) {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 1)
	at := info.Size() / 2
	if _, err := f.ReadAt(b, at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 4
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, info.Mode()); err != nil {
		t.Fatal(err)
	}
}

// TestBinaryChanged flips a byte in a copy of the Deno of the cache: it is not
// started any more, in this process and in later ones.
func TestBinaryChanged(t *testing.T) {
	if testing.Short() || os.Getenv("CODE_RUNNER_DENO") != "" {
		t.Skip("needs the pinned Deno")
	}
	binary, err := binaryOnce()
	if err != nil {
		t.Fatal(err)
	}
	// <root>/trees/<kind>/<name>/data/deno
	entry := filepath.Dir(filepath.Dir(binary))
	root := t.TempDir()
	copied := filepath.Join(root, "trees", filepath.Base(filepath.Dir(entry)), filepath.Base(entry))
	if err := os.CopyFS(copied, os.DirFS(entry)); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(copied, "data", filepath.Base(binary))
	runner := func() *Runner {
		return open(t, "", func(c *process.Config) {
			c.Binary, c.Offline = "", true
			if c.Cache, err = cache.Open(root); err != nil {
				t.Fatal(err)
			}
		})
	}
	one := func(r *Runner) error {
		_, err := r.Run(context.Background(), runners.Request{Language: runners.TypeScript, Code: "1 + 1"})
		r.settle() // a file that runs cannot be written
		return err
	}
	first := runner()
	if err := one(first); err != nil {
		t.Fatal(err)
	}
	flip(t, name)
	if err := one(first); !errors.Is(err, fetch.ErrOffline) {
		t.Errorf("the process that has used it: %v, want it to be fetched again", err)
	}
	if err := one(runner()); !errors.Is(err, fetch.ErrOffline) {
		t.Errorf("the next process: %v, want it to be fetched again", err)
	}
	flip(t, name)
	if err := one(runner()); err != nil {
		t.Errorf("when it is as it was: %v", err)
	}
}

// TestPackageChanged flips a byte in a package in Deno's cache.
func TestPackageChanged(t *testing.T) {
	root := t.TempDir()
	runner := func(offline bool) *Runner {
		return open(t, "", func(c *process.Config) {
			var err error
			if c.Cache, err = cache.Open(root); err != nil {
				t.Fatal(err)
			}
			c.Offline = offline
		})
	}
	req := runners.Request{Code: "import isOdd from 'is-odd'; isOdd(3)"}
	r := runner(false)
	o := run(t, r, req)
	if o.Result == nil || o.Result.Text != "true" {
		t.Fatalf("%s %+v", o.Status, o.Error)
	}
	dirs := r.installer.PackageDirs(o.Packages)
	if len(dirs) != 2 {
		t.Fatalf("directories %q of packages %+v", dirs, o.Packages)
	}
	name := filepath.Join(dirs[0], "index.js")
	was, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	flip(t, name)
	if o := run(t, runner(true), req); o.Status != runners.NotInstalled || !strings.Contains(o.Error.Packages[0].Reason, "offline") {
		t.Errorf("offline: %s %+v", o.Status, o.Error)
	}
	for range 2 {
		if o := run(t, runner(false), req); o.Result == nil || o.Result.Text != "true" {
			t.Errorf("%s %+v", o.Status, o.Error)
		}
		is, err := os.ReadFile(name)
		if err != nil || string(is) != string(was) {
			t.Errorf("the package is %q, %v", deps.Shorten(string(is), 200), err)
		}
		flip(t, name)
	}
}

// TestPackageEvictedBeforeItsRun removes a package when the run has been prepared.
func TestPackageEvictedBeforeItsRun(t *testing.T) {
	r := open(t, "", func(c *process.Config) {
		var err error
		if c.Cache, err = cache.Open(t.TempDir()); err != nil {
			t.Fatal(err)
		}
	})
	ctx, release := r.Config.Cache.Hold(t.Context())
	defer release()
	j, err := r.job(runners.Request{Language: "javascript", Code: `import ms from "ms"; ms("2 s")`})
	if err == nil {
		err = r.install(ctx, j)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range j.ready.Dirs {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	if o, err := r.attempt(ctx, j); err != nil || o.Result == nil || o.Result.Text != "2000" {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestPackageEvicted removes a package after Deno has found it, and before the cache
// keeps it for the run: both packages are removed, or one of them.
func TestPackageEvicted(t *testing.T) {
	r := open(t, "", func(c *process.Config) {
		var err error
		if c.Cache, err = cache.Open(t.TempDir()); err != nil {
			t.Fatal(err)
		}
	})
	drop, evictions := r.installer.Stale, 0
	for n, code := range []string{"import isOdd from 'is-odd'; isOdd(3)", "import isOdd from 'npm:is-odd@3'; isOdd(3)"} {
		r.installer.Stale = func(dir string) {
			if drop(dir); evictions > n {
				return
			}
			evictions++
			dirs, _ := filepath.Glob(filepath.Join(r.installer.RegistryDir(), "is-*", "*"))
			for _, dir := range dirs[n:] {
				if err := os.RemoveAll(dir); err != nil {
					t.Error(err)
				}
			}
		}
		o := run(t, r, runners.Request{Code: code})
		if o.Result == nil || o.Result.Text != "true" || evictions != n+1 {
			t.Errorf("%d evictions: %s %+v", evictions, o.Status, o.Error)
		}
	}
}
