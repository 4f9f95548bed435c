package linmem

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Bits of an entry of /proc/self/pagemap, see the kernel's
// Documentation/admin-guide/mm/pagemap.rst.
const (
	pagePresent = 1 << 63
	pageSwapped = 1 << 62
	pageOfFile  = 1 << 61 // or shared
)

// entriesPool has buffers for the entries of a memory, which are a five
// hundredth of it.
var entriesPool sync.Pool // of *[]byte

var openPagemap = sync.OnceValues(func() (*os.File, error) { return os.Open("/proc/self/pagemap") })

// written finds the pages of [0, size) that are neither a file's nor untouched.
func (a *area) written(size uint64) ([]Range, error) {
	f, err := openPagemap()
	if err != nil {
		return nil, err
	}
	page := uint64(os.Getpagesize())
	buffer, _ := entriesPool.Get().(*[]byte)
	if buffer == nil || uint64(len(*buffer)) < size/page*8 {
		b := make([]byte, size/page*8)
		buffer = &b
	}
	defer entriesPool.Put(buffer)
	entries := (*buffer)[:size/page*8]
	if _, err := f.ReadAt(entries, int64(uint64(uintptr(a.base))/page*8)); err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	var out []Range
	known := false
	for i := uint64(0); i < size/page; i++ {
		e := binary.NativeEndian.Uint64(entries[i*8:])
		known = known || e != 0
		if e&(pagePresent|pageSwapped) == 0 || e&pagePresent != 0 && e&pageOfFile != 0 {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Offset+out[n-1].Length == i*page {
			out[n-1].Length += page
		} else {
			out = append(out, Range{i * page, page})
		}
	}
	if !known {
		return nil, errors.New("the kernel tells of no page")
	}
	return out, nil
}

// revert drops the private copies of pages.
func (a *area) revert(r Range) error {
	return unix.Madvise(unsafe.Slice((*byte)(unsafe.Add(a.base, r.Offset)), r.Length), unix.MADV_DONTNEED)
}
