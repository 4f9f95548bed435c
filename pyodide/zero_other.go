//go:build !linux

package pyodide

// zero makes part of a linear memory zero.
func zero(memory []byte, from, to int) { clear(memory[from:to]) }
