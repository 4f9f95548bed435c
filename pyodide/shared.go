package pyodide

import (
	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/pyodide/linmem"
)

// hostPage is the unit of mappings: a multiple of every host's page size that
// divides the alignment of the guest's mappings.
const hostPage = linmem.PageSize

// mapShared makes guest memory, whose address is a multiple of hostPage and which
// has whole ones, the memory of a file that processes share.
func (in *instance) mapShared(f *memfs.File, addr, length uint32, off int64) abi.Errno {
	size := (int64(length) + hostPage - 1) / hostPage * hostPage
	if addr%hostPage != 0 || off%hostPage != 0 {
		return abi.EINVAL
	}
	s, errno := f.Share(off+size, func() (memfs.Shared, error) { return linmem.NewShared() })
	if errno != abi.OK {
		return errno
	}
	if err := in.memory.MapShared(s.(*linmem.Shared), off, uint64(addr), uint64(size)); err != nil {
		return abi.ENOMEM
	}
	in.foreign = true
	in.remapped = append(in.remapped, linmem.Range{Offset: uint64(addr), Length: uint64(size)})
	return abi.OK
}

// unmapShared ends mapShared.
func (in *instance) unmapShared(addr, length uint32) {
	size := (uint64(length) + hostPage - 1) / hostPage * hostPage
	if err := in.memory.UnmapShared(uint64(addr), size); err != nil {
		in.dead = true // it must not be used again
	}
}
