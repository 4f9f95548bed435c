package dylink

import "coderunner/pyodide/wasmbin"

// Stub makes of a rewritten side module what its instances are made of when its
// machine code is there already: a module whose functions trap, see
// [wasmbin.Module.Stub]. Its data, which can be larger than its code, is
// apart from it where that is possible, and nil where not: a restored
// interpreter has it in its memory. It belongs into [Library].Data.
func Stub(wasm []byte) (stub []byte, data []wasmbin.Segment, err error) {
	m, err := wasmbin.Parse(wasm)
	if err != nil {
		return nil, nil, err
	}
	if data = detached(m); data == nil {
		return m.Stub(nil), nil, nil
	}
	return m.Stub(func(d wasmbin.Data) bool { return d.Mode == wasmbin.Active }), data, nil
}

// detached returns the data that instances begin with, which the linker can write
// where it belongs in place of wazero, before the instance is made. It is nil
// if some of it is not relative to the library's memory, or not within it.
func detached(m *wasmbin.Module) []wasmbin.Segment {
	data := []wasmbin.Segment{}
	for _, d := range m.Data {
		if d.Mode != wasmbin.Active {
			continue
		}
		at, ok := relative(m, d.Offset)
		if !ok || m.Dylink == nil || uint64(at)+uint64(len(d.Bytes)) > uint64(m.Dylink.MemorySize) {
			return nil
		}
		data = append(data, wasmbin.Segment{Addr: at, Bytes: d.Bytes})
	}
	return data
}

// relative returns n for an expression that is __memory_base + n.
func relative(m *wasmbin.Module, offset wasmbin.Expr) (n uint32, ok bool) {
	const elsewhere = 1 << 20
	eval := func(base uint32) (uint32, bool) {
		return offset.Eval32(func(g uint32) (uint32, bool) { return base, isMemoryBase(m, g) })
	}
	n, ok = eval(0)
	moved, _ := eval(elsewhere)
	return n, ok && moved-n == elsewhere
}

func isMemoryBase(m *wasmbin.Module, global uint32) bool {
	for _, im := range m.Imports {
		if im.Kind == wasmbin.KindGlobal && im.Index == global {
			return im.Module == envModule && im.Name == "__memory_base"
		}
	}
	return false
}
