package engine

import (
	"context"
	"slices"

	"github.com/tetratelabs/wazero/api"

	"coderunner/pyodide/linmem"
	"coderunner/pyodide/rewrite"
)

// spare is the module and the memory of an instance that has ended, for the next one of the
// same image: instantiating takes longer than a short program. Its memory is the image's.
type spare struct {
	image  *image
	mod    api.Module
	memory *linmem.Memory
}

// maxReset bounds the bytes that are copied of an image. Where more was written, it is mapped
// anew.
const maxReset = 2 << 20

// reset makes the memory and the globals what the next instance begins with, and reports
// whether that is all: modules of languages do not change their tables.
func (s *spare) reset() bool {
	if s.image == nil || s.memory.Committed() != s.image.Size || s.memory.Refused() {
		return false
	}
	s.memory.Share(nil)
	for _, name := range []string{rewrite.FlagGlobal, rewrite.ValueGlobal, rewrite.InterruptGlobal, rewrite.FuelGlobal} {
		if g, ok := s.mod.ExportedGlobal(name).(api.MutableGlobal); ok {
			g.Set(0)
		}
	}
	written, err := s.memory.Written()
	total := uint64(0)
	for _, r := range written {
		total += r.Length
	}
	if err != nil || total > maxReset {
		return s.memory.Map(s.image.file, 0, 0, s.image.Size) == nil
	}
	for _, r := range written {
		b, ok := s.mod.Memory().Read(uint32(r.Offset), uint32(r.Length))
		if _, err := s.image.file.ReadAt(b, int64(r.Offset)); err != nil || !ok {
			return false
		}
	}
	return true
}

func (s *spare) close() {
	if s.mod != nil {
		_ = s.mod.Close(context.Background()) // it never fails
	}
	_ = s.memory.Unmap() // there is nothing to do about it
}

// reuse makes the instance of a spare, and reports whether there was one.
func (in *Instance) reuse() bool {
	s := in.code.begun.spare.Swap(nil)
	if s == nil {
		return false
	}
	if !slices.Equal(s.image.Dirs, in.dirs) || !in.k.FS().Reserve(int64(s.image.Size)) {
		s.close()
		return false
	}
	in.image, in.mod, in.memory = s.image, s.mod, s.memory
	return true
}
