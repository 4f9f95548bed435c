package dylink

import (
	"context"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"coderunner/pyodide/wasmbin"
)

// libraryResolver adds to ctx what a library imports from: each function's
// provider, and the modules in names.
func (l *Linker) libraryResolver(ctx context.Context, d *library, names map[string]api.Module) context.Context {
	return experimental.WithImportResolver(ctx, func(name string) api.Module {
		f, ok := providedBy(name)
		if !ok {
			return names[name]
		}
		switch from, ok := d.from[f]; {
		case !ok:
			return l.c.Instance
		case from == envModule:
			return names[envModule]
		default:
			return l.modules[from]
		}
	})
}

// envModuleOf generates what a library imports from env: things of the main
// module passed on, and the two bases; and functions that call a slot where the
// function itself is not there yet.
func (l *Linker) envModuleOf(ctx context.Context, d *library, bound []binding) ([]byte, error) {
	var b wasmbin.Builder
	type export struct {
		name  string
		kind  wasmbin.Kind
		index uint32
	}
	var exports []export
	add := func(name string, k wasmbin.Kind, index uint32) { exports = append(exports, export{name, k, index}) }
	table := b.ImportTable(mainName, tableName, wasmbin.Table{Type: wasmbin.FuncRef})
	if d.Image.table != nil {
		add(tableName, wasmbin.KindTable, table)
	}
	if d.Image.memory != nil {
		add(memoryName, wasmbin.KindMemory, b.ImportMemory(mainName, memoryName, wasmbin.Limits{}))
	}
	for _, g := range d.Image.globals {
		add(g.name, wasmbin.KindGlobal, b.ImportGlobal(mainName, g.name, wasmbin.I32, true))
	}
	for _, name := range d.Image.bases {
		base := d.memory
		if name == "__table_base" {
			base = d.base
		}
		add(name, wasmbin.KindGlobal, b.GlobalI32(false, int32(base)))
	}
	for _, f := range bound {
		if f.thunk == noThunk {
			continue
		}
		body := []byte{wasmbin.OpUnreachable}
		if f.thunk == slotThunk {
			slot, err := l.address(ctx, f.symbol)
			if err != nil {
				return nil, err
			}
			body = callSlot(&b, f.typ, slot)
		}
		add(f.name, wasmbin.KindFunc, b.Func(f.typ, nil, body))
	}
	for _, e := range exports {
		b.Export(e.name, e.kind, e.index)
	}
	return b.Bytes(), nil
}

// callSlot is the body of a function that calls the one in a slot with its own
// arguments.
func callSlot(b *wasmbin.Builder, t wasmbin.FuncType, slot uint32) []byte {
	var body []byte
	for i := range t.Params {
		body = wasmbin.AppendOp(body, wasmbin.OpLocalGet, uint32(i))
	}
	body = wasmbin.AppendI32Const(body, int32(slot))
	return append(wasmbin.AppendOp(body, wasmbin.OpCallIndirect, b.Type(t)), 0)
}
