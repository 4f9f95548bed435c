package wasmbin

import "slices"

// Section is one section of a module as it stands in the file.
type Section struct {
	ID         SectionID
	Name       string // of a custom section
	Start, End int    // payload; of a custom section after its name
}

// FuncType is a function's type. Its slices must not be changed.
type FuncType struct{ Params, Results []ValType }

// Equal reports whether two types are the same.
func (t FuncType) Equal(o FuncType) bool {
	return slices.Equal(t.Params, o.Params) && slices.Equal(t.Results, o.Results)
}

// Table is a table's type.
type Table struct {
	Type ValType
	Limits
}

// Expr is a constant expression including its end.
type Expr []byte

// Global is a global variable; Init is nil when it is imported.
type Global struct {
	Type    ValType
	Mutable bool
	Init    Expr
}

// Import is one import. Index is its place in the index space of its kind.
type Import struct {
	Module, Name string
	Kind         Kind
	Index        uint32
}

// Export is one export.
type Export struct {
	Name  string
	Kind  Kind
	Index uint32
}

// Mode is how a data or element segment is used.
type Mode byte

// The modes of segments.
const (
	Active Mode = iota
	Passive
	Declared
)

// Element is an element segment. Funcs holds function indices, NoFunc for null
// and for anything that is not ref.func.
type Element struct {
	Mode   Mode
	Type   ValType
	Table  uint32
	Offset Expr // of an active segment
	Funcs  []uint32
	Items  []Expr // when they are written as expressions
}

// NoFunc stands for no function in Element.Funcs.
const NoFunc = ^uint32(0)

// Data is a data segment.
type Data struct {
	Mode   Mode
	Memory uint32
	Offset Expr // of an active segment
	Bytes  []byte
}

// Segment is data at an address.
type Segment struct {
	Addr  uint32
	Bytes []byte
}

// Body is the code of a defined function, by offsets in the module.
type Body struct {
	Start, End int // locals and instructions, without the size
	Code       int // the first instruction
	Locals     int // without parameters
}

// Module is a parsed module. Its parts alias the bytes that it was parsed from.
// It is not changed after Parse and may be used by several goroutines. What reads
// a section is a method in the file of that section.
type Module struct {
	Bytes     []byte
	Sections  []Section
	Types     []FuncType
	Imports   []Import
	Funcs     []uint32 // type index of each function, imported first
	Tables    []Table
	Memories  []Limits
	Globals   []Global
	Tags      []uint32 // type index
	Exports   []Export
	Start     uint32 // NoFunc: none
	Elements  []Element
	Data      []Data
	DataCount int    // -1: no such section
	Bodies    []Body // of the defined functions
	Dylink    *Dylink

	// How many of each are imported.
	ImportedFuncs, ImportedTables, ImportedMemories, ImportedGlobals, ImportedTags int

	// FuncSlots has the lowest slot of table 0 that holds a function, see Slots.
	FuncSlots map[uint32]uint32

	exports   map[string]int
	tableBase map[uint32]bool // globals imported as env.__table_base
}

// FuncType returns the type of a function; f must be below len(m.Funcs).
func (m *Module) FuncType(f uint32) FuncType { return m.Types[m.Funcs[f]] }

// TagType returns the type of a tag; t must be below len(m.Tags).
func (m *Module) TagType(t uint32) FuncType { return m.Types[m.Tags[t]] }

// Export returns the export of a name.
func (m *Module) Export(name string) (Export, bool) {
	i, ok := m.exports[name]
	if !ok {
		return Export{}, false
	}
	return m.Exports[i], true
}

// ExportedFunc returns the index of an exported function.
func (m *Module) ExportedFunc(name string) (uint32, bool) {
	e, ok := m.Export(name)
	return e.Index, ok && e.Kind == KindFunc
}

// ImportedFunc returns the index of an imported function.
func (m *Module) ImportedFunc(module, name string) (uint32, bool) {
	for _, im := range m.Imports {
		if im.Kind == KindFunc && im.Name == name && im.Module == module {
			return im.Index, true
		}
	}
	return 0, false
}

// SectionOf returns the first section with the ID.
func (m *Module) SectionOf(id SectionID) (Section, bool) {
	for _, s := range m.Sections {
		if s.ID == id {
			return s, true
		}
	}
	return Section{}, false
}
