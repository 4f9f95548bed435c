package dylink

import (
	"coderunner/pyodide/wasmbin"
)

// Rename changes the modules that a rewritten side module imports its functions
// from, to [HostModule] if host knows the name and else to one of the function
// alone.
func Rename(wasm []byte, host func(name string) bool) ([]byte, error) {
	m, err := wasmbin.Parse(wasm)
	if err != nil {
		return nil, err
	}
	imports := wasmbin.AppendU32(nil, uint32(len(m.Imports)))
	for _, im := range m.Imports {
		module := im.Module
		if im.Kind == wasmbin.KindFunc && (module == envModule || module == wasiModule) {
			module = symbolPrefix + im.Name
			if host(im.Name) {
				module = HostModule
			}
		}
		imports = append(wasmbin.AppendName(wasmbin.AppendName(imports, module), im.Name), byte(im.Kind))
		imports = appendImportType(imports, m, im)
	}
	out := []byte(wasmbin.Header)
	for _, s := range m.Sections {
		payload := wasm[s.Start:s.End]
		switch s.ID {
		case wasmbin.SecCustom:
			out = wasmbin.AppendSection(out, s.ID, wasmbin.AppendName(nil, s.Name), payload)
		case wasmbin.SecImport:
			out = wasmbin.AppendSection(out, s.ID, imports)
		default:
			out = wasmbin.AppendSection(out, s.ID, payload)
		}
	}
	return out, nil
}

func appendImportType(b []byte, m *wasmbin.Module, im wasmbin.Import) []byte {
	switch im.Kind {
	case wasmbin.KindFunc:
		return wasmbin.AppendU32(b, m.Funcs[im.Index])
	case wasmbin.KindTable:
		return wasmbin.AppendTable(b, m.Tables[im.Index])
	case wasmbin.KindMemory:
		return wasmbin.AppendLimits(b, m.Memories[im.Index])
	case wasmbin.KindGlobal:
		g := m.Globals[im.Index]
		b = append(b, byte(g.Type), 0)
		if g.Mutable {
			b[len(b)-1] = 1
		}
		return b
	}
	return wasmbin.AppendU32(append(b, 0), m.Tags[im.Index]) // a tag
}
