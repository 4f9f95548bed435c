package pyodide_test

import (
	"context"
	"fmt"
	"io"
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
