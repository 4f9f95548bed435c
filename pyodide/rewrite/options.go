package rewrite

import (
	"fmt"
	"strings"

	"coderunner/pyodide/wasmbin"
)

// Names of what is added, see the package comment.
const (
	FlagGlobal      = "__eh_flag"
	ValueGlobal     = "__eh_val"
	InterruptGlobal = "__interrupt_flag"
	FuelGlobal      = "__interrupt_fuel"
	ArityTable      = "__arity_table"
	ArityLen        = "__arity_len"
	ThreadStart     = "__thread_start"

	globalPrefix = "__global_"
	tablePrefix  = "__table_"
	sizePrefix   = "__table_size_"
	growPrefix   = "__table_grow_"
)

// reserved reports whether a name is one that we add. __table_base is
// Emscripten's.
func reserved(name string) bool {
	switch name {
	case FlagGlobal, ValueGlobal, InterruptGlobal, FuelGlobal, ArityTable, ArityLen, ThreadStart:
		return true
	case "__table_base":
		return false
	}
	return strings.HasPrefix(name, globalPrefix) || strings.HasPrefix(name, tablePrefix)
}

// checkNames refuses modules that use our names: a side module that imported
// the fuel could keep itself from being stopped.
func (r *rewriter) checkNames() error {
	for _, im := range r.m.Imports {
		if reserved(im.Name) {
			return r.fail("import", 0, "the name %q is reserved", im.Name)
		}
	}
	for _, e := range r.m.Exports {
		if reserved(e.Name) {
			return r.fail("export", 0, "the name %q is reserved", e.Name)
		}
	}
	return nil
}

func (r *rewriter) checkOptions() error {
	if r.o.Side && (r.o.Lean || r.o.Trampoline) {
		return fmt.Errorf("rewrite: a side module has neither a lean form nor a trampoline")
	}
	if r.o.Trampoline {
		switch {
		case len(r.m.Tables) == 0 || r.m.ImportedTables > 0 || r.m.Tables[0].Type != wasmbin.FuncRef:
			return fmt.Errorf("rewrite: trampoline: the module does not define table 0")
		case len(r.m.Memories) == 0:
			return fmt.Errorf("rewrite: trampoline: the module has no memory")
		}
	}
	return nil
}

// checkLean refuses main modules that the lean form would break.
func (r *rewriter) checkLean() error {
	for _, im := range r.m.Imports {
		switch {
		case im.Kind == wasmbin.KindFunc, im.Kind == wasmbin.KindTag:
		case im.Kind == wasmbin.KindGlobal && im.Module == "GOT.func" && r.m.Globals[im.Index].Type == wasmbin.I32:
		default:
			return r.fail("import", 0, "lean form: unexpected %v import %s.%s", im.Kind, im.Module, im.Name)
		}
	}
	for i, d := range r.m.Data {
		if _, ok := d.Offset.Const32(); d.Mode != wasmbin.Active || !ok {
			return r.fail("data", 0, "lean form: segment %d is not active at a constant offset", i)
		}
	}
	return nil
}

// kept reports whether an export of the module is kept.
func (r *rewriter) kept(e wasmbin.Export) bool {
	switch e.Kind {
	case wasmbin.KindTag:
		return false
	case wasmbin.KindGlobal:
		return !r.o.Lean || r.m.Globals[e.Index].Mutable && e.Index >= uint32(r.m.ImportedGlobals)
	}
	return true
}
