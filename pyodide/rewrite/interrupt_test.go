package rewrite

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/api"

	"coderunner/pyodide/wasmbin"
)

// stop waits until a program counts, collects garbage while it runs, and stops
// it. That the collection returns is what is tested: without safepoints it
// would wait for the program for ever.
func stop(t *testing.T, m api.Module, flag api.MutableGlobal, fn string) {
	t.Helper()
	done := make(chan error, 1)
	f := m.ExportedFunction(fn)
	go func() {
		_, err := f.Call(context.Background())
		done <- err
	}()
	for running := false; !running; {
		select {
		case err := <-done:
			t.Fatalf("%s ended by itself: %v", fn, err)
		default:
			n, _ := m.Memory().ReadUint32Le(0)
			running = n > 0
			runtime.Gosched()
		}
	}
	runtime.GC()
	runtime.GC()
	flag.Set(1)
	if err := <-done; err == nil || !strings.Contains(err.Error(), "unreachable") {
		t.Errorf("%s was stopped with error %v, want a trap", fn, err)
	}
}

func TestInterrupt(t *testing.T) {
	in := testdata(t, "spin.wasm")
	for _, fn := range []string{"loop", "loop_value", "nested", "tail", "tail_indirect", "fill"} {
		t.Run(fn, func(t *testing.T) {
			out, _ := rewritten(t, in, Options{})
			m := start(t, out, false)
			if fn == "fill" {
				m.Memory().WriteUint32Le(8, 20<<20)
			}
			stop(t, m, m.ExportedGlobal(InterruptGlobal).(api.MutableGlobal), fn)
		})
	}
}

// TestFuel counts the loop headers until a flag that is set already stops the
// program.
func TestFuel(t *testing.T) {
	in := testdata(t, "spin.wasm")
	for _, tank := range []int32{0, 1, 5, -7} { // what the host or the guest may have left there
		out, _ := rewritten(t, in, Options{Fuel: 1000, Skip: PassRounds})
		m := start(t, out, false)
		fuel := m.ExportedGlobal(FuelGlobal).(api.MutableGlobal)
		if got := int32(fuel.Get()); got != 1000 {
			t.Errorf("%s = %d at the start, want 1000", FuelGlobal, got)
		}
		fuel.Set(uint64(uint32(tank)))
		m.ExportedGlobal(InterruptGlobal).(api.MutableGlobal).Set(1)
		if _, err := m.ExportedFunction("loop").Call(context.Background()); err == nil {
			t.Error("the program ended")
		}
		n, _ := m.Memory().ReadUint32Le(0)
		if want := uint32(max(tank-1, 0)); n != want {
			t.Errorf("with %d in the tank the program went round %d times, want %d", tank, n, want)
		}
	}
}

// countModule has a loop that PassStrides writes as groups of rounds: as spin.wasm's
// it counts in the memory.
func countModule() []byte {
	var b wasmbin.Builder
	b.Define(wasmbin.KindMemory, wasmbin.SecMemory, wasmbin.AppendLimits(nil, wasmbin.Limits{Min: 1}))
	b.Export("memory", wasmbin.KindMemory, 0)
	b.Export("loop", wasmbin.KindFunc, b.Func(wasmbin.FuncType{}, i32s(1),
		asm(nil).i32(-1).set(0).void(wasmbin.OpLoop).get(0).void(wasmbin.OpIf).
			i32(0).i32(0).op(wasmbin.OpI32Load, 2, 0).i32(1).op(wasmbin.OpI32Add, wasmbin.OpI32Store, 2, 0).
			get(0).i32(1).op(wasmbin.OpI32Sub).set(0).op(wasmbin.OpBr, 1).end().end()))
	return b.Bytes()
}

// TestRounds: a loop that pays for several rounds at once goes round no more often
// than it has paid for.
func TestRounds(t *testing.T) {
	for name, in := range map[string][]byte{"rounds": testdata(t, "spin.wasm"), "strides": countModule()} {
		for _, tank := range []int32{0, paid, paid + 1, 1000, -7} {
			out, info := rewritten(t, in, Options{Fuel: 10_000})
			if s := info.Stats; name == "rounds" && s.Repeated == 0 || name == "strides" && s.Strides == 0 {
				t.Fatalf("%s: no body was repeated", name)
			}
			m := start(t, out, false)
			m.ExportedGlobal(FuelGlobal).(api.MutableGlobal).Set(uint64(uint32(tank)))
			m.ExportedGlobal(InterruptGlobal).(api.MutableGlobal).Set(1)
			if _, err := m.ExportedFunction("loop").Call(context.Background()); err == nil {
				t.Errorf("%s: the program ended", name)
			}
			n, _ := m.Memory().ReadUint32Le(0)
			if want := uint32(max(tank-1, 0)) / paid * paid; n != want {
				t.Errorf("%s: with %d in the tank the program went round %d times, want %d", name, tank, n, want)
			}
		}
	}
}

func TestInterruptStrides(t *testing.T) {
	out, _ := rewritten(t, countModule(), Options{})
	m := start(t, out, false)
	stop(t, m, m.ExportedGlobal(InterruptGlobal).(api.MutableGlobal), "loop")
}
