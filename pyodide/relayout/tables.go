package relayout

// byteTable is the length of a jump table that has an entry for each byte.
const byteTable = 256

// clamp is how an index of a jump table is made of a byte: see lowerBrTable.
type clamp struct {
	add   int32  // to the byte
	limit uint32 // of the sum, as an unsigned number
}

// entry returns the index for a byte.
func (c clamp) entry(b int) int { return int(min(uint32(b)+uint32(c.add), c.limit)) }

// spareClamps lets bytes be indexes of jump tables as they are: a table that has an entry for
// each byte needs no limit, and no subtraction of its first case.
//
//	and i, 255; sub i, 1; mov max, n; cmp i, max; cmovnb i, max; lea r, table; add r, [r+8*i]; jmp r
//	and i, 255; lea r, table of 256; add r, [r+8*i]; jmp r
//
// It is called with the liveness of removeDead, and leaves tables that are much smaller.
func (f *function) spareClamps() {
	for k := range f.blocks {
		b := &f.blocks[k]
		if j := &f.insts[b.end-1]; j.kind == table && len(f.tables[j.target]) >= byteTable/2 {
			f.spareClamp(f.insts[b.begin:b.end], f.liveAfter(b))
		}
	}
}

// spareClamp does so in a block, behind which live is read.
func (f *function) spareClamp(block []inst, live set) {
	const fewest = 6 // with another that makes the byte
	last := len(block) - 1
	if last < fewest {
		return
	}
	add, move, cmp, load := &block[last-1], &block[last-3], &block[last-4], &block[last-5]
	index, limit := add.idx, load.reg
	if load.op != opMovImm || !cmp.comparesTo(limit, load.imm) || cmp.rm != index || index == limit || block[last-2].op != opLea ||
		move.op != opMoveIf|condAE || move.wide || move.reg != index || move.rm != limit || live&(bit(index)|flags) != 0 {
		return
	}
	c, from, first := clamp{limit: uint32(load.imm)}, index, last-5
	if n, to, ok := addedTo(&block[first-1], index); ok && !block[first-1].gone {
		c.add, from, first = n, to, first-1
	}
	if !isByte(block[:first], from) {
		return
	}
	for n := first; n <= last-3; n++ {
		block[n].gone = n != last-5 || !live.has(limit)
	}
	if from != index {
		add.idx = from
		add.reads = add.reads&^bit(index) | bit(from)
		f.measure(add)
	}
	was, now := f.tables[block[last].target], make([]int32, byteTable)
	for n := range now {
		now[n] = was[c.entry(n)]
	}
	f.tables[block[last].target] = now
}

// comparesTo reports whether an instruction compares 32 bits with a number that a register has, too.
func (i *inst) comparesTo(r reg, n int32) bool {
	const cmp = 7
	return !i.wide && (i.op == 0x39 && i.reg == r || (i.op == opImm8 || i.op == opImm32) && i.digit == cmp && i.imm == n)
}

// addedTo returns the register to which an instruction adds a number of 32 bits for index.
func addedTo(i *inst, index reg) (n int32, from reg, ok bool) {
	if i.op == opLea {
		return i.disp, i.base, !i.wide && i.reg == index && i.base < none && i.idx == none
	}
	idx, n, ok := addend(i)
	return n, index, ok && idx == none && !i.wide && i.rm == index
}

// isByte reports whether a register is a byte behind instructions.
func isByte(before []inst, r reg) bool {
	for n := len(before) - 1; n >= 0; n-- {
		if i := &before[n]; !i.gone && (i.writes.has(r) || i.kind != plain && i.kind != branch) {
			return i.makesByte() == r
		}
	}
	return false
}

// makesByte returns the register of which an instruction clears all but the lowest byte.
func (i *inst) makesByte() reg {
	switch {
	case i.kind != plain || i.prefix != 0:
	case i.op == opZeroByte:
		return i.reg
	case i.op == opImm32 && i.digit == 4 && i.imm == 255 && !i.mem():
		return i.rm
	}
	return none
}
