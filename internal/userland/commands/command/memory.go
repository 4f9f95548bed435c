package command

import (
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
)

// Memory is what a command holds of its program's memory limit. Only the command's
// goroutine uses it.
type Memory struct {
	Reserved int64 // bytes charged to the file system's budget

	fs      *memfs.FS
	stack   *kernel.Stack
	charged int // bytes of the stack
}

// stackStep is how many bytes of the stack are charged at once.
const stackStep = 1 << 20

// Reserve charges n bytes that the command is about to hold.
func (m *Memory) Reserve(n int64) error {
	if !m.fs.Reserve(n) {
		return ErrMemory
	}
	m.Reserved += n
	return nil
}

// Enter counts a level of a recursion that takes frame bytes of the stack, of which
// there is one count for all that recurses in the process. If the result is nil, the
// caller calls Leave with the same number.
func (m *Memory) Enter(frame int) error {
	if !m.stack.Enter(frame) {
		return ErrDeep
	}
	if m.stack.Used() > m.charged {
		if err := m.Reserve(stackStep); err != nil {
			m.stack.Leave(frame)
			return err
		}
		m.charged += stackStep
	}
	return nil
}

// Leave ends a level of a recursion.
func (m *Memory) Leave(frame int) { m.stack.Leave(frame) }

// Room reports whether n more bytes could be reserved, for what is garbage soon.
func (m *Memory) Room(n int) error {
	err := m.Reserve(int64(n))
	if err == nil {
		m.Release(int64(n))
	}
	return err
}

// Release gives back n of the reserved bytes.
func (m *Memory) Release(n int64) {
	m.fs.Unreserve(n)
	m.Reserved -= n
}
