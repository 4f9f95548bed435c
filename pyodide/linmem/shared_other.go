//go:build !linux

package linmem

import "errors"

// Shared is memory that several Memories may have a part of, and the host.
type Shared struct{}

var errNoShared = errors.New("there is no shared memory on this system")

// NewShared fails here.
func NewShared() (*Shared, error) { return nil, errNoShared }

// Bytes returns the memory.
func (s *Shared) Bytes() []byte { return nil }

// Grow fails here.
func (s *Shared) Grow(int64) error { return errNoShared }

// Close releases the memory.
func (s *Shared) Close() {}

// MapShared fails here.
func (m *Memory) MapShared(*Shared, int64, uint64, uint64) error { return errNoShared }

// UnmapShared fails here.
func (m *Memory) UnmapShared(uint64, uint64) error { return errNoShared }
