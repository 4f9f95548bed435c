// Package wasmbin reads and writes WebAssembly binaries: what a rewriter, a
// dynamic linker and a generator of small glue modules need.
//
// It does not validate: it checks that every count, index and length is in
// range, so that its answers can be used without further checks, and leaves
// operand types to the engine that compiles the module.
//
// # Sources
//
// WebAssembly core specification 2.0 (binary format), the legacy form of the
// exception handling proposal, tail calls, extended constant expressions, and
// the tool convention "Dynamic Linking" for the section dylink.0:
// https://github.com/WebAssembly/tool-conventions/blob/main/DynamicLinking.md
//
// # Limits
//
// One-byte value types only (numbers, v128, funcref, externref). Typed function
// references, exnref with try_table, garbage-collected types, atomic
// instructions, the component format and 64-bit memories are refused. Sizes are bounded as in the
// WebAssembly JavaScript interface, see limits.go.
//
// # Testing
//
// Modules in testdata stand beside the text they were made from; FuzzParse
// starts from them.
package wasmbin

import "fmt"

// Header is how a module of version 1 begins.
const Header = "\x00asm\x01\x00\x00\x00"

// SectionID identifies a section.
type SectionID byte

// The sections, by their number in the format. Tag comes after Memory and
// DataCount before Code in a file.
const (
	SecCustom SectionID = iota
	SecType
	SecImport
	SecFunction
	SecTable
	SecMemory
	SecGlobal
	SecExport
	SecStart
	SecElement
	SecCode
	SecData
	SecDataCount
	SecTag
	numSections
)

var sectionNames = [numSections]string{"custom", "type", "import", "function", "table", "memory", "global",
	"export", "start", "element", "code", "data", "data count", "tag"}

func (s SectionID) String() string {
	if s < numSections {
		return sectionNames[s]
	}
	return fmt.Sprintf("section %d", byte(s))
}

// sectionRank is the order in which sections stand in a file.
var sectionRank = [numSections]int{SecType: 1, SecImport: 2, SecFunction: 3, SecTable: 4, SecMemory: 5, SecTag: 6,
	SecGlobal: 7, SecExport: 8, SecStart: 9, SecElement: 10, SecDataCount: 11, SecCode: 12, SecData: 13}

// Kind is what an import or export is.
type Kind byte

// The kinds of imports and exports.
const (
	KindFunc Kind = iota
	KindTable
	KindMemory
	KindGlobal
	KindTag
)

func (k Kind) String() string {
	if k <= KindTag {
		return [...]string{"function", "table", "memory", "global", "tag"}[k]
	}
	return fmt.Sprintf("kind %d", byte(k))
}

// ValType is a value type, as it is written in a binary.
type ValType byte

// The value types.
const (
	I32       ValType = 0x7f
	I64       ValType = 0x7e
	F32       ValType = 0x7d
	F64       ValType = 0x7c
	V128      ValType = 0x7b
	FuncRef   ValType = 0x70
	ExternRef ValType = 0x6f
)

// Known reports whether t is one of the value types above.
func (t ValType) Known() bool { return t >= V128 && t <= I32 || t.Ref() }

// Ref reports whether t is a reference type.
func (t ValType) Ref() bool { return t == FuncRef || t == ExternRef }

func (t ValType) String() string {
	switch t {
	case I32:
		return "i32"
	case I64:
		return "i64"
	case F32:
		return "f32"
	case F64:
		return "f64"
	case V128:
		return "v128"
	case FuncRef:
		return "funcref"
	case ExternRef:
		return "externref"
	}
	return fmt.Sprintf("type %#x", byte(t))
}

// FormatError is returned for malformed and unsupported modules.
type FormatError struct {
	Section string // "import", "code", …
	Off     int    // byte offset in the module
	Msg     string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("wasm: %s section, offset %#x: %s", e.Section, e.Off, e.Msg)
}
