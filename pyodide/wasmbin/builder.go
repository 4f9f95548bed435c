package wasmbin

// Builder makes small modules. The zero value is an empty module. All imports
// of a kind must be added before the first definition of that kind; Builder
// panics otherwise, since that is a mistake in the calling code.
type Builder struct {
	types    []FuncType
	sections [numSections]struct {
		n    uint32
		body []byte
	}
	count   [KindTag + 1]uint32 // sizes of the index spaces
	defined [KindTag + 1]bool
}

func (b *Builder) add(id SectionID, body []byte) {
	s := &b.sections[id]
	s.n++
	s.body = append(s.body, body...)
}

// Type returns the index of a function type, adding it when it is new.
func (b *Builder) Type(t FuncType) uint32 {
	for i, o := range b.types {
		if o.Equal(t) {
			return uint32(i)
		}
	}
	b.types = append(b.types, t)
	b.add(SecType, AppendFuncType(nil, t))
	return uint32(len(b.types) - 1)
}

func (b *Builder) imported(module, name string, k Kind, desc []byte) uint32 {
	if b.defined[k] {
		panic("wasmbin: import of a " + k.String() + " after a definition")
	}
	e := append(AppendName(AppendName(nil, module), name), byte(k))
	b.add(SecImport, append(e, desc...))
	b.count[k]++
	return b.count[k] - 1
}

// Define adds a definition to its section and returns its index.
func (b *Builder) Define(k Kind, id SectionID, body []byte) uint32 {
	b.add(id, body)
	b.defined[k] = true
	b.count[k]++
	return b.count[k] - 1
}

// ImportFunc adds an imported function and returns its index.
func (b *Builder) ImportFunc(module, name string, t FuncType) uint32 {
	return b.imported(module, name, KindFunc, AppendU32(nil, b.Type(t)))
}

// ImportTable adds an imported table and returns its index.
func (b *Builder) ImportTable(module, name string, t Table) uint32 {
	return b.imported(module, name, KindTable, AppendTable(nil, t))
}

// ImportMemory adds an imported memory and returns its index.
func (b *Builder) ImportMemory(module, name string, l Limits) uint32 {
	return b.imported(module, name, KindMemory, AppendLimits(nil, l))
}

// ImportGlobal adds an imported global and returns its index.
func (b *Builder) ImportGlobal(module, name string, t ValType, mutable bool) uint32 {
	return b.imported(module, name, KindGlobal, AppendGlobalType(nil, t, mutable))
}

// GlobalI32 adds a global of type i32 and returns its index.
func (b *Builder) GlobalI32(mutable bool, v int32) uint32 {
	g := AppendI32Const(AppendGlobalType(nil, I32, mutable), v)
	return b.Define(KindGlobal, SecGlobal, append(g, OpEnd))
}

// Func adds a function and returns its index. The body is instructions without
// the final end; locals are those beside the parameters.
func (b *Builder) Func(t FuncType, locals []ValType, body []byte) uint32 {
	c := AppendU32(nil, uint32(len(locals)))
	for _, l := range locals {
		c = append(c, 1, byte(l))
	}
	c = append(append(c, body...), OpEnd)
	b.add(SecCode, append(AppendU32(nil, uint32(len(c))), c...))
	return b.Define(KindFunc, SecFunction, AppendU32(nil, b.Type(t)))
}

// Export adds an export.
func (b *Builder) Export(name string, k Kind, index uint32) {
	b.add(SecExport, AppendExport(nil, name, k, index))
}

// Elements adds an active element segment that fills table from slot offset on.
func (b *Builder) Elements(table, offset uint32, funcs []uint32) {
	at := append(AppendI32Const(nil, int32(offset)), OpEnd)
	b.add(SecElement, AppendElement(nil, Element{Table: table, Offset: at, Funcs: funcs}))
}

// Declare lets bodies take references to functions.
func (b *Builder) Declare(funcs ...uint32) {
	b.add(SecElement, AppendElement(nil, Element{Mode: Declared, Funcs: funcs}))
}

// Bytes returns the module.
func (b *Builder) Bytes() []byte {
	out := []byte(Header)
	for rank := 1; rank <= int(numSections); rank++ {
		for id, s := range b.sections {
			if s.n > 0 && sectionRank[id] == rank {
				out = AppendSection(out, SectionID(id), AppendU32(nil, s.n), s.body)
			}
		}
	}
	return out
}
