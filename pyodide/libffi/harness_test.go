package libffi

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"coderunner/pyodide/hostfn"
	"coderunner/pyodide/wasmbin"
)

const (
	stackTop = 60000
	handler  = 1 // slot of the function that closures call
)

// world is a main module with a table of 64 slots whose slot 1 calls handle.
type world struct {
	*FFI
	t       *testing.T
	ctx     context.Context
	wz      wazero.Runtime
	main    api.Module
	types   map[uint32]wasmbin.FuncType
	next    uint32 // slot
	freed   []uint32
	heap    uint32
	handled func(cif, result, args, data uint32)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ctx := context.Background()
	w := &world{t: t, ctx: ctx, types: map[uint32]wasmbin.FuncType{}, next: 2, heap: 1024}
	w.wz = wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV2))
	t.Cleanup(func() { w.wz.Close(ctx) })
	_, err := w.wz.NewHostModuleBuilder("host").NewFunctionBuilder().WithFunc(func(cif, result, args, data uint32) {
		w.handled(cif, result, args, data)
	}).Export("handle").Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var b wasmbin.Builder
	four := wasmbin.FuncType{Params: []wasmbin.ValType{wasmbin.I32, wasmbin.I32, wasmbin.I32, wasmbin.I32}}
	h := b.ImportFunc("host", "handle", four)
	b.Export("memory", wasmbin.KindMemory, b.Define(wasmbin.KindMemory, wasmbin.SecMemory, wasmbin.AppendLimits(nil, wasmbin.Limits{Min: 1})))
	table := b.Define(wasmbin.KindTable, wasmbin.SecTable, wasmbin.AppendTable(nil, wasmbin.Table{Type: wasmbin.FuncRef, Limits: wasmbin.Limits{Min: 64}}))
	b.Export("__indirect_function_table", wasmbin.KindTable, table)
	b.Export("__stack_pointer", wasmbin.KindGlobal, b.GlobalI32(true, stackTop))
	b.Elements(0, handler, []uint32{h})
	if w.main, err = w.wz.InstantiateWithConfig(ctx, b.Bytes(), wazero.NewModuleConfig().WithName("")); err != nil {
		t.Fatal(err)
	}
	w.FFI = New(Config{
		Mem: hostfn.NewMem(w.main.Memory()), Stack: w.main.ExportedGlobal("__stack_pointer").(api.MutableGlobal),
		TypeAt: func(s uint32) (wasmbin.FuncType, bool) { ft, ok := w.types[s]; return ft, ok },
		Named:  func(uint32) (int, bool) { return 0, false },
		Caller: w.caller, Generate: w.generate,
		TakeSlot: func(context.Context) (uint32, error) { w.next++; return w.next - 1, nil },
		FreeSlot: func(_ context.Context, s uint32) error { delete(w.types, s); w.freed = append(w.freed, s); return nil },
		SetType:  func(_ context.Context, s uint32, ft wasmbin.FuncType) error { w.types[s] = ft; return nil },
		Malloc:   func(_ context.Context, n uint32) (uint32, error) { return w.alloc(make([]byte, n)), nil },
		Free:     func(context.Context, uint32) error { return nil },
	})
	return w
}

func (w *world) generate(ctx context.Context, wasm []byte) (api.Module, error) {
	ctx = experimental.WithImportResolver(ctx, func(name string) api.Module {
		if name == "main" {
			return w.main
		}
		return nil
	})
	return w.wz.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithName(""))
}

func (w *world) caller(ctx context.Context, t wasmbin.FuncType) (api.Function, error) {
	var b wasmbin.Builder
	b.ImportTable("main", "__indirect_function_table", wasmbin.Table{Type: wasmbin.FuncRef})
	var body []byte
	for i := range len(t.Params) + 1 {
		body = wasmbin.AppendOp(body, wasmbin.OpLocalGet, uint32(i))
	}
	body = append(wasmbin.AppendOp(body, wasmbin.OpCallIndirect, b.Type(t)), 0)
	b.Export("call", wasmbin.KindFunc, b.Func(wasmbin.FuncType{Params: append(append([]wasmbin.ValType{}, t.Params...), wasmbin.I32), Results: t.Results}, nil, body))
	m, err := w.generate(ctx, b.Bytes())
	if err != nil {
		return nil, err
	}
	return m.ExportedFunction("call"), nil
}

// alloc puts bytes into fresh guest memory, at a multiple of 16.
func (w *world) alloc(b []byte) uint32 {
	w.t.Helper()
	p := w.heap
	w.heap += (uint32(len(b)) + 31) &^ 15
	if !w.c.Mem.Put(p, b) || w.heap > stackTop/2 {
		w.t.Fatal("out of memory")
	}
	return p
}

func words(v ...uint32) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return b
}

// ffiType makes an ffi_type.
func (w *world) ffiType(id uint16, size, align uint32, elements ...uint32) uint32 {
	e := uint32(0)
	if id == typeStruct {
		e = w.alloc(words(append(elements, 0)...))
	}
	return w.alloc(words(size, align|uint32(id)<<16, e))
}

// cif makes an ffi_cif.
func (w *world) cif(fixed int, result uint32, args ...uint32) uint32 {
	return w.alloc(words(0, uint32(len(args)), w.alloc(words(args...)), result, 0, 0, uint32(fixed)))
}
