package emscripten

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"coderunner/internal/machine/memfs"
	"coderunner/pyodide/hostfn"
)

// hostile are arguments that make trouble: ends of the memory, lengths that
// overflow, descriptors that are none.
var hostile = []uint64{
	0, 1, 2, 3, 4, 5, 6, 0x100, 0x1000, memorySize - 1, memorySize - 4, memorySize - 96, memorySize, memorySize + 1,
	0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff, 1<<32 - 100, // AT_FDCWD
	0xdeadbeef_00000100, // garbage above
	math.MaxInt64, math.MaxUint64, 1 << 63, 0o102, 0o2101, 280,
}

// hostileKernel is a small process for hostile calls.
func hostileKernel(t testing.TB) *kernel {
	return newKernel(t, Config{
		FS:     memfs.New(memfs.Options{MaxBytes: 8 << 20, MaxNodes: 2000}),
		Stdin:  bytes.NewReader([]byte("input")),
		Stdout: discard{}, Stderr: discard{},
		MaxFiles: 64,
		Env:      []string{"A=1"},
	})
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// mustUnwind calls a function, which is interrupted if it waits, and lets only
// the exit types of this package out of it.
func (k *kernel) mustUnwind(r *hostfn.Row, stack []uint64) {
	t := k.t
	k.p.Interrupt()
	args := append([]uint64(nil), stack...)
	defer func() {
		x := recover()
		if x == nil {
			return
		}
		err, _ := x.(error)
		var exit *Exit
		var abort *Abort
		var output *OutputError
		var stopped *Stopped
		if err == nil || !errors.As(err, &exit) && !errors.As(err, &abort) && !errors.As(err, &output) && !errors.As(err, &stopped) {
			t.Fatalf("%s(%#x) panics: %v", r.Name, args, x)
		}
	}()
	// The interrupt is kept for a while only: on a machine that is very busy it
	// may have been forgotten.
	ctx, cancel := context.WithTimeout(k.ctx, 2*interruptLife)
	defer cancel()
	r.Fn(ctx, stack)
	k.declared(r, stack[0])
}

// TestHostileArguments calls every function with what it cannot want.
func TestHostileArguments(t *testing.T) {
	k := hostileKernel(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	for i, rows := 0, Rows(); i < len(rows); i++ {
		r := &rows[i]
		n := len(r.Params())
		for range 400 {
			stack := make([]uint64, max(n, 1))
			for j, kind := range r.Params() {
				stack[j] = hostile[rnd.IntN(len(hostile))]
				if kind == 0x7f {
					stack[j] = uint64(uint32(stack[j])) // as Instantiate does
				}
			}
			k.mustUnwind(r, stack)
		}
	}
}
