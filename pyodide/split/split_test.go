package split

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"coderunner/pyodide/wasmbin"
)

const features = api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall | experimental.CoreFeaturesExtendedConst

// tableSize is that of the table that modules share.
const tableSize = 16

// surroundings returns a module with what random modules import from env.
func surroundings() []byte {
	var b wasmbin.Builder
	b.Export("host", wasmbin.KindFunc, b.Func(i32s(1, 1), nil, []byte{wasmbin.OpLocalGet, 0, wasmbin.OpI32Const, 3, wasmbin.OpI32Mul}))
	b.Export("table", wasmbin.KindTable, b.Define(wasmbin.KindTable, wasmbin.SecTable, wasmbin.AppendTable(nil, wasmbin.Table{Type: wasmbin.FuncRef, Limits: wasmbin.Limits{Min: tableSize}})))
	b.Export("memory", wasmbin.KindMemory, b.Define(wasmbin.KindMemory, wasmbin.SecMemory, wasmbin.AppendLimits(nil, wasmbin.Limits{Min: 1})))
	b.Export("base", wasmbin.KindGlobal, b.GlobalI32(false, 64))
	b.Export("shared", wasmbin.KindGlobal, b.GlobalI32(true, 5))
	return b.Bytes()
}

func i32s(params, results int) wasmbin.FuncType {
	return wasmbin.FuncType{Params: slices.Repeat([]wasmbin.ValType{wasmbin.I32}, params), Results: slices.Repeat([]wasmbin.ValType{wasmbin.I32}, results)}
}

// types are those of random functions; each begins with an i32.
var types = []wasmbin.FuncType{i32s(1, 1), i32s(2, 0), i32s(9, 1),
	{Params: []wasmbin.ValType{wasmbin.I32, wasmbin.F64, wasmbin.I64}, Results: []wasmbin.ValType{wasmbin.I64}},
	{Params: []wasmbin.ValType{wasmbin.I32}, Results: []wasmbin.ValType{wasmbin.I32, wasmbin.F64}}}

// generator makes a random module whose functions end: each takes one of a number of calls.
type generator struct {
	*rand.Rand
	b                  wasmbin.Builder
	typeOf             []int // of the functions that it defines
	first              uint32
	shared, own, calls uint32 // globals
	body               []byte
}

func (g *generator) op(op byte, index uint32) { g.body = wasmbin.AppendOp(g.body, op, index) }
func (g *generator) i32(v int32)              { g.body = wasmbin.AppendI32Const(g.body, v) }
func (g *generator) raw(b ...byte)            { g.body = append(g.body, b...) }

func generate(r *rand.Rand) []byte {
	g := &generator{Rand: r}
	host := g.b.ImportFunc("env", "host", i32s(1, 1))
	g.b.ImportMemory("env", "memory", wasmbin.Limits{Min: 1})
	g.b.ImportTable("env", "table", wasmbin.Table{Type: wasmbin.FuncRef, Limits: wasmbin.Limits{Min: tableSize}})
	base := g.b.ImportGlobal("env", "base", wasmbin.I32, false)
	g.shared = g.b.ImportGlobal("env", "shared", wasmbin.I32, true)
	g.own, g.calls = g.b.GlobalI32(true, 9), g.b.GlobalI32(true, 0)
	g.first = host + 1
	for range 4 + r.IntN(60) {
		g.typeOf = append(g.typeOf, r.IntN(len(types)))
	}
	g.typeOf[0] = 0
	for n, t := range g.typeOf {
		g.function(types[t], base)
		if n < 2 {
			g.b.Export(fmt.Sprint("f", n), wasmbin.KindFunc, g.first+uint32(n))
		}
	}
	g.b.Export("own", wasmbin.KindGlobal, g.own)
	g.b.Export("calls", wasmbin.KindGlobal, g.calls)
	var slots []uint32
	for range tableSize / 4 {
		slots = append(slots, uint32(r.IntN(len(g.typeOf)+1)))
	}
	g.b.Elements(0, 1, slots)
	if r.IntN(2) == 0 {
		return g.started()
	}
	return g.b.Bytes()
}

// started returns the module with a start function.
func (g *generator) started() []byte {
	g.body = bytes.Repeat([]byte{wasmbin.OpNop}, 2*small*g.IntN(2))
	g.i32(11)
	g.op(wasmbin.OpGlobalSet, g.shared)
	f := g.b.Func(wasmbin.FuncType{}, nil, g.body)
	wasm := g.b.Bytes()
	m, err := wasmbin.Parse(wasm)
	if err != nil {
		panic(err)
	}
	out := []byte(wasmbin.Header)
	for _, s := range m.Sections {
		if s.ID == wasmbin.SecElement {
			out = wasmbin.AppendSection(out, wasmbin.SecStart, wasmbin.AppendU32(nil, f))
		}
		out = wasmbin.AppendSection(out, s.ID, wasm[s.Start:s.End])
	}
	return out
}

func (g *generator) function(t wasmbin.FuncType, base uint32) {
	g.body = nil
	g.op(wasmbin.OpGlobalGet, g.calls)
	g.raw(wasmbin.OpI32Eqz, wasmbin.OpIf, 0x40)
	g.results(t)
	g.raw(wasmbin.OpReturn, wasmbin.OpEnd)
	g.op(wasmbin.OpGlobalGet, g.calls)
	g.i32(1)
	g.raw(wasmbin.OpI32Sub)
	g.op(wasmbin.OpGlobalSet, g.calls)
	for range g.IntN(7) {
		g.statement(base)
	}
	if n := g.pick(t); n >= 0 && g.IntN(4) == 0 {
		g.arguments(t)
		g.op(wasmbin.OpReturnCall, g.first+uint32(n))
		g.b.Func(t, nil, g.body)
		return
	}
	if g.IntN(6) == 0 { // call a slot, which may be null or of another type
		g.arguments(t)
		g.op(wasmbin.OpLocalGet, 0)
		g.i32(tableSize - 1)
		g.raw(wasmbin.OpI32And)
		g.op(wasmbin.OpReturnCallIndirect, g.b.Type(t))
		g.raw(0)
	} else {
		g.results(t)
	}
	g.b.Func(t, nil, g.body)
}

// pick returns a function of the type, or -1.
func (g *generator) pick(t wasmbin.FuncType) int {
	n := g.IntN(len(g.typeOf))
	if types[g.typeOf[n]].Equal(t) {
		return n
	}
	return -1
}

func (g *generator) results(t wasmbin.FuncType) { g.values(t.Results) }

func (g *generator) arguments(t wasmbin.FuncType) { g.values(t.Params) }

func (g *generator) values(list []wasmbin.ValType) {
	for _, v := range list {
		switch g.op(wasmbin.OpLocalGet, 0); v {
		case wasmbin.I32:
			g.op(wasmbin.OpGlobalGet, g.own)
			g.raw(wasmbin.OpI32Add)
		case wasmbin.I64:
			g.raw(wasmbin.OpI64ExtendI32U)
		case wasmbin.F64:
			g.raw(0xb7) // f64.convert_i32_s
		}
	}
}

// mix changes local 0 by the i32 on the stack.
func (g *generator) mix() {
	g.op(wasmbin.OpLocalGet, 0)
	g.i32(31)
	g.raw(wasmbin.OpI32Mul, wasmbin.OpI32Add)
	g.op(wasmbin.OpLocalSet, 0)
}

func (g *generator) statement(base uint32) {
	x := func() { g.op(wasmbin.OpLocalGet, 0) }
	switch g.IntN(9) {
	case 0, 1, 2: // call
		n := g.IntN(len(g.typeOf))
		g.arguments(types[g.typeOf[n]])
		g.op(wasmbin.OpCall, g.first+uint32(n))
		g.drop(types[g.typeOf[n]])
	case 3: // call a slot, which may be null or of another type
		t := types[g.IntN(len(types))]
		g.arguments(t)
		x()
		g.i32(tableSize - 1)
		g.raw(wasmbin.OpI32And)
		g.op(wasmbin.OpCallIndirect, g.b.Type(t))
		g.raw(0)
		g.drop(t)
	case 4:
		x()
		g.op(wasmbin.OpCall, 0)
		g.mix()
	case 5: // a store that may be out of bounds, and a load
		x()
		g.i32(0x11fff)
		g.raw(wasmbin.OpI32And)
		x()
		g.raw(wasmbin.OpI32Store, 0, 0)
		g.op(wasmbin.OpGlobalGet, base)
		g.raw(wasmbin.OpI32Load, 2, 8)
		g.mix()
	case 6:
		x()
		g.op(wasmbin.OpGlobalSet, []uint32{g.own, g.shared}[g.IntN(2)])
		g.op(wasmbin.OpGlobalGet, g.shared)
		g.mix()
	case 7: // a block with a type of its own, and a loop
		x()
		g.op(wasmbin.OpBlock, g.b.Type(i32s(1, 1)))
		g.op(wasmbin.OpCall, 0)
		g.raw(wasmbin.OpEnd)
		g.mix()
		g.raw(wasmbin.OpLoop, 0x40)
		g.op(wasmbin.OpGlobalGet, g.calls)
		g.raw(wasmbin.OpIf, 0x40)
		g.op(wasmbin.OpGlobalGet, g.calls)
		g.i32(1)
		g.raw(wasmbin.OpI32Sub)
		g.op(wasmbin.OpGlobalSet, g.calls)
		x()
		g.i32(1 << g.IntN(6))
		g.raw(wasmbin.OpI32And, wasmbin.OpBrIf, 1, wasmbin.OpEnd, wasmbin.OpEnd)
	case 8: // traps if x is 7 or 0 in some bits
		g.i32(100)
		x()
		g.i32(int32(g.IntN(64)))
		g.raw(wasmbin.OpI32And, 0x6e) // i32.div_u
		g.mix()
	}
}

func (g *generator) drop(t wasmbin.FuncType) {
	for range t.Results {
		g.raw(wasmbin.OpDrop)
	}
}

// instance is a module in a runtime of its own.
type instance struct {
	mod, env api.Module
	loaded   int
	close    func()
}

// instantiate makes an instance of a module, or of a split one with its parts loaded by need.
func instantiate(t *testing.T, primary []byte, parts [][]byte) *instance {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(features))
	in := &instance{close: func() { _ = r.Close(ctx) }}
	fail := func(err error) {
		if err != nil {
			in.close()
			t.Fatal(err)
		}
	}
	_, err := r.NewHostModuleBuilder(HostModule).NewFunctionBuilder().WithGoModuleFunction(
		api.GoModuleFunc(func(ctx context.Context, caller api.Module, stack []uint64) {
			in.loaded++
			code, err := r.CompileModule(ctx, parts[uint32(stack[0])])
			if err != nil {
				panic(err)
			}
			ctx = experimental.WithImportResolver(ctx, func(name string) api.Module {
				if name == Primary {
					return caller
				}
				return nil
			})
			if _, err := r.InstantiateModule(ctx, code, wazero.NewModuleConfig().WithName("")); err != nil {
				panic(err)
			}
		}), []api.ValueType{api.ValueTypeI32}, nil).Export(Load).Instantiate(ctx)
	fail(err)
	in.env, err = r.InstantiateWithConfig(ctx, surroundings(), wazero.NewModuleConfig().WithName("env"))
	fail(err)
	in.mod, err = r.InstantiateWithConfig(ctx, primary, wazero.NewModuleConfig().WithName(""))
	fail(err)
	return in
}

// outcome calls a function and describes all that it has done.
func (in *instance) outcome(name string, x uint32, calls uint64) string {
	ctx := context.Background()
	in.mod.ExportedGlobal("calls").(api.MutableGlobal).Set(calls)
	f := in.mod.ExportedFunction(name)
	args := make([]uint64, len(f.Definition().ParamTypes()))
	args[0] = uint64(x)
	got, err := f.Call(ctx, args...)
	text := fmt.Sprint(got)
	if err != nil {
		text, _, _ = strings.Cut(err.Error(), "\n")
	}
	memory, _ := in.env.Memory().Read(0, in.env.Memory().Size())
	for _, g := range []api.Global{in.env.ExportedGlobal("shared"), in.mod.ExportedGlobal("own"), in.mod.ExportedGlobal("calls")} {
		text += fmt.Sprint(" ", g.Get())
	}
	for at, b := range memory {
		if b != 0 {
			text += fmt.Sprintf(" %x:%x", at, b)
		}
	}
	return text
}

// TestRandomModules calls the functions of random modules before and after they were split.
func TestRandomModules(t *testing.T) {
	n := 400
	if testing.Short() {
		n = 60
	}
	split, trapped, loaded, parts := 0, 0, 0, 0
	for seed := range n {
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		wasm := generate(r)
		s, err := Module(wasm, func(name string) bool { return name == "f1" && r.IntN(2) == 0 })
		if errors.Is(err, ErrWhole) {
			continue
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		split++
		whole, apart := instantiate(t, wasm, nil), instantiate(t, s.Primary, s.Parts)
		for range 12 {
			name, x, calls := "f0", r.Uint32(), uint64(r.IntN(60))
			if r.IntN(2) == 0 {
				x %= 64
			}
			want := whole.outcome(name, x, calls)
			if got := apart.outcome(name, x, calls); got != want {
				t.Errorf("seed %d, x %d: %s, want %s", seed, x, got, want)
			}
			if strings.HasPrefix(want, "wasm error") {
				trapped++
			}
		}
		loaded, parts = loaded+apart.loaded, parts+len(s.Parts)
		whole.close()
		apart.close()
	}
	t.Logf("%d split, %d of %d parts loaded, %d calls trapped", split, loaded, parts, trapped)
	if split < n/2 || trapped < n || loaded < n || loaded > parts*9/10 {
		t.Error("the modules do too little")
	}
}

func none(string) bool { return false }

// TestRefused wants modules to stay whole whose functions could not be moved.
func TestRefused(t *testing.T) {
	body := bytes.Repeat([]byte{wasmbin.OpNop}, 100)
	for name, change := range map[string]func(b *wasmbin.Builder){
		"one function": func(*wasmbin.Builder) {},
		"tag":          func(b *wasmbin.Builder) { b.Define(wasmbin.KindTag, wasmbin.SecTag, []byte{0, 0}) },
		"memory": func(b *wasmbin.Builder) {
			b.Define(wasmbin.KindMemory, wasmbin.SecMemory, wasmbin.AppendLimits(nil, wasmbin.Limits{}))
		},
		"types": func(b *wasmbin.Builder) {
			for n := range 100 {
				b.Type(i32s(800+n, 0))
			}
		},
		"name": func(b *wasmbin.Builder) { b.Export(tableName, wasmbin.KindFunc, 0) },
	} {
		var b wasmbin.Builder
		if b.Func(wasmbin.FuncType{}, nil, body); name != "one function" {
			b.Func(wasmbin.FuncType{}, nil, body)
		}
		change(&b)
		if _, err := Module(b.Bytes(), none); !errors.Is(err, ErrWhole) {
			t.Errorf("%s: %v, want %v", name, err, ErrWhole)
		}
	}
}

// FuzzModule wants no panic, and parts that are modules.
func FuzzModule(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(generate(rand.New(rand.NewPCG(seed, 3))))
	}
	f.Fuzz(func(t *testing.T, wasm []byte) {
		s, err := Module(wasm, none)
		if err != nil {
			return
		}
		for _, m := range append(s.Parts, s.Primary) {
			if _, err := wasmbin.Parse(m); err != nil {
				t.Error(err)
			}
		}
	})
}
