package wasmbin_test

import (
	"context"
	"testing"

	"coderunner/pyodide/wasmbin"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero"
)

// TestBuilder builds a module that uses everything, runs it, and reads it back.
func TestBuilder(t *testing.T) {
	var lib, b wasmbin.Builder
	ii := wasmbin.FuncType{Params: []wasmbin.ValType{wasmbin.I32}, Results: []wasmbin.ValType{wasmbin.I32}}
	double := lib.Func(ii, nil, []byte{wasmbin.OpLocalGet, 0, wasmbin.OpI32Const, 2, wasmbin.OpI32Mul})
	lib.Export("double", wasmbin.KindFunc, double)
	lib.Export("table", wasmbin.KindTable, lib.Define(wasmbin.KindTable, wasmbin.SecTable, wasmbin.AppendTable(nil, wasmbin.Table{Type: wasmbin.FuncRef, Limits: wasmbin.Limits{Min: 300}})))
	lib.Export("memory", wasmbin.KindMemory, lib.Define(wasmbin.KindMemory, wasmbin.SecMemory, wasmbin.AppendLimits(nil, wasmbin.Limits{Min: 1, Max: 3, HasMax: true})))
	lib.Export("base", wasmbin.KindGlobal, lib.GlobalI32(true, -70000))

	dbl := b.ImportFunc("lib", "double", ii)
	tab := b.ImportTable("lib", "table", wasmbin.Table{Type: wasmbin.FuncRef, Limits: wasmbin.Limits{Min: 1}})
	b.ImportMemory("lib", "memory", wasmbin.Limits{Min: 1})
	base := b.ImportGlobal("lib", "base", wasmbin.I32, true)
	own := b.Define(wasmbin.KindTable, wasmbin.SecTable, wasmbin.AppendTable(nil, wasmbin.Table{Type: wasmbin.FuncRef, Limits: wasmbin.Limits{Min: 2}}))
	call := func(table uint32, slot byte) []byte {
		c := []byte{wasmbin.OpLocalGet, 0, wasmbin.OpLocalSet, 1, wasmbin.OpLocalGet, 1}
		c = wasmbin.AppendI32Const(c, int32(slot))
		return wasmbin.AppendU32(wasmbin.AppendOp(c, wasmbin.OpCallIndirect, b.Type(ii)), table)
	}
	shared := b.Func(ii, []wasmbin.ValType{wasmbin.I32}, call(tab, 200))
	private := b.Func(ii, []wasmbin.ValType{wasmbin.I32}, call(own, 1))
	get := b.Func(wasmbin.FuncType{Results: []wasmbin.ValType{wasmbin.I32}}, nil, wasmbin.AppendOp(nil, wasmbin.OpGlobalGet, base))
	b.Elements(tab, 200, []uint32{dbl})
	b.Elements(own, 0, []uint32{shared, dbl})
	b.Declare(get)
	b.Export("shared", wasmbin.KindFunc, shared)
	b.Export("private", wasmbin.KindFunc, private)
	b.Export("base", wasmbin.KindFunc, get)

	ctx := context.Background()
	r := wazero.NewRuntime(ctx)
	defer r.Close(ctx)
	if _, err := r.InstantiateWithConfig(ctx, lib.Bytes(), wazero.NewModuleConfig().WithName("lib")); err != nil {
		t.Fatal(err)
	}
	m, err := r.Instantiate(ctx, b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int32{"shared": 42, "private": 42, "base": -70000} {
		args := []uint64{21}
		if name == "base" {
			args = nil
		}
		res, err := m.ExportedFunction(name).Call(ctx, args...)
		if err != nil || int32(res[0]) != want {
			t.Errorf("%s = %v, %v, want %d", name, res, err, want)
		}
	}
	p, err := wasmbin.Parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]wasmbin.Export{{Name: "shared", Index: shared}, {Name: "private", Index: private}, {Name: "base", Index: get}}, p.Exports); d != "" {
		t.Errorf("exports (-want +got):\n%s", d)
	}
}
