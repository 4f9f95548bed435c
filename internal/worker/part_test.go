package worker_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap/zaptest"

	"coderunner/internal/worker"
	"coderunner/pyodide"
	"coderunner/pyodide/dylink/dylinktest"
	"coderunner/pyodide/pyodidetest"
	"coderunner/pyodide/wasmbin"
	"coderunner/runners"
	"coderunner/runners/python"
	"coderunner/runners/python/install"
	"coderunner/runners/python/resolver"
)

// TestParts has the parts of a split library compiled outside of the worker that wants them, and
// for the next worker not again.
func TestParts(t *testing.T) {
	if testing.Short() {
		t.Skip("needs Pyodide")
	}
	c, log := pyodidetest.Cache(t), zaptest.NewLogger(t)
	var parts atomic.Int32
	p, err := python.New(python.Config{Cache: c, Log: log, MaxIdle: 1, Compile: func(ctx context.Context, dir string, _ int64) error {
		if _, err := os.Stat(filepath.Join(dir, "part")); err == nil {
			parts.Add(1)
		}
		return pyodide.BuildLibrary(ctx, dir)
	}})
	if err != nil {
		t.Fatal(err)
	}
	pool := worker.NewPool(worker.Options{Cache: c, Local: p.Local(), Max: 1, Log: log})
	t.Cleanup(func() {
		pool.Close()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	const code = "import ctypes, os\nlib = ctypes.CDLL(os.path.dirname(__file__) + '/library.so')\nassert lib.twice(-4) == 8"
	library := wasmbin.AppendSection(dylinktest.Split(), wasmbin.SecCustom, wasmbin.AppendName(nil, time.Now().String()), make([]byte, 256<<10))
	tree, err := c.Dir(t.Context(), "wheel", t.Name()+time.Now().String(), func(_ context.Context, dir string) error {
		return errors.Join(os.WriteFile(filepath.Join(dir, "package.py"), []byte(code), 0o644), os.WriteFile(filepath.Join(dir, "library.so"), library, 0o644))
	})
	if err != nil {
		t.Fatal(err)
	}
	installed := install.State{Installed: map[string]resolver.Package{"package": {Package: runners.Package{Name: "package", Version: "1"}, Tree: tree}}}
	for range 2 { // each in a worker of its own
		f, err := os.Create(filepath.Join(t.TempDir(), "snapshot"))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(pool.Snapshot(t.Context(), []string{"package"}, installed, f), f.Close()); err != nil {
			t.Error(err)
		}
		if parts.Load() != 1 {
			t.Errorf("%d parts were compiled", parts.Load())
		}
	}
}
