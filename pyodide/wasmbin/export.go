package wasmbin

import (
	"maps"
	"slices"
)

// Exporting returns a module that exports functions of its own besides, by their numbers, which
// have no names. A module without exports stays as it is.
func Exporting(wasm []byte, functions map[string]uint32) ([]byte, error) {
	m, err := Parse(wasm)
	if err != nil {
		return nil, err
	}
	begin := len(Header)
	for _, s := range m.Sections {
		if s.ID == SecExport && len(functions) > 0 {
			list := AppendU32(nil, uint32(len(m.Exports)+len(functions)))
			for _, e := range m.Exports {
				list = AppendExport(list, e.Name, e.Kind, e.Index)
			}
			for _, name := range slices.Sorted(maps.Keys(functions)) {
				list = AppendExport(list, name, KindFunc, functions[name])
			}
			return slices.Concat(wasm[:begin], AppendSection(nil, s.ID, list), wasm[s.End:]), nil
		}
		begin = s.End
	}
	return wasm, nil
}
