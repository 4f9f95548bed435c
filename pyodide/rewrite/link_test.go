package rewrite

import (
	"context"
	"testing"

	"coderunner/pyodide/wasmbin"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// link instantiates main.wat and, linked to it, side.wat with its table slots
// at 2.
func link(t *testing.T) (main, side api.Module, sideInfo *Info) {
	t.Helper()
	mb, _ := rewritten(t, testdata(t, "main.wasm"), Options{})
	sb, info := rewritten(t, testdata(t, "side.wasm"), Options{Side: true})
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(plainFeatures))
	t.Cleanup(func() { r.Close(ctx) })
	main, err := r.InstantiateWithConfig(ctx, mb, wazero.NewModuleConfig().WithName("main"))
	if err != nil {
		t.Fatal(err)
	}
	// A module "env" that passes on what main exports, and the two bases.
	var b wasmbin.Builder
	mem := b.ImportMemory("main", "memory", wasmbin.Limits{})
	tab := b.ImportTable("main", "__indirect_function_table", wasmbin.Table{Type: wasmbin.FuncRef})
	ii := wasmbin.FuncType{Params: i32s(1), Results: i32s(1)}
	fn := b.ImportFunc("main", "thrower", ii)
	for _, g := range []string{"__stack_pointer", FlagGlobal, ValueGlobal, InterruptGlobal} {
		b.Export(g, wasmbin.KindGlobal, b.ImportGlobal("main", g, wasmbin.I32, true))
	}
	b.Export("memory", wasmbin.KindMemory, mem)
	b.Export("__indirect_function_table", wasmbin.KindTable, tab)
	b.Export("thrower", wasmbin.KindFunc, fn)
	b.Export("__memory_base", wasmbin.KindGlobal, b.GlobalI32(false, 4096))
	b.Export("__table_base", wasmbin.KindGlobal, b.GlobalI32(false, 2))
	env, err := r.InstantiateWithConfig(ctx, b.Bytes(), wazero.NewModuleConfig().WithName(""))
	if err != nil {
		t.Fatal(err)
	}
	sctx := experimental.WithImportResolver(ctx, func(name string) api.Module {
		if name == "env" {
			return env
		}
		return nil
	})
	if side, err = r.InstantiateWithConfig(sctx, sb, wazero.NewModuleConfig().WithName("")); err != nil {
		t.Fatal(err)
	}
	return main, side, info
}

func TestAcrossModules(t *testing.T) {
	main, side, info := link(t)
	for _, c := range []struct {
		m    api.Module
		fn   string
		args []uint64
		want int32
	}{
		{main, "catcher", []uint64{2, 7}, 1011}, // 7 + 4, caught by tag
		{main, "catcher", []uint64{2, 7}, 1012},
		{main, "catcher", []uint64{3, 7}, -1}, // a tag that main does not know
		{side, "catch", []uint64{7}, 107},
		{side, "catch", []uint64{8}, 50},
		{side, "state", nil, 2*10000 + 5*100 + 2},
	} {
		res, err := c.m.ExportedFunction(c.fn).Call(context.Background(), c.args...)
		if err != nil {
			t.Fatalf("%s%v: %v", c.fn, c.args, err)
		}
		if got := int32(res[0]); got != c.want {
			t.Errorf("%s%v = %d, want %d", c.fn, c.args, got, c.want)
		}
	}
	if s, _ := main.Memory().Read(4096, 4); string(s) != "side" {
		t.Errorf("the side module's data is %q", s)
	}
	want := &Info{
		Symbols:   map[string]uint32{"where": 8},
		Functions: Functions{map[string]uint32{"throw": 0, "throw_mine": 1}, []uint32{0, 0}, info.Types},
		Globals:   []string{"__global_3"},
		Stats:     info.Stats,
	}
	if d := cmp.Diff(want, info, cmpopts.IgnoreUnexported(Info{})); d != "" {
		t.Errorf("info (-want +got):\n%s", d)
	}
	if got := side.ExportedGlobal("__global_3").Get(); got != 5 {
		t.Errorf("__global_3 = %d, want 5", got)
	}
	// One flag stops all modules.
	stop(t, side, main.ExportedGlobal(InterruptGlobal).(api.MutableGlobal), "spin")
}
