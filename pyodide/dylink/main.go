package dylink

import (
	"fmt"

	"coderunner/pyodide/wasmbin"
)

// Main is what is known of the main module, the same for all interpreters.
type Main struct {
	symbols map[string]definition
	slots   map[uint32]uint32 // by function
	types   []wasmbin.FuncType
	byslot  []uint32 // index in types, noType for none
}

const noType = ^uint32(0)

// MainFacts are what rewriting the main module has shown.
type MainFacts struct {
	Symbols   map[string]uint32 // addresses of data
	Slots     map[string]uint32 // slots of functions, whether they are exported or not
	SlotTypes []uint32          // by slot: index in Types, or ^0
	Types     []wasmbin.FuncType
}

// NewMain reads the rewritten main module.
func NewMain(wasm []byte, facts MainFacts) (*Main, error) {
	m, err := wasmbin.Parse(wasm)
	if err != nil {
		return nil, fmt.Errorf("read the main module: %w", err)
	}
	main := &Main{symbols: make(map[string]definition, len(m.Exports)+len(facts.Symbols)),
		slots: m.FuncSlots, types: facts.Types, byslot: facts.SlotTypes}
	atSlot := make(map[uint32]uint32, len(main.slots))
	for fn, slot := range main.slots {
		atSlot[slot] = fn
	}
	for name, a := range facts.Symbols {
		if !internal(name) {
			main.symbols[name] = definition{export: name, kind: wasmbin.KindGlobal, addr: a}
		}
	}
	for name, slot := range facts.Slots {
		if fn, ok := atSlot[slot]; ok && !internal(name) {
			main.symbols[name] = definition{kind: wasmbin.KindFunc, fn: fn, typ: m.FuncType(fn)}
		}
	}
	for _, e := range m.Exports {
		if e.Kind == wasmbin.KindFunc && !internal(e.Name) {
			main.symbols[e.Name] = definition{export: e.Name, kind: e.Kind, fn: e.Index, typ: m.FuncType(e.Index)}
		}
	}
	return main, nil
}

// typeAt returns the type of the function in one of the main module's slots.
func (m *Main) typeAt(slot uint32) (wasmbin.FuncType, bool) {
	if slot >= uint32(len(m.byslot)) || m.byslot[slot] == noType {
		return wasmbin.FuncType{}, false
	}
	return m.types[m.byslot[slot]], true
}
