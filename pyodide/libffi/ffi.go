package libffi

import (
	"context"

	"github.com/tetratelabs/wazero/api"

	"coderunner/pyodide/hostfn"
	"coderunner/pyodide/wasmbin"
)

// Config is what calls and closures need of their surroundings. All fields are
// needed.
type Config struct {
	Mem   hostfn.Mem
	Stack api.MutableGlobal // __stack_pointer

	// TypeAt returns the type of the function in a table slot, if there is one.
	TypeAt func(slot uint32) (wasmbin.FuncType, bool)
	// Named returns how many arguments of the function in a slot have names, if it
	// is known to take others after them.
	Named func(slot uint32) (int, bool)
	// Caller returns a function that takes the arguments of a function type and
	// a slot, and calls what is there. It is entered once.
	Caller func(context.Context, wasmbin.FuncType) (api.Function, error)

	// TakeSlot returns an empty slot, FreeSlot empties one and frees it,
	// SetType records the type of what has been put into one.
	TakeSlot func(context.Context) (uint32, error)
	FreeSlot func(ctx context.Context, slot uint32) error
	SetType  func(ctx context.Context, slot uint32, t wasmbin.FuncType) error
	// Generate instantiates a generated module, whose imports come from the
	// main module under the name "main".
	Generate func(ctx context.Context, wasm []byte) (api.Module, error)

	// Malloc and Free are libc's.
	Malloc func(ctx context.Context, size uint32) (uint32, error)
	Free   func(ctx context.Context, p uint32) error
}

// FFI does the calls and makes the closures of one interpreter.
type FFI struct {
	c        Config
	closures map[uint32]*closure // by slot
	spare    map[string][]*closure
	taken    map[uint32]bool // slots of closures that are not prepared
}

// New makes an FFI.
func New(c Config) *FFI {
	return &FFI{c: c, closures: map[uint32]*closure{}, spare: map[string][]*closure{}, taken: map[uint32]bool{}}
}

// closure is an instance of the module that closureModule makes. It is reused
// when its closure is freed: an instance that has been near a table is never
// given back.
type closure struct {
	mod api.Module
	key string
	typ wasmbin.FuncType
}
