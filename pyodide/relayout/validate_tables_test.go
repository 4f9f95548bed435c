//go:build amd64

package relayout

// indexes are what the validator knows of how the old code makes the index of a jump table of a
// byte, where the new code reads the byte.
type indexes struct {
	bytes  set         // registers of the old code that are bytes
	consts [none]int32 // numbers in registers of the old code, of known
	known  set
	clamp
	of       reg  // of the old code, has the index
	holders  set  // of the new code, have the byte
	compared bool // with the limit
	clamped  bool
}

// meet returns what both know.
func (x indexes) meet(y indexes) indexes {
	bytes, known := x.bytes&y.bytes, x.known&y.known
	for r := range none {
		if x.consts[r] != y.consts[r] {
			known &^= bit(r)
		}
	}
	x.bytes, y.bytes, x.known, y.known = bytes, bytes, known, known
	x.consts = y.consts
	if x != y {
		x.clamp, x.of, x.holders, x.compared, x.clamped = clamp{}, none, 0, false, false
	}
	return x
}

// miss executes an instruction that is missing in the new code. having are the registers of the
// new code that have the value of one in the old code.
func (x *indexes) miss(i *inst, having func(reg) set) {
	next := *x
	switch n, from, ok := addedTo(i, i.lastWritten()); {
	case ok && x.bytes.has(from):
		next.clamp, next.of, next.holders, next.compared, next.clamped = clamp{add: n}, i.lastWritten(), having(from), false, false
	case i.op == 0x39 && !i.mem() && !i.wide && i.prefix == 0 && x.known.has(i.reg):
		if !x.started(i.rm) && x.bytes.has(i.rm) {
			next.clamp, next.of, next.holders = clamp{}, i.rm, having(i.rm)
		}
		next.compared, next.clamped = next.started(i.rm), false
		next.limit = uint32(x.consts[i.reg])
	case x.compared && i.op == opMoveIf|condAE && !i.wide && i.reg == x.of && x.known.has(i.rm) && uint32(x.consts[i.rm]) == x.limit:
		next.clamped = true
		next.step(i, true)
		*x = next
		return
	}
	next.step(i, next.of != x.of || next.add != x.add || next.compared != x.compared)
	*x = next
}

func (x *indexes) started(r reg) bool { return x.holders != 0 && x.of == r && !x.clamped }

// lastWritten returns the general register that an instruction writes, if it is one.
func (i *inst) lastWritten() reg {
	for r := range none {
		if i.writes&^flags == bit(r) {
			return r
		}
	}
	return none
}

// step executes an instruction of the old code. keeps is whether it is a part of making the index.
func (x *indexes) step(i *inst, keeps bool) {
	writes, was := i.writes, *x
	if i.kind == call || i.kind == callAddress {
		writes |= callerSaved
	}
	to, from, ok := i.moves()
	isByte, value, known := ok && x.bytes.has(from), int32(0), ok && x.known.has(from)
	if known {
		value = x.consts[from]
	}
	x.bytes, x.known = x.bytes&^writes, x.known&^writes
	switch r := i.makesByte(); {
	case isByte:
		x.bytes |= bit(to)
	case r != none:
		x.bytes |= bit(r)
	}
	switch from, n, sum := x.sumOf(i); {
	case i.op == opMovImm && !i.wide:
		to, value, known = i.reg, i.imm, true
	case i.op == opXor && i.rm == i.reg && !i.mem():
		to, value, known = i.rm, 0, true
	case sum && was.known.has(from) && was.consts[from] >= 0 && was.consts[from] <= 1<<30 && n >= -was.consts[from] && n <= 1<<30-1:
		to, value, known = i.lastWritten(), was.consts[from]+n, true
	}
	if known {
		x.known |= bit(to)
		x.consts[to] = value
	}
	if x.of < none && writes.has(x.of) && !keeps || writes&flags != 0 && !keeps && x.compared {
		x.holders = 0
	}
	x.clearUnknown()
}

// sumOf returns the register and the number that an instruction adds.
func (x *indexes) sumOf(i *inst) (from reg, n int32, ok bool) {
	switch {
	case i.kind != plain || i.prefix != 0:
	case i.op == opLea:
		return i.base, i.disp, i.idx == none
	case (i.op == opImm8 || i.op == opImm32) && !i.mem():
		return i.rm, i.imm * (1 - int32(i.digit)/5*2), i.digit == 0 || i.digit == 5
	}
	return none, 0, false
}

// plain returns the memory operand of an instruction with a number in place of a register that has
// it, if one has.
func (x *indexes) plain(i *inst) (base, idx reg, scale uint8, disp int32, ok bool) {
	of, n := i.base, int64(0)
	switch {
	case i.base >= none || i.idx >= none:
		return i.base, i.idx, i.scale, i.disp, false
	case x.known.has(i.idx):
		n = int64(x.consts[i.idx]) << i.scale
	case x.known.has(i.base) && i.scale == 0:
		of, n = i.idx, int64(x.consts[i.base])
	default:
		return i.base, i.idx, i.scale, i.disp, false
	}
	if disp := n + int64(i.disp); n >= 0 && disp == int64(int32(disp)) {
		return of, none, 0, int32(disp), true
	}
	return i.base, i.idx, i.scale, i.disp, false
}

// constant reports whether an instruction of the new code is the old one with a number in place of
// a register that has it, and returns what else it reads.
func (e *equal) constant(a, b *inst, made bool) (reads set, ok bool) {
	if a.kind != plain {
		return 0, false
	}
	now := *a
	if now.base, now.idx, now.scale, now.disp, ok = e.plain(a); ok && b.idx == none {
		now.scale = b.scale
		if sameOperands(&now, b) || e.renamed(&now, b) {
			return b.reads, true
		}
	} else {
		now = *a
	}
	if !made || !e.known.has(a.reg) || a.prefix != 0 || a.wide && e.consts[a.reg] < 0 || b.imm != e.consts[a.reg] {
		return 0, false
	}
	switch {
	case a.op == opStore && a.mem() && b.op == opStoreImm:
	case (a.op == opAdd || a.op == 0x09 || a.op == 0x21 || a.op == 0x29 || a.op == opXor || a.op == 0x39) && !a.mem() && (b.op == opImm8 || b.op == opImm32) && b.digit == uint8(a.op/8):
	default:
		return 0, false
	}
	now.op, now.reg, now.imm, now.fields = b.op, none, b.imm, now.fields&0xF0|b.fields&15
	return b.reads, sameOperands(&now, b) || e.renamed(&now, b)
}

// clearUnknown makes what is not known the same for all, for comparisons.
func (x *indexes) clearUnknown() {
	for r := range none {
		if !x.known.has(r) {
			x.consts[r] = 0
		}
	}
	if x.holders == 0 {
		x.clamp, x.of, x.compared, x.clamped = clamp{}, none, false, false
	}
}

// stepNew executes an instruction of the new code.
func (x *indexes) stepNew(i *inst) {
	x.holders &^= i.writes
	if i.kind == call || i.kind == callAddress {
		x.holders = 0
	}
	x.clearUnknown()
}

// entry reports whether the new code adds the entry of a byte, where the old code adds that of the
// index which is made of it, and the jump is next.
func (e *equal) entry(a, b, jump *inst) bool {
	if a.op != 0x03 || jump.kind != table || a.idx >= none || a.idx != e.of || !e.clamped || !e.holders.has(b.idx) {
		return false
	}
	now := *a
	now.idx = b.idx
	return sameOperands(&now, b) && e.regs.has(a.reg)
}
