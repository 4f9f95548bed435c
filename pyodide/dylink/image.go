package dylink

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"coderunner/pyodide/wasmbin"
)

// Bounds on what one library may ask for.
const (
	maxMemory  = 1 << 30 // bytes
	maxAlign   = 16      // exponent
	maxSlots   = 1 << 20
	maxNeeded  = 256
	maxPathLen = 4096

	// What instances of the library cost the host, by kind.
	maxImports  = 100_000
	maxExports  = 400_000
	maxGlobals  = 100_000
	maxElements = 1_000_000
)

// envModule and wasiModule are the modules that libraries import from.
const (
	envModule  = "env"
	wasiModule = "wasi_snapshot_preview1"
)

// Image is what the linker must know of a rewritten side module beside its code.
type Image struct {
	Needed      []string // libraries, by name
	RuntimePath []string // directories to find them in; may begin with $ORIGIN

	memorySize, memoryAlign uint32 // bytes
	tableSize, tableAlign   uint32 // slots

	funcs   []funcImport
	globals []globalImport // of env, other than the two bases
	bases   []string       // of __memory_base and __table_base those imported
	got     []gotImport    // words in its memory, from gotAt on
	gotAt   uint32
	memory  *wasmbin.Limits // as imported; nil: it is not
	table   *wasmbin.Table

	exports map[string]definition
	slots   map[uint32]uint32           // by function, relative
	types   map[uint32]wasmbin.FuncType // by slot, relative
	start   bool                        // has a start function
	mutable []string                    // exported mutable globals with a number in them
	opaque  bool                        // there are others

	LargestBody int // bytes of the largest function
}

type funcImport struct {
	name       string
	typ        wasmbin.FuncType
	weak, host bool
}

type globalImport struct {
	name    string
	typ     wasmbin.ValType
	mutable bool
}

type gotImport struct {
	name string
	weak bool
}

// definition is something that a module exports.
type definition struct {
	export string // "": not exported, reachable by its slot only
	kind   wasmbin.Kind
	fn     uint32
	typ    wasmbin.FuncType
	addr   uint32 // of data, relative to the module's memory
}

// NewImage reads a side module after it was rewritten and went through [Rename].
// The error says why it
// cannot be loaded; it is a *wasmbin.FormatError if the module is malformed.
func NewImage(wasm []byte) (*Image, error) {
	m, err := wasmbin.Parse(wasm)
	if err != nil {
		return nil, err
	}
	if m.Dylink == nil {
		return nil, fmt.Errorf("not a shared library: no section dylink.0")
	}
	i := &Image{start: m.Start != wasmbin.NoFunc}
	for _, b := range m.Bodies {
		i.LargestBody = max(i.LargestBody, b.End-b.Start)
	}
	if err := i.sizes(m); err != nil {
		return nil, err
	}
	if err := checkCosts(m); err != nil {
		return nil, err
	}
	if err := i.imports(m); err != nil {
		return nil, err
	}
	if err := i.define(m); err != nil {
		return nil, err
	}
	return i, nil
}

func (i *Image) sizes(m *wasmbin.Module) error {
	d := m.Dylink
	switch {
	case len(m.Memories) > m.ImportedMemories || m.ImportedMemories > 1:
		return fmt.Errorf("a shared library must not have a memory of its own")
	case len(m.Tables) > m.ImportedTables || m.ImportedTables > 1:
		return fmt.Errorf("a shared library must not have a table of its own")
	case d.MemorySize > maxMemory:
		return fmt.Errorf("it wants %d bytes of memory, at most %d are possible", d.MemorySize, maxMemory)
	case d.MemoryAlign > maxAlign || d.TableAlign > maxAlign:
		return fmt.Errorf("it wants an alignment of 2^%d, at most 2^%d is possible", max(d.MemoryAlign, d.TableAlign), maxAlign)
	case d.TableSize > maxSlots:
		return fmt.Errorf("it wants %d table slots, at most %d are possible", d.TableSize, maxSlots)
	case len(d.Needed) > maxNeeded || len(d.RuntimePath) > maxNeeded:
		return fmt.Errorf("it needs %d libraries in %d directories, at most %d are possible", len(d.Needed), len(d.RuntimePath), maxNeeded)
	}
	for _, s := range slices.Concat(d.Needed, d.RuntimePath) {
		if len(s) > maxPathLen || s == "" || strings.ContainsRune(s, 0) {
			return fmt.Errorf("it needs a library with a name that no file can have")
		}
	}
	got, err := m.GOT()
	if err != nil {
		return err
	}
	i.memorySize, i.memoryAlign = d.MemorySize, 1<<d.MemoryAlign
	if n := uint64(len(got.Names)); n > 0 {
		end := uint64(got.Offset) + 4*n
		if n > maxImports || end > maxMemory {
			return fmt.Errorf("it wants %d addresses in %d bytes of memory, at most %d in %d are possible", n, end, maxImports, maxMemory)
		}
		i.gotAt, i.memorySize, i.memoryAlign = got.Offset, max(i.memorySize, uint32(end)), max(i.memoryAlign, 4)
	}
	for _, name := range got.Names {
		i.got = append(i.got, gotImport{name: strings.Clone(name)})
	}
	i.tableSize, i.tableAlign = d.TableSize, 1<<d.TableAlign
	i.Needed, i.RuntimePath = cloneAll(d.Needed), cloneAll(d.RuntimePath)
	return nil
}

// checkCosts bounds what an instance takes of the host's memory.
func checkCosts(m *wasmbin.Module) error {
	elements := 0
	for _, e := range m.Elements {
		elements += max(len(e.Funcs), len(e.Items))
	}
	for _, c := range []struct {
		what   string
		n, max int
	}{
		{"imports", len(m.Imports), maxImports},
		{"exports", len(m.Exports), maxExports},
		{"global variables", len(m.Globals), maxGlobals},
		{"table elements", elements, maxElements},
	} {
		if c.n > c.max {
			return fmt.Errorf("it has %d %s, at most %d are possible", c.n, c.what, c.max)
		}
	}
	return nil
}

// cloneAll copies strings that alias a module, which would be kept by them.
func cloneAll(in []string) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = strings.Clone(s)
	}
	return out
}

func (i *Image) imports(m *wasmbin.Module) error {
	weak := map[string]bool{}
	for _, im := range m.Dylink.Imports {
		if im.Weak() {
			weak[im.Name] = true
		}
	}
	for n := range i.got {
		i.got[n].weak = weak[i.got[n].name]
	}
	seen := map[string]wasmbin.FuncType{}
	have := map[string]bool{}
	for _, im := range m.Imports {
		name := strings.Clone(im.Name)
		if im.Kind == wasmbin.KindFunc {
			t := m.FuncType(im.Index)
			if f, ok := providedBy(im.Module); im.Module != HostModule && (!ok || f != name) {
				return fmt.Errorf("it imports a function from the module %q", im.Module)
			}
			if o, ok := seen[name]; !ok {
				seen[name] = t
				i.funcs = append(i.funcs, funcImport{name, cloneType(t), weak[name], im.Module == HostModule})
			} else if !o.Equal(t) {
				return fmt.Errorf("it imports the function %s with two types", name)
			}
			continue
		}
		key := fmt.Sprint(im.Kind, im.Module, "\x00", name)
		if have[key] {
			continue
		}
		have[key] = true
		if err := i.otherImport(m, im, name); err != nil {
			return err
		}
	}
	return nil
}

func cloneType(t wasmbin.FuncType) wasmbin.FuncType {
	return wasmbin.FuncType{Params: slices.Clone(t.Params), Results: slices.Clone(t.Results)}
}

func (i *Image) otherImport(m *wasmbin.Module, im wasmbin.Import, name string) error {
	switch {
	case im.Kind == wasmbin.KindMemory && im.Module == envModule && name == "memory":
		l := m.Memories[im.Index]
		if l.Shared {
			return fmt.Errorf("it was built with threads, which are not supported")
		}
		i.memory = &l
	case im.Kind == wasmbin.KindTable && im.Module == envModule && name == "__indirect_function_table":
		t := m.Tables[im.Index]
		if t.Type != wasmbin.FuncRef {
			return fmt.Errorf("it imports a table of %v", t.Type)
		}
		i.table = &t
	case im.Kind == wasmbin.KindGlobal && im.Module == envModule:
		g := m.Globals[im.Index]
		if name == "__memory_base" || name == "__table_base" {
			if g.Type != wasmbin.I32 || g.Mutable {
				return fmt.Errorf("it imports %s with a wrong type", name)
			}
			i.bases = append(i.bases, name)
			return nil
		}
		i.globals = append(i.globals, globalImport{name, g.Type, g.Mutable})
	default:
		return fmt.Errorf("it imports the %v %s.%s, which does not exist", im.Kind, im.Module, name)
	}
	return nil
}

func (i *Image) define(m *wasmbin.Module) error {
	i.exports = make(map[string]definition, len(m.Exports))
	for _, e := range m.Exports {
		name := strings.Clone(e.Name)
		if strings.HasPrefix(name, "__em_js__") {
			return fmt.Errorf("it contains inline JavaScript (EM_JS %s), which cannot run here", strings.TrimPrefix(name, "__em_js__"))
		}
		if name == "__start_em_asm" {
			return fmt.Errorf("it contains inline JavaScript (EM_ASM), which cannot run here")
		}
		switch e.Kind {
		case wasmbin.KindFunc:
			i.exports[name] = definition{export: name, kind: e.Kind, fn: e.Index, typ: cloneType(m.FuncType(e.Index))}
		case wasmbin.KindGlobal:
			g := m.Globals[e.Index]
			switch {
			case !g.Mutable:
			case g.Type == wasmbin.I32, g.Type == wasmbin.I64, g.Type == wasmbin.F32, g.Type == wasmbin.F64:
				i.mutable = append(i.mutable, name)
			default:
				i.opaque = true
			}
			if v, ok := g.Init.Const32(); ok && !g.Mutable {
				i.exports[name] = definition{export: name, kind: e.Kind, addr: uint32(v)}
			}
		}
	}
	i.slots, i.types = m.FuncSlots, map[uint32]wasmbin.FuncType{}
	maps.DeleteFunc(i.slots, func(_, slot uint32) bool { return slot >= i.tableSize })
	m.Slots(func(slot, fn uint32) {
		if slot < i.tableSize {
			i.types[slot] = cloneType(m.FuncType(fn))
		}
	})
	return nil
}

// internal reports whether a name belongs to the convention itself and is not a symbol.
func internal(name string) bool {
	switch name {
	case "memory", "__memory_base", "__table_base", "__stack_pointer", "__indirect_function_table",
		"__cpp_exception", "__c_longjmp", "__wasm_apply_data_relocs", "__dso_handle",
		"__tls_size", "__tls_align", "__set_stack_limits", "_emscripten_tls_init", "__wasm_init_tls",
		"__wasm_call_ctors", "__start_em_asm", "__stop_em_asm", "__start_em_js", "__stop_em_js":
		return true
	}
	return strings.HasPrefix(name, "__global_") || strings.HasPrefix(name, "__table_")
}

// alignUp rounds p up to a multiple of align, a power of two; false when that
// does not fit.
func alignUp(p, align uint32) (uint32, bool) {
	v, carry := bits.Add32(p, align-1, 0)
	return v &^ (align - 1), carry == 0
}

// providedBy cuts the function's name from the module that Rename has made of
// it.
func providedBy(module string) (function string, ok bool) {
	return strings.CutPrefix(module, symbolPrefix)
}

// HostModule is the module that libraries import the host's functions from,
// after Rename.
const HostModule = "host"

// symbolPrefix, with a function's name, is the module that it is imported from
// after Rename. So wazero asks for the provider of each function by itself, and
// gets the instance that defines it: no module has to pass thousands of
// functions on.
const symbolPrefix = "fn:"
