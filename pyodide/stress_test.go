package pyodide_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"coderunner/cache"
	"coderunner/internal/sample"
	"coderunner/pyodide"
	"coderunner/pyodide/pyodidetest"
	"coderunner/pyodide/wasmbin"
)

// maxStep is how long one step of the stress may take, whose own limits are a few
// seconds: the rest is for a machine that does much else.
const maxStep = 5 * time.Minute

// within panics with all stacks if a step hangs.
func within(what string) (done func() bool) {
	debug.SetTraceback("all")
	return time.AfterFunc(maxStep, func() { panic(what + " hangs") }).Stop
}

// TestStress does at once what a busy server does: first calls of packages with
// libraries that nobody has compiled, their snapshots, preparations, runs that
// are ended by force, and collections of garbage. Nothing may hang.
func TestStress(t *testing.T) {
	if !sample.All {
		t.Skip("takes minutes")
	}
	c, err := cache.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	rt, err := pyodidetest.OpenIn(t, c, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	library := func(n int) []byte {
		return wasmbin.AppendSection(library(), wasmbin.SecCustom, wasmbin.AppendName(nil, fmt.Sprint("package ", n)), nil)
	}
	const body = "import ctypes\nlib = ctypes.CDLL('/opt/lib.so')\n"
	mounts := func(n int) []pyodide.Mount {
		return append(tree(body), pyodide.Mount{Dir: "/opt", Key: fmt.Sprint("library ", n), Tree: fstest.MapFS{"lib.so": {Data: library(n), Mode: 0o444}}})
	}
	use := func(from *pyodide.Snapshot, n int, p pyodide.Program) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+rand.IntN(2000))*time.Millisecond)
		defer cancel()
		in, err := rt.New(ctx, pyodide.Options{From: from})
		if err != nil {
			if ctx.Err() == nil {
				t.Errorf("New: %v", err)
			}
			return
		}
		defer in.Close()
		if from == nil {
			for _, m := range mounts(n) {
				if err := in.Mount(m.Dir, m.Tree); err != nil {
					t.Error(err)
				}
			}
		}
		if res, err := in.Run(ctx, p); err != nil || res.Ended == pyodide.Finished && (res.Value == nil || res.Value.Repr != "6") {
			t.Errorf("package %d: %+v, %v", n, res, err)
		}
	}
	call := pyodide.Program{Code: "import probe\nprobe.lib.twice(3)", Timeout: 2 * time.Second}
	const packages = 12
	steps := map[string]func(n int){
		"a first call": func(n int) { use(nil, n, call) },
		"a preparation": func(n int) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(300))*time.Millisecond)
			defer cancel()
			if err := rt.PrepareLibrary(ctx, "lib.so", library(n)); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		},
		"a snapshot": func(n int) {
			z, err := rt.Snapshot(t.Context(), []string{"probe"}, mounts(n))
			if err != nil {
				t.Error(err)
				return
			}
			use(z, n, call)
			use(z, n, call)
			if err := z.Close(); err != nil {
				t.Error(err)
			}
		},
		"a stop in C": func(n int) {
			use(nil, n, pyodide.Program{Code: "import probe\nprobe.lib.spin()", Timeout: time.Duration(1+rand.IntN(50)) * time.Millisecond})
		},
		"an analysis": func(n int) {
			if _, err := rt.Analyze(t.Context(), pyodide.Source{Code: fmt.Sprintf("import six\n%d", rand.Int())}); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			runtime.GC()
		},
	}
	var wg sync.WaitGroup
	for what, step := range steps {
		for range 2 {
			wg.Go(func() {
				for _, n := range rand.Perm(packages) {
					done := within(what)
					step(n)
					done()
				}
			})
		}
	}
	wg.Wait()
}
