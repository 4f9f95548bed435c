// Package linmem is a wasm instance's linear memory, which never moves: one
// reservation of the cap's size whose front is made accessible as it grows.
//
// With wazero's own allocator every memory.grow copies the whole memory, and
// nothing limits an interpreter but the module's maximum of 4 GiB. Here growing
// is one system call, growing past the cap is refused (memory.grow returns -1,
// which CPython turns into a MemoryError), and untouched pages cost nothing.
//
//	0            committed                        limit
//	├── accessible ──┼──────── reserved, no access ───────┤
//
// wazero calls [Memory.Reallocate] and [Memory.Free]; the owner, which alone
// knows when no call is running, calls [Memory.Unmap].
//
// # Locking
//
// A Memory belongs to one instance. Committed may be read at any time; all
// else is for the goroutine that runs the instance, and Unmap for its owner
// once no call runs: machine code on an unmapped memory kills the process.
//
// # Limits
//
// Off unix there is no reservation: memory is a slice that is copied to grow.
package linmem

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/tetratelabs/wazero/experimental"
)

// PageSize is the size of a wasm page in bytes.
const PageSize = 65536

// Memory is one instance's linear memory.
type Memory struct {
	area      area
	limit     uint64 // bytes
	committed atomic.Uint64
	refused   atomic.Bool
	take      func(bytes int64) bool // see Share

	standing uint64 // the bytes by which the guest could not grow and has not grown since, 0 if there are none
	tries    int    // refusals since the last grant
	least    uint64 // of those, in bytes

	seen   []Range // what Rewritten found last
	faults uint64  // page faults of the process until it looked, 0 if something was mapped since
	small  uint64  // the bytes that have no huge pages from then on
}

// aside is growth in bytes that does not count as being content with less: that is
// what it takes to make an error of a refusal, and to tell of it.
const aside = 2 << 20

// New reserves limit bytes, rounded down to whole wasm pages. The caller calls
// Unmap in the end.
func New(limit uint64) (*Memory, error) {
	limit -= limit % PageSize
	if limit == 0 || limit > 1<<32 {
		return nil, fmt.Errorf("reserve linear memory: %d bytes is not between one page and 4 GiB", limit)
	}
	m := &Memory{limit: limit}
	if err := m.area.reserve(limit); err != nil {
		return nil, fmt.Errorf("reserve %d bytes of linear memory: %w", limit, err)
	}
	return m, nil
}

// Allocator returns the allocator with which one module is instantiated on m.
func (m *Memory) Allocator() experimental.MemoryAllocator {
	return experimental.MemoryAllocatorFunc(func(_, _ uint64) experimental.LinearMemory { return m })
}

// Reallocate implements experimental.LinearMemory. It never shrinks.
func (m *Memory) Reallocate(size uint64) []byte {
	have := m.committed.Load()
	more := int64(max(size, have) - have)
	if size > m.limit || more > 0 && m.take != nil && !m.take(more) {
		m.refuse(size - have)
		return nil
	}
	b, err := m.area.commit(have, max(size, have))
	if err != nil {
		if m.take != nil {
			m.take(-more)
		}
		m.refuse(size - min(size, have))
		return nil
	}
	m.committed.Store(max(size, have))
	m.grant(max(size, have) - have)
	return b[:size:size]
}

// refuse notes that the guest may not have so many more bytes.
func (m *Memory) refuse(more uint64) {
	if m.tries == 0 || more < m.least {
		m.least = more
	}
	m.tries++
	m.refused.Store(true)
}

// grant notes that the guest has got so many more bytes. Emscripten's malloc
// first tries to have some in stock: after one refusal it has what it wanted.
// After two, it asks for something else.
func (m *Memory) grant(more uint64) {
	if m.tries > 1 && (m.standing == 0 || m.least < m.standing) {
		m.standing = m.least
	}
	m.tries = 0
	if more >= min(m.standing, aside) {
		m.standing = 0
	}
	m.refused.Store(m.standing > 0)
}

// Share charges what the memory grows by to a budget besides the limit: take takes
// so many bytes of it, or gives back less than zero, and reports whether they were
// there. It is for the goroutine that runs the instance.
func (m *Memory) Share(take func(bytes int64) bool) { m.take = take }

// Free implements experimental.LinearMemory and does nothing: when wazero lets
// go of the memory, a host function may still be unwinding from it.
func (m *Memory) Free() {}

// Committed is the number of bytes that the instance has grown to. Since a
// memory never shrinks, it is the peak as well.
func (m *Memory) Committed() uint64 { return m.committed.Load() }

// Limit is the cap in bytes.
func (m *Memory) Limit() uint64 { return m.limit }

// Refused reports whether the guest wanted more than the cap and has not been
// content with less since. The little that it takes to tell of an error does not
// count: whether it needs memory at all depends on what is free by chance.
func (m *Memory) Refused() bool { return m.refused.Load() }

// Unmap returns the memory to the system. No call of the instance may run or start.
func (m *Memory) Unmap() error { return m.area.release(m.limit) }

// Store32 stores a word, little-endian, where the guest will see it the next
// time that it looks. It may be called from any goroutine until Unmap. It is
// false when addr is outside of the memory or not a multiple of 4.
func (m *Memory) Store32(addr, v uint32) bool {
	if addr%4 != 0 || uint64(addr)+4 > m.committed.Load() {
		return false
	}
	atomic.StoreUint32(m.area.word(addr), littleEndian(v))
	return true
}

// Load32 loads a word, little-endian, 0 where Store32 would be false. It may be
// called from any goroutine until Unmap.
func (m *Memory) Load32(addr uint32) uint32 {
	if addr%4 != 0 || uint64(addr)+4 > m.committed.Load() {
		return 0
	}
	return littleEndian(atomic.LoadUint32(m.area.word(addr)))
}

// littleEndian returns the number whose bytes in this machine's order are those
// of v in little-endian order.
func littleEndian(v uint32) uint32 {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], v)
	return binary.NativeEndian.Uint32(b[:])
}

// Map makes [offset, offset+length) a private copy of what file has at base:
// unix maps it copy-on-write, elsewhere it is read. All three are multiples of
// the host's page size, and the range lies within what is committed.
func (m *Memory) Map(file *os.File, base int64, offset, length uint64) error {
	if offset+length < offset || offset+length > m.committed.Load() {
		return fmt.Errorf("map %d bytes at %d: outside of the memory", length, offset)
	}
	m.faults = 0
	if err := m.area.mapFile(file, base, offset, length); err != nil {
		return fmt.Errorf("map %s: %w", file.Name(), err)
	}
	return nil
}

// Reset makes the memory, of which Map has mapped all, what file has again, by copying what
// was written to.
func (m *Memory) Reset(file *os.File) error {
	written, err := m.Written()
	if err != nil {
		return err
	}
	for _, r := range written {
		b, err := m.area.commit(r.Offset+r.Length, r.Offset+r.Length)
		if err != nil {
			return err
		}
		if _, err := file.ReadAt(b[r.Offset:], int64(r.Offset)); err != nil {
			return fmt.Errorf("reset linear memory: %w", err)
		}
	}
	return nil
}

// Written returns the parts of the memory, in whole pages of the host's, that may
// have been written to since they were committed or mapped, in ascending order.
// All else is as it was then. Only Linux tells.
func (m *Memory) Written() ([]Range, error) {
	out, err := m.area.written(m.committed.Load())
	if err != nil {
		return nil, fmt.Errorf("find out what was written to linear memory: %w", err)
	}
	return out, nil
}

// Rewritten is Written for a memory that is reset again and again: the first write to a page
// faults, so without a fault of the process the pages are those that it returned last. The
// caller does not change the slice.
//
// Only a huge page would make pages that nobody has written to writable without a fault.
func (m *Memory) Rewritten() ([]Range, error) {
	if size := m.committed.Load(); m.small != size {
		if m.area.smallPages(size) != nil {
			return m.Written()
		}
		m.small, m.faults = size, 0
	}
	faults := pageFaults()
	if faults != 0 && faults == m.faults {
		return m.seen, nil
	}
	out, err := m.Written()
	if err == nil {
		m.seen, m.faults = out, faults
	}
	return out, err
}

// Revert makes a part that Written returned what it was when it was committed or
// mapped, and returns its pages to the system.
func (m *Memory) Revert(r Range) error {
	if r.Offset+r.Length < r.Offset || r.Offset+r.Length > m.committed.Load() {
		return fmt.Errorf("revert %d bytes at %d: outside of the memory", r.Length, r.Offset)
	}
	m.faults = 0
	if err := m.area.revert(r); err != nil {
		return fmt.Errorf("revert linear memory: %w", err)
	}
	return nil
}
