package pyodide_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"

	"coderunner/pyodide"
	"coderunner/pyodide/pyodidetest"
)

// TestManyAtOnce runs programs side by side, of two snapshots, one of which is
// closed in the middle. Each sees its own state only.
func TestManyAtOnce(t *testing.T) {
	rt, err := pyodidetest.Open(t, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	}()
	snapshot, err := rt.Snapshot(context.Background(), []string{"probe"}, tree("mark = []"))
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for caller := range 8 {
		group.Go(func() {
			for i := range 10 {
				from := snapshot
				if caller%2 == 0 {
					from = nil
				}
				want := fmt.Sprintf("%d %d\n", caller, i)
				if got, err := mark(rt, from, want); err != nil || got != want {
					t.Errorf("%q, %v; want %q", got, err, want)
				}
			}
		})
	}
	group.Wait()
	if err := snapshot.Close(); err != nil {
		t.Error(err)
	}
	if got, err := mark(rt, nil, "after\n"); err != nil || got != "after\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// mark runs a program that prints text unless it finds another's traces.
func mark(rt *pyodide.Runtime, from *pyodide.Snapshot, text string) (string, error) {
	var out strings.Builder
	in, err := rt.New(context.Background(), pyodide.Options{From: from, Stdout: &out, Stderr: io.Discard})
	if err != nil {
		return "", err
	}
	defer in.Close()
	_, err = in.Run(context.Background(), pyodide.Program{Args: []string{text}, Code: `
import sys, builtins
if "probe" in sys.modules:
    import probe
    probe.mark.append(1)
    assert len(probe.mark) == 1
assert not hasattr(builtins, "mark")
builtins.mark = sys.argv[1]
print(mark, end="")
`})
	return out.String(), err
}

// TestUsedIsKept has instances become other interpreters when there is need,
// though none is restored ahead of it, and not wait for ever.
func TestUsedIsKept(t *testing.T) {
	pyodide.NeedWritten(t)
	rt, err := pyodidetest.Open(t, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	snapshot, err := rt.Snapshot(context.Background(), []string{"probe"}, tree("mark = []"))
	if err != nil {
		t.Fatal(err)
	}
	rt.DropInstances()
	use := func(from *pyodide.Snapshot, text string, want int) {
		t.Helper()
		if got, err := mark(rt, from, text); err != nil || got != text {
			t.Fatalf("%q, %v", got, err)
		}
		if n := rt.UsedInstances(); n != min(want, 2*runtime.GOMAXPROCS(0)) {
			t.Errorf("%d used ones wait, want %d, or two for each processor", n, want)
		}
	}
	use(nil, "a", 1)
	use(nil, "b", 1)
	use(snapshot, "c", 2)
	use(snapshot, "d", 2)
	use(nil, "e", 2)
	if err := snapshot.Close(); err != nil {
		t.Fatal(err)
	}
	use(nil, "f", 1)

	var all []*pyodide.Interp
	for range 2*runtime.GOMAXPROCS(0) + 2 {
		in, err := rt.New(context.Background(), pyodide.Options{})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, in)
	}
	for _, in := range all {
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := rt.UsedInstances(); n != 2*runtime.GOMAXPROCS(0) {
		t.Errorf("%d used ones wait, want two for each processor", n)
	}
	rt.DropInstances()

	// Nothing of what the program held waits with the instance.
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	in, err := rt.New(context.Background(), pyodide.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := in.Run(context.Background(), pyodide.Program{Code: "with open('x', 'wb') as f:\n    for _ in range(100): f.write(bytes(1 << 20))"}); err != nil || res.ExitCode != 0 {
		t.Fatal(res, err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	in = nil
	if more := heap() - before; rt.UsedInstances() != 1 || more > 50<<20 {
		t.Errorf("%d used ones wait, with %d MiB", rt.UsedInstances(), more>>20)
	}
}
