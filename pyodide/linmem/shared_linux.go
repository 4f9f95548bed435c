package linmem

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Shared is memory that several Memories may have a part of, and the host.
type Shared struct {
	file  *os.File
	bytes []byte
}

// NewShared returns shared memory without any bytes.
func NewShared() (*Shared, error) {
	fd, err := unix.MemfdCreate("coderunner", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make shared memory: %w", err)
	}
	return &Shared{file: os.NewFile(uintptr(fd), "shared memory")}, nil
}

// Bytes returns the memory. The slice is valid until Grow or Close.
func (s *Shared) Bytes() []byte { return s.bytes }

// Grow makes the memory size bytes long; it never shrinks, since a Memory that
// touched a part that is gone would end the host's process.
func (s *Shared) Grow(size int64) error {
	if size <= int64(len(s.bytes)) {
		return nil
	}
	if err := s.file.Truncate(size); err != nil {
		return fmt.Errorf("grow shared memory: %w", err)
	}
	b, err := unix.Mmap(int(s.file.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("grow shared memory: %w", err)
	}
	old := s.bytes
	s.bytes = b
	if old == nil {
		return nil
	}
	return unix.Munmap(old)
}

// Close releases the memory. Memories that have a part of it keep that.
func (s *Shared) Close() {
	if s.bytes != nil {
		unix.Munmap(s.bytes) // it is our own mapping
		s.bytes = nil
	}
	s.file.Close()
}

// MapShared makes [offset, offset+length) of the memory the part of s that begins at
// from. All are multiples of the host's page size.
func (m *Memory) MapShared(s *Shared, from int64, offset, length uint64) error {
	if offset+length < offset || offset+length > m.committed.Load() || from < 0 || from+int64(length) > int64(len(s.bytes)) {
		return errors.New("map shared memory: outside of the memory")
	}
	m.faults = 0
	_, err := unix.MmapPtr(int(s.file.Fd()), from, unsafe.Add(m.area.base, offset), uintptr(length),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_FIXED)
	if err != nil {
		return fmt.Errorf("map shared memory: %w", err)
	}
	return nil
}

// UnmapShared makes a part that MapShared mapped zeros of the memory's own.
func (m *Memory) UnmapShared(offset, length uint64) error {
	if offset+length < offset || offset+length > m.committed.Load() {
		return errors.New("unmap shared memory: outside of the memory")
	}
	m.faults = 0
	_, err := unix.MmapPtr(-1, 0, unsafe.Add(m.area.base, offset), uintptr(length),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED|unix.MAP_NORESERVE)
	if err != nil {
		return fmt.Errorf("unmap shared memory: %w", err)
	}
	return nil
}
