package relayout

// entries returns the registers that the function at an offset of the module's old
// code may read as arguments.
type entries func(target int32) set

// worst is what is known of functions that are not looked at.
func worst(int32) set { return arguments }

// liveness finds the registers that may be read, at the beginning of each block.
// Those of the frame are not followed: what writes them is never removed.
func (f *function) liveness(e entries) {
	for n := range f.insts {
		switch i := &f.insts[n]; i.kind {
		case call:
			i.reads, i.kills = e(i.target), callerSaved|flags
		case callAddress:
			i.kills = callerSaved | flags
		case tail:
			i.reads = e(i.target) | calleeSaved
		case tailAddress:
			i.reads |= calleeSaved
		case plain:
			if i.op&^15 == opSet && !i.mem() { // nobody reads what is above its byte
				i.reads, i.kills = i.reads&^bit(i.rm), i.kills|bit(i.rm)
			}
		}
	}
	f.makeBlocks()
	for k := range f.blocks {
		b := &f.blocks[k]
		for n := b.end - 1; n >= b.begin; n-- {
			i := &f.insts[n]
			b.use, b.kill = b.use&^i.kills|f.reads(i), b.kill|i.kills
		}
	}
	for changed := true; changed; {
		changed = false
		for k := len(f.blocks) - 1; k >= 0; k-- {
			b := &f.blocks[k]
			if live := b.use | f.liveAfter(b)&^b.kill; live != b.live {
				b.live, changed = live, true
			}
		}
	}
}

// liveAfter returns what may be read behind a block.
func (f *function) liveAfter(b *block) (live set) {
	f.successors(b, func(to *block) { live |= to.live })
	return live
}

// reads returns what an instruction reads, and the stub that it leads to. One that keeps some
// flags reads none: what it keeps is read behind it or not at all.
func (f *function) reads(i *inst) set {
	if i.writes&flags != 0 {
		return i.reads &^ flags
	}
	if (i.kind == branch || i.kind == jump) && i.target < 0 {
		return i.reads | bit(f.stubs[^i.target].from.reg)
	}
	return i.reads
}

// removeDead removes the instructions of which nothing is read but what they give to
// registers, which nobody reads. It returns how many.
func (f *function) removeDead(e entries) (removed int) {
	for {
		f.liveness(e)
		before := len(f.insts)
		for k := range f.blocks {
			b := &f.blocks[k]
			f.markDead(b, f.liveAfter(b))
		}
		if !f.compact() {
			return removed
		}
		removed += before - len(f.insts)
	}
}

// markDead marks a block's instructions of which nobody reads anything. live is what is read
// behind it.
func (f *function) markDead(b *block, live set) {
	for n := b.end - 1; n >= b.begin; n-- {
		i := &f.insts[n]
		if i.gone = i.gone || i.writes&live == 0 && removable(i); !i.gone {
			live = live&^i.kills | f.reads(i)
		}
	}
}

// removable reports whether the instruction does nothing but to compute what it
// writes to registers, and cannot fault.
func removable(i *inst) bool {
	if i.kind != plain || i.writes&frame != 0 || i.stores {
		return false
	}
	if i.op&^15 == opSet {
		return !i.mem()
	}
	switch i.op {
	case opLea, opMovImm:
		return i.target < 0 || i.base != rip // not of a jump table
	case opLoad:
		return !i.mem() || i.base == rsp
	case opStore, 0x63, 0x01, 0x09, 0x21, 0x29, 0x39, 0x85, opXor, opImm8, opImm32, opShiftImm, opZeroByte, 0x0FB7, 0x0FBE, 0x0FBF:
		return !i.mem()
	}
	return false
}
