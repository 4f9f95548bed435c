package rewrite

import (
	"fmt"

	"coderunner/pyodide/wasmbin"
)

// Segments reads out of a main module, as it was before it was rewritten, what
// the lean form leaves to the host: the Data of its Info.
func Segments(wasm []byte) ([]Segment, error) {
	m, err := wasmbin.Parse(wasm)
	if err != nil {
		return nil, err
	}
	for i, d := range m.Data {
		if _, ok := d.Offset.Const32(); d.Mode != wasmbin.Active || !ok {
			return nil, fmt.Errorf("data segment %d has no address", i)
		}
	}
	return segments(m), nil
}

// segments are a module's data, all of which has addresses.
func segments(m *wasmbin.Module) (out []Segment) {
	for _, d := range m.Data {
		at, _ := d.Offset.Const32()
		out = append(out, Segment{Addr: uint32(at), Bytes: d.Bytes})
	}
	return out
}
