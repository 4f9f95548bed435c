//go:build amd64

package relayout

// address is a sum, if known, of what registers of the new code have.
type address struct {
	known, of2 bool // of two registers
	base, idx  set  // each has it
	scale      uint8
	disp       int32
}

// meet returns what is known where two paths meet.
func (s address) meet(t address) address {
	s.base, s.idx = s.base&t.base, s.idx&t.idx
	if t.base, t.idx = s.base, s.idx; s != t {
		return address{}
	}
	return s
}

// sums are the sums that a register has: one of registers, and one with the numbers that some have.
type sums [2]address

func (e *equal) addressOf(lea *inst) address {
	return address{known: true, of2: lea.idx != none, base: e.having(lea.base), idx: e.having(lea.idx), scale: lea.scale, disp: lea.disp}
}

// having returns the registers of the new code that have the value of one of the old code.
func (e *equal) having(r reg) (s set) {
	for o := range none {
		if r < none && e.values.same[o] == e.values.same[r] {
			s |= bit(o) & e.regs
		}
	}
	return s
}

// test reports whether a test of the new code is a conjunction of the old one with the copy that
// is missing, and executes both.
func (e *equal) test(a, b *inst) bool {
	c := e.copied
	if c == nil || b.prefix != 0 || b.mem() || a.prefix != 0 || a.mem() || a.kind != plain || a.wide != b.wide || a.wide && !c.wide ||
		bit(a.rm) != c.writes || !e.values.isSame(b.rm, c.reads) || b.reads&^e.regs != 0 || b.writes != flags {
		return false
	}
	switch {
	case b.op == opTestImm && b.digit == 0 && a.digit == 4 && (a.op == opImm8 || a.op == opImm32) && a.imm == b.imm:
	case b.op == opTest && a.op == 0x21 && a.reg != a.rm && e.values.isSame(b.reg, bit(a.reg)):
	default:
		return false
	}
	e.regs = e.regs&^a.writes | flags
	e.truths = truths{from: a}
	e.step(a)
	e.stepNew(b)
	return true
}

// isSame reports whether a register has the value of the only one in a set.
func (v *values) isSame(r reg, of set) bool {
	for s := range none {
		if of == bit(s) && r < none {
			return r == s || v.same[r] == v.same[s]
		}
	}
	return false
}

// sameForm reports whether two instructions do the same with registers.
func sameForm(a, b *inst) bool {
	return a.kind == plain && a.op == b.op && a.prefix == b.prefix && a.wide == b.wide && a.scale == b.scale && a.disp == b.disp && a.imm == b.imm &&
		a.writes == b.writes && a.kills == b.kills && a.stores == b.stores && a.base != rip && a.mem() == b.mem() &&
		(a.reg != none || a.fields&15 == b.fields&15) && (a.rm != none || a.fields>>4 == b.fields>>4)
}

// sameOperands reports whether two instructions are the same, if they may be encoded differently.
func sameOperands(a, b *inst) bool {
	return sameForm(a, b) && a.reg == b.reg && a.rm == b.rm && a.base == b.base && a.idx == b.idx
}

// renamed reports whether an instruction of the new code is the old one but reads other registers,
// which have the same values.
func (e *equal) renamed(a, b *inst) bool {
	other := false
	switch a.op {
	case opPush, 0x86, 0x87, 0x0FB0, 0x0FB1, 0x0FC0, 0x0FC1:
		return false
	}
	if !sameForm(a, b) {
		return false
	}
	for k, p := range [][2]reg{{a.reg, b.reg}, {a.rm, b.rm}, {a.base, b.base}, {a.idx, b.idx}} {
		if p[0] == p[1] {
			continue
		}
		other = true
		if p[0] >= none || p[1] >= none || k < 2 && a.writes.has(p[0]) || e.values.same[p[0]] != e.values.same[p[1]] {
			return false
		}
	}
	return other
}

// folded reports whether an instruction of the new code is the old one but has a sum in place of
// the register that has it, and returns what else it reads.
func (e *equal) folded(a, b *inst) (reads set, ok bool) {
	if a.base >= none || a.idx != none {
		return 0, false
	}
	for _, s := range e.sums[a.base] {
		if reads, ok = e.foldedSum(a, b, s); ok {
			break
		}
	}
	return reads, ok
}

func (e *equal) foldedSum(a, b *inst, s address) (reads set, ok bool) {
	if !s.known || b.base >= none || !s.base.has(b.base) || b.idx < none && !s.idx.has(b.idx) || (b.idx != none) != s.of2 {
		return 0, false
	}
	sum := *a
	sum.base, sum.idx, sum.scale, sum.disp = b.base, b.idx, s.scale, a.disp+s.disp
	if b.idx == none {
		sum.scale = b.scale
	}
	switch reads = b.reads &^ (bit(b.base) | bit(b.idx)); a.op {
	case opLoad, 0x63, 0x0FB6, 0x0FB7, 0x0FBE, 0x0FBF:
	default:
		reads |= bit(b.reg)
	}
	return reads, e.renamed(&sum, b) || sameOperands(&sum, b)
}

// miss executes an instruction of the old code that is not in the new one.
func (e *equal) miss(i *inst) {
	equal := e.truths.miss(i, &e.values, e.regs&flags != 0)
	lea, ok := *i, i.op == opLea && i.base < none && i.reads&i.writes == 0
	if c := e.copied; c != nil && !ok {
		lea, ok = sumOf(c, i)
	}
	sums := sums{e.addressOf(&lea)}
	if lea.base, lea.idx, lea.scale, lea.disp, _ = e.plain(&lea); ok {
		sums[1] = e.addressOf(&lea)
	}
	before := *e
	having := func(r reg) set { return before.having(r) }
	if to, from, ok := e.values.copied(i); !ok || e.values.same[to] != e.values.same[from] { // else it has the value
		e.regs &^= i.writes
	}
	if equal {
		e.regs |= flags
	}
	e.indexes.miss(i, having)
	e.values.step(i)
	e.old.step(i)
	e.forget(i)
	if ok && lea.wide {
		e.sums[lea.reg] = sums
	}
	if (i.op == opStore || i.op == opLoad) && !i.mem() && i.prefix == 0 && i.reads&i.writes == 0 {
		e.copied = i
	}
}

// step executes an instruction of the old code.
func (e *equal) step(i *inst) {
	e.indexes.step(i, false)
	e.values.step(i)
	e.old.step(i)
	e.forget(i)
}

// stepNew executes an instruction of the new code.
func (e *equal) stepNew(i *inst) {
	e.indexes.stepNew(i)
	e.new.step(i)
	for r := range e.sums {
		for k := range e.sums[r] {
			e.sums[r][k].base &^= i.writes
			e.sums[r][k].idx &^= i.writes
		}
	}
}

// forget forgets what was of registers that the old code changes.
func (e *equal) forget(i *inst) {
	if e.bytes &^= i.writes; i.kind == call || i.kind == callAddress {
		e.bytes = 0
	}
	for r := range none {
		if i.writes.has(r) || i.kind == call || i.kind == callAddress {
			e.sums[r] = sums{}
		}
	}
	if c := e.copied; c != nil && (i.writes&(c.reads|c.writes) != 0 || i.kind == call || i.kind == callAddress) {
		e.copied = nil
	}
}

// sum reports whether a lea of the new code is an addition of the old one to the copy that is
// missing, and executes both.
func (e *equal) sum(a, b *inst) bool {
	c := e.copied
	if c != nil && b.op == opZeroByte && a.op == opImm32 && a.digit == 4 && a.imm == 255 && a.kind == plain && a.prefix == 0 && !a.mem() && !b.mem() &&
		bit(b.reg) == c.writes && bit(a.rm) == c.writes && e.values.isSame(b.rm, c.reads) && e.regs.has(b.rm) {
		e.regs = e.regs&^flags | b.writes
		e.truths.write(b.writes, b.writes)
		e.not0 = truth{}
		e.step(a)
		e.stepNew(b)
		return true
	}
	if c == nil || b.op != opLea || b.idx != none && (b.scale != 0 || b.disp != 0) || bit(b.reg) != c.writes || bit(a.rm) != c.writes ||
		!e.values.isSame(b.base, c.reads) || a.kind != plain || a.prefix != 0 || b.wide != a.wide || a.wide && !c.wide ||
		(bit(b.base)|bit(b.idx))&^e.regs != 0 || (b.writes|b.reads)&frame != 0 {
		return false
	}
	switch {
	case a.mem():
		return false
	case a.op == opAdd && b.idx == none:
		if !e.known.has(a.reg) || e.consts[a.reg] < 0 || e.consts[a.reg] != b.disp || a.reg == b.reg {
			return false
		}
	case a.op == opAdd:
		if !e.values.isSame(b.idx, bit(a.reg)) || a.reg == b.reg {
			return false
		}
	case a.op != opImm8 && a.op != opImm32 || b.idx != none || a.digit != 0 && a.digit != 5 ||
		a.digit == 0 && b.disp != a.imm || a.digit == 5 && int64(b.disp) != -int64(a.imm):
		return false
	}
	e.regs = e.regs&^flags | b.writes
	e.truths.write(b.writes, b.writes)
	e.not0 = truth{}
	e.step(a)
	e.stepNew(b)
	return true
}
