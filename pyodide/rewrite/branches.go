package rewrite

import "coderunner/pyodide/wasmbin"

// brIf writes a br_if after a comparison as an if, and reports whether it did:
//
//	a, b, lt_s, br_if l    a, b, ge_s, if else br l end    l forward
//	                       a, b, lt_s, if br l else end    l a loop, or behind a call
//
// When a block has several predecessors, and a br_if is one of two ways out of
// another, wazero splits the edge between them after it has assigned
// instructions to groups, and the new branch no longer finds the comparison
// that it belongs to: it computes a 0 or 1 and tests that. The edges of an if
// need no splitting. The else is placed before the target, out of the way; for
// a loop header, which lies behind, that would be the function's end.
func (c *coder) brIf(in, last *wasmbin.Instr) bool {
	f := c.frameOf(in.A)
	skips := c.skips(in, f)
	if f.values || c.r.o.Skip&PassBranches != 0 && !skips {
		return false
	}
	code, ok := negated(last.Op)
	if !skips && (!ok || last.End != in.Start || c.from > last.Start) {
		return false
	}
	if skips {
		c.r.stats.Detours++
	} else {
		c.r.stats.Branches++
	}
	target := c.rel(f.out) + 1
	if f.loop || skips {
		c.replace(in)
		c.buf = append(c.buf, wasmbin.OpIf, 0x40)
		c.buf = wasmbin.AppendOp(c.buf, wasmbin.OpBr, target)
		c.buf = append(c.buf, wasmbin.OpElse, wasmbin.OpEnd)
		return true
	}
	c.replace(last)
	c.buf = append(append(c.buf, code...), wasmbin.OpIf, 0x40, wasmbin.OpElse)
	c.buf = wasmbin.AppendOp(c.buf, wasmbin.OpBr, target)
	c.buf = append(c.buf, wasmbin.OpEnd)
	c.from = in.End
	return true
}
