package linmem

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
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

// pagemap is the file of that name.
var pagemap atomic.Pointer[os.File]

// UsePagemap sets this process's /proc/self/pagemap, for one that may not open it.
func UsePagemap(f *os.File) { pagemap.Store(f) }

func openPagemap() (*os.File, error) {
	if f := pagemap.Load(); f != nil {
		return f, nil
	}
	f, err := os.Open("/proc/self/pagemap")
	if err == nil && !pagemap.CompareAndSwap(nil, f) {
		f.Close()
		f = pagemap.Load()
	}
	return f, err
}

// PAGEMAP_SCAN and its argument, see include/uapi/linux/fs.h (Linux 6.7). It
// takes a tenth of the time of reading all entries.
const pagemapScan = 0xc0606610

const (
	scanFile    = 1 << 2
	scanPresent = 1 << 3
	scanSwapped = 1 << 4
	scanZero    = 1 << 5
)

type scanArg struct {
	size, flags, start, end, walkEnd, vec, vecLen, maxPages uint64

	inverted, mask, anyOf, returned uint64
}

type scanRegion struct{ start, end, _ uint64 } // the last are its categories

// regionsPool has what the kernel writes to: it is told a number, so it must be
// where the collector does not move it, which is the heap.
var regionsPool = sync.Pool{New: func() any { return new([256]scanRegion) }}

// written finds the pages of [0, size) that are neither a file's nor untouched.
func (a *area) written(size uint64) ([]Range, error) {
	f, err := openPagemap()
	if err != nil {
		return nil, err
	}
	if out, err := a.scan(f, size); err == nil {
		return out, nil
	}
	return a.readEntries(f, size)
}

// scan has the kernel look for them.
func (a *area) scan(f *os.File, size uint64) (out []Range, err error) {
	regions := regionsPool.Get().(*[256]scanRegion)
	defer regionsPool.Put(regions)
	base := uint64(uintptr(a.base))
	arg := scanArg{
		size: uint64(unsafe.Sizeof(scanArg{})), start: base, end: base + size,
		vec: uint64(uintptr(unsafe.Pointer(regions))), vecLen: uint64(len(regions)),
		inverted: scanFile | scanZero, mask: scanFile | scanZero, anyOf: scanPresent | scanSwapped, returned: scanPresent,
	}
	for arg.start < arg.end {
		n, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), pagemapScan, uintptr(unsafe.Pointer(&arg)))
		if errno != 0 {
			return nil, fmt.Errorf("scan %s: %w", f.Name(), errno)
		}
		for _, r := range regions[:n] {
			out = appendRange(out, Range{r.start - base, r.end - r.start})
		}
		if arg.walkEnd <= arg.start {
			return nil, fmt.Errorf("scan %s: no progress", f.Name())
		}
		arg.start = arg.walkEnd
	}
	return out, nil
}

// readEntries reads the entries of all pages.
func (a *area) readEntries(f *os.File, size uint64) (out []Range, err error) {
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
	known := false
	for i := uint64(0); i < size/page; i++ {
		e := binary.NativeEndian.Uint64(entries[i*8:])
		known = known || e != 0
		if e&(pagePresent|pageSwapped) == 0 || e&pagePresent != 0 && e&pageOfFile != 0 {
			continue
		}
		out = appendRange(out, Range{i * page, page})
	}
	if !known {
		return nil, errors.New("the kernel tells of no page")
	}
	return out, nil
}

// pageFaults returns how often a page of the process was missing or could not be written to,
// 0 if that is not known. The kernel counts a fault when it has served it.
func pageFaults() uint64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return uint64(u.Minflt) + uint64(u.Majflt)
}

// smallPages keeps the kernel from joining pages of [0, size) to huge ones.
func (a *area) smallPages(size uint64) error {
	return unix.Madvise(unsafe.Slice((*byte)(a.base), size), unix.MADV_NOHUGEPAGE)
}

// revert drops the private copies of pages.
func (a *area) revert(r Range) error {
	return unix.Madvise(unsafe.Slice((*byte)(unsafe.Add(a.base, r.Offset)), r.Length), unix.MADV_DONTNEED)
}
