//go:build !unix

package linmem

import (
	"os"
	"unsafe"
)

// area is a slice that is copied to grow.
type area struct{ b []byte }

func (a *area) reserve(uint64) error { return nil }

func (a *area) commit(from, to uint64) ([]byte, error) {
	if uint64(cap(a.b)) < to {
		grown := make([]byte, to, to+to/4)
		copy(grown, a.b)
		a.b = grown
	}
	a.b = a.b[:to]
	return a.b, nil
}

func (a *area) release(uint64) error {
	a.b = nil
	return nil
}

func (a *area) word(addr uint32) *uint32 { return (*uint32)(unsafe.Pointer(&a.b[addr])) }

func (a *area) mapFile(file *os.File, base int64, offset, length uint64) error {
	_, err := file.ReadAt(a.b[offset:offset+length], base)
	return err
}
