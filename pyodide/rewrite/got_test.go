package rewrite

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"coderunner/pyodide/wasmbin"
)

// gotModule makes a side module that reads addresses, with imports in an order
// that no toolchain has to keep. Its data and elements depend on the bases,
// whose indices change when the addresses go.
func gotModule(t *testing.T, base bool) []byte {
	t.Helper()
	var b wasmbin.Builder
	far := b.ImportGlobal("GOT.mem", "far", wasmbin.I32, true)
	tab := b.ImportGlobal("env", "__table_base", wasmbin.I32, false)
	near := b.ImportGlobal("GOT.func", "near", wasmbin.I32, true)
	again := b.ImportGlobal("GOT.func", "far", wasmbin.I32, true)
	if base {
		b.ImportMemory("env", "memory", wasmbin.Limits{Min: 1})
		b.ImportGlobal("env", "__memory_base", wasmbin.I32, false)
	}
	b.ImportTable("env", "__indirect_function_table", wasmbin.Table{Type: wasmbin.FuncRef})
	own := b.GlobalI32(true, 7)
	null := wasmbin.FuncType{Results: []wasmbin.ValType{wasmbin.I32}}
	var funcs []uint32
	for name, code := range map[string]asm{
		"far": asm(nil).global(far), "near": asm(nil).global(near), "again": asm(nil).global(again),
		"own": asm(nil).global(own).i32(1).op(wasmbin.OpI32Add).setGlobal(own).global(own),
		"sum": asm(nil).global(far).void(wasmbin.OpLoop).end().global(near).op(wasmbin.OpI32Sub).global(tab).op(wasmbin.OpI32Sub),
	} {
		f := b.Func(null, nil, code)
		b.Export(name, wasmbin.KindFunc, f)
		funcs = append(funcs, f)
	}
	out := wasmbin.AppendSection([]byte(wasmbin.Header), wasmbin.SecCustom, wasmbin.AppendName(nil, "dylink.0"), []byte{1, 4, 9, 0, 5, 0})
	out = append(out, b.Bytes()[len(wasmbin.Header):]...)
	atTable := wasmbin.Expr{wasmbin.OpGlobalGet, byte(tab), wasmbin.OpEnd}
	element := wasmbin.AppendElement(nil, wasmbin.Element{Offset: atTable, Funcs: funcs})
	return insertBefore(t, out, wasmbin.SecCode, wasmbin.SecElement, append([]byte{1}, element...))
}

// insertBefore adds a section.
func insertBefore(t *testing.T, wasm []byte, before, id wasmbin.SectionID, payload []byte) []byte {
	t.Helper()
	m, err := wasmbin.Parse(wasm)
	if err != nil {
		t.Fatal(err)
	}
	out := []byte(wasmbin.Header)
	for _, s := range m.Sections {
		if s.ID == before {
			out = wasmbin.AppendSection(out, id, payload)
		}
		var name []byte
		if s.ID == wasmbin.SecCustom {
			name = wasmbin.AppendName(nil, s.Name)
		}
		out = wasmbin.AppendSection(out, s.ID, name, wasm[s.Start:s.End])
	}
	return out
}

// instantiateSide links a side module to an environment with these addresses,
// whether it was rewritten or not.
func instantiateSide(t *testing.T, wasm []byte, addresses map[string]uint32) api.Module {
	t.Helper()
	const memoryBase = 64
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(plainFeatures))
	t.Cleanup(func() { r.Close(ctx) })
	var env, got wasmbin.Builder
	env.Export("memory", wasmbin.KindMemory, env.Define(wasmbin.KindMemory, wasmbin.SecMemory, wasmbin.AppendLimits(nil, wasmbin.Limits{Min: 1})))
	env.Export("__indirect_function_table", wasmbin.KindTable, env.Define(wasmbin.KindTable, wasmbin.SecTable, wasmbin.AppendTable(nil, wasmbin.Table{Type: wasmbin.FuncRef, Limits: wasmbin.Limits{Min: 20}})))
	env.Export("__memory_base", wasmbin.KindGlobal, env.GlobalI32(false, memoryBase))
	env.Export("__table_base", wasmbin.KindGlobal, env.GlobalI32(false, 10))
	for _, name := range []string{FlagGlobal, ValueGlobal, InterruptGlobal} {
		env.Export(name, wasmbin.KindGlobal, env.GlobalI32(true, 0))
	}
	for name, v := range addresses {
		got.Export(name, wasmbin.KindGlobal, got.GlobalI32(true, int32(v)))
	}
	modules := map[string]api.Module{}
	for name, b := range map[string][]byte{"env": env.Bytes(), "GOT.mem": got.Bytes(), "GOT.func": got.Bytes()} {
		m, err := r.InstantiateWithConfig(ctx, b, wazero.NewModuleConfig().WithName(""))
		if err != nil {
			t.Fatal(err)
		}
		modules[name] = m
	}
	parsed, err := wasmbin.Parse(wasm)
	if err != nil {
		t.Fatal(err)
	}
	table, err := parsed.GOT()
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range table.Names {
		word := binary.LittleEndian.AppendUint32(nil, addresses[name])
		modules["env"].Memory().Write(memoryBase+table.Offset+4*uint32(i), word)
	}
	ctx = experimental.WithImportResolver(ctx, func(name string) api.Module { return modules[name] })
	m, err := r.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestAddresses wants a module to read the same addresses before and after they
// have become words in its memory.
func TestAddresses(t *testing.T) {
	addresses := map[string]uint32{"far": 0xfedcba98, "near": 3}
	for _, base := range []bool{true, false} {
		in := gotModule(t, base)
		out, info := rewritten(t, in, Options{Side: true})
		m, err := wasmbin.Parse(out)
		if err != nil {
			t.Fatal(err)
		}
		for _, im := range m.Imports {
			if strings.HasPrefix(im.Module, "GOT.") {
				t.Errorf("it still imports %s.%s", im.Module, im.Name)
			}
		}
		before, after := instantiateSide(t, in, addresses), instantiateSide(t, out, addresses)
		for _, name := range []string{"far", "near", "again", "own", "own", "sum"} {
			if b, a := run(t, before, name), run(t, after, name); a != b {
				t.Errorf("%s() = %#x, want %#x", name, a, b)
			}
		}
		if len(info.SlotTypes) != 5 {
			t.Errorf("%d slots, want 5", len(info.SlotTypes))
		}
	}
}

// TestUnrecordedState refuses libraries that could leave something in an
// instance which neither a snapshot has nor a reset undoes.
func TestUnrecordedState(t *testing.T) {
	code := func(b *wasmbin.Builder, code ...byte) { b.Func(wasmbin.FuncType{}, nil, code) }
	for want, build := range map[string]func(*wasmbin.Builder){
		"set an imported global": func(b *wasmbin.Builder) {
			code(b, wasmbin.OpI32Const, 1, wasmbin.OpGlobalSet, byte(b.ImportGlobal("GOT.mem", "a", wasmbin.I32, true)))
		},
		"set an imported global other": func(b *wasmbin.Builder) {
			code(b, wasmbin.OpI32Const, 1, wasmbin.OpGlobalSet, byte(b.ImportGlobal("env", "__other", wasmbin.I32, true)))
		},
		"drop data": func(b *wasmbin.Builder) {
			code(b, wasmbin.PrefixMisc, wasmbin.MiscDataDrop, 0)
		},
		"element segments": func(b *wasmbin.Builder) {
			b.Declare(0)
			code(b, wasmbin.PrefixMisc, wasmbin.MiscElemDrop, 0)
		},
		"is a global that the library imports": func(b *wasmbin.Builder) {
			b.Export("sp", wasmbin.KindGlobal, b.ImportGlobal("env", "__stack_pointer", wasmbin.I32, true))
		},
	} {
		var b wasmbin.Builder
		build(&b)
		in := b.Bytes()
		if want == "drop data" {
			in = insertBefore(t, in, wasmbin.SecCode, wasmbin.SecDataCount, []byte{1})
			in = wasmbin.AppendSection(in, wasmbin.SecData, []byte{1, 1, 0}) // one, passive, empty
		}
		if _, _, err := Module(in, Options{Side: true}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
	var b wasmbin.Builder
	code(&b, wasmbin.OpI32Const, 1, wasmbin.OpGlobalSet, byte(b.ImportGlobal("env", "__stack_pointer", wasmbin.I32, true)))
	rewritten(t, b.Bytes(), Options{Side: true})
}
