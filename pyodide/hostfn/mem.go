package hostfn

import (
	"bytes"
	"encoding/binary"

	"github.com/tetratelabs/wazero/api"
)

// Mem is the guest's memory. Every access is checked: an address or a length
// outside of it makes the second result false (EFAULT, to the guest), never a
// panic. The zero Mem has no bytes.
//
// Slices that [Mem.Bytes] returns alias the memory and are valid until the
// guest runs or the memory grows.
type Mem struct{ m api.Memory }

// NewMem wraps m, which may be nil.
func NewMem(m api.Memory) Mem { return Mem{m} }

// Size is the number of bytes there are.
func (m Mem) Size() uint32 {
	if m.m == nil {
		return 0
	}
	return m.m.Size()
}

// Bytes returns the n bytes at addr, not a copy.
func (m Mem) Bytes(addr, n uint32) ([]byte, bool) {
	if m.m == nil {
		return nil, false
	}
	return m.m.Read(addr, n)
}

// Rest returns the bytes from addr to the end of the memory, but at most n.
func (m Mem) Rest(addr, n uint32) ([]byte, bool) {
	size := m.Size()
	if addr > size {
		return nil, false
	}
	return m.Bytes(addr, min(n, size-addr))
}

// CString copies the NUL-terminated string at addr. It looks at no more than
// limit bytes, the NUL not counted: ok is false when addr is outside of the
// memory or the memory ends before a NUL, long when there is no NUL within
// the limit.
func (m Mem) CString(addr, limit uint32) (s string, long, ok bool) {
	b, ok := m.Rest(addr, limit+1)
	if !ok {
		return "", false, false
	}
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return string(b[:i]), false, true
	}
	return "", uint32(len(b)) == limit+1, false
}

// PutCString writes s and a NUL into the n bytes at addr, cutting s so that
// both fit. It reports the bytes written, without the NUL.
func (m Mem) PutCString(addr, n uint32, s string) (uint32, bool) {
	if n == 0 {
		return 0, true
	}
	s = s[:min(len(s), int(n-1))]
	b, ok := m.Bytes(addr, uint32(len(s))+1)
	if !ok {
		return 0, false
	}
	copy(b, s)
	b[len(s)] = 0
	return uint32(len(s)), true
}

// Put copies p to addr.
func (m Mem) Put(addr uint32, p []byte) bool {
	b, ok := m.Bytes(addr, uint32(len(p)))
	if ok {
		copy(b, p)
	}
	return ok
}

// Uint32 reads a little-endian 32-bit number.
func (m Mem) Uint32(addr uint32) (uint32, bool) {
	b, ok := m.Bytes(addr, 4)
	if !ok {
		return 0, false
	}
	return binary.LittleEndian.Uint32(b), true
}

// Uint64 reads a little-endian 64-bit number.
func (m Mem) Uint64(addr uint32) (uint64, bool) {
	b, ok := m.Bytes(addr, 8)
	if !ok {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b), true
}

// PutUint32 writes a little-endian 32-bit number.
func (m Mem) PutUint32(addr, v uint32) bool {
	b, ok := m.Bytes(addr, 4)
	if ok {
		binary.LittleEndian.PutUint32(b, v)
	}
	return ok
}

// PutUint64 writes a little-endian 64-bit number.
func (m Mem) PutUint64(addr uint32, v uint64) bool {
	b, ok := m.Bytes(addr, 8)
	if ok {
		binary.LittleEndian.PutUint64(b, v)
	}
	return ok
}

// Grow adds pages of 64 KiB and reports whether it could.
func (m Mem) Grow(pages uint32) bool {
	if m.m == nil {
		return false
	}
	_, ok := m.m.Grow(pages)
	return ok
}
