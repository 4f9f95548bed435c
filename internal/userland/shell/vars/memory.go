package vars

import (
	"errors"
	"strings"

	"coderunner/internal/machine/memfs"
)

// Memory is what the shells of a process hold of the program's memory: their
// variables, and what the commands in progress expand to.
type Memory struct {
	FS        *memfs.FS
	Variables int64
	Transient int64
	reserved  int64
}

// ErrMemory is the error of an expansion or assignment that exceeds the memory
// limit.
var ErrMemory = errors.New("cannot allocate memory: the program's memory limit is reached")

// memoryStep is what is reserved at once, so that small sizes cost an addition.
const memoryStep = 256 << 10

func (m *Memory) grow() bool {
	missing := m.Variables + m.Transient - m.reserved
	if missing <= 0 {
		return true
	}
	missing = (missing + memoryStep - 1) / memoryStep * memoryStep
	if !m.FS.Reserve(missing) {
		return false
	}
	m.reserved += missing
	return true
}

// Room reports whether n more bytes may be used until the statement ends.
func (m *Memory) Room(n int64) bool {
	m.Transient += n
	if !m.grow() {
		m.Transient -= n
		return false
	}
	return true
}

// Builder builds a text. What its growth takes counts until the statement ends, and
// so does what it leaves to the collector.
type Builder struct {
	Memory *Memory
	Full   bool // it exceeded the memory limit, and takes no more
	text   strings.Builder
}

// Add appends s.
func (b *Builder) Add(s string) {
	if free := b.text.Cap() - b.text.Len(); len(s) > free && !b.Full {
		b.Full = !b.Memory.Room(int64(2*b.text.Cap() + len(s)))
		if !b.Full {
			b.text.Grow(len(s))
		}
	}
	if !b.Full {
		b.text.WriteString(s)
	}
}

// String returns what was added, or ErrMemory.
func (b *Builder) String() (string, error) {
	if b.Full {
		return "", ErrMemory
	}
	return b.text.String(), nil
}

// Charge makes size the bytes that a variable takes.
func (m *Memory) Charge(v *Variable, size int64) bool {
	more := size - v.charged
	m.Variables += more
	if !m.grow() {
		m.Variables -= more
		return false
	}
	v.charged = size
	return true
}

// Release gives back what is reserved beyond what is used.
func (m *Memory) Release() {
	if spare := m.reserved - m.Variables - m.Transient; spare > 4*memoryStep {
		m.FS.Unreserve(spare - memoryStep)
		m.reserved -= spare - memoryStep
	}
}

// End gives everything back.
func (m *Memory) End() {
	m.FS.Unreserve(m.reserved)
	m.reserved = 0
}
