package worker_test

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"coderunner/pyodide"
	"coderunner/pyodide/dylink/dylinktest"
	"coderunner/pyodide/wasmbin"
	"coderunner/runners/python"
)

// TestParts has the parts of a split library compiled outside of the worker that wants them, and
// for the next worker not again.
func TestParts(t *testing.T) {
	if testing.Short() {
		t.Skip("needs Pyodide")
	}
	var parts atomic.Int32
	c, _, pool := packagePool(t, python.Config{MaxIdle: 1, Compile: func(ctx context.Context, dir string, _ int64) error {
		if _, err := os.Stat(filepath.Join(dir, "part")); err == nil {
			parts.Add(1)
		}
		return pyodide.BuildLibrary(ctx, dir)
	}}, nil)
	const code = "import ctypes, os\nlib = ctypes.CDLL(os.path.dirname(__file__) + '/library.so')\nassert lib.twice(-4) == 8"
	library := wasmbin.AppendSection(dylinktest.Split(), wasmbin.SecCustom, wasmbin.AppendName(nil, time.Now().String()), make([]byte, 256<<10))
	of := installed(t, c, code, library)
	for range 2 { // each in a worker of its own
		if _, err := takeSnapshot(t, pool, of); err != nil {
			t.Error(err)
		}
		if parts.Load() != 1 {
			t.Errorf("%d parts were compiled", parts.Load())
		}
	}
}
