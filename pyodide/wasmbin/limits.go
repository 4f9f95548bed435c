package wasmbin

// Limits is the size of a table (elements) or memory (pages of 64 KiB).
type Limits struct {
	Min, Max       uint32
	HasMax, Shared bool
}

// Bounds on what a module may claim, those of the WebAssembly JavaScript
// interface where it has one: https://webassembly.github.io/spec/js-api/#limits
const (
	maxModule    = 1 << 30
	maxTypes     = 1_000_000
	maxFuncs     = 1_000_000
	maxImports   = 1_000_000
	maxExports   = 1_000_000
	maxGlobals   = 1_000_000
	maxTags      = 1_000_000
	maxData      = 100_000
	maxTables    = 100_000
	maxMemories  = 100
	maxElems     = 10_000_000
	maxParams    = 1000
	maxResults   = 1000
	maxLocals    = 50_000
	maxBody      = 7_654_321
	maxBrTable   = 65_520
	maxName      = 100_000
	maxTableSize = 10_000_000
	maxPages     = 65_536
)

// MaxDepth bounds the nesting of blocks in a function. The format has no such
// bound; compilers stay far below.
const MaxDepth = 50_000
