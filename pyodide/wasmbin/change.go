package wasmbin

import (
	"bytes"
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

// NameSection returns the section with the names of a module's functions, nil if it has none.
func NameSection(wasm []byte) []byte {
	m, err := Parse(wasm)
	if err != nil {
		return nil
	}
	for _, s := range m.Sections {
		if s.ID == SecCustom && s.Name == "name" {
			list := wasm[s.Start:s.End]
			if len(list) > 1 && list[0] == 0 && int(list[1])+2 <= len(list) { // the module's own name
				list = list[list[1]+2:]
			}
			return AppendSection(nil, s.ID, AppendName(nil, s.Name), list)
		}
	}
	return nil
}

// SameCode reports whether two modules have the same code section.
func SameCode(a, b []byte) bool {
	code := func(wasm []byte) []byte {
		if m, err := Parse(wasm); err == nil {
			if s, ok := m.SectionOf(SecCode); ok {
				return wasm[s.Start:s.End]
			}
		}
		return nil
	}
	return code(a) != nil && bytes.Equal(code(a), code(b))
}
