package emscripten

import (
	"context"
	"hash/maphash"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// Numbers of mmap(2).
const (
	protWrite  = 2
	mapPrivate = 2
)

// mapPage is the unit in which a mapping is compared with what it was.
const mapPage = 4096

var mapSeed = maphash.MakeSeed()

// doMmap is _mmap_js(len, prot, flags, fd, offset, int *allocated, void **addr).
// The guest's C library handles anonymous mappings itself, and frees what is
// allocated here.
func doMmap(c call) abi.Errno {
	length, prot, flags, off := c.u32(0), c.u32(1), c.u32(2), c.i64(4)
	f, errno := c.file(3)
	if errno != abi.OK {
		return errno
	}
	access := f.Flags() & 3
	shared := flags&mapPrivate == 0
	switch {
	case length == 0 || off < 0:
		return abi.EINVAL
	case access == abi.O_WRONLY || shared && prot&protWrite != 0 && access != abi.O_RDWR:
		return abi.EACCES
	case f.Node() == nil || f.Node().Type() != abi.S_IFREG:
		return abi.ENODEV
	}
	if _, ok := c.mem.Bytes(c.u32(5), 4); !ok {
		return abi.EFAULT
	}
	if _, ok := c.mem.Bytes(c.u32(6), 4); !ok {
		return abi.EFAULT
	}
	addr, errno := c.mapFile(f, length, off)
	if errno != abi.OK {
		return errno
	}
	c.p.dropMappings(addr, length)
	m := &mapping{file: f.Ref(), offset: off, shared: shared && prot&protWrite != 0}
	if shared && c.p.Guest.MapShared(f, addr, length, off) == abi.OK {
		m.live, m.shared = true, false
	}
	if m.shared {
		b, _ := c.mem.Bytes(addr, length)
		m.sums = checksums(b)
	}
	m.length = length
	c.p.mappings[addr] = m
	c.mem.PutUint32(c.u32(5), 1)
	c.mem.PutUint32(c.u32(6), addr)
	return abi.OK
}

// mapFile allocates guest memory and reads a part of a file into it. What lies
// past the end of the file is zero.
func (c call) mapFile(f *memfs.File, length uint32, off int64) (uint32, abi.Errno) {
	size := (uint64(length) + pageSize - 1) / pageSize * pageSize
	if size > maxHeap {
		return 0, abi.ENOMEM
	}
	addr := c.p.Guest.Memalign(c.ctx, pageSize, uint32(size))
	b, ok := c.mem.Bytes(addr, uint32(size))
	if addr == 0 || !ok {
		return 0, abi.ENOMEM
	}
	clear(b)
	for b = b[:length]; len(b) > 0; {
		n, errno := c.move(b[:min(len(b), transferMax)], false, func(ctx context.Context, b []byte) (int, abi.Errno) {
			return f.Pread(ctx, b, off)
		})
		if errno != abi.OK {
			c.p.Guest.Free(c.ctx, addr)
			return 0, errno
		}
		if n == 0 {
			break
		}
		b, off = b[n:], off+int64(n)
	}
	return addr, abi.OK
}

func checksums(b []byte) []uint64 {
	sums := make([]uint64, 0, (len(b)+mapPage-1)/mapPage)
	for ; len(b) > 0; b = b[min(mapPage, len(b)):] {
		sums = append(sums, maphash.Bytes(mapSeed, b[:min(mapPage, len(b))]))
	}
	return sums
}

// doMsync is _msync_js(addr, len, prot, flags, fd, offset).
func doMsync(c call) abi.Errno {
	m := c.p.mappings[c.u32(0)]
	if m == nil {
		return abi.ENOMEM
	}
	return m.writeBack(c, c.u32(0), c.u32(1))
}

// doMunmap is _munmap_js(addr, len, prot, flags, fd, offset). The guest frees
// the memory itself.
func doMunmap(c call) abi.Errno {
	m := c.p.mappings[c.u32(0)]
	if m == nil {
		return abi.OK
	}
	errno := m.writeBack(c, c.u32(0), c.u32(1))
	if m.live {
		c.p.Guest.UnmapShared(c.u32(0), m.length)
	}
	delete(c.p.mappings, c.u32(0))
	m.file.Close()
	return errno
}

// writeBack writes the pages of the first n bytes that have changed, but not
// past the end of the file.
func (m *mapping) writeBack(c call, addr, n uint32) abi.Errno {
	if !m.shared {
		return abi.OK
	}
	b, ok := c.mem.Bytes(addr, n)
	if !ok {
		return abi.EFAULT
	}
	if left := m.file.Stat().Size - m.offset; int64(len(b)) > left {
		b = b[:max(left, 0)]
	}
	for i := 0; len(b) > 0 && i < len(m.sums); i++ {
		page := b[:min(mapPage, len(b))]
		if sum := maphash.Bytes(mapSeed, page); sum != m.sums[i] {
			off := m.offset + int64(i)*mapPage
			if _, errno := m.file.Pwrite(c.ctx, page, off); errno != abi.OK {
				return errno
			}
			m.sums[i] = sum
		}
		b = b[len(page):]
	}
	return abi.OK
}

// mallocString puts a string into memory that the guest has allocated and will
// free; 0 if there is none.
func (c call) mallocString(s string) uint32 {
	addr := c.p.Guest.Malloc(c.ctx, uint32(len(s))+1)
	if addr == 0 {
		return 0
	}
	if _, ok := c.mem.PutCString(addr, uint32(len(s))+1, s); !ok {
		return 0
	}
	return addr
}
