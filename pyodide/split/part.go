package split

import (
	"strconv"

	"coderunner/pyodide/wasmbin"
)

// funcName and globalName are the names under which the primary module exports for its parts.
func funcName(f uint32) string   { return exported + "f" + strconv.Itoa(int(f)) }
func globalName(g uint32) string { return exported + "g" + strconv.Itoa(int(g)) }

// imports are those of a part.
type imports struct {
	s              *splitter
	section        []byte
	n              int
	funcs, globals map[uint32]uint32 // by their old numbers
	nf, ng         uint32
}

// part makes the module of some functions. Types, tables and memories have the numbers that
// they had; the table of the slots is the last.
func (s *splitter) part(members []uint32) []byte {
	i := &imports{s: s, funcs: map[uint32]uint32{}, globals: map[uint32]uint32{}}
	first := s.slots[members[0]]
	for _, f := range members {
		for _, at := range s.sitesOf(f) {
			if at.isGlobal() {
				i.variable(at.index)
			} else if slot, ok := s.slots[at.index]; !ok || slot-first >= uint32(len(members)) {
				i.function(at.index)
			}
		}
	}
	for n, f := range members {
		i.funcs[f] = i.nf + uint32(n)
	}
	i.others()

	to := numbers{func(f uint32) uint32 { return i.funcs[f] }, func(g uint32) uint32 { return i.globals[g] }}
	count := uint32(len(members))
	types, code := wasmbin.AppendU32(nil, count), wasmbin.AppendU32(nil, count)
	var slots []uint32
	for _, f := range members {
		types = wasmbin.AppendU32(types, s.m.Funcs[f])
		code = s.appendBody(code, f, to)
		slots = append(slots, i.funcs[f])
	}
	at := append(wasmbin.AppendI32Const(nil, int32(first)), wasmbin.OpEnd)
	elements := wasmbin.AppendElement(wasmbin.AppendU32(nil, 1), wasmbin.Element{
		Type: wasmbin.FuncRef, Table: s.table(), Offset: at, Funcs: slots})

	out := []byte(wasmbin.Header)
	if t, ok := s.m.SectionOf(wasmbin.SecType); ok {
		out = wasmbin.AppendSection(out, t.ID, s.m.Bytes[t.Start:t.End])
	}
	out = wasmbin.AppendSection(out, wasmbin.SecImport, wasmbin.AppendU32(nil, uint32(i.n)), i.section)
	out = wasmbin.AppendSection(out, wasmbin.SecFunction, types)
	out = wasmbin.AppendSection(out, wasmbin.SecElement, elements)
	return wasmbin.AppendSection(out, wasmbin.SecCode, code)
}

// table returns the number of the table of the slots.
func (s *splitter) table() uint32 { return uint32(len(s.m.Tables)) }

// slotTable is that table's type.
func (s *splitter) slotTable() wasmbin.Table {
	n := uint32(len(s.slots))
	return wasmbin.Table{Type: wasmbin.FuncRef, Limits: wasmbin.Limits{Min: n, Max: n, HasMax: true}}
}

// from adds an import from the primary module.
func (i *imports) from(name string, k wasmbin.Kind, desc []byte) {
	i.section = append(wasmbin.AppendName(wasmbin.AppendName(i.section, Primary), name), byte(k))
	i.section = append(i.section, desc...)
	i.n++
}

// same adds the library's own import with a number, if it has one.
func (i *imports) same(k wasmbin.Kind, index uint32) bool {
	for _, im := range i.s.m.Imports {
		if im.Kind == k && im.Index == index {
			i.section = wasmbin.AppendImport(i.section, i.s.m, im, im.Module)
			i.n++
			return true
		}
	}
	return false
}

func (i *imports) function(f uint32) {
	if _, ok := i.funcs[f]; ok {
		return
	}
	if !i.same(wasmbin.KindFunc, f) {
		i.s.fromParts.funcs[f] = true
		i.from(funcName(f), wasmbin.KindFunc, wasmbin.AppendU32(nil, i.s.m.Funcs[f]))
	}
	i.funcs[f] = i.nf
	i.nf++
}

func (i *imports) variable(g uint32) {
	if _, ok := i.globals[g]; ok {
		return
	}
	if !i.same(wasmbin.KindGlobal, g) {
		i.s.fromParts.globals[g] = true
		v := i.s.m.Globals[g]
		i.from(globalName(g), wasmbin.KindGlobal, wasmbin.AppendGlobalType(nil, v.Type, v.Mutable))
	}
	i.globals[g] = i.ng
	i.ng++
}

// others adds memories and tables.
func (i *imports) others() {
	for n := range i.s.m.Memories {
		i.same(wasmbin.KindMemory, uint32(n))
	}
	for n := range i.s.m.Tables {
		i.same(wasmbin.KindTable, uint32(n))
	}
	i.from(tableName, wasmbin.KindTable, wasmbin.AppendTable(nil, i.s.slotTable()))
}
