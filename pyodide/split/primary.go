package split

import (
	"maps"
	"slices"

	"coderunner/pyodide/wasmbin"
)

// primary makes the primary module. It has one more function, behind those that the
// library imports.
func (s *splitter) primary() []byte {
	m := s.m
	loader := uint32(m.ImportedFuncs)
	to := func(of space, n uint32) uint32 {
		if of == funcSpace && n >= loader {
			n++
		}
		return n
	}
	code := s.code(to, loader)
	types := wasmbin.AppendU32(nil, uint32(len(m.Types)+1))
	for _, t := range m.Types {
		types = wasmbin.AppendFuncType(types, t)
	}
	types = wasmbin.AppendFuncType(types, wasmbin.FuncType{Params: []wasmbin.ValType{wasmbin.I32}})

	imports := wasmbin.AppendU32(nil, uint32(len(m.Imports)+1))
	for _, im := range m.Imports {
		imports = wasmbin.AppendImport(imports, m, im, im.Module)
	}
	imports = append(wasmbin.AppendName(wasmbin.AppendName(imports, HostModule), Load), byte(wasmbin.KindFunc))
	imports = wasmbin.AppendU32(imports, uint32(len(m.Types)))

	elements := wasmbin.AppendU32(nil, uint32(len(m.Elements)))
	for _, e := range m.Elements {
		e.Funcs = slices.Clone(e.Funcs)
		for i, f := range e.Funcs {
			e.Funcs[i] = to(funcSpace, f)
		}
		elements = wasmbin.AppendElement(elements, e)
	}

	var out []byte
	section := func(id wasmbin.SectionID, b []byte) { out = wasmbin.AppendSection(out, id, b) }
	same := func(ids ...wasmbin.SectionID) {
		for _, id := range ids {
			if t, ok := m.SectionOf(id); ok {
				section(id, m.Bytes[t.Start:t.End])
			}
		}
	}
	out = append(out, wasmbin.Header...)
	for _, c := range m.Sections {
		if c.ID == wasmbin.SecCustom && c.Start < m.Bodies[0].Start { // dylink.0 stands first
			out = wasmbin.AppendSection(out, c.ID, wasmbin.AppendName(nil, c.Name), m.Bytes[c.Start:c.End])
		}
	}
	section(wasmbin.SecType, types)
	section(wasmbin.SecImport, imports)
	same(wasmbin.SecFunction)
	section(wasmbin.SecTable, wasmbin.AppendTable(wasmbin.AppendU32(nil, 1), s.tableType()))
	same(wasmbin.SecGlobal)
	section(wasmbin.SecExport, s.exports(to))
	if m.Start != wasmbin.NoFunc {
		section(wasmbin.SecStart, wasmbin.AppendU32(nil, to(funcSpace, m.Start)))
	}
	section(wasmbin.SecElement, elements)
	same(wasmbin.SecDataCount)
	section(wasmbin.SecCode, code)
	same(wasmbin.SecData)
	return out
}

// exports returns the section of the library's exports and of those for parts.
func (s *splitter) exports(to numbers) []byte {
	m := s.m
	out := wasmbin.AppendU32(nil, uint32(len(m.Exports)+len(s.fromParts.funcs)+len(s.fromParts.globals)+1))
	for _, e := range m.Exports {
		if e.Kind == wasmbin.KindFunc {
			e.Index = to(funcSpace, e.Index)
		}
		out = wasmbin.AppendExport(out, e.Name, e.Kind, e.Index)
	}
	for _, f := range slices.Sorted(maps.Keys(s.fromParts.funcs)) {
		out = wasmbin.AppendExport(out, funcName(f), wasmbin.KindFunc, to(funcSpace, f))
	}
	for _, g := range slices.Sorted(maps.Keys(s.fromParts.globals)) {
		out = wasmbin.AppendExport(out, globalName(g), wasmbin.KindGlobal, g)
	}
	return wasmbin.AppendExport(out, tableName, wasmbin.KindTable, s.table())
}

// code returns the code section.
func (s *splitter) code(to numbers, loader uint32) []byte {
	m := s.m
	used := s.used()
	code := wasmbin.AppendU32(nil, uint32(len(m.Bodies)))
	for i := range m.Bodies {
		f := uint32(m.ImportedFuncs + i)
		part, moved := s.partOf[f]
		switch {
		case !moved:
			code = s.appendBody(code, f, to)
			continue
		case !used[f]:
			code = appendSized(code, []byte{0, wasmbin.OpUnreachable, wasmbin.OpEnd})
			continue
		}
		b := wasmbin.AppendI32Const([]byte{0}, int32(part))
		b = wasmbin.AppendOp(b, wasmbin.OpTableGet, s.table())
		b = append(b, wasmbin.OpRefIsNull, wasmbin.OpIf, 0x40)
		b = wasmbin.AppendI32Const(b, int32(part))
		b = append(wasmbin.AppendOp(b, wasmbin.OpCall, loader), wasmbin.OpEnd)
		for n := range m.FuncType(f).Params {
			b = wasmbin.AppendOp(b, wasmbin.OpLocalGet, uint32(n))
		}
		b = wasmbin.AppendI32Const(b, int32(part))
		b = wasmbin.AppendOp(b, wasmbin.OpCallIndirect, m.Funcs[f])
		code = appendSized(code, append(wasmbin.AppendU32(b, s.table()), wasmbin.OpEnd))
	}
	return code
}

// used returns the functions that others refer to.
func (s *splitter) used() map[uint32]bool {
	used := maps.Clone(s.fromParts.funcs)
	used[s.m.Start] = true
	for _, e := range s.m.Exports {
		if e.Kind == wasmbin.KindFunc {
			used[e.Index] = true
		}
	}
	for _, e := range s.m.Elements {
		for _, f := range e.Funcs {
			used[f] = true
		}
	}
	for i := range s.sites {
		f := uint32(s.m.ImportedFuncs + i)
		if _, moved := s.partOf[f]; !moved {
			s.calls(f, func(callee uint32) { used[callee] = true })
		}
	}
	return used
}
