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
		imports = wasmbin.AppendImport(imports, m, im, module)
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
