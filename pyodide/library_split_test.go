package pyodide_test

import (
	"context"
	"errors"
	"testing"
	"testing/fstest"
	"time"

	"coderunner/pyodide"
	"coderunner/pyodide/codestore"
	"coderunner/pyodide/dylink/dylinktest"
	"coderunner/pyodide/pyodidetest"
	"coderunner/pyodide/wasmbin"
)

// usesSplit calls functions of a library, which call others and are called back.
const usesSplit = `
import ctypes
lib = ctypes.CDLL('/opt/lib.so')
F = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
tenfold = F(lambda n: n * 10)
result = [lib.twice(-4), lib.apply(tenfold, 7), lib.apply(ctypes.cast(lib.twice, F), 9), ctypes.c_int.in_dll(lib, 'answer').value]
`

// TestSplitLibrary has a library compiled by need, in a runtime for one program, and then whole.
// A snapshot of an interpreter that has loaded the one is restored with the other.
func TestSplitLibrary(t *testing.T) {
	ctx := context.Background()
	const want = "[8, 70, 18, 42]"
	large := wasmbin.AppendSection(dylinktest.Split(), wasmbin.SecCustom, wasmbin.AppendName(nil, t.Name()+time.Now().String()), make([]byte, 256<<10))
	mounts := append(tree(usesSplit), pyodide.Mount{Dir: "/opt", Key: codestore.Digest(large), Tree: fstest.MapFS{"lib.so": {Data: large, Mode: 0o444}}})
	if err := pyodidetest.Runtime(t).LayOutLibrary(ctx, large); !errors.Is(err, pyodide.ErrNotPrepared) {
		t.Errorf("%v, want %v", err, pyodide.ErrNotPrepared)
	}
	for _, later := range []bool{true, false} {
		rt, err := pyodidetest.Open(t, 0)
		if err != nil {
			t.Fatal(err)
		}
		if later {
			rt.Later()
		}
		frozen, err := rt.Snapshot(ctx, []string{"probe"}, mounts)
		if err != nil {
			t.Fatal(err)
		}
		loaded, all := rt.LoadedParts(large)
		if later != (all > 0) || later && (loaded == 0 || loaded == all) { // nothing calls spin
			t.Errorf("later %v: %d of %d parts loaded", later, loaded, all)
		}
		// The first of these finds a library that nobody has loaded, the others one with parts.
		for range 2 {
			in, err := rt.New(ctx, pyodide.Options{From: frozen})
			if err != nil {
				t.Fatal(err)
			}
			res, err := in.Run(ctx, pyodide.Program{Code: "import probe, threading\nthreads = [threading.Thread(target=probe.lib.twice, args=(n,)) for n in range(4)]\nfor t in threads: t.start()\nfor t in threads: t.join()\nprobe.result + [probe.lib.twice(3), probe.lib.apply(probe.tenfold, 1)]"})
			if err != nil || res.Value == nil || res.Value.Repr != want[:len(want)-1]+", 6, 10]" {
				t.Errorf("later %v: %+v, %v", later, res, err)
			}
			if later {
				res, err = in.Run(ctx, pyodide.Program{Code: "import probe; probe.lib.spin()", Timeout: time.Second / 2})
				if err == nil && res.Ended != pyodide.Stopped {
					t.Errorf("a loop in a part: %+v", res)
				}
			}
			if err := in.Close(); err != nil {
				t.Error(err)
			}
		}
		layout, err := rt.LibraryLayout(ctx, large)
		if err != nil || layout.Later != (later && codestore.LaysOut) || !layout.Whole() {
			t.Errorf("later %v: %+v, %v", later, layout, err)
		}
		if err := errors.Join(rt.LayOutLibrary(ctx, large), frozen.Close(), rt.Close()); err != nil {
			t.Error(err)
		}
	}
}
