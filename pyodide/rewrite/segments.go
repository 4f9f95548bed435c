package rewrite

import (
	"fmt"

	"coderunner/pyodide/wasmbin"
)

// Segments returns the Info.Data of a main module, read from the module before it
// was rewritten.
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

// segments returns a module's data segments, all of which have addresses.
func segments(m *wasmbin.Module) (out []Segment) {
	for _, d := range m.Data {
		at, _ := d.Offset.Const32()
		out = append(out, Segment{Addr: uint32(at), Bytes: d.Bytes})
	}
	return out
}

// Segment is data at an address.
type Segment = wasmbin.Segment
