package rewrite

import "coderunner/pyodide/wasmbin"

// Parameters of the helpers for bulk memory instructions.
const (
	pDst = byte(iota)
	pSrc // or the value to fill with
	pLen
)

// add appends local += bulkChunk, sub the opposite.
func (a asm) add(local byte) asm {
	return a.get(local).i32(bulkChunk).op(wasmbin.OpI32Add).set(local)
}

func (a asm) sub(local byte) asm {
	return a.get(local).i32(bulkChunk).op(wasmbin.OpI32Sub).set(local)
}

func (a asm) args() asm { return a.get(pDst).get(pSrc).get(pLen) }

// more pushes whether more than one chunk is left.
func (a asm) more() asm { return a.get(pLen).i32(bulkChunk).op(wasmbin.OpI32GtU) }

// tooFar pushes whether a range of pLen bytes from the local on ends after the
// memory's end.
func (a asm) tooFar(local byte) asm {
	return a.get(local).op(wasmbin.OpI64ExtendI32U).get(pLen).op(wasmbin.OpI64ExtendI32U, wasmbin.OpI64Add).
		op(wasmbin.OpMemorySize, 0, wasmbin.OpI64ExtendI32U).i64(16).op(wasmbin.OpI64Shl, wasmbin.OpI64GtU)
}

// plain executes the instruction as it was and returns, if the condition on the
// stack holds: it traps before it writes anything.
func (a asm) plain(instr asm) asm {
	return a.void(wasmbin.OpIf).args().op(instr...).op(wasmbin.OpReturn).end()
}

// fillCode is memory.fill in chunks.
func (r *rewriter) fillCode() []byte {
	fill := asm(nil).misc(wasmbin.MiscMemoryFill, 0)
	return asm(nil).more().void(wasmbin.OpIf).
		tooFar(pDst).plain(fill).
		void(wasmbin.OpLoop).idx(wasmbin.OpCall, r.tick).
		get(pDst).get(pSrc).i32(bulkChunk).op(fill...).
		add(pDst).sub(pLen).
		more().op(wasmbin.OpBrIf, 0).end().end().
		args().op(fill...)
}

// copyCode is memory.copy in chunks, from the end when the destination overlaps
// the source from above.
func (r *rewriter) copyCode() []byte {
	cp := asm(nil).misc(wasmbin.MiscMemoryCopy, 0, 0)
	a := asm(nil).more().op(wasmbin.OpI32Eqz).plain(cp).
		tooFar(pDst).tooFar(pSrc).op(wasmbin.OpI32Or).plain(cp)
	// With both ranges in memory, dst-src < len (unsigned) says src <= dst < src+len.
	a = a.get(pDst).get(pSrc).op(wasmbin.OpI32Sub).get(pLen).op(wasmbin.OpI32GeU).void(wasmbin.OpIf).
		void(wasmbin.OpLoop).idx(wasmbin.OpCall, r.tick).
		get(pDst).get(pSrc).i32(bulkChunk).op(cp...).
		add(pDst).add(pSrc).sub(pLen).
		more().op(wasmbin.OpBrIf, 0).end()
	end := func(local byte) asm { return asm(nil).get(local).get(pLen).op(wasmbin.OpI32Add) }
	a = a.op(wasmbin.OpElse).
		void(wasmbin.OpLoop).idx(wasmbin.OpCall, r.tick).
		sub(pLen).op(end(pDst)...).op(end(pSrc)...).i32(bulkChunk).op(cp...).
		more().op(wasmbin.OpBrIf, 0).end().end()
	return a.args().op(cp...)
}

// shortCopies are the sizes that shortCode copies by itself, the usual ones first: the first and the
// last parts × width bytes of the range, by these instructions. Both overlap in the middle.
var shortCopies = []struct {
	from, to     int32
	load, store  asm
	width, parts byte
}{
	{8, 16, asm{0x29}, asm{0x37}, 8, 1},          // i64
	{17, 32, asm{0xfd, 0}, asm{0xfd, 11}, 16, 1}, // v128
	{33, 64, asm{0xfd, 0}, asm{0xfd, 11}, 16, 2}, // v128
	{4, 7, asm{0x28}, asm{0x36}, 4, 1},           // i32
	{1, 2, asm{0x2d}, asm{0x3a}, 1, 1},           // i32.load8_u, i32.store8
	{3, 3, asm{0x2f}, asm{0x3b}, 2, 1},           // i32.load16_u, i32.store16
}

// shortCode is memory.copy of variable size. Most copies are shorter than what memory.copy itself
// takes: its function saves and restores eight vector registers for the call of Go's memmove.
func (r *rewriter) shortCode(chunks uint32) []byte {
	a := asm(nil)
	for _, c := range shortCopies {
		a = a.get(pLen).i32(c.from).op(wasmbin.OpI32Sub).i32(c.to - c.from).op(wasmbin.OpI32LeU).void(wasmbin.OpIf).
			get(pLen).i32(int32(c.parts * c.width)).op(wasmbin.OpI32Sub).set(pLen)
		// The end is written first, for the case that it is out of bounds. Its address may
		// have overflowed; then the beginning is out of bounds.
		a = a.get(pDst).op(c.load...).op(0, 0, wasmbin.OpDrop)
		for k := range 2 * c.parts { // all is read before anything is written
			for _, base := range []byte{pDst, pSrc} {
				if a = a.get(base); k >= c.parts {
					a = a.get(pLen).op(wasmbin.OpI32Add)
				}
			}
			a = a.op(c.load...).op(0, k%c.parts*c.width)
		}
		for k := range 2 * c.parts {
			a = a.op(c.store...).op(0, (2*c.parts-1-k)%c.parts*c.width)
		}
		a = a.op(wasmbin.OpReturn).end()
	}
	return a.args().idx(wasmbin.OpCall, chunks)
}

// initCode is memory.init of one segment in chunks. When the segment was
// dropped the first chunk traps.
func (r *rewriter) initCode(seg uint32) []byte {
	init := wasmbin.AppendU32(asm(nil).misc(wasmbin.MiscMemoryInit), seg)
	init = append(init, 0)
	size := int64(len(r.m.Data[seg].Bytes))
	return asm(nil).more().void(wasmbin.OpIf).
		tooFar(pDst).plain(init).
		get(pSrc).op(wasmbin.OpI64ExtendI32U).get(pLen).op(wasmbin.OpI64ExtendI32U, wasmbin.OpI64Add).
		i64(size).op(wasmbin.OpI64GtU).plain(init).
		void(wasmbin.OpLoop).idx(wasmbin.OpCall, r.tick).
		get(pDst).get(pSrc).i32(bulkChunk).op(init...).
		add(pDst).add(pSrc).sub(pLen).
		more().op(wasmbin.OpBrIf, 0).end().end().
		args().op(init...)
}

// bulkHelper returns the function to call instead of a bulk memory instruction;
// last is the instruction before it.
func (r *rewriter) bulkHelper(in, last *wasmbin.Instr) (uint32, bool) {
	if r.fuel == 0 || last.Op == wasmbin.OpI32Const && uint32(last.Value) <= bulkChunk {
		return 0, false
	}
	switch in.Sub {
	case wasmbin.MiscMemoryFill:
		return r.fill, true
	case wasmbin.MiscMemoryCopy:
		return r.copy, true
	case wasmbin.MiscMemoryInit:
		f, ok := r.inits[in.A]
		return f, ok
	}
	return 0, false
}
