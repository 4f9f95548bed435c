package rewrite

import (
	"fmt"
	"slices"

	"coderunner/pyodide/wasmbin"
)

// Info describes a module to the host, without its code.
type Info struct {
	// Symbols are the values of the exported immutable i32 globals: addresses of
	// data; in a side module relative to where its memory begins.
	Symbols map[string]uint32

	Functions

	// Data is what the lean form leaves out: the host writes it in this order
	// before anything runs, except when a snapshot is restored.
	Data []Segment

	// Trampoline is the slot of the call trampoline, if there is one.
	Trampoline uint32

	Threads ThreadState // zero without Options.Threads

	// Globals names the exports of the mutable globals that are part of an
	// instance's state. Ours are not among them, except those of the trampoline.
	Globals []string
	// Tables describes the tables of a main module.
	Tables []Table

	places places // with Options.Places; it is not encoded, as nobody wants it later

	Stats Stats
}

// Functions describes the functions in table 0, for booting and linking.
type Functions struct {
	// Slots has the slot of table 0 that the module's own element segments give
	// an exported function; relative like SlotTypes.
	Slots map[string]uint32
	// SlotTypes has for each slot of table 0, up to the last that the module
	// itself fills, the index in Types of the function's type, or NoType. Slots
	// of a side module are relative to where its part of the table begins.
	SlotTypes []uint32
	Types     []wasmbin.FuncType
}

// NoType in SlotTypes marks a slot that is empty.
const NoType = ^uint32(0)

// Table names the exports that belong to a table.
type Table struct {
	Type               wasmbin.ValType
	Min                uint32 // elements after instantiation
	Export, Size, Grow string
}

// Arity returns the arity table for the trampoline, one byte a slot.
func (f *Functions) Arity() []byte {
	out := make([]byte, len(f.SlotTypes))
	for s, t := range f.SlotTypes {
		out[s] = noArity
		if t != NoType {
			out[s] = arityOf(f.Types[t])
		}
	}
	return out
}

// ArityOf returns the byte that the arity table has for a function type.
func ArityOf(t wasmbin.FuncType) byte { return arityOf(t) }

func (r *rewriter) info() *Info {
	m := r.m
	i := &Info{Symbols: map[string]uint32{}, Functions: Functions{Slots: map[string]uint32{}, Types: m.Types}}
	hidden := make([]string, len(m.Globals))
	for g := m.ImportedGlobals; g < len(m.Globals); g++ {
		if m.Globals[g].Mutable {
			hidden[g] = fmt.Sprint(globalPrefix, g)
		}
	}
	for _, e := range m.Exports {
		switch e.Kind {
		case wasmbin.KindFunc:
			if s, ok := m.FuncSlots[e.Index]; ok && r.threads.split[e.Name] == 0 {
				i.Slots[e.Name] = s
			}
		case wasmbin.KindGlobal:
			g := m.Globals[e.Index]
			if v, ok := g.Init.Const32(); ok && !g.Mutable {
				i.Symbols[e.Name] = uint32(v)
			}
			if g.Mutable && hidden[e.Index] == fmt.Sprint(globalPrefix, e.Index) {
				hidden[e.Index] = e.Name
			}
		}
	}
	for _, name := range hidden {
		if name != "" {
			i.Globals = append(i.Globals, name)
		}
	}
	if r.o.Trampoline {
		i.Trampoline = m.Tables[0].Min
		i.Globals = append(i.Globals, ArityTable, ArityLen)
	}
	if r.o.Lean {
		i.Data = segments(m)
	}
	i.Threads = r.threads.state
	r.slotTypes(i)
	if !r.o.Side {
		i.Tables = r.tableInfo()
	}
	return i
}

func (r *rewriter) slotTypes(i *Info) {
	limit := uint32(0)
	switch {
	case r.o.Side && r.m.Dylink != nil:
		limit = r.m.Dylink.TableSize
	case len(r.m.Tables) > 0:
		limit = r.m.Tables[0].Min
	}
	n := uint32(0)
	r.m.Slots(func(slot, _ uint32) {
		if slot < limit {
			n = max(n, slot+1)
		}
	})
	i.SlotTypes = slices.Repeat([]uint32{NoType}, int(n))
	r.m.Slots(func(slot, fn uint32) {
		if slot < n {
			i.SlotTypes[slot] = r.m.Funcs[fn]
		}
	})
}

func (r *rewriter) tableInfo() []Table {
	out := make([]Table, len(r.m.Tables))
	for i, t := range r.m.Tables {
		out[i] = Table{Type: t.Type, Min: t.Min, Export: fmt.Sprint(tablePrefix, i), Size: fmt.Sprint(sizePrefix, i), Grow: fmt.Sprint(growPrefix, i)}
	}
	if r.o.Trampoline {
		out[0].Min++
	}
	for _, e := range r.m.Exports {
		if e.Kind == wasmbin.KindTable && out[e.Index].Export == fmt.Sprint(tablePrefix, e.Index) {
			out[e.Index].Export = e.Name
		}
	}
	return out
}
