package rewrite

import (
	"math/rand/v2"
	"os"
	"testing"

	"coderunner/pyodide/wasmbin"
)

// instructions lists the instructions of a module's functions by their offsets in the code
// section, and which function each is in.
func instructions(t *testing.T, wasm []byte) (m *wasmbin.Module, list []map[uint32]wasmbin.Instr) {
	t.Helper()
	m, err := wasmbin.Parse(wasm)
	if err != nil {
		t.Fatal(err)
	}
	section, _ := m.SectionOf(wasmbin.SecCode)
	for i, b := range m.Bodies {
		in := map[uint32]wasmbin.Instr{}
		code := m.CodeOf(wasm, b, m.FuncType(uint32(i+m.ImportedFuncs)))
		for x := (wasmbin.Instr{}); code.Next(&x); {
			in[uint32(x.Start-section.Start)] = x
		}
		if code.Err() != nil {
			t.Fatal(code.Err())
		}
		list = append(list, in)
	}
	return m, list
}

// traps reports whether an instruction traps or calls.
func traps(op byte) bool {
	const divS32, remU32, divS64, remU64 = 0x6d, 0x70, 0x7f, 0x82
	return sizes[op] != 0 || op == wasmbin.OpCall || op == wasmbin.OpCallIndirect || op == wasmbin.OpUnreachable ||
		divS32 <= op && op <= remU32 || divS64 <= op && op <= remU64
}

// TestPlaces wants each instruction that traps or calls of the output to be from the same instruction of
// the input, in the same function or, where a function was copied into its caller, in the one
// that was called.
func TestPlaces(t *testing.T) {
	eh, err := os.ReadFile("testdata/eh.wasm")
	if err != nil {
		t.Fatal(err)
	}
	modules := [][]byte{eh, countModule()}
	for seed := range uint64(20) {
		modules = append(modules, memoryModule(seed, 20), stridesModule(seed, 20), generate(rand.New(rand.NewPCG(seed, 7))).encode())
	}
	checked, copied, touched := 0, 0, 0
	for n, wasm := range modules {
		out, info, err := Module(wasm, Options{Places: true})
		if err != nil {
			t.Fatal(n, err)
		}
		before, was := instructions(t, wasm)
		_, now := instructions(t, out)
		for f := range was {
			for at, x := range now[f] {
				of, call := info.Of(at)
				from := was[f][of]
				switch touch := x.Op == wasmbin.OpI32Load || x.Op == wasmbin.OpI32Load8U; {
				case !traps(x.Op) || x.Op == wasmbin.OpCall && int(x.A) >= len(before.Funcs):
					continue // or it is a call of ours
				case call > 0:
					copied++
					c := was[f][call]
					if c.Op != wasmbin.OpCall || was[int(c.A)-before.ImportedFuncs][of].Op != x.Op {
						t.Errorf("module %d, function %d: %#x at %d is from %d, called at %d", n, f, x.Op, at, of, call)
					}
				case from.Op == x.Op && (x.Op != wasmbin.OpCall || from.A == x.A):
				case touch && sizes[from.Op] != 0: // before rounds of a loop
					touched++
				default:
					t.Errorf("module %d, function %d: %#x at %d is from %d, where %#x is", n, f, x.Op, at, of, from.Op)
				}
				checked++
			}
		}
	}
	if checked < 1000 || copied == 0 || touched == 0 {
		t.Errorf("%d were checked, of them %d in copied functions and %d before rounds", checked, copied, touched)
	}
}
