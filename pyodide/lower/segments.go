package lower

import (
	"fmt"

	"coderunner/pyodide/wasmbin"
)

// Segments reads out of a main module, as it was before it was lowered, what
// the lean form leaves to the host: the Data of its Info.
func Segments(wasm []byte) ([]Segment, error) {
	m, err := wasmbin.Parse(wasm)
	if err != nil {
		return nil, err
	}
	var out []Segment
	for i, d := range m.Data {
		at, ok := d.Offset.Const32()
		if d.Mode != wasmbin.Active || !ok {
			return nil, fmt.Errorf("data segment %d has no address", i)
		}
		out = append(out, Segment{uint32(at), d.Bytes})
	}
	return out, nil
}
