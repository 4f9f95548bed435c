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
	frozen, err := rt.Freeze(context.Background(), []string{"probe"}, tree("mark = []"))
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for caller := range 8 {
		group.Go(func() {
			for i := range 10 {
				from := frozen
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
	if err := frozen.Close(); err != nil {
		t.Error(err)
	}
	if got, err := mark(rt, nil, "after\n"); err != nil || got != "after\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// mark runs a program that prints text unless it finds another's traces.
func mark(rt *pyodide.Runtime, from *pyodide.Frozen, text string) (string, error) {
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

// TestAheadShares has interpreters wait for the snapshots that are in use, and
// not for ever.
func TestAheadShares(t *testing.T) {
	rt, err := pyodidetest.Open(t, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	snapshots := []*pyodide.Frozen{nil}
	for _, body := range []string{"mark = []; one = 1", "mark = []; two = 2"} {
		frozen, err := rt.Freeze(context.Background(), []string{"probe"}, tree(body))
		if err != nil {
			t.Fatal(err)
		}
		defer frozen.Close()
		snapshots = append(snapshots, frozen)
	}
	use := func(from *pyodide.Frozen) {
		if got, err := mark(rt, from, "x"); err != nil || got != "x" {
			t.Fatalf("%q, %v", got, err)
		}
		rt.AwaitAhead()
	}
	ready := func() (counts [3]int) {
		for i, from := range snapshots {
			counts[i] = rt.AheadReady(from)
		}
		return counts
	}
	for range 33 {
		use(nil)
	}
	if got := ready(); got != [3]int{2, 0, 0} {
		t.Errorf("after runs of the first: %v ready", got)
	}
	for range 12 {
		for _, from := range snapshots {
			use(from)
		}
	}
	if got := ready(); min(got[0], got[1], got[2]) < 1 || got[0]+got[1]+got[2] > 4 {
		t.Errorf("after runs of each: %v ready", got)
	}
	for range 33 {
		use(snapshots[2])
	}
	if got := ready(); got[2] != 2 {
		t.Errorf("after runs of the last: %v ready", got)
	}
	rt.ExpireAhead()
	if got := ready(); got != [3]int{} {
		t.Errorf("after a long time: %v ready", got)
	}
	use(nil)
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
	frozen, err := rt.Freeze(context.Background(), []string{"probe"}, tree("mark = []"))
	if err != nil {
		t.Fatal(err)
	}
	rt.ExpireAhead()
	use := func(from *pyodide.Frozen, text string, want int) {
		t.Helper()
		if got, err := mark(rt, from, text); err != nil || got != text {
			t.Fatalf("%q, %v", got, err)
		}
		if n := rt.Used(); n != min(want, runtime.GOMAXPROCS(0)) {
			t.Errorf("%d used ones wait, want %d, or one for each processor", n, want)
		}
	}
	use(nil, "a", 1)
	use(nil, "b", 1)
	use(frozen, "c", 2)
	use(frozen, "d", 2)
	use(nil, "e", 2)
	if err := frozen.Close(); err != nil {
		t.Fatal(err)
	}
	use(nil, "f", 1)

	var all []*pyodide.Interp
	for range runtime.GOMAXPROCS(0) + 2 {
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
	if n := rt.Used(); n != runtime.GOMAXPROCS(0) {
		t.Errorf("%d used ones wait, want one for each processor", n)
	}
	rt.ExpireAhead()
	if n := rt.Used(); n != 0 {
		t.Errorf("%d used ones wait after a long time", n)
	}

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
	if more := heap() - before; rt.Used() != 1 || more > 50<<20 {
		t.Errorf("%d used ones wait, with %d MiB", rt.Used(), more>>20)
	}
}
