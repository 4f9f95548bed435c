package jsffi

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental/wazerotest"

	"coderunner/pyodide/hostfn"
)

// TestEveryFunction calls every function with values that it never made. Each
// either raises an exception that names it, or answers, or throws; and what it
// returns is one of the few values that there are.
func TestEveryFunction(t *testing.T) {
	for _, r := range Rows() {
		raised := ""
		m := wazerotest.NewFixedMemory(0x10000)
		ctx := NewContext(context.Background(), Host{
			Raise: func(_ context.Context, message string) { raised += message },
			Mem:   hostfn.NewMem(m),
		})
		for _, arg := range []uint64{0, 1, 0x100, 0xffffffff, 0xffffffffffffffff} {
			stack := make([]uint64, max(len(r.Params()), 1))
			for i := range stack {
				stack[i] = arg
			}
			raised = ""
			thrown := calls(t, &r, ctx, stack)
			if raises := r.Support == hostfn.Absent && thrown == nil; raises != strings.Contains(raised, r.Name) {
				t.Errorf("%s (%v) raises %q", r.Name, r.Support, raised)
			}
			if thrown != nil && thrown.Name != r.Name {
				t.Errorf("%s throws %v", r.Name, thrown)
			}
			if res := r.Results(); len(res) == 0 || thrown != nil {
				continue
			} else if res[0] == api.ValueTypeExternref && stack[0] != nullRef && stack[0] != errorRef {
				t.Errorf("%s returns reference %#x", r.Name, stack[0])
			} else if v := int32(uint32(stack[0])); res[0] == api.ValueTypeI32 && (v < -1 || v > 1) {
				t.Errorf("%s returns %d", r.Name, v)
			}
		}
	}
}

func calls(t *testing.T, r *hostfn.Row, ctx context.Context, stack []uint64) (thrown *Thrown) {
	defer func() {
		if x := recover(); x != nil {
			err, _ := x.(error)
			if !errors.As(err, &thrown) {
				t.Errorf("%s panics: %v", r.Name, x)
			}
		}
	}()
	r.Fn(ctx, stack)
	return nil
}

// TestWithoutHost: a function that is called without a host in its context has
// nobody to tell, and fails all the same.
func TestWithoutHost(t *testing.T) {
	stack := []uint64{5, 0x100, 0x100}
	handleNextResult(context.Background(), stack)
	if stack[0] != errorRef {
		t.Errorf("handle_next_result_js returns %d", stack[0])
	}
}

func TestErrorValue(t *testing.T) {
	stack := []uint64{0}
	getError(context.Background(), stack)
	if checkError(context.Background(), stack); stack[0] != 1 {
		t.Error("the error value is not one")
	}
	stack[0] = nullRef
	if checkError(context.Background(), stack); stack[0] != 0 {
		t.Error("null is an error")
	}
}

func TestIteratorFailureIsMarked(t *testing.T) {
	m := wazerotest.NewFixedMemory(0x10000)
	ctx := NewContext(context.Background(), Host{Mem: hostfn.NewMem(m)})
	handleNextResult(ctx, []uint64{0, 0x100, 0x200})
	if v, _ := m.ReadUint32Le(0x100); v != 0xffffffff {
		t.Errorf("done is %#x, want -1", v)
	}
	handleNextResult(ctx, []uint64{0, 0x10000 - 2, 0}) // outside: no panic
}
