package rewrite

import "coderunner/pyodide/wasmbin"

// wazero records checked addresses by the names of values.

// meet begins a block in which several paths may meet.
func (c *coder) meet() { c.path++ }

// readLocal keeps the name of a local's value. When wazero looks up a local in
// a block with several predecessors that agree on its value, it returns that
// value the first time and a new name for it from then on, of which it knows
// nothing. Setting the local to what the first lookup returns keeps the name,
// and makes no code.
func (c *coder) readLocal(in *wasmbin.Instr) {
	if c.r.o.Skip&PassNames != 0 {
		return
	}
	if int(in.A) >= len(c.seen) {
		c.seen = append(c.seen, make([]int, int(in.A)+64-len(c.seen))...)
	}
	if in.Op == wasmbin.OpLocalGet && c.seen[in.A] != c.path {
		c.after(in)
		c.buf = wasmbin.AppendOp(c.buf, wasmbin.OpLocalTee, in.A)
	}
	c.seen[in.A] = c.path
}

// endIf ends an if. Behind one without an else wazero forgets all bounds that
// were checked before it; an empty else keeps them.
func (c *coder) endIf(in *wasmbin.Instr, f *frame) {
	if f.open && c.r.o.Skip&PassElse == 0 {
		c.before(in)
		c.buf = append(c.buf, wasmbin.OpElse)
	}
}
