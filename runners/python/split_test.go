package python

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"coderunner/pyodide"
	"coderunner/pyodide/dylink/dylinktest"
	"coderunner/pyodide/pyodidetest"
	"coderunner/pyodide/wasmbin"
)

// TestSplitLibraries: the first program that imports a library has it split, and a later one that
// runs for long has it compiled whole.
func TestSplitLibraries(t *testing.T) {
	x := newIndex(t)
	fresh := wasmbin.AppendSection(dylinktest.Split(), wasmbin.SecCustom, wasmbin.AppendName(nil, time.Now().String()), make([]byte, 256<<10))
	x.add(pure("fast", "1.0", map[string]string{
		"fast/__init__.py": "try: from . import _fast\nexcept ImportError: pass\n",
		"fast/_fast.cpython-314-wasm32-emscripten.so": string(fresh),
	}))
	var split, whole atomic.Int32
	r, err := New(Config{Cache: pyodidetest.Cache(t), Index: x.server.URL + "/simple/", Compile: func(ctx context.Context, dir string, _ int64) error {
		err := pyodide.BuildLibrary(ctx, dir)
		if _, lerr := os.Stat(filepath.Join(dir, "later")); lerr == nil {
			split.Add(1)
		} else if err == nil {
			whole.Add(1)
		}
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	r.long = 0
	const program = "import fast\nsum(range(10**6))"
	value(t, run(t, r, program), "499999500000")
	if split.Load() != 1 || whole.Load() != 0 {
		t.Errorf("after the first run %d were split, %d whole", split.Load(), whole.Load())
	}
	for n := 0; whole.Load() == 0; n++ {
		if value(t, run(t, r, program), "499999500000"); n > 100 {
			t.Fatal("no run compiled the library whole")
		}
	}
	if value(t, run(t, r, program), "499999500000"); split.Load() != 1 || whole.Load() != 1 {
		t.Errorf("%d were split, %d whole", split.Load(), whole.Load())
	}
}
