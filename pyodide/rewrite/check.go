package rewrite

import "coderunner/pyodide/wasmbin"

// asm builds short instruction sequences.
type asm []byte

func (a asm) op(b ...byte) asm             { return append(a, b...) }
func (a asm) idx(op byte, i uint32) asm    { return wasmbin.AppendOp(a, op, i) }
func (a asm) i32(v int32) asm              { return wasmbin.AppendI32Const(a, v) }
func (a asm) i64(v int64) asm              { return wasmbin.AppendS64(append(a, wasmbin.OpI64Const), v) }
func (a asm) u32(v uint32) asm             { return wasmbin.AppendU32(a, v) }
func (a asm) get(local byte) asm           { return append(a, wasmbin.OpLocalGet, local) }
func (a asm) set(local byte) asm           { return append(a, wasmbin.OpLocalSet, local) }
func (a asm) global(i uint32) asm          { return a.idx(wasmbin.OpGlobalGet, i) }
func (a asm) setGlobal(i uint32) asm       { return a.idx(wasmbin.OpGlobalSet, i) }
func (a asm) void(op byte) asm             { return append(a, op, 0x40) } // a block without a value
func (a asm) end() asm                     { return append(a, wasmbin.OpEnd) }
func (a asm) misc(sub byte, i ...byte) asm { return append(append(a, wasmbin.PrefixMisc, sub), i...) }

// check returns the code at the start of a loop header: it burns one unit of fuel
// and calls tick when none is left. It does not touch the operand stack.
//
// The comparison is signed, and not for equality, so that no fuel value can
// postpone the safepoint by more than its number. The call stands in the
// else for the reason in calls.go: otherwise each loop has its values in
// memory at its head.
func (r *rewriter) check() []byte {
	burn := asm(nil).global(r.tank).i32(1).op(wasmbin.OpI32Sub).setGlobal(r.tank).global(r.tank).i32(1)
	if r.o.Skip&PassTicks != 0 {
		return burn.op(wasmbin.OpI32LtS).void(wasmbin.OpIf).idx(wasmbin.OpCall, r.tick).end()
	}
	return burn.op(wasmbin.OpI32GeS).void(wasmbin.OpIf).op(wasmbin.OpElse).idx(wasmbin.OpCall, r.tick).end()
}

// tickCode is the safepoint: memory.grow returns to Go, even when it grows by
// nothing, so that a garbage collection can proceed and another goroutine's
// write of the flag is seen.
func (r *rewriter) tickCode() []byte {
	return asm(nil).i32(0).op(wasmbin.OpMemoryGrow, 0, wasmbin.OpDrop).
		i32(r.fuel).setGlobal(r.tank).
		global(r.stop).void(wasmbin.OpIf).op(wasmbin.OpUnreachable).end()
}
