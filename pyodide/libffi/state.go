package libffi

import (
	"context"
	"fmt"

	"coderunner/pyodide/wasmbin"
)

// State is what closures there are, for a snapshot of which memory is part. It
// is to be written as JSON.
type State struct {
	Closures []ClosureState
	Taken    []uint32 // slots of closures that were allocated and not prepared
}

// ClosureState is one closure: its slot, its address, and the module that makes
// functions of its type.
type ClosureState struct {
	Slot, Address uint32
	Module        []byte
	Type          wasmbin.FuncType
}

// State describes the closures. It must not be called while guest code runs.
func (f *FFI) State() State {
	var s State
	for slot, c := range f.closures {
		s.Closures = append(s.Closures, ClosureState{slot, uint32(c.mod.ExportedGlobal("closure").Get()), []byte(c.key), c.typ})
	}
	for slot := range f.taken {
		s.Taken = append(s.Taken, slot)
	}
	return s
}

// Restore makes the closures of a state again, in a new FFI. Their slots are
// empty, and not free.
func (f *FFI) Restore(ctx context.Context, s State) error {
	for _, slot := range s.Taken {
		f.taken[slot] = true
	}
	for _, cs := range s.Closures {
		c, err := f.instance(ctx, cs.Module, cs.Type)
		if err != nil {
			return err
		}
		if err := f.install(ctx, c, cs.Address, cs.Slot); err != nil {
			return fmt.Errorf("restore a closure: %w", err)
		}
	}
	return nil
}
