// Package split takes a shared library apart, so that code is compiled when it is first
// executed: an import executes a twentieth of pydantic-core's and a fifth of NumPy's.
//
// [Module] makes of a rewritten side module a primary module and parts. The primary module has
// the same imports, exports, globals, elements and data, but in place of each function that is
// not tiny a stub, which calls it through a table of the primary module's own:
//
//	(func $f (param …) (result …)
//	  (if (ref.is_null (table.get $parts (i32.const PART)))
//	    (then (call $load (i32.const PART))))
//	  (call_indirect $parts (type …) (local.get 0) … (i32.const PART)))
//
// What every import executes stays: functions that are called when a library is loaded, the
// largest one, which in libraries of Cython, Rust and NumPy fills a module, and what these call. A function that
// nothing but itself refers to has no stub.
//
// A part has one function. It fills its place in the table when it is instantiated, and imports what it uses of
// the others from the primary module: stubs, globals and the table; what the library imports it
// imports itself. $load is the host's [HostModule].[Load], which compiles and instantiates a part.
// A function is reached by its stub alone, but from itself, so that its address stays what it was.
//
// The package changes no instruction: checks that package rewrite has put into a function are
// in it still, and the counters and flags that they use are those of the primary module.
//
// # Limits
//
// Functions that drop or copy segments, or take references to functions, stay in the primary
// module. A module whose globals hold functions is not split.
//
// # Testing
//
// Random modules do the same as before: results, traps, memory, globals. FuzzModule
// feeds arbitrary bytes.
package split

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"coderunner/pyodide/wasmbin"
)

// HostModule has the function Load, of type (i32) -> (), which instantiates one part for the
// module that calls it. Parts import from that module as Primary.
const (
	HostModule = "parts"
	Load       = "load"
	Primary    = "primary"
)

// Version changes whenever Module would make other modules of the same one.
const Version = "3"

// exported begins the names of what the primary module exports for its parts.
const exported = "part:"

const (
	tableName = exported + "table"
	small     = 48       // bytes of a body that a stub would not be much smaller than
	maxTypes  = 64 << 10 // bytes
	depth     = 3        // of direct calls that are followed from what surely is executed
)

// Modules are what a module is split into.
type Modules struct {
	Primary []byte
	Parts   [][]byte
	Calls   [][]uint32 // for each part, those that it calls directly, in the order of the calls
}

// ErrWhole is the error of a module that cannot be split, or of which nothing is left to put
// into parts.
var ErrWhole = errors.New("the module cannot be split")

// splitter has what the modules share.
type splitter struct {
	m         *wasmbin.Module
	sites     [][]site          // of the defined functions
	parts     []uint32          // functions
	partOf    map[uint32]uint32 // the part that a function is
	imported  map[wasmbin.Kind][]wasmbin.Import
	fromParts numbered // what parts use of the primary module
}

// site is an instruction with the number of a function, of a global or of a type.
type site struct {
	start, end int
	op         byte
	index      uint32
	table      uint32 // of an indirect call
}

// space is what a number is of.
type space int

const (
	funcSpace space = iota
	globalSpace
	typeSpace
)

func (s *site) space() space {
	switch s.op {
	case wasmbin.OpCall, wasmbin.OpReturnCall, wasmbin.OpRefFunc:
		return funcSpace
	case wasmbin.OpGlobalGet, wasmbin.OpGlobalSet:
		return globalSpace
	}
	return typeSpace
}

// numbered are functions and globals, by number.
type numbered struct{ funcs, globals map[uint32]bool }

// Module splits a module. The functions that are exported by the names in stay are not parts.
func Module(wasm []byte, stay func(export string) bool) (*Modules, error) {
	m, err := wasmbin.Parse(wasm)
	if err != nil {
		return nil, err
	}
	s := &splitter{m: m, partOf: map[uint32]uint32{}, imported: map[wasmbin.Kind][]wasmbin.Import{},
		fromParts: numbered{map[uint32]bool{}, map[uint32]bool{}}}
	for _, im := range m.Imports {
		s.imported[im.Kind] = append(s.imported[im.Kind], im)
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	if err := s.divide(stay); err != nil {
		return nil, err
	}
	out := &Modules{}
	for _, f := range s.parts {
		out.Parts = append(out.Parts, s.part(f))
		out.Calls = append(out.Calls, s.called(f))
	}
	out.Primary = s.primary()
	return out, nil
}

// check returns an error for modules whose functions cannot be numbered anew.
func (s *splitter) check() error {
	m := s.m
	if len(m.Tags) > 0 || len(m.Memories) > m.ImportedMemories || len(m.Tables) > m.ImportedTables {
		return fmt.Errorf("%w: it has tags, a memory or a table", ErrWhole)
	}
	if t, _ := m.SectionOf(wasmbin.SecType); t.End-t.Start > maxTypes {
		return fmt.Errorf("%w: its types take %d bytes", ErrWhole, t.End-t.Start)
	}
	for _, g := range m.Globals[m.ImportedGlobals:] {
		if g.Type.Ref() {
			return fmt.Errorf("%w: it has a global variable of type %v", ErrWhole, g.Type)
		}
	}
	for _, e := range m.Elements {
		if len(e.Items) > 0 {
			return fmt.Errorf("%w: it has elements that are expressions", ErrWhole)
		}
	}
	for _, e := range m.Exports {
		if strings.HasPrefix(e.Name, exported) {
			return fmt.Errorf("%w: it exports %s", ErrWhole, e.Name)
		}
	}
	return nil
}

// divide chooses which functions are parts.
func (s *splitter) divide(stay func(export string) bool) error {
	m := s.m
	kept, largest := map[uint32]bool{}, 0
	var fixed []bool
	for i, b := range m.Bodies {
		movable, err := s.scan(uint32(m.ImportedFuncs + i))
		if err != nil {
			return err
		}
		fixed = append(fixed, !movable || b.End-b.Start <= small)
		if l := m.Bodies[largest]; b.End-b.Start > l.End-l.Start {
			largest = i
		}
	}
	kept[uint32(m.ImportedFuncs+largest)] = true
	for _, e := range m.Exports {
		if e.Kind == wasmbin.KindFunc && stay(e.Name) {
			kept[e.Index] = true
		}
	}
	for range depth {
		for f := range maps.Clone(kept) {
			s.calls(f, func(callee uint32) { kept[callee] = true })
		}
	}
	for i := range m.Bodies {
		if f := uint32(m.ImportedFuncs + i); !fixed[i] && !kept[f] {
			s.partOf[f] = uint32(len(s.parts))
			s.parts = append(s.parts, f)
		}
	}
	if len(s.parts) == 0 {
		return fmt.Errorf("%w: its code is too small", ErrWhole)
	}
	return nil
}

// scan records the sites of the next function. It reports whether the function can be in a
// part, which has no segments.
func (s *splitter) scan(f uint32) (movable bool, err error) {
	m := s.m
	movable = true
	var sites []site
	c := m.CodeOf(m.Bytes, m.Bodies[int(f)-m.ImportedFuncs], m.FuncType(f))
	var in wasmbin.Instr
	for c.Next(&in) {
		switch in.Op {
		case wasmbin.OpRefFunc:
			movable = false
			fallthrough
		case wasmbin.OpCall, wasmbin.OpReturnCall, wasmbin.OpGlobalGet, wasmbin.OpGlobalSet, wasmbin.OpCallIndirect, wasmbin.OpReturnCallIndirect:
			sites = append(sites, site{in.Start, in.End, in.Op, in.A, in.B})
		case wasmbin.OpBlock, wasmbin.OpLoop, wasmbin.OpIf, wasmbin.OpTry:
			if in.A < uint32(len(m.Types)) {
				sites = append(sites, site{in.Start, in.End, in.Op, in.A, 0})
			}
		case wasmbin.PrefixMisc:
			switch in.Sub {
			case wasmbin.MiscMemoryInit, wasmbin.MiscDataDrop, wasmbin.MiscTableInit, wasmbin.MiscElemDrop:
				movable = false
			}
		}
	}
	s.sites = append(s.sites, sites)
	return movable, c.Err()
}

// calls calls do for each function that a defined one calls directly.
func (s *splitter) calls(f uint32, do func(callee uint32)) {
	if int(f) < s.m.ImportedFuncs {
		return
	}
	for _, i := range s.sitesOf(f) {
		if i.space() == funcSpace {
			do(i.index)
		}
	}
}

// called returns the parts that a part calls directly, in the order of the calls.
func (s *splitter) called(f uint32) (called []uint32) {
	seen := map[uint32]bool{f: true}
	s.calls(f, func(callee uint32) {
		if p, ok := s.partOf[callee]; ok && !seen[callee] {
			seen[callee] = true
			called = append(called, p)
		}
	})
	return called
}

func (s *splitter) sitesOf(f uint32) []site { return s.sites[int(f)-s.m.ImportedFuncs] }

// numbers returns the new number of a function, a global or a type.
type numbers func(of space, n uint32) uint32

// appendBody appends a function's body with new numbers to a code section.
func (s *splitter) appendBody(code []byte, f uint32, to numbers) []byte {
	b := s.m.Bodies[int(f)-s.m.ImportedFuncs]
	out, at := make([]byte, 0, b.End-b.Start+8), b.Start
	for _, i := range s.sitesOf(f) {
		out = append(out, s.m.Bytes[at:i.start]...)
		switch n := to(i.space(), i.index); i.op {
		case wasmbin.OpBlock, wasmbin.OpLoop, wasmbin.OpIf, wasmbin.OpTry:
			out = wasmbin.AppendS64(append(out, i.op), int64(n))
		case wasmbin.OpCallIndirect, wasmbin.OpReturnCallIndirect:
			out = wasmbin.AppendU32(wasmbin.AppendOp(out, i.op, n), i.table)
		default:
			out = wasmbin.AppendOp(out, i.op, n)
		}
		at = i.end
	}
	return appendSized(code, append(out, s.m.Bytes[at:b.End]...))
}

// appendSized appends a body with its size.
func appendSized(code, body []byte) []byte {
	return append(wasmbin.AppendU32(code, uint32(len(body))), body...)
}
