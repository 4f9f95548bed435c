//go:build !linux

package pyodide

// zero clears part of a linear memory.
func zero(memory []byte, from, to int) { clear(memory[from:to]) }
