package rewrite

import (
	"context"
	"math"
	"strings"
	"testing"

	"coderunner/pyodide/wasmbin"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// startLean instantiates lean.wat; polls gets the timeouts of its polls.
func startLean(t *testing.T, o Options, polls *[]int32) (api.Module, *Info) {
	t.Helper()
	out, info := rewritten(t, testdata(t, "lean.wasm"), o)
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(plainFeatures))
	t.Cleanup(func() { r.Close(ctx) })
	env := r.NewHostModuleBuilder("env")
	env.NewFunctionBuilder().WithFunc(func(fds, n, ms int32) int32 {
		*polls = append(*polls, fds, n, ms)
		return 0
	}).Export("__syscall_poll")
	env.NewFunctionBuilder().WithFunc(func() {}).Export("quiet")
	if _, err := env.Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	m, err := r.Instantiate(ctx, out)
	if err != nil {
		t.Fatal(err)
	}
	return m, info
}

var leanOptions = Options{Lean: true, Trampoline: true, TableMax: 20, Bodies: []Body{SleepByPoll()}}

func run(t *testing.T, m api.Module, fn string, args ...uint64) uint64 {
	t.Helper()
	res, err := m.ExportedFunction(fn).Call(context.Background(), args...)
	if err != nil {
		t.Fatalf("%s%v: %v", fn, args, err)
	}
	return append(res, 0)[0]
}

func TestLean(t *testing.T) {
	var polls []int32
	m, info := startLean(t, leanOptions, &polls)
	if got := run(t, m, "sum"); got != 40 {
		t.Errorf("sum = %d without data, want 40", got)
	}
	for _, d := range info.Data {
		m.Memory().Write(d.Addr, d.Bytes)
	}
	if got := run(t, m, "sum"); got != 40+'h' {
		t.Errorf("sum = %d with data, want %d", got, 40+'h')
	}
	if s, _ := m.Memory().Read(16, 5); string(s) != "heLLo" {
		t.Errorf("data is %q, want heLLo", s)
	}
	if got := m.ExportedGlobal("__global_3").Get(); got != 79 {
		t.Errorf("hidden global = %d, want 79", got)
	}
	if got := run(t, m, "get64"); got != 9 {
		t.Errorf("get64 = %d, want 9", got)
	}
	want := &Info{
		Symbols:    map[string]uint32{"PyExc_Foo": 1234, "in_code": 40, "_PyRuntime": 2345},
		Functions:  Functions{map[string]uint32{"zero": 1, "one": 2, "uno": 2, "two": 3}, info.SlotTypes, info.Types},
		Data:       []Segment{{Addr: 16, Bytes: []byte("hello")}, {Addr: 18, Bytes: []byte("LL")}},
		Trampoline: 8,
		Globals:    []string{"__stack_pointer", "__global_3", "__global_7", ArityTable, ArityLen},
		Tables: []Table{
			{wasmbin.FuncRef, 9, "__indirect_function_table", "__table_size_0", "__table_grow_0"},
			{wasmbin.ExternRef, 2, "__table_1", "__table_size_1", "__table_grow_1"},
		},
		Stats: info.Stats,
	}
	if d := cmp.Diff(want, info, cmpopts.IgnoreUnexported(Info{})); d != "" {
		t.Errorf("info (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]byte{255, 0, 1, 2, 3, 255, 1, 255}, info.Arity()); d != "" {
		t.Errorf("arities (-want +got):\n%s", d)
	}
	for _, gone := range []string{"PyExc_Foo", "in_code", "_PyRuntime"} {
		if m.ExportedGlobal(gone) != nil || m.ExportedFunction(gone) != nil {
			t.Errorf("%s is still exported", gone)
		}
	}
}

func TestTables(t *testing.T) {
	var polls []int32
	m, info := startLean(t, leanOptions, &polls)
	refs := info.Tables[1]
	if old, n := run(t, m, refs.Grow, 3), run(t, m, refs.Size); old != 2 || n != 5 {
		t.Errorf("growing by 3: was %d, is %d, want 2 and 5", old, n)
	}
	if got := int32(run(t, m, refs.Grow, 1000)); got != -1 {
		t.Errorf("growing past TableMax gives %d, want -1", got)
	}
	if old, n := run(t, m, info.Tables[0].Grow, 0), run(t, m, info.Tables[0].Size); old != 9 || n != 9 {
		t.Errorf("the function table has %d slots, %d after growing by 0, want 9", old, n)
	}
	if got := int32(run(t, m, info.Tables[0].Grow, 1)); got != -1 {
		t.Errorf("growing past the table's own maximum gives %d, want -1", got)
	}
}

func TestTrampoline(t *testing.T) {
	var polls []int32
	m, info := startLean(t, leanOptions, &polls)
	const table, ok = 1024, 512
	m.Memory().Write(table, info.Arity())
	m.ExportedGlobal(ArityTable).(api.MutableGlobal).Set(table)
	m.ExportedGlobal(ArityLen).(api.MutableGlobal).Set(uint64(len(info.SlotTypes)))
	for _, c := range []struct {
		slot, a, b uint64
		ok         uint32
		want       int32
	}{
		{0, 1, 2, 0, 0}, // empty slot
		{1, 1, 2, 1, 10},
		{2, 1, 2, 1, 12},
		{3, 1, 2, 1, -1},
		{4, 1, 2, 1, -4},
		{5, 1, 2, 0, 0},    // four parameters
		{6, 1, 2, 1, 1001}, // throws
		{7, 1, 2, 0, 0},    // no result
		{8, 1, 2, 0, 0},    // after the arity table's end: the trampoline itself
		{0xffffffff, 1, 2, 0, 0},
	} {
		got := int32(run(t, m, "via", c.slot, c.a, c.b))
		flag, _ := m.Memory().ReadUint32Le(ok)
		if got != c.want || flag != c.ok {
			t.Errorf("slot %d: %d, ok %d, want %d, ok %d", c.slot, got, flag, c.want, c.ok)
		}
	}
}

func TestSleepByPoll(t *testing.T) {
	for ms, want := range map[float64]int32{0: 0, 1: 1, 1.25: 2, -5: 0, 1e30: math.MaxInt32, math.Inf(-1): 0, 2e3: 2000, math.NaN(): 0} {
		var polls []int32
		m, _ := startLean(t, leanOptions, &polls)
		run(t, m, "nap", api.EncodeF64(ms))
		if d := cmp.Diff([]int32{0, 0, want}, polls); d != "" {
			t.Errorf("sleeping %v ms (-want +got):\n%s", ms, d)
		}
	}
}

// changesTable is a module with a table, and code.
func changesTable(code ...byte) []byte {
	var b wasmbin.Builder
	b.ImportTable("env", "__indirect_function_table", wasmbin.Table{Type: wasmbin.FuncRef})
	b.Func(wasmbin.FuncType{}, nil, code)
	return b.Bytes()
}

func TestRefused(t *testing.T) {
	lean, eh, side, bulk := testdata(t, "lean.wasm"), testdata(t, "eh.wasm"), testdata(t, "side.wasm"), testdata(t, "bulk.wasm")
	var taken wasmbin.Builder
	taken.ImportGlobal("env", FuelGlobal, wasmbin.I32, true)
	null := func(Names) ([]byte, error) { return []byte{0, wasmbin.OpEnd}, nil }
	for _, c := range []struct {
		in   []byte
		o    Options
		want string
	}{
		{[]byte("\x7fELF"), Options{}, "not a WebAssembly module"},
		{lean[:100], Options{}, "section"},
		{taken.Bytes(), Options{Side: true}, "reserved"},
		{side, Options{Side: true, Lean: true}, "neither"},
		{side, Options{Lean: true}, "unexpected memory import"},
		{bulk, Options{Lean: true}, "not active"},
		{eh, Options{Bodies: []Body{SleepByPoll()}}, "exports no function of its own"},
		{lean, Options{Bodies: []Body{{Export: "one", Build: null}}}, "uno has the same code"},
		{lean, Options{Bodies: []Body{{Export: "zero", Build: func(Names) ([]byte, error) { return []byte{0, 0xff, wasmbin.OpEnd}, nil }}}}, "unsupported opcode"},
		{testdata(t, "eh-exnref.wasm"), Options{}, "unsupported"},
		{changesTable(wasmbin.OpI32Const, 0, wasmbin.OpRefNull, byte(wasmbin.FuncRef), wasmbin.OpTableSet, 0), Options{Side: true}, "may not change a table"},
		{changesTable(wasmbin.OpRefNull, byte(wasmbin.FuncRef), wasmbin.OpI32Const, 1, wasmbin.PrefixMisc, wasmbin.MiscTableGrow, 0, wasmbin.OpDrop), Options{Side: true}, "may not change a table"},
	} {
		_, _, err := Module(c.in, c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Module with %+v: %v, want an error with %q", c.o, err, c.want)
		}
	}
}
