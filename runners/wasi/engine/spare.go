package engine

import (
	"context"
	"slices"

	"github.com/tetratelabs/wazero/api"

	"coderunner/pyodide/rewrite"
)

// keep makes the module and the memory of an instance that has ended what its image has, for
// the next one: instantiating takes longer than a short program. It reports false if they are
// of no use. Modules of languages do not change their tables, so there is nothing else.
func (in *Instance) keep() bool {
	if in.image == nil || in.memory.Committed() != in.image.Size || in.memory.Refused() {
		return false
	}
	for _, name := range []string{rewrite.FlagGlobal, rewrite.ValueGlobal, rewrite.InterruptGlobal, rewrite.FuelGlobal} {
		if g, ok := in.mod.ExportedGlobal(name).(api.MutableGlobal); ok {
			g.Set(0)
		}
	}
	in.memory.Share(nil)
	return in.memory.Reset(in.image.file) == nil &&
		in.code.begun.spare.CompareAndSwap(nil, &Instance{image: in.image, mod: in.mod, memory: in.memory})
}

// reuse makes the instance of a spare, and reports whether there was one that fits.
func (in *Instance) reuse() bool {
	s := in.code.begun.spare.Swap(nil)
	if s == nil {
		return false
	}
	if !slices.Equal(s.image.Dirs, in.dirs) || !in.k.FS().Reserve(int64(s.image.Size)) {
		s.free()
		return false
	}
	in.image, in.mod, in.memory = s.image, s.mod, s.memory
	return true
}

// free ends the module and the memory.
func (in *Instance) free() {
	if in.mod != nil {
		_ = in.mod.Close(context.Background()) // it never fails
	}
	_ = in.memory.Unmap() // there is nothing to do about it
}
