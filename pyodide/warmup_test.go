package pyodide

import (
	"context"
	"encoding/json"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// OpenForTest is set by the tests outside, which know where Pyodide is.
var OpenForTest func(testing.TB) *Runtime

// TestSettledLooksBooted compares what programs see of an interpreter that was
// rehearsed with what they see of one that has just booted.
func TestSettledLooksBooted(t *testing.T) {
	rt := OpenForTest(t)
	const program = `
import atexit, gc, linecache, os, signal, sys, warnings
[sorted(globals()), dict(os.environ), sys.argv, sys.path, sorted(linecache.cache), sys.flags, warnings.filters,
 str(signal.getsignal(signal.SIGINT)), str(signal.getsignal(signal.SIGALRM)), gc.isenabled(), gc.get_threshold(),
 [n for n in sys.modules if "settle" in n], hasattr(sys, "last_exc"), sys.exc_info(), atexit._run_exitfuncs.__name__,
 os.listdir(), os.listdir("/tmp"), sys.getrecursionlimit(), sys.displayhook.__name__, sys.excepthook.__name__]`
	seen := func(in *Interp, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		res, err := in.Run(context.Background(), Program{Code: program})
		if err != nil || res.Value == nil {
			t.Fatal(res, err)
		}
		return res.Value.Repr
	}
	ctx := context.Background()
	booted, settled := seen(rt.boot(ctx, Options{})), seen(rt.New(ctx, Options{}))
	if diff := cmp.Diff(booted, settled); diff != "" {
		t.Error(diff)
	}
}

// TestPreloadedIsImmortal has objects of the snapshot and of the program.
func TestPreloadedIsImmortal(t *testing.T) {
	rt := OpenForTest(t)
	in, err := rt.New(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	res, err := in.Run(context.Background(), Program{Code: `
import json, re, sys, weakref
class C: pass
c = C()
gone = []
r = weakref.ref(c, gone.append)
del c
old = [json, json.dumps, json.dumps.__code__, json.JSONEncoder, re.compile("a").__class__, json.dumps.__code__.co_consts]
[all(sys.getrefcount(o) >= 1 << 30 for o in old), sys.getrefcount(C) < 100, len(gone)]`})
	if err != nil || res.Value == nil || res.Value.Repr != "[True, True, 1]" {
		t.Errorf("%+v %v", res.Value, err)
	}
}

// TestImmortalize has lists that are none.
func TestImmortalize(t *testing.T) {
	rt := OpenForTest(t)
	in, err := rt.New(context.Background(), Options{Stdout: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for _, argument := range []string{`"x"`, "-1", "0", "4294967292", "1024"} {
		if _, err := in.guest(context.Background()).immortalize(context.Background(), json.RawMessage(argument)); err == nil {
			t.Errorf("immortalize(%s) succeeded", argument)
		}
	}
}

// TestHostSeeds finds out whether CPython's generators are still as the host writes them: if not,
// the guest seeds them, which is right and slow.
func TestHostSeeds(t *testing.T) {
	rt := OpenForTest(t)
	if made := rt.base.owner.Generators; len(made) != 1 {
		t.Fatalf("the host seeds %d generators of the snapshot, want random's", len(made))
	}
	numbers := map[string]bool{}
	for range 4 {
		in, err := rt.New(context.Background(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		res, err := in.Run(context.Background(), Program{Code: "import random\n[random.random(), random.gauss(), random.getstate()[1][-1]]"})
		in.Close()
		if err != nil || res.Value == nil {
			t.Fatal(res, err)
		}
		numbers[res.Value.Repr] = true
	}
	if len(numbers) != 4 {
		t.Errorf("interpreters have the same random numbers: %v", numbers)
	}
}
