package rewrite

import "coderunner/pyodide/wasmbin"

// noArity in the arity table marks functions that the trampoline cannot call.
const noArity = 255

// maxTrampolineArity is how many arguments the trampoline passes at most.
const maxTrampolineArity = 3

// trampolineCode is the body of (ok*, func, a, b, c) -> i32, which calls the
// function in slot func of table 0 with as many of a, b and c as it takes:
//
//	*ok = 1
//	if func >= __arity_len: goto bad
//	switch byte at __arity_table + func {
//	case 0..3: return table[func](…)
//	}
//	bad: *ok = 0; return 0
func (r *rewriter) trampolineCode() []byte {
	const ok, fn, a = 0, 1, 2
	c := asm(nil).get(ok).i32(1).op(wasmbin.OpI32Store, 2, 0).
		void(wasmbin.OpBlock).void(wasmbin.OpBlock).void(wasmbin.OpBlock).void(wasmbin.OpBlock).void(wasmbin.OpBlock).
		get(fn).global(r.arityLen).op(wasmbin.OpI32GeU, wasmbin.OpBrIf, maxTrampolineArity+1).
		global(r.arity).get(fn).op(wasmbin.OpI32Add, wasmbin.OpI32Load8U, 0, 0).
		op(wasmbin.OpBrTable, maxTrampolineArity+1, 0, 1, 2, 3, 4).end()
	for n := range maxTrampolineArity + 1 {
		for i := range n {
			c = c.get(byte(a + i))
		}
		t := r.typeOf(wasmbin.FuncType{Params: i32s(n), Results: i32s(1)})
		c = append(c.get(fn).idx(wasmbin.OpCallIndirect, t), 0).op(wasmbin.OpReturn).end()
	}
	return c.get(ok).i32(0).op(wasmbin.OpI32Store, 2, 0).i32(0)
}

// arityOf is the byte for a function type in the arity table.
func arityOf(t wasmbin.FuncType) byte {
	if len(t.Results) != 1 || t.Results[0] != wasmbin.I32 || len(t.Params) > maxTrampolineArity {
		return noArity
	}
	for _, p := range t.Params {
		if p != wasmbin.I32 {
			return noArity
		}
	}
	return byte(len(t.Params))
}
