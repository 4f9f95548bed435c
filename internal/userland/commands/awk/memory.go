package awk

import (
	"strings"

	"coderunner/internal/userland/commands/command"
)

// memory is what a program's values take, charged to the process.
type memory struct {
	c         *command.Call
	held      int64 // by variables, arrays and the record
	transient int64 // by what expressions make until their statement ends
	charged   int64
}

// memoryStep is how many bytes are charged at once.
const memoryStep = 1 << 20

// hold changes what is held by n bytes.
func (m *memory) hold(n int64) {
	m.held += n
	m.settle()
}

// room charges n bytes until the statement ends.
func (m *memory) room(n int) {
	m.transient += int64(n)
	m.settle()
}

// settle has what is used charged.
func (m *memory) settle() {
	switch missing := m.held + m.transient - m.charged; {
	case missing > 0:
		missing = (missing + memoryStep - 1) / memoryStep * memoryStep
		m.c.Check(m.c.Reserve(missing))
		m.charged += missing
	case missing < -8*memoryStep:
		m.c.Release(-missing)
		m.charged += missing
	}
}

// enter counts a level of a recursion, which ends with c.Leave(frame).
func (m *memory) enter() { m.c.Check(m.c.Enter(frame)) }

// set assigns to a variable or an element, whose bytes were charged. A string of the
// input is copied: it would keep the record that it is a part of.
func (m *memory) set(to *value, charged *int, v value) {
	if grown := len(v.s) - *charged; grown != 0 {
		m.hold(int64(grown))
		*charged = len(v.s)
	}
	if v.kind == input {
		v.s = strings.Clone(v.s)
	}
	*to = v
}

// empty deletes the elements of an array.
func (m *memory) empty(a *array) {
	for key, e := range a.m {
		m.forget(key, e)
	}
	a.clear()
}

// forget gives back what an element holds.
func (m *memory) forget(key string, e *entry) {
	m.hold(-int64(len(key) + entryCost + e.charged))
	e.charged = 0
	if e.sub != nil && e.sub.users == 0 {
		m.empty(e.sub)
		m.hold(-entryCost)
	}
}

// piece returns a part of a string, as a copy if it would keep much more than itself.
func piece(s string, from, to int) string {
	if to-from < len(s)/2 {
		return strings.Clone(s[from:to])
	}
	return s[from:to]
}
