package rewrite

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"coderunner/pyodide/wasmbin"
)

// Locals of the generated loops: parameters are three pointers, three strides,
// where the counter begins, and how many rounds there are.
const (
	strideLocal = 3
	countLocal  = 6
	roundsLocal = 7
	limitLocal  = 8
	sumLocal    = 9
	tempLocal   = 10
)

// strideGenerator makes functions with one loop each through memory.
type strideGenerator struct {
	*rand.Rand
	a     asm
	moves [3]asm // what is added to each pointer in a round; nil: nothing
	step  int32  // of the counter
	index uint32 // of which power of two the counter counts in addresses
	cmp   byte   // whether the loop goes on: counter cmp limit
	out   byte   // the label behind the loop, where the body may branch; 0: it does not
}

// leavesLoop reports whether the loop of a function branches, by the number of the function.
func leavesLoop(i int) bool { return i%2 == 1 }

// address pushes an address.
func (g *strideGenerator) address() {
	p := byte(g.IntN(3))
	switch g.IntN(8) {
	default:
		g.a = g.a.get(p)
	case 5:
		g.a = g.a.get(p).get(countLocal).i32(int32(g.index)).op(wasmbin.OpI32Shl, wasmbin.OpI32Add)
	case 6:
		g.a = g.a.get(p).get(countLocal).i32(int32(g.IntN(8))).op(wasmbin.OpI32Or).get(strideLocal+p).
			op(wasmbin.OpI32Mul, wasmbin.OpI32Add).op(wasmbin.OpLocalTee, tempLocal)
	case 7:
		g.a = g.a.get(p).i32(int32(g.IntN(3)*8)).op(wasmbin.OpI32Sub, wasmbin.OpLocalTee, tempLocal)
	}
}

func (g *strideGenerator) memarg(op byte) {
	g.a = wasmbin.AppendU32(append(g.a, op, 0), []uint32{0, 0, 0, 8, 4, 1, 5000}[g.IntN(7)*min(1, g.IntN(4))])
}

// value pushes an i32.
func (g *strideGenerator) value() {
	switch g.IntN(6) {
	case 0:
		g.a = g.a.get([]byte{sumLocal, tempLocal, countLocal, 0, 1, 2, strideLocal}[g.IntN(7)])
	case 1, 2:
		g.address()
		g.memarg(0x29)
		g.a = g.a.op(wasmbin.OpI32WrapI64)
	default:
		g.address()
		g.memarg([]byte{wasmbin.OpI32Load, wasmbin.OpI32Load8U, 0x2e}[g.IntN(3)])
	}
}

func (g *strideGenerator) stmt() {
	if g.out > 0 && g.IntN(3) == 0 {
		g.value()
		g.a = g.a.set(tempLocal)
		return
	}
	if g.IntN(2) == 0 {
		g.a = g.a.get(sumLocal).i32(31).op(wasmbin.OpI32Mul)
		g.value()
		g.a = g.a.op(wasmbin.OpI32Add).set(sumLocal)
		return
	}
	g.address()
	g.value()
	g.a = g.a.i32(1).op(wasmbin.OpI32Add)
	g.memarg([]byte{wasmbin.OpI32Store, wasmbin.OpI32Store8, 0x3b}[g.IntN(3)])
}

// body is one round without the test.
func (g *strideGenerator) body() {
	moves := g.Perm(4)
	for n := range 1 + g.IntN(3) {
		if g.out > 0 {
			for len(moves) > 0 && g.IntN(3) == 0 {
				g.move(moves[0])
				moves = moves[1:]
			}
			if g.IntN(2+2*n) < 2 {
				g.branch()
			}
		}
		g.stmt()
		for len(moves) > 0 && g.IntN(3) == 0 {
			g.move(moves[0])
			moves = moves[1:]
		}
	}
	for _, m := range moves {
		g.move(m)
	}
}

// branch leaves the loop, or does something else, in few rounds.
func (g *strideGenerator) branch() {
	if g.IntN(3) == 0 {
		g.a = g.a.get(sumLocal)
	} else {
		g.value()
	}
	g.a = g.a.i32([]int32{1, 15, 255, 1023}[min(g.IntN(9), 3)]).op(wasmbin.OpI32And)
	if g.IntN(6) > 0 {
		g.a = g.a.op(wasmbin.OpI32Eqz)
	}
	if g.IntN(2) == 0 {
		g.a = g.a.op(wasmbin.OpBrIf, g.out)
		return
	}
	g.a = g.a.void(wasmbin.OpIf)
	for range 1 + g.IntN(2) {
		switch g.IntN(4) {
		case 0:
			g.move(g.IntN(3))
		case 1:
			g.a = g.a.i32(8).set(byte(strideLocal + g.IntN(3)))
		default:
			g.stmt()
		}
	}
	g.a = g.a.end()
}

func (g *strideGenerator) move(i int) {
	switch {
	case i == 3:
		g.a = g.a.get(countLocal).i32(g.step).op(wasmbin.OpI32Add).set(countLocal)
	case g.moves[i] != nil:
		for range 1 + g.IntN(8)/7 {
			g.a = append(g.a.get(byte(i)), g.moves[i]...).op(wasmbin.OpI32Add).set(byte(i))
		}
	}
}

// test pushes whether the loop goes on.
func (g *strideGenerator) test(until bool) {
	op := g.cmp
	if until {
		op = wasmbin.OpI32Eq + opposite[op-wasmbin.OpI32Eq]
	}
	if g.IntN(2) == 0 {
		g.a = g.a.get(limitLocal).get(countLocal).op(mirrored(op))
	} else {
		g.a = g.a.get(countLocal).get(limitLocal).op(op)
	}
	if g.IntN(4) == 0 {
		g.a = g.a.op(wasmbin.OpI32Eqz, wasmbin.OpI32Eqz)
	}
}

// function makes a loop: it returns a sum of what was read and where all ended.
func (g *strideGenerator) function() asm {
	for i := range g.moves {
		switch g.IntN(5) {
		case 0:
		case 1, 2:
			g.moves[i] = asm(nil).i32([]int32{8, 4, 1, 16, -8, 2}[g.IntN(6)])
		default:
			g.moves[i] = asm(nil).get(byte(strideLocal + g.IntN(3)))
		}
	}
	g.step, g.index = []int32{1, 1, -1, 8, -4, 2}[g.IntN(6)], uint32(g.IntN(4))
	ops := []byte{wasmbin.OpI32LtS, wasmbin.OpI32LtU, wasmbin.OpI32LeS, wasmbin.OpI32LeU, wasmbin.OpI32Ne}
	if g.step < 0 {
		ops = []byte{wasmbin.OpI32GtS, wasmbin.OpI32GtU, wasmbin.OpI32GeS, wasmbin.OpI32GeU, wasmbin.OpI32Ne}
	}
	g.cmp = ops[g.IntN(len(ops))]
	if g.cmp == ops[2] || g.cmp == ops[3] { // not where the counter might wrap around: the loop would not end
		g.a = g.a.get(countLocal).i32(0x7fff).op(wasmbin.OpI32And).i32(1 << 15).op(wasmbin.OpI32Add).set(countLocal)
	}
	shape := g.IntN(4)
	if shape == 3 { // makes one round in any case
		g.a = g.a.get(roundsLocal).i32(1).op(wasmbin.OpI32Or).set(roundsLocal)
	}
	g.a = g.a.get(countLocal).get(roundsLocal).i32(g.step).op(wasmbin.OpI32Mul, wasmbin.OpI32Add).set(limitLocal)
	switch shape {
	case 0:
		g.a = g.a.void(wasmbin.OpBlock).void(wasmbin.OpLoop)
		g.test(true)
		g.a = g.a.op(wasmbin.OpBrIf, 1)
		g.body()
		g.a = g.a.op(wasmbin.OpBr, 0).end().end()
	case 1, 2:
		g.a = g.a.void(wasmbin.OpBlock).void(wasmbin.OpLoop)
		g.test(false)
		g.a = g.a.void(wasmbin.OpIf)
		g.out *= 2
		g.body()
		g.a = g.a.op(wasmbin.OpBr, 1).end().end().end()
	case 3:
		g.a = g.a.void(wasmbin.OpBlock).void(wasmbin.OpLoop)
		g.body()
		g.test(false)
		g.a = g.a.op(wasmbin.OpBrIf, 0).end().end()
	}
	g.a = g.a.get(sumLocal)
	for i := range byte(countLocal + 1) {
		g.a = g.a.i32(31).op(wasmbin.OpI32Mul).get(i).op(wasmbin.OpI32Add)
	}
	return g.a.get(tempLocal).op(wasmbin.OpI32Add)
}

// stridesModule returns a module with n generated functions f0, f1…
func stridesModule(seed uint64, n int) []byte {
	var b wasmbin.Builder
	b.Define(wasmbin.KindMemory, wasmbin.SecMemory, wasmbin.AppendLimits(nil, wasmbin.Limits{Min: 1}))
	b.Export("memory", wasmbin.KindMemory, 0)
	for i := range n {
		g := &strideGenerator{Rand: rand.New(rand.NewPCG(seed, uint64(i)))}
		if leavesLoop(i) {
			g.out = 1
		}
		f := b.Func(wasmbin.FuncType{Params: i32s(roundsLocal + 1), Results: i32s(1)}, i32s(3), g.function())
		b.Export(fmt.Sprint("f", i), wasmbin.KindFunc, f)
	}
	return b.Bytes()
}

// strideArgs chooses pointers that are near each other or an end of the memory,
// strides that are often the sizes of values, and few rounds.
func strideArgs(x *rand.Rand) []uint64 {
	args := make([]uint64, roundsLocal+1)
	near := []uint32{0, 1<<32 - 8, 2048, 3000, 40000}[x.IntN(5)]
	size := []uint32{8, 4, 1, 2, 8}[x.IntN(5)]
	rounds := []uint32{x.Uint32N(20), x.Uint32N(20), 40, 300, 700}[x.IntN(5)]
	for i := range 3 {
		base := []uint32{near, near, near, 65536 - rounds*size, 65536 - 8 - rounds*size, 40 * uint32(i)}[x.IntN(6)]
		args[i] = uint64(base + []uint32{0, 0, 4, 8, size, 20}[x.IntN(6)])
		args[strideLocal+i] = uint64([]uint32{0, 16, ^uint32(7), 3, 4, size}[min(x.IntN(16), 5)])
	}
	args[countLocal] = uint64([]uint32{0, 8, 1000, 1 << 20, 1<<31 - 100, 1<<32 - 40}[x.IntN(6)*x.IntN(2)])
	args[roundsLocal] = uint64(rounds)
	return args
}

// runStrides returns what the functions do: a result or a trap, and the memory.
func runStrides(t *testing.T, wasm []byte, seed uint64, n int) (out []string, mems [][]byte) {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(plainFeatures))
	defer r.Close(ctx)
	m, err := r.Instantiate(ctx, wasm)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	x := rand.New(rand.NewPCG(seed, 1<<20))
	fresh := make([]byte, 65536)
	for i := range fresh {
		fresh[i] = byte(x.Uint32())
	}
	for i := range n {
		f := m.ExportedFunction(fmt.Sprint("f", i))
		for range 8 {
			m.Memory().Write(0, fresh)
			s := "trap"
			if res, err := f.Call(ctx, strideArgs(x)...); err == nil {
				s = fmt.Sprint(res)
			} else if !strings.Contains(err.Error(), "out of bounds") {
				t.Fatalf("seed %d, f%d: %v", seed, i, err)
			}
			out = append(out, s)
			mem, _ := m.Memory().Read(0, 65536)
			mems = append(mems, bytes.Clone(mem))
		}
	}
	return out, mems
}

// TestRandomStrides compares what generated loops do before and after: results,
// whether they trap, and the memory of those that do not or that branch.
func TestRandomStrides(t *testing.T) {
	n, first := seeds(40, 4)
	const funcs = 40
	traps, runs, changed, traces := 0, 0, 0, 0
	for seed := first; seed < first+n && !t.Failed(); seed++ {
		in := stridesModule(uint64(seed), funcs)
		want, wantMem := runStrides(t, in, uint64(seed), funcs)
		for _, o := range []Options{{}, {Fuel: 1, Skip: ^(PassRounds | PassStrides)}} {
			out, info := rewritten(t, in, o)
			changed += info.Stats.Strides
			traces += info.Stats.Traces
			got, gotMem := runStrides(t, out, uint64(seed), funcs)
			for i := range want {
				runs++
				if want[i] == "trap" {
					traps++
				}
				if got[i] != want[i] {
					t.Errorf("seed %d, skip %b, f%d, run %d: %s, want %s", seed, o.Skip, i/8, i%8, got[i], want[i])
				} else if (want[i] != "trap" || leavesLoop(i/8)) && !bytes.Equal(gotMem[i], wantMem[i]) {
					t.Errorf("seed %d, skip %b, f%d, run %d: the memory differs", seed, o.Skip, i/8, i%8)
				}
			}
		}
	}
	if traps < runs/20 || traps > runs*3/4 || changed < n*funcs/4 || traces < n*funcs/8 {
		t.Errorf("%d of %d runs trapped, %d and %d of %d loops were changed", traps, runs, changed, traces, 2*n*funcs)
	}
	t.Logf("%d runs, %d traps, %d and %d of %d loops changed", runs, traps, changed, traces, 2*n*funcs)
}
