package rewrite

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"coderunner/pyodide/wasmbin"
)

// Locals of the generated functions: addresses come first, the last three are
// an accumulator and counters of loops.
const (
	addrLocals  = 6
	accLocal    = addrLocals
	countLocals = addrLocals + 1
	maxLoops    = 4

	smallFuncs = 6 // functions that may be copied into the others
)

// memGenerator makes functions that are full of loads and stores around the
// ends of the memory: (i32 × addrLocals) -> i32.
type memGenerator struct {
	*rand.Rand
	a      asm
	labels []bool // open blocks, true: a loop
	loops  int
	left   int
	small  int // functions after the first that may be called
}

// The first two are rare.
var memDeltas = []int32{1 << 20, -(1 << 15), 0, 1, 4, 8, 12, 16, -4, -8, -12}

// addr pushes an address, in one of the shapes that compilers make.
func (g *memGenerator) addr() {
	l := byte(g.IntN(addrLocals))
	switch g.IntN(8) {
	case 0:
		g.a = g.a.i32([]int32{0, 8, 16, 65528, 65536, -8}[g.IntN(6)])
	case 1, 2, 3:
		g.a = g.a.get(l)
	case 4, 5:
		g.a = g.a.get(l).i32(memDeltas[min(g.IntN(60), 2+g.IntN(len(memDeltas)-2))])
		g.a = g.a.op([]byte{wasmbin.OpI32Add, wasmbin.OpI32Sub}[g.IntN(2)])
	case 6:
		g.a = g.a.get(l).i32(memDeltas[min(g.IntN(60), 2+g.IntN(len(memDeltas)-2))]).op(wasmbin.OpI32Add, wasmbin.OpLocalTee, byte(g.IntN(addrLocals)))
	case 7:
		g.a = g.a.get(l).op(wasmbin.OpLocalTee, byte(g.IntN(addrLocals)))
	}
}

func (g *memGenerator) memarg(op byte) {
	g.a = wasmbin.AppendU32(append(g.a, op, 0), []uint32{65530, 1<<32 - 6, 0, 1, 4, 8, 12, 20, 40, 0}[min(g.IntN(100), 2+g.IntN(8))])
}

// value pushes an i32.
func (g *memGenerator) value(depth int) {
	switch k := g.IntN(7); {
	case k < 3 && depth > 0:
		g.addr()
		g.memarg([]byte{wasmbin.OpI32Load, wasmbin.OpI32Load8U, 0x2c, 0x2e, 0x2f}[g.IntN(5)])
	case k == 3:
		g.a = g.a.get(byte(g.IntN(addrLocals + 1)))
	case k == 4 && depth > 0:
		g.value(depth - 1)
		g.value(depth - 1)
		g.a = g.a.op([]byte{wasmbin.OpI32Add, wasmbin.OpI32Sub, wasmbin.OpI32Mul, wasmbin.OpI32Or, 0x6e}[min(g.IntN(12), 4)])
	case k == 5 && depth > 0:
		g.addr()
		g.memarg(0x29)
		g.a = g.a.op(0xa7) // i64.load, i32.wrap_i64
	default:
		g.a = g.a.i32(int32(g.IntN(64)))
	}
}

func (g *memGenerator) cond() {
	switch g.IntN(4) {
	case 0:
		g.value(1)
		g.a = g.a.op(wasmbin.OpI32Eqz)
	case 1:
		g.value(1)
		g.a = g.a.op(0xac).i64(int64(g.IntN(99) - 9)).op(wasmbin.OpI64Eq + byte(g.IntN(10)))
	case 2:
		g.value(1)
		g.a = g.a.op(0xac, wasmbin.OpI64Eqz)
	default:
		g.value(1)
		g.value(1)
		g.a = g.a.op(wasmbin.OpI32Eq + byte(g.IntN(10)))
	}
}

func (g *memGenerator) stmts(depth int) {
	for range 1 + g.IntN(5) {
		g.stmt(depth)
	}
}

func (g *memGenerator) inside(loop bool, depth int) {
	g.labels = append(g.labels, loop)
	g.stmts(depth - 1)
	g.labels = g.labels[:len(g.labels)-1]
}

func (g *memGenerator) stmt(depth int) {
	g.left--
	k := g.IntN(20)
	if (depth <= 0 || g.left < 0) && k >= 9 {
		k = g.IntN(9)
	}
	switch k {
	case 0, 1, 2:
		g.addr()
		g.value(2)
		g.memarg([]byte{wasmbin.OpI32Store, wasmbin.OpI32Store, 0x3a, 0x3b}[g.IntN(4)])
	case 3, 4, 5, 6:
		g.a = g.a.get(accLocal).i32(31).op(wasmbin.OpI32Mul)
		g.value(2)
		g.a = g.a.op(wasmbin.OpI32Add).set(accLocal)
	case 7:
		g.addr()
		g.a = g.a.set(byte(g.IntN(addrLocals)))
	case 8:
		g.a = g.a.get(accLocal).setGlobal(0)
	case 9, 10:
		g.a = g.a.void(wasmbin.OpBlock)
		g.inside(false, depth)
		g.a = g.a.end()
	case 11:
		g.loop(depth)
	case 12, 13:
		g.cond()
		g.a = g.a.void(wasmbin.OpIf)
		g.inside(false, depth)
		if g.IntN(2) == 0 {
			g.a = g.a.op(wasmbin.OpElse)
			g.inside(false, depth)
		}
		g.a = g.a.end()
	case 14, 16, 17, 18, 19:
		g.call()
	case 15:
		g.branch()
	}
}

// call calls the function that writes, or one of the small ones.
func (g *memGenerator) call() {
	if g.small == 0 || g.IntN(3) == 0 {
		g.a = g.a.get(byte(g.IntN(addrLocals))).idx(wasmbin.OpCall, 0)
		return
	}
	g.a = g.a.get(accLocal).i32(31).op(wasmbin.OpI32Mul)
	for range addrLocals {
		g.a = g.a.get(byte(g.IntN(addrLocals)))
	}
	g.a = g.a.idx(wasmbin.OpCall, uint32(1+g.IntN(g.small))).op(wasmbin.OpI32Add).set(accLocal)
}

func (g *memGenerator) loop(depth int) {
	if g.loops == maxLoops {
		return
	}
	n := byte(countLocals + g.loops)
	g.loops++
	g.a = g.a.void(wasmbin.OpLoop)
	// Leave after a few rounds, or more than a loop without calls pays for at once.
	g.a = g.a.get(n).i32(1).op(wasmbin.OpI32Add, wasmbin.OpLocalTee, n).i32([]int32{5, 5, 5, 300}[g.IntN(4)]).op(wasmbin.OpI32GtU).void(wasmbin.OpIf).get(accLocal).op(wasmbin.OpReturn).end()
	switch g.IntN(3) {
	case 0:
		g.inside(true, depth)
		g.cond()
		g.a = g.a.op(wasmbin.OpBrIf, 0).end()
	case 1:
		g.inside(true, depth)
		g.a = g.a.op(wasmbin.OpBr, 0).end()
	case 2:
		g.cond()
		g.a = g.a.void(wasmbin.OpIf)
		g.labels = append(g.labels, true)
		g.inside(false, depth)
		g.labels = g.labels[:len(g.labels)-1]
		if g.IntN(2) == 0 {
			g.a = g.a.i32(1) // a branch may leave values behind
		}
		g.a = g.a.op(wasmbin.OpBr, 1).end().end()
	}
}

func (g *memGenerator) branch() {
	if len(g.labels) == 0 {
		g.cond()
		g.a = g.a.void(wasmbin.OpIf).get(accLocal).op(wasmbin.OpReturn).end()
		return
	}
	l := byte(g.IntN(len(g.labels)))
	if g.IntN(3) > 0 {
		g.cond()
		g.a = g.a.op(wasmbin.OpBrIf, l)
		return
	}
	g.value(1)
	n := uint32(1)
	if g.IntN(2) == 0 {
		n = manyLabels
	}
	g.a = g.a.idx(wasmbin.OpBrTable, n)
	for range n {
		g.a = g.a.op(byte(g.IntN(len(g.labels))))
	}
	g.a = g.a.op(l, wasmbin.OpUnreachable)
}

// memoryModule returns a module with n generated functions f0, f1…
func memoryModule(seed uint64, n int) []byte {
	var b wasmbin.Builder
	b.Define(wasmbin.KindMemory, wasmbin.SecMemory, wasmbin.AppendLimits(nil, wasmbin.Limits{Min: 1}))
	b.GlobalI32(true, 0)
	b.Export("memory", wasmbin.KindMemory, 0)
	b.Export("g", wasmbin.KindGlobal, 0)
	// A call that writes where it is told to, if that is in the memory.
	b.Func(wasmbin.FuncType{Params: i32s(1)}, nil,
		asm(nil).get(0).i32(65000).op(0x4d).void(wasmbin.OpIf).get(0).get(0).op(0x3a, 0, 3).end())
	for i := range smallFuncs + n {
		g := &memGenerator{Rand: rand.New(rand.NewPCG(seed, uint64(i))), left: 40, small: smallFuncs}
		if i < smallFuncs {
			g.left, g.small = 4, 0
		}
		g.stmts(4)
		g.a = g.a.get(accLocal)
		f := b.Func(wasmbin.FuncType{Params: i32s(addrLocals), Results: i32s(1)}, i32s(1+maxLoops), g.a)
		if i >= smallFuncs {
			b.Export(fmt.Sprint("f", i-smallFuncs), wasmbin.KindFunc, f)
		}
	}
	return b.Bytes()
}

// runMemory calls all functions with addresses that the seed chooses, each on a
// fresh memory, and returns the outcome: result or trap, global, memory. With laid
// the machine code is laid out anew.
func runMemory(t *testing.T, wasm []byte, laid bool, seed uint64, n int) (out []string, mems [][]byte) {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(plainFeatures))
	defer r.Close(ctx)
	m, err := r.Instantiate(ctx, wasm)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if laid {
		var closeLaid func()
		m, closeLaid = laidOut(t, wasm)
		defer closeLaid()
	}
	fresh := make([]byte, 65536)
	x := rand.New(rand.NewPCG(seed, 1<<20))
	for i := range fresh {
		fresh[i] = byte(x.IntN(40))
	}
	g := m.ExportedGlobal("g").(api.MutableGlobal)
	for i := range n {
		f := m.ExportedFunction(fmt.Sprint("f", i))
		for range 6 {
			args := make([]uint64, addrLocals)
			for j := range args {
				base := []uint32{0, 65536 - 24, 65536 - 48, 1<<32 - 8, 100, 200, 3000}[min(x.IntN(24), 6)]
				args[j] = uint64(base + uint32(x.IntN(5))*4)
			}
			m.Memory().Write(0, fresh)
			g.Set(7)
			res, err := f.Call(ctx, args...)
			s := fmt.Sprint(res, g.Get())
			if err != nil {
				s = fmt.Sprint(strings.SplitN(err.Error(), "\n", 2)[0], g.Get())
			}
			out = append(out, s)
			mem, _ := m.Memory().Read(0, 65536)
			mems = append(mems, bytes.Clone(mem))
		}
	}
	return out, mems
}

// seeds returns how many random modules a test makes, and the first one's seed.
func seeds(n, short int) (count, first int) {
	count, first = n, 1
	if testing.Short() {
		count = short
	}
	if s, err := strconv.Atoi(os.Getenv("RANDOM_MODULES")); err == nil {
		count = s
	}
	if s, err := strconv.Atoi(os.Getenv("RANDOM_SEED")); err == nil {
		first = s
	}
	return count, first
}

// TestRandomMemory compares what generated functions do before and after each
// of the passes: results, traps and their kind, and the memory, also at a trap.
func TestRandomMemory(t *testing.T) {
	n, first := seeds(40, 8)
	const funcs = 20
	traps, runs, inlined, detours, repeated, traces, parts := 0, 0, 0, 0, 0, 0, 0
	for seed := first; seed < first+n && !t.Failed(); seed++ {
		in := memoryModule(uint64(seed), funcs)
		want, wantMem := runMemory(t, in, false, uint64(seed), funcs)
		for _, o := range memoryOptions {
			out, info, err := Module(in, o)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			inlined += info.Stats.Inlined
			detours += info.Stats.Detours
			repeated += info.Stats.Repeated
			traces += info.Stats.Traces
			parts += info.Stats.Parts
			got, gotMem := runMemory(t, out, true, uint64(seed), funcs)
			for i := range want {
				runs++
				if strings.Contains(want[i], "wasm error") {
					traps++
				}
				if got[i] != want[i] {
					t.Errorf("seed %d, skip %b, f%d, run %d: %s, want %s", seed, o.Skip, i/6, i%6, got[i], want[i])
				} else if !bytes.Equal(gotMem[i], wantMem[i]) {
					t.Errorf("seed %d, skip %b, f%d, run %d: the memory differs after %s", seed, o.Skip, i/6, i%6, got[i])
				}
			}
		}
	}
	if traps < runs/10 || traps > runs*9/10 {
		t.Errorf("%d of %d runs trapped", traps, runs)
	}
	if inlined < n*funcs || detours < n*funcs/4 || repeated < n*funcs/4 || traces < n || parts < n*funcs {
		t.Errorf("%d calls replaced, %d detours, %d bodies repeated, %d traces, %d parts in %d functions", inlined, detours, repeated, traces, parts, n*funcs*len(memoryOptions))
	}
	t.Logf("%d runs, %d traps, %d calls replaced, %d detours, %d bodies repeated, %d traces, %d parts", runs, traps, inlined, detours, repeated, traces, parts)
}

var memoryOptions = []Options{{}, {Fuel: 2}, {Skip: ^PassBranches}, {Skip: ^PassSpill}, {Skip: ^PassElse}, {Skip: ^PassNames},
	{Fuel: 1, Skip: ^PassTicks}, {Fuel: 2, Skip: ^PassTicks}, {Skip: ^PassCalls}, {Skip: ^PassInline}, {Skip: ^PassRounds}, {Fuel: 1, Skip: ^PassRounds}, {Fuel: 1, Skip: ^(PassRounds | PassStrides)},
	{Skip: ^PassParts, forks: 1}, {Fuel: 2, forks: 1}, {forks: 3}}
