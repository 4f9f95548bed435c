package dylink

import (
	"context"
	"fmt"
	"maps"
	"path"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"coderunner/pyodide/hostfn"
	"coderunner/pyodide/wasmbin"
)

const (
	wasmFeatures = api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall
	handleAt     = 1024 // where the tests' struct dso is
	heapAt       = 4096
)

// world is a small main module with a linker, and files to load.
type world struct {
	*Linker
	t      *testing.T
	ctx    context.Context
	wz     wazero.Runtime
	files  map[string][]byte
	heap   uint32
	live   map[uint32]uint32 // allocations and their sizes
	budget uint32            // the heap's end
}

// mainModule has a function with a slot (1), one without, a datum, and what
// the linker needs.
func mainModule() []byte {
	var b wasmbin.Builder
	b.Export(memoryName, wasmbin.KindMemory, b.Define(wasmbin.KindMemory, wasmbin.SecMemory, wasmbin.AppendLimits(nil, wasmbin.Limits{Min: 4})))
	table := b.Define(wasmbin.KindTable, wasmbin.SecTable, wasmbin.AppendTable(nil, wasmbin.Table{Type: wasmbin.FuncRef, Limits: wasmbin.Limits{Min: 4, Max: 400, HasMax: true}}))
	b.Export(tableName, wasmbin.KindTable, table)
	for _, g := range []string{"__stack_pointer", "__eh_flag", "arity_table", "arity_len"} {
		b.Export(g, wasmbin.KindGlobal, b.GlobalI32(true, 0))
	}
	add := func(n int32) []byte {
		return append(wasmbin.AppendI32Const(wasmbin.AppendOp(nil, wasmbin.OpLocalGet, 0), n), wasmbin.OpI32Add)
	}
	slotted := b.Func(i32Func(1, 1), nil, add(1))
	b.Export("slotted", wasmbin.KindFunc, slotted)
	b.Export("plain", wasmbin.KindFunc, b.Func(i32Func(1, 1), nil, add(2)))
	grow := []byte{wasmbin.OpRefNull, byte(wasmbin.FuncRef), wasmbin.OpLocalGet, 0, wasmbin.PrefixMisc, wasmbin.MiscTableGrow, 0}
	b.Export("grow", wasmbin.KindFunc, b.Func(i32Func(1, 1), nil, grow))
	b.Elements(0, 1, []uint32{slotted})
	return b.Bytes()
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ctx := context.Background()
	w := &world{t: t, ctx: ctx, files: map[string][]byte{}, heap: heapAt, live: map[uint32]uint32{}, budget: 3 << 16,
		wz: wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(wasmFeatures))}
	t.Cleanup(func() { w.wz.Close(ctx) })
	host := w.wz.NewHostModuleBuilder(HostModule).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(func(context.Context, []uint64) { panic("unwound") }), nil, nil).Export("host_panic").
		NewFunctionBuilder().WithFunc(func(v uint32) uint32 { return v + 1000 }).Export("host_add")
	if _, err := host.Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	wasm := mainModule()
	mod, err := w.wz.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		t.Fatal(err)
	}
	main, err := NewMain(wasm, MainFacts{Symbols: map[string]uint32{"datum": 64}, SlotTypes: []uint32{noType, 0}, Types: []wasmbin.FuncType{i32Func(1, 1)}})
	if err != nil {
		t.Fatal(err)
	}
	w.Linker = New(Config{
		Main: main, Instance: mod, Mem: hostfn.NewMem(mod.Memory()),
		Zero: func(addr, n uint32) error {
			b, _ := mod.Memory().Read(addr, n)
			clear(b)
			return nil
		},
		Call: w.call, Grow: "grow", Find: w.find, Open: w.open,
		Compile: w.wz.CompileModule,
		Instantiate: func(ctx context.Context, c wazero.CompiledModule) (api.Module, error) {
			return w.wz.InstantiateModule(ctx, c, wazero.NewModuleConfig().WithName("").WithStartFunctions())
		},
		HostFuncs: []HostFunc{{"host_panic", wasmbin.FuncType{}}, {"host_add", i32Func(1, 1)}},
		Globals:   []string{"__stack_pointer", "__eh_flag"}, Exception: "__eh_flag",
		Arity: func(t wasmbin.FuncType) byte { return byte(len(t.Params)) }, ArityTable: "arity_table", ArityLen: "arity_len",
	})
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// call does what libc would, and calls the module for the rest.
func (w *world) call(ctx context.Context, export string, args ...uint32) (uint32, error) {
	alloc := func(n uint32) uint32 {
		if w.heap+n > w.budget {
			return 0
		}
		p := w.heap
		w.heap += (n + 15) &^ 15
		w.live[p] = n
		return p
	}
	switch export {
	case "malloc", "calloc":
		return alloc(args[0]), nil
	case "realloc":
		p := alloc(args[1])
		old, _ := w.c.Mem.Bytes(args[0], w.live[args[0]])
		w.c.Mem.Put(p, old)
		delete(w.live, args[0])
		return p, nil
	case "free":
		if _, ok := w.live[args[0]]; !ok && args[0] != 0 {
			return 0, fmt.Errorf("free(%#x): not allocated", args[0])
		}
		delete(w.live, args[0])
		return 0, nil
	case "_emscripten_find_dylib":
		dirs, _, _ := w.c.Mem.CString(args[1], 1<<16)
		name, _, _ := w.c.Mem.CString(args[2], 1<<16)
		for _, d := range append(strings.Split(dirs, ":"), "/usr/lib") {
			if _, ok := w.files[path.Join(d, name)]; ok {
				w.c.Mem.PutCString(args[0], args[3], d+"/"+name)
				return args[0], nil
			}
		}
		return 0, nil
	}
	stack := make([]uint64, max(1, len(args)))
	for i, a := range args {
		stack[i] = uint64(a)
	}
	err := w.c.Instance.ExportedFunction(export).CallWithStack(ctx, stack)
	return uint32(stack[0]), err
}

func (w *world) find(name string) (string, bool) {
	name = path.Join("/cwd", name)
	if strings.HasPrefix(name, "/cwd/lib/") || strings.HasPrefix(name, "/cwd/usr/") {
		name = strings.TrimPrefix(name, "/cwd")
	}
	_, ok := w.files[name]
	return name, ok
}

func (w *world) open(ctx context.Context, file string) (*Library, error) {
	wasm, err := Rename(w.files[file], func(name string) bool { return strings.HasPrefix(name, "host_") })
	if err != nil {
		return nil, err
	}
	image, err := NewImage(wasm)
	if err != nil {
		return nil, err
	}
	code, err := w.wz.CompileModule(ctx, wasm)
	if err != nil {
		return nil, err
	}
	return &Library{Image: image, Code: code, Digest: file}, nil
}

// dlopen loads a file and returns its handle.
func (w *world) dlopen(name string, flags uint32) (uint32, error) {
	w.t.Helper()
	handle := handleAt + 512*uint32(len(w.handles))
	w.c.Mem.PutUint32(handle+dsoFlags, flags)
	w.c.Mem.PutCString(handle+dsoName, 256, name)
	return handle, w.Dlopen(w.ctx, handle)
}

func (w *world) mustOpen(name string, flags uint32) uint32 {
	w.t.Helper()
	h, err := w.dlopen(name, flags)
	if err != nil {
		w.t.Fatalf("dlopen(%s): %v", name, err)
	}
	return h
}

// sym looks a symbol up and fails the test if it is not there.
func (w *world) sym(handle uint32, name string) uint32 {
	w.t.Helper()
	w.c.Mem.PutCString(512, 256, name)
	v, err := w.Dlsym(w.ctx, handle, 512)
	if err != nil {
		w.t.Fatalf("dlsym(%s): %v", name, err)
	}
	return v
}

// run calls the function (i32) -> i32 in a slot.
func (w *world) run(slot, arg uint32) uint32 {
	w.t.Helper()
	f, err := w.Caller(w.ctx, i32Func(1, 1))
	if err != nil {
		w.t.Fatal(err)
	}
	res, err := f.Call(w.ctx, uint64(arg), uint64(slot))
	if err != nil {
		w.t.Fatal(err)
	}
	return uint32(res[0])
}

// state is what a failed load must leave as it was.
func (w *world) state() string {
	w.names()
	total := uint32(0)
	for p, n := range w.live {
		if table, _ := w.arity(); p != table {
			total += n
		}
	}
	size, err := w.call(w.ctx, "grow", 0)
	if err != nil {
		w.t.Fatal(err)
	}
	free := uint32(0)
	for _, f := range w.slots.free {
		free += f.n
	}
	added := maps.Clone(w.main.added)
	for _, s := range w.host {
		maps.Copy(added, s.in.added)
	}
	return fmt.Sprintf("memory %d, slots %d, libraries %d %d, symbols %d %d, instances %d, added %d, pending %d, typed %d",
		total, size-free, len(w.libs), len(w.order), len(w.defs), len(w.global), len(w.modules), len(added), len(w.slots.pending), len(w.slots.types))
}

// side makes a side module.
type side struct {
	wasmbin.Builder
	memory, memoryAlign, table, tableAlign uint32
	needed, runtimePath, weak, got         []string
}

func (s *side) bytes() []byte {
	part := func(id byte, b []byte) []byte {
		return append(wasmbin.AppendU32([]byte{id}, uint32(len(b))), b...)
	}
	names := func(in []string) []byte {
		b := wasmbin.AppendU32(nil, uint32(len(in)))
		for _, n := range in {
			b = wasmbin.AppendName(b, n)
		}
		return b
	}
	var info []byte
	for _, v := range []uint32{s.memory, s.memoryAlign, s.table, s.tableAlign} {
		info = wasmbin.AppendU32(info, v)
	}
	weak := wasmbin.AppendU32(nil, uint32(len(s.weak)))
	for _, n := range s.weak {
		weak = append(wasmbin.AppendName(wasmbin.AppendName(weak, "env"), n), wasmbin.SymbolBindingWeak)
	}
	out := wasmbin.AppendSection([]byte(wasmbin.Header), wasmbin.SecCustom, wasmbin.AppendName(nil, "dylink.0"),
		part(1, info), part(2, names(s.needed)), part(4, weak), part(5, names(s.runtimePath)))
	if len(s.got) > 0 {
		out = wasmbin.AppendGOT(out, wasmbin.GOT{Offset: s.gotAt(), Names: s.got})
	}
	return append(out, s.Bytes()[len(wasmbin.Header):]...)
}

// calls defines and exports name as a function that calls each import with its
// argument, one result being the next argument.
func (s *side) calls(name string, imports ...string) {
	var funcs []uint32
	for _, im := range imports {
		funcs = append(funcs, s.ImportFunc(envModule, im, i32Func(1, 1)))
	}
	body := wasmbin.AppendOp(nil, wasmbin.OpLocalGet, 0)
	for _, f := range funcs {
		body = wasmbin.AppendOp(body, wasmbin.OpCall, f)
	}
	s.Export(name, wasmbin.KindFunc, s.Func(i32Func(1, 1), nil, body))
}

// adds defines and exports name as a function that adds n.
func (s *side) adds(name string, n int32) uint32 {
	body := wasmbin.AppendI32Const(wasmbin.AppendOp(nil, wasmbin.OpLocalGet, 0), n)
	f := s.Func(i32Func(1, 1), nil, append(body, wasmbin.OpI32Add))
	s.Export(name, wasmbin.KindFunc, f)
	return f
}

// reads exports, for each name, a function get_<name> with the symbol's address.
func (s *side) reads(names ...string) {
	s.ImportMemory(envModule, "memory", wasmbin.Limits{})
	base := s.ImportGlobal(envModule, "__memory_base", wasmbin.I32, false)
	s.got = names
	for i, n := range names {
		body := append(wasmbin.AppendOp(nil, wasmbin.OpGlobalGet, base), wasmbin.OpI32Load, 2)
		body = wasmbin.AppendU32(body, s.gotAt()+4*uint32(i))
		s.Export("get_"+n, wasmbin.KindFunc, s.Func(i32Func(1, 1), nil, body))
	}
}

// gotAt is where the words are that the rewriter would add.
func (s *side) gotAt() uint32 { return (s.memory + 3) &^ 3 }
