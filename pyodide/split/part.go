package split

import (
	"slices"
	"strconv"

	"coderunner/pyodide/wasmbin"
)

// funcName and globalName are the names under which the primary module exports for its parts.
func funcName(f uint32) string   { return exported + "f" + strconv.Itoa(int(f)) }
func globalName(g uint32) string { return exported + "g" + strconv.Itoa(int(g)) }

// imports are those of a part, and its types.
type imports struct {
	s       *splitter
	section []byte
	n       int
	numbers [typeSpace + 1]map[uint32]uint32 // by their old numbers
	types   []byte
}

// number gives a function, a global or a type the next number in the part, unless it has one.
func (i *imports) number(of space, n uint32) (fresh bool) {
	numbers := i.numbers[of]
	if _, ok := numbers[n]; ok {
		return false
	}
	numbers[n] = uint32(len(numbers))
	return true
}

// part makes the module of a function. Tables and memories have the numbers that they had; the
// table of the parts is the last.
func (s *splitter) part(f uint32) []byte {
	i := &imports{s: s}
	for space := range i.numbers {
		i.numbers[space] = map[uint32]uint32{}
	}
	own := i.typ(s.m.Funcs[f])
	for _, at := range s.sitesOf(f) {
		switch at.space() {
		case typeSpace:
			i.typ(at.index)
		case globalSpace:
			i.variable(at.index)
		case funcSpace:
			if at.index != f {
				i.function(at.index)
			}
		}
	}
	i.number(funcSpace, f) // behind those that it imports
	i.others()

	one := wasmbin.AppendU32(nil, 1)
	code := s.appendBody(slices.Clone(one), f, func(of space, n uint32) uint32 { return i.numbers[of][n] })
	at := append(wasmbin.AppendI32Const(nil, int32(s.partOf[f])), wasmbin.OpEnd)
	elements := wasmbin.AppendElement(slices.Clone(one), wasmbin.Element{
		Type: wasmbin.FuncRef, Table: s.table(), Offset: at, Funcs: []uint32{i.numbers[funcSpace][f]}})

	out := []byte(wasmbin.Header)
	out = wasmbin.AppendSection(out, wasmbin.SecType, wasmbin.AppendU32(nil, uint32(len(i.numbers[typeSpace]))), i.types)
	out = wasmbin.AppendSection(out, wasmbin.SecImport, wasmbin.AppendU32(nil, uint32(i.n)), i.section)
	out = wasmbin.AppendSection(out, wasmbin.SecFunction, one, wasmbin.AppendU32(nil, own))
	out = wasmbin.AppendSection(out, wasmbin.SecElement, elements)
	return wasmbin.AppendSection(out, wasmbin.SecCode, code)
}

// table returns the number of the table of the parts.
func (s *splitter) table() uint32 { return uint32(len(s.m.Tables)) }

// tableType is that table's type.
func (s *splitter) tableType() wasmbin.Table {
	n := uint32(len(s.parts))
	return wasmbin.Table{Type: wasmbin.FuncRef, Limits: wasmbin.Limits{Min: n, Max: n, HasMax: true}}
}

// add adds an import.
func (i *imports) add(module, name string, k wasmbin.Kind, desc []byte) {
	i.section = append(wasmbin.AppendName(wasmbin.AppendName(i.section, module), name), byte(k))
	i.section = append(i.section, desc...)
	i.n++
}

// same adds the library's own import with a number, if it has one.
func (i *imports) same(k wasmbin.Kind, index uint32) bool {
	own := i.s.imported[k]
	if index >= uint32(len(own)) {
		return false
	}
	im := own[index]
	i.section = wasmbin.AppendImport(i.section, i.s.m, im, im.Module)
	i.n++
	return true
}

// typ returns the number of a type in the part.
func (i *imports) typ(t uint32) uint32 {
	if i.number(typeSpace, t) {
		i.types = wasmbin.AppendFuncType(i.types, i.s.m.Types[t])
	}
	return i.numbers[typeSpace][t]
}

func (i *imports) function(f uint32) {
	if !i.number(funcSpace, f) {
		return
	}
	module, name := Primary, funcName(f)
	if own := i.s.imported[wasmbin.KindFunc]; f < uint32(len(own)) {
		module, name = own[f].Module, own[f].Name
	} else {
		i.s.fromParts.funcs[f] = true
	}
	i.add(module, name, wasmbin.KindFunc, wasmbin.AppendU32(nil, i.typ(i.s.m.Funcs[f])))
}

func (i *imports) variable(g uint32) {
	if i.number(globalSpace, g) && !i.same(wasmbin.KindGlobal, g) {
		i.s.fromParts.globals[g] = true
		v := i.s.m.Globals[g]
		i.add(Primary, globalName(g), wasmbin.KindGlobal, wasmbin.AppendGlobalType(nil, v.Type, v.Mutable))
	}
}

// others adds memories and tables.
func (i *imports) others() {
	for n := range i.s.m.Memories {
		i.same(wasmbin.KindMemory, uint32(n))
	}
	for n := range i.s.m.Tables {
		i.same(wasmbin.KindTable, uint32(n))
	}
	i.add(Primary, tableName, wasmbin.KindTable, wasmbin.AppendTable(nil, i.s.tableType()))
}
