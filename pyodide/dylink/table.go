package dylink

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero/api"

	"coderunner/pyodide/wasmbin"
)

// maxCallers bounds the types of functions that can be called: wazero never
// forgets a function type.
const maxCallers = 512

// What follows is for libffi, which makes functions at run time and calls
// those in slots.

// TakeSlot returns an empty slot.
func (l *Linker) TakeSlot(ctx context.Context) (uint32, error) { return l.takeSlots(ctx, 1, 1) }

// FreeSlot empties a slot that TakeSlot returned, and frees it.
func (l *Linker) FreeSlot(ctx context.Context, slot uint32) error {
	if err := l.clear(ctx, slot, 1); err != nil {
		return err
	}
	l.freeSlots(slot, 1)
	return nil
}

// SetType records the type of what has been put into a slot.
func (l *Linker) SetType(ctx context.Context, slot uint32, t wasmbin.FuncType) error {
	return l.setType(ctx, slot, t)
}

// TypeAt returns the type of the function in a slot, if the linker knows of one.
func (l *Linker) TypeAt(slot uint32) (wasmbin.FuncType, bool) {
	if t, ok := l.slots.types[slot]; ok {
		return t, true
	}
	for _, d := range l.order {
		if rel := slot - d.base; d.hasSlots && slot >= d.base && rel < d.Image.tableSize {
			t, ok := d.Image.types[rel]
			return t, ok
		}
	}
	return l.c.Main.typeAt(slot)
}

// variadic are functions of libc that take any arguments after those that have names,
// and how many have.
var variadic = []struct {
	name  string
	named int
}{
	{"printf", 1}, {"fprintf", 2}, {"sprintf", 2}, {"snprintf", 3}, {"dprintf", 2},
	{"scanf", 1}, {"sscanf", 2}, {"fscanf", 2}, {"wprintf", 1}, {"swprintf", 3}, {"swscanf", 2},
	{"open", 2}, {"fcntl", 2}, {"ioctl", 2}, {"syslog", 2}, {"execl", 2}, {"PyUnicode_FromFormat", 1}, {"PyErr_Format", 2},
}

// Named returns how many arguments of the function in a slot have names, if any may
// follow them.
func (l *Linker) Named(slot uint32) (int, bool) {
	for _, f := range variadic {
		if def, ok := l.c.Main.symbols[f.name]; ok && def.kind == wasmbin.KindFunc {
			if at, ok := l.main.slot(def.fn); ok && at == slot {
				return f.named, true
			}
		}
	}
	return 0, false
}

// Caller returns a function that takes the arguments of a function type and a
// slot, and calls what is in the slot. It is for one call.
func (l *Linker) Caller(ctx context.Context, t wasmbin.FuncType) (api.Function, error) {
	key := typeText(t)
	m := l.callers[key]
	if m == nil {
		if len(l.callers) >= maxCallers {
			return nil, fmt.Errorf("functions of more than %d types are called", maxCallers)
		}
		var b wasmbin.Builder
		b.ImportTable(mainName, tableName, wasmbin.Table{Type: wasmbin.FuncRef})
		var body []byte
		for i := range len(t.Params) + 1 {
			body = wasmbin.AppendOp(body, wasmbin.OpLocalGet, uint32(i))
		}
		body = append(wasmbin.AppendOp(body, wasmbin.OpCallIndirect, b.Type(t)), 0)
		with := wasmbin.FuncType{Params: append(append([]wasmbin.ValType{}, t.Params...), wasmbin.I32), Results: t.Results}
		b.Export("call", wasmbin.KindFunc, b.Func(with, nil, body))
		var err error
		if m, err = l.Generate(ctx, b.Bytes()); err != nil {
			return nil, err
		}
		l.callers[key] = m
	}
	return m.ExportedFunction("call"), nil
}
