package pyodide_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"coderunner/pyodide"
	"coderunner/pyodide/codestore"
	"coderunner/pyodide/dylink/dylinktest"
	"coderunner/pyodide/pyodidetest"
	"coderunner/pyodide/wasmbin"
)

// The module probe loads a library. Programs call its functions, which call others and are
// called back.
const (
	loadsSplit = `
import ctypes
lib = ctypes.CDLL('/opt/lib.so')
F = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
tenfold = F(lambda n: n * 10)
result = [lib.twice(-4), lib.apply(tenfold, 7), lib.apply(ctypes.cast(lib.twice, F), 9), ctypes.c_int.in_dll(lib, 'answer').value]
`
	useSplit = `
import probe, threading
threads = [threading.Thread(target=probe.lib.twice, args=(n,)) for n in range(4)]
for t in threads: t.start()
for t in threads: t.join()
probe.result + [probe.lib.twice(3), probe.lib.apply(probe.tenfold, 1)]
`
)

// loadedSplit returns a library that nobody has loaded yet, and what has probe load it.
func loadedSplit(t *testing.T) (library []byte, mounts []pyodide.Mount) {
	library = wasmbin.AppendSection(dylinktest.Split(), wasmbin.SecCustom, wasmbin.AppendName(nil, t.Name()+time.Now().String()), make([]byte, 256<<10))
	return library, append(tree(loadsSplit), pyodide.Mount{Dir: "/opt", Key: codestore.Digest(library), Tree: fstest.MapFS{"lib.so": {Data: library, Mode: 0o444}}})
}

// runSplit has an interpreter of a snapshot use the library that probe has loaded.
func runSplit(t *testing.T, rt *pyodide.Runtime, from *pyodide.Snapshot) {
	t.Helper()
	in, err := rt.New(context.Background(), pyodide.Options{From: from})
	if err != nil {
		t.Fatal(err)
	}
	res, err := in.Run(context.Background(), pyodide.Program{Code: useSplit})
	if err != nil || res.Value == nil || res.Value.Repr != "[8, 70, 18, 42, 6, 10]" {
		t.Errorf("%+v, %v", res, err)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
}

// TestSplitLibrary has a library compiled by need, in a runtime for one program, and ahead what
// the executed functions could call; a second one finds these parts, and a third the whole
// library. A snapshot of an interpreter that has loaded the one is restored with the other.
func TestSplitLibrary(t *testing.T) {
	ctx := context.Background()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2)) // nothing is compiled ahead on one processor
	large, mounts := loadedSplit(t)
	if err := pyodidetest.Runtime(t).LayOutLibrary(ctx, large); !errors.Is(err, pyodide.ErrNotPrepared) {
		t.Errorf("%v, want %v", err, pyodide.ErrNotPrepared)
	}
	for round, later := range []bool{true, true, false} {
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
		// The first of these finds a library that nobody has loaded, the others one with parts.
		for range 2 {
			runSplit(t, rt, frozen)
		}
		loaded, ahead, all, kept := rt.LoadedParts(large)
		if later != (all > 0) || later && (loaded != 2 || ahead != 1 || all < 4) || kept != (round == 0) {
			t.Errorf("round %d: %d of %d parts loaded, %d ahead, kept: %v", round, loaded, all, ahead, kept)
		}
		layout, err := rt.LibraryLayout(ctx, large)
		if err != nil || layout.Later != (later && codestore.LaysOut) || !layout.Whole() {
			t.Errorf("round %d: %+v, %v", round, layout, err)
		}
		if round == 1 {
			in, err := rt.New(ctx, pyodide.Options{From: frozen})
			if err != nil {
				t.Fatal(err)
			}
			res, err := in.Run(ctx, pyodide.Program{Code: "import probe; probe.lib.spin()", Timeout: time.Second / 2})
			if err != nil || res.Ended != pyodide.Stopped {
				t.Errorf("a loop in a part: %+v, %v", res, err)
			}
			if err := errors.Join(in.Close(), rt.LayOutLibrary(ctx, large)); err != nil {
				t.Error(err)
			}
		}
		if err := errors.Join(frozen.Close(), rt.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestWholeLater has a runtime that has loaded a split library use the whole one once the store
// has that, also where it has an instance to be used again.
func TestWholeLater(t *testing.T) {
	ctx := context.Background()
	large, mounts := loadedSplit(t)
	rt, err := pyodidetest.Open(t, 1)
	if err != nil {
		t.Fatal(err)
	}
	rt.Later()
	frozen, err := rt.Snapshot(ctx, []string{"probe"}, mounts)
	if err != nil {
		t.Fatal(err)
	}
	run := func() (all int) {
		runSplit(t, rt, frozen)
		_, _, all, _ = rt.LoadedParts(large)
		return all
	}
	if run() == 0 {
		t.Error("the library is not split")
	}
	if err := rt.LayOutLibrary(ctx, large); err != nil {
		t.Error(err)
	}
	for begun := time.Now(); run() > 0; {
		if time.Since(begun) > time.Minute {
			t.Fatal("it is split for good")
		}
	}
	if err := errors.Join(frozen.Close(), rt.Close()); err != nil {
		t.Error(err)
	}
}

// TestBrokenPart wants a program to go on until it calls a function that cannot be compiled.
func TestBrokenPart(t *testing.T) {
	ctx := context.Background()
	loop, invalid := []byte{wasmbin.OpLoop, 0x40, wasmbin.OpBr, 0}, []byte{wasmbin.OpLoop, 0x40, wasmbin.OpI32Eqz, wasmbin.OpDrop}
	broken := wasmbin.AppendSection(bytes.Replace(dylinktest.Split(), loop, invalid, 1), wasmbin.SecCustom, wasmbin.AppendName(nil, t.Name()), make([]byte, 256<<10))
	rt, err := pyodidetest.Open(t, 0)
	if err != nil {
		t.Fatal(err)
	}
	rt.Later()
	var printed strings.Builder
	in, err := rt.New(ctx, pyodide.Options{Stdout: &printed})
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Mount("/opt", fstest.MapFS{"lib.so": {Data: broken, Mode: 0o444}}); err != nil {
		t.Fatal(err)
	}
	res, err := in.Run(ctx, pyodide.Program{Code: "import ctypes; lib = ctypes.CDLL('/opt/lib.so')\nprint(lib.twice(4), flush=True)\ntry: lib.spin()\nfinally: print('went on')"})
	if err != nil || res.Ended != pyodide.Died || !strings.Contains(res.Cause.Error(), "compile a part") || printed.String() != "8\n" {
		t.Errorf("%+v, %v, %q", res, err, printed.String())
	}
	if err := errors.Join(in.Close(), rt.Close()); err != nil {
		t.Error(err)
	}
}
