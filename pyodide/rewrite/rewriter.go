package rewrite

import (
	"fmt"
	"slices"

	"coderunner/pyodide/wasmbin"
)

// Options selects what Module does. The zero value lowers a main module and
// keeps everything in it.
type Options struct {
	// Side is set for a side module (shared library).
	Side bool

	// Fuel is the number of loop headers between two safepoints, give or take the
	// rounds that a loop without calls pays for at once: 0 stands for DefaultFuel, a
	// negative number for no checks at all.
	Fuel int32

	// Skip leaves out passes that only make the code faster.
	Skip Passes

	// Bodies replaces function bodies.
	Bodies []Body

	// Threads has the host run CPython's threads in a main module, see threads.go.
	Threads bool

	// TableMax bounds the growth of the tables that the module defines, in
	// elements; 0 leaves them as they are.
	TableMax uint32

	// Trampoline adds CPython's call trampoline to a main module, at the table
	// slot Info.Trampoline.
	Trampoline bool

	// Places makes Info.Places. In bodies that are replaced, places mean nothing.
	Places bool

	// Lean leaves out of a main module what makes it slow to instantiate: data
	// segments (Info.Data has them), imports of GOT.func (internal globals of
	// value 0 now), and the globals that hold addresses (Info.Symbols has their
	// values). Functions, memories, tables and mutable globals stay exported.
	Lean bool

	forks int // in place of partForks, in functions of all sizes and in main modules: for tests
}

// Body replaces the body of one function.
type Body struct {
	// Export names the function.
	Export string
	// Build returns the new body: local declarations and instructions with the
	// final end. It is rewritten like any other.
	Build func(Names) ([]byte, error)
	// Aliases is set if other exports of the function mean the same.
	Aliases bool
}

// Names finds functions for a new body.
type Names struct{ m *wasmbin.Module }

// Import returns the index of an imported function.
func (n Names) Import(module, name string) (uint32, bool) { return n.m.ImportedFunc(module, name) }

// Export returns the index of an exported function.
func (n Names) Export(name string) (uint32, bool) { return n.m.ExportedFunc(name) }

// rewriter rewrites one module. Each pass is a method in a file of its own: all change
// the same tables of types, functions and exports.
type rewriter struct {
	in    []byte
	m     *wasmbin.Module
	o     Options
	fuel  int32 // 0: no checks
	stats Stats

	bodies   []body // of the defined functions
	mayThrow []bool
	used     []bool // globals that code or constant expressions use
	tagIDs   []int32

	types      map[string]uint32 // by encoding
	addedTypes [][]byte
	globals    []uint32 // new index by old; undefined for dropped ones
	dropped    []bool

	got                   got
	flag, val, stop, tank uint32 // indices of our globals
	arity, arityLen       uint32
	nGlobals              uint32 // in the output

	helpers     []helper
	tick        uint32
	nothing     uint32 // does nothing
	anyWide     bool
	fill, copy  uint32
	inits       map[uint32]uint32 // by data segment
	tramp       uint32
	tableFuncs  [][2]uint32 // size and grow by table
	threads     threads
	addedMemory bool
	places      places
}

// body locates the code of a function.
type body struct {
	b  []byte
	at wasmbin.Body
	eh bool // needs the exception machinery
	// What else is in it.
	tries, throws bool
	labels        uint32 // of the longest br_table
	places        places // where it is from
}

// helper is a function after the module's own.
type helper struct {
	typ  uint32
	code []byte
}

func (r *rewriter) fail(section string, off int, format string, a ...any) error {
	return &wasmbin.FormatError{Section: section, Off: off, Msg: fmt.Sprintf(format, a...)}
}

// Stats counts what was rewritten.
type Stats struct {
	Funcs, MayThrow     int
	Tries, Throws       int
	Loops, Bulk         int
	Calls, CheckedCalls int
	Exports             int // of the module that were kept
	Branches            int // br_if written as if
	Detours             int // ways around a call that come first now
	Inlined             int // calls replaced by the function's code
	Strides             int // loops of which rounds are written as one
	Traces              int // the same of one path through them
	Parts               int // of sequences that are cut
	Rounds, Repeated    int // loops that pay for several rounds at once; with more than one body
}

// typeOf returns the index of a function type, adding a new one.
func (r *rewriter) typeOf(t wasmbin.FuncType) uint32 {
	b := wasmbin.AppendFuncType(nil, t)
	i, ok := r.types[string(b)]
	if !ok {
		i = uint32(len(r.m.Types) + len(r.addedTypes))
		r.types[string(b)] = i
		r.addedTypes = append(r.addedTypes, b)
	}
	return i
}

func i32s(n int) []wasmbin.ValType {
	return slices.Repeat([]wasmbin.ValType{wasmbin.I32}, n)
}

// got is the global offset table of a side module. A toolchain imports a mutable
// global for each address that the module takes of a symbol. wazero reloads all
// mutable globals after each call: a function with 10,000 calls in a module with
// 20,000 such imports takes gigabytes to compile. So the table becomes words at
// the end of the module's own memory, which the linker fills in; a read is
//
//	global.get __memory_base
//	i32.load offset=<where the word is>
//
// and a module's writes there are undone with the rest of its memory.
type got struct {
	at    []uint32 // by imported global: 1 + place in table.Names, 0: not an entry
	table wasmbin.GOT
	base  uint32 // __memory_base in the output
	added bool   // base is an import of ours
}

// DefaultFuel is the number of loop headers between two safepoints.
const DefaultFuel = 100_000

// bulkChunk is the largest number of bytes that one bulk memory instruction of
// variable size handles at once.
const bulkChunk = 1 << 20

// MaxInput is the size in bytes of the largest module that Module accepts.
const MaxInput = 128 << 20
