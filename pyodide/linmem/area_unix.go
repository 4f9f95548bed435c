//go:build unix

package linmem

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// area is an anonymous private mapping, inaccessible until committed.
type area struct{ base unsafe.Pointer }

func (a *area) reserve(limit uint64) (err error) {
	a.base, err = unix.MmapPtr(-1, 0, nil, uintptr(limit), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	return err
}

// commit makes [from, to) accessible and returns [0, to).
func (a *area) commit(from, to uint64) ([]byte, error) {
	if to > from {
		grown := unsafe.Slice((*byte)(unsafe.Add(a.base, from)), to-from)
		if err := unix.Mprotect(grown, unix.PROT_READ|unix.PROT_WRITE); err != nil {
			return nil, err
		}
	}
	return unsafe.Slice((*byte)(a.base), to), nil
}

func (a *area) release(limit uint64) error {
	if a.base == nil {
		return nil
	}
	base := a.base
	a.base = nil
	return unix.MunmapPtr(base, uintptr(limit))
}

func (a *area) word(addr uint32) *uint32 { return (*uint32)(unsafe.Add(a.base, addr)) }

// mapFile keeps file from being closed, and its descriptor from becoming
// another file's, while it is mapped.
func (a *area) mapFile(file *os.File, base int64, offset, length uint64) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	cerr := conn.Control(func(fd uintptr) {
		_, err = unix.MmapPtr(int(fd), base, unsafe.Add(a.base, offset), uintptr(length),
			unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED)
	})
	return errors.Join(cerr, err)
}
