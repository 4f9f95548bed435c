package shell

import (
	"errors"

	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
)

// memory is what the shells of a process hold of the program's memory: their
// variables, and what the commands in progress expand to.
type memory struct {
	fs        *memfs.FS
	variables int64
	transient int64
	reserved  int64
}

// errMemory is the error of an expansion or assignment that exceeds the memory
// limit.
var errMemory = errors.New("cannot allocate memory: the program's memory limit is reached")

// memoryStep is what is reserved at once, so that small sizes cost an addition.
const memoryStep = 256 << 10

func (m *memory) grow() bool {
	missing := m.variables + m.transient - m.reserved
	if missing <= 0 {
		return true
	}
	missing = (missing + memoryStep - 1) / memoryStep * memoryStep
	if !m.fs.Reserve(missing) {
		return false
	}
	m.reserved += missing
	return true
}

// room reports whether n more bytes may be used until the statement ends.
func (m *memory) room(n int64) bool {
	m.transient += n
	if !m.grow() {
		m.transient -= n
		return false
	}
	return true
}

// charge makes size the bytes that a variable takes.
func (m *memory) charge(v *variable, size int64) bool {
	more := size - v.charged
	m.variables += more
	if !m.grow() {
		m.variables -= more
		return false
	}
	v.charged = size
	return true
}

// release gives back what is reserved beyond what is used.
func (m *memory) release() {
	if spare := m.reserved - m.variables - m.transient; spare > 4*memoryStep {
		m.fs.Unreserve(spare - memoryStep)
		m.reserved -= spare - memoryStep
	}
}

// end gives everything back.
func (m *memory) end() {
	m.fs.Unreserve(m.reserved)
	m.reserved = 0
}

// exhausted ends the program: there is no sense in going on without memory.
func (sh *shell) exhausted(err error) {
	if sh.ctx.Err() == nil {
		sh.errorf("%v", err)
		sh.p.Kernel().Fail(kernel.ErrMemory)
	}
	sh.status, sh.jump = 2, jump{kind: exits}
}
