package rewrite

import "coderunner/pyodide/wasmbin"

// manyLabels is the number of labels of a br_table from which its function counts
// as an interpreter.
const manyLabels = 128

// spill calls a function that does nothing before a loop of an interpreter:
// the values that live on behind the loop's head are in memory afterwards.
//
// wazero wants each value that was in a register where a loop was entered in
// the same register at its head, each time round. In a function with hundreds of
// values and few registers each branch back loads those from memory, and the
// head, where the registers are needed, stores them again: in CPython's loop
// thirteen instructions for each bytecode.
func (c *coder) spill(in *wasmbin.Instr) {
	if c.r.o.Skip&PassSpill != 0 || !c.wide {
		return
	}
	c.before(in)
	c.buf = wasmbin.AppendOp(c.buf, wasmbin.OpCall, c.r.nothing)
}
