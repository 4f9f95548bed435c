package dylink

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"coderunner/pyodide/hostfn"
	"coderunner/pyodide/wasmbin"
)

// maxLibraries bounds the libraries of one interpreter, and maxGlue the
// modules generated for it: each costs host memory that nothing else counts.
const (
	maxLibraries = 512
	maxGlue      = 1 << 12
)

// Library is a side module that can be loaded, any number of times.
type Library struct {
	Image *Image
	Code  wazero.CompiledModule

	// Data is what the linker writes into the library's memory, at addresses from
	// where that begins; nil when the module brings its data itself. See [Stub].
	Data []wasmbin.Segment

	// Digest identifies the file that the library was made of.
	Digest string

	Parts Parts // of a split library: see [Linker.LoadPart]; nil: it is whole
}

// Parts are those of a split library.
type Parts interface {
	Part(ctx context.Context, n uint32) (wazero.CompiledModule, error)
	Close(ctx context.Context) error
}

// Close frees the library's code. No linker may use it.
func (l *Library) Close(ctx context.Context) error {
	err := l.Code.Close(ctx)
	if l.Parts != nil {
		err = errors.Join(err, l.Parts.Close(ctx))
	}
	return err
}

// HostFunc is a function of the host that libraries may import.
type HostFunc struct {
	Name string
	Type wasmbin.FuncType
}

// Config is what a linker works with. All fields are needed.
type Config struct {
	Main     *Main
	Instance api.Module // the main module's
	Mem      hostfn.Mem

	// Call calls one of the main module's exports. After an error the
	// interpreter is dead and nothing may be called.
	Call func(ctx context.Context, export string, args ...uint32) (uint32, error)
	// Grow adds slots to the table and returns the first; ^0 when it is full.
	Grow string // name of the export: (i32) -> i32

	// Zero makes a range of the memory zero, which mostly is so already.
	Zero func(addr, n uint32) error

	// Find returns the path of the file that a name stands for, which is
	// absolute or relative to the working directory, and whether there is one.
	Find func(name string) (path string, ok bool)
	// Open reads and compiles a file.
	Open func(ctx context.Context, path string) (*Library, error)

	// Compile compiles a small generated module. It is closed by others, when
	// the linker is closed.
	Compile func(ctx context.Context, wasm []byte) (wazero.CompiledModule, error)
	// Instantiate makes an anonymous instance without calling a start export.
	Instantiate func(ctx context.Context, code wazero.CompiledModule) (api.Module, error)

	// HostFuncs may be imported by libraries: those that [Rename] was told of.
	// They are in the runtime, in a host module named [HostModule].
	HostFuncs []HostFunc
	// Globals are the mutable i32 globals of the main module that libraries may
	// import; Exception is the one that is not 0 while an exception is pending.
	Globals   []string
	Exception string

	// Arity returns a function's byte in the call trampoline's table, whose
	// address and length are in two globals of the main module.
	Arity                func(wasmbin.FuncType) byte
	ArityTable, ArityLen string
}

// Linker is the dynamic linker of one interpreter. Its methods are the steps of
// dlopen, dlsym and a restore, all on the same table and symbols; each step has its
// file.
type Linker struct {
	c         Config
	main      *object
	host      map[string]symbol
	libs      map[string]*library // by path
	order     []*library
	handles   map[uint32]*library
	global    map[string]symbol // of libraries loaded with RTLD_GLOBAL
	defs      map[string]symbol // of all libraries: the first of each name
	modules   map[string]api.Module
	slots     slots
	glue      []api.Module
	parts     map[part]api.Module
	loading   bool
	starting  *library // is being instantiated
	instances int      // of libraries, ever made
	changes   int      // see Changes
	restored  *State   // what names still has to do
	callers   map[string]api.Module
	helper    api.Module
	closed    bool
}

// object is something that defines symbols.
type object struct {
	module string // what glue imports it as
	static map[uint32]uint32
	base   uint32            // of static
	memory uint32            // what addresses are relative to
	added  map[uint32]uint32 // slots by function, beyond its own
	lib    *library          // nil: main or host
}

// slot returns the slot that a function has.
func (o *object) slot(fn uint32) (uint32, bool) {
	if s, ok := o.static[fn]; ok {
		return o.base + s, true
	}
	s, ok := o.added[fn]
	return s, ok
}

// symbol is a definition and who has it.
type symbol struct {
	definition
	in *object
}

// library is a loaded library.
type library struct {
	*Library
	object
	path      string
	needs     []*library
	mod       api.Module
	alloc     uint32 // what calloc gave; 0: nothing
	hasSlots  bool
	ready     bool // it is loaded
	published bool
	env       []byte            // the module that it imports from env, and its stubs
	envMod    api.Module        // its instance
	from      map[string]string // who provides a function, if not the main module
}

// symbol returns a definition of the library.
func (d *library) symbol(name string) (symbol, bool) {
	def, ok := d.Image.exports[name]
	if !ok || internal(name) {
		return symbol{}, false
	}
	return symbol{def, &d.object}, true
}

// mainName is the module that glue imports the main module's exports from.
const mainName = "main"

// New makes the linker of an interpreter whose main module was instantiated.
// The caller calls Close.
func New(c Config) *Linker {
	l := &Linker{
		c:    c,
		main: &object{module: mainName, static: c.Main.slots, added: map[uint32]uint32{}},
		host: make(map[string]symbol, len(c.HostFuncs)),
		libs: map[string]*library{}, handles: map[uint32]*library{},
		global: map[string]symbol{}, defs: map[string]symbol{},
		modules: map[string]api.Module{mainName: c.Instance},
		callers: map[string]api.Module{},
		slots:   slots{types: map[uint32]wasmbin.FuncType{}},
	}
	host := &object{module: HostModule, added: map[uint32]uint32{}}
	for i, f := range c.HostFuncs {
		l.host[f.Name] = symbol{definition{export: f.Name, kind: wasmbin.KindFunc, fn: uint32(i), typ: f.Type}, host}
	}
	return l
}

// Changes counts the requests that can change the table, or what is known
// of libraries and of functions of C. As long as it stays, the linker's state
// does, but for the libraries' variables: see [Linker.Reset].
func (l *Linker) Changes() int { return l.changes }

// Close closes the instances of all libraries. No guest code may run, or be
// called any more.
func (l *Linker) Close() error {
	if l.closed {
		return nil
	}
	l.closed = true
	var errs []error
	ctx := context.Background()
	for _, m := range l.parts {
		errs = append(errs, m.Close(ctx))
	}
	for i := len(l.glue) - 1; i >= 0; i-- {
		errs = append(errs, l.glue[i].Close(ctx))
	}
	return errors.Join(errs...)
}

// call calls an export of the main module; its error is fatal.
func (l *Linker) call(ctx context.Context, export string, args ...uint32) (uint32, error) {
	v, err := l.c.Call(ctx, export, args...)
	if err != nil {
		return 0, hostfn.Trap{Err: err}
	}
	if l.takeException() {
		return 0, fmt.Errorf("%s: an exception", export)
	}
	return v, nil
}

// takeException reports whether a call of the host's own has left an exception
// pending, and ends that.
func (l *Linker) takeException() bool {
	g, ok := l.c.Instance.ExportedGlobal(l.c.Exception).(api.MutableGlobal)
	if !ok || g.Get() == 0 {
		return false
	}
	g.Set(0)
	return true
}

// lookup finds a symbol that every library sees.
func (l *Linker) lookup(name string) (symbol, bool) {
	if s, ok := l.host[name]; ok {
		return s, true
	}
	if d, ok := l.c.Main.symbols[name]; ok {
		return symbol{d, l.main}, true
	}
	s, ok := l.global[name]
	return s, ok
}

// State is what a linker has done to its interpreter, for a snapshot of which
// memory and the size of the table are part: with them and the same libraries,
// [Linker.Restore] makes another linker of it. It is to be written as JSON.
type State struct {
	Instances int // of libraries that were ever made
	Libraries []LibraryState
	Handles   map[uint32]int // place in Libraries; -1: the main module
	Global    map[string]int // what a name means to all: place in Libraries
	Defined   map[string]int // and what its GOT entry means
	Free      [][2]uint32    // table slots: first and number
	Filled    []SlotState    // table slots that no element segment of theirs fills
}

// LibraryState is one loaded library.
type LibraryState struct {
	Path, Digest string
	Module       string // by which Env and other libraries' import from it
	Memory, Base uint32
	HasSlots     bool `json:"Placed"` // so in what exists
	Published    bool
	Known        bool // by its path; false after its constructor failed
	Needs        []int
	Env          []byte            // the module that it imports from env
	From         map[string]string // who provides a function, if not the main module
	Globals      map[string]uint64 // its mutable globals
}

// SlotState is a function in a slot: Owner is a place in Libraries, or
// -1 for the main module and -2 for the host.
type SlotState struct {
	Slot           uint32
	Owner          int
	Module, Export string
	Func           uint32
	Type           wasmbin.FuncType
}

// slots is what is known of the main module's table.
type slots struct {
	free    []span                      // in order, not touching one another
	types   map[uint32]wasmbin.FuncType // of what was added; the main module's own are in Main
	pending []pendingSlot
	filled  []pendingSlot // by flush
}

// span is a range of slots.
type span struct{ start, n uint32 }

// pendingSlot is a slot that flush will fill.
type pendingSlot struct {
	slot uint32
	symbol
}

// i32Func is a function type of i32s.
func i32Func(params, results int) wasmbin.FuncType {
	i32s := func(n int) []wasmbin.ValType { return slices.Repeat([]wasmbin.ValType{wasmbin.I32}, n) }
	return wasmbin.FuncType{Params: i32s(params), Results: i32s(results)}
}

// Generate compiles and instantiates a generated module. It imports from the objects
// of this interpreter: from the main module as "main".
func (l *Linker) Generate(ctx context.Context, wasm []byte) (api.Module, error) {
	l.changes++
	if len(l.glue) >= maxGlue {
		return nil, fmt.Errorf("too many libraries and C functions")
	}
	code, err := l.c.Compile(ctx, wasm)
	if err != nil {
		return nil, fmt.Errorf("generated module: %w", err)
	}
	m, err := l.c.Instantiate(l.resolver(ctx), code)
	if err != nil {
		return nil, fmt.Errorf("generated module: %w", err)
	}
	l.glue = append(l.glue, m)
	return m, nil
}

// resolver adds to ctx what generated modules import from. Host modules are found by
// wazero itself, in its store.
func (l *Linker) resolver(ctx context.Context) context.Context {
	return experimental.WithImportResolver(ctx, func(name string) api.Module { return l.modules[name] })
}

const (
	memoryName = "memory"
	tableName  = "__indirect_function_table"
)
