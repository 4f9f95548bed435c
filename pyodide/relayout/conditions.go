package relayout

// truth is what is known of a register: that it is 1 if a condition of the flags is true, as
// they are now, and 0 if not.
type truth struct {
	known, whole bool // its lowest byte, all of it
	cond         uint8
}

// The conditions that this package treats on their own. The lowest bit negates one.
const (
	condAE = 3
	condE  = 4
	condNE = 5
	condP  = 10
	condNP = 11
)

// conditions follows the flags through a block.
type conditions struct {
	is   [none]truth
	at   [none]int32 // the instruction that sets it
	from *inst       // what has set the flags by its result, which is still in its register
	same bool        // they are of a floating-point number compared with itself: E is true
}

// fuseConditions lets branches, conditional moves and conditions read the flags where they
// are, instead of comparing with 0 what an instruction has made of the flags, or what has set
// the flags itself; and simplifies the test whether a number is one. It is called with the
// liveness of removeDead, and leaves what nobody reads any more to compact. It returns how many
// comparisons are gone.
func (f *function) fuseConditions() (fused int) {
	for k := range f.blocks {
		b := &f.blocks[k]
		live, before := f.liveAfter(b), fused
		var c conditions
		for n := b.begin; n < b.end; n++ {
			i := &f.insts[n]
			if i.gone {
				continue
			}
			if c.ofNumber(f, n, b.end, live) || c.fuse(f, n, b.end, live) {
				i.gone = true
				fused++
				continue
			}
			c.step(f, n)
		}
		if fused > before {
			f.markDead(b, live)
		}
	}
	return fused
}

// fuse reports whether instruction n compares with 0 what is known without, and lets those who
// read its flags read the ones before.
func (c *conditions) fuse(f *function, n, end int32, live set) bool {
	r, ok := zeroTest(&f.insts[n])
	if !ok {
		return false
	}
	not0, all := uint8(condNE), false
	switch is := c.is[r]; {
	case is.known && is.whole:
		not0 = is.cond
	case c.from != nil && c.from.result() == r && c.from.wide == f.insts[n].wide:
		all = c.from.logic()
	default:
		return false
	}
	var readers [8]*inst
	found := 0
	for m := n + 1; ; m++ {
		if m == end {
			if live&flags != 0 {
				return false
			}
			break
		}
		i := &f.insts[m]
		if i.gone {
			continue
		}
		if i.writes&^i.kills&flags != 0 { // it keeps some flags
			if !f.deadFrom(m, end, live, flags) {
				return false
			}
			break
		}
		if i.reads&flags != 0 {
			if cond, ok := i.condition(); found == len(readers) || !ok || i.base == rip || !all && cond|1 != condNE {
				return false
			}
			readers[found] = i
			found++
		}
		if i.kills&flags != 0 {
			break
		}
	}
	for _, i := range readers[:found] {
		if cond, _ := i.condition(); !all {
			f.setCondition(i, not0^cond&1^1)
		}
	}
	return true
}

// ofNumber reports whether instruction n joins two conditions of a floating-point number
// compared with itself that are one, and lets the one before it be that:
//
//	setnp a; sete b; and b, a; movzx d, b       setnp b; movzx d, b
//	setp a; setne b; or b, a; movzx d, b        setp b; movzx d, b
func (c *conditions) ofNumber(f *function, n, end int32, live set) bool {
	const and, or = 0x21, 0x09
	i := &f.insts[n]
	if !c.same || i.kind != plain || i.prefix != 0 || i.mem() || i.op != and && i.op != or || n+1 == end {
		return false
	}
	want, other := uint8(condNP), uint8(condE)
	if i.op == or {
		want, other = condP, condNE
	}
	a, b, next := c.is[i.reg], c.is[i.rm], &f.insts[n+1]
	if !a.known || !b.known || a.cond != want || b.cond != other || c.at[i.rm] != n-1 || next.gone || f.insts[n-1].op&^15 != opSet || next.op != opZeroByte || next.rm != i.rm ||
		!f.deadFrom(n+1, end, live, flags) || next.reg != i.rm && !f.deadFrom(n+2, end, live, bit(i.rm)) {
		return false
	}
	f.setCondition(&f.insts[n-1], want)
	c.is[i.rm] = truth{known: true, cond: want}
	return true
}

// deadFrom reports whether nobody reads one of a set from instruction n on.
func (f *function) deadFrom(n, end int32, live, s set) bool {
	for ; n < end; n++ {
		i := &f.insts[n]
		if i.gone {
			continue
		}
		if f.reads(i)&s != 0 {
			return false
		}
		if i.kills&s == s {
			return true
		}
	}
	return live&s == 0
}

// step follows instruction n.
func (c *conditions) step(f *function, n int32) {
	i := &f.insts[n]
	writes := i.writes | i.kills // those of calls are only in kills
	var is truth
	to := none
	if i.kind == plain && i.prefix == 0 && !i.mem() {
		switch cond, ok := i.condition(); {
		case ok && i.op>>4 == opSet>>4:
			to, is = i.rm, truth{known: true, cond: cond}
		case i.op == opZeroByte:
			to, is = i.reg, c.is[i.rm]
			is.whole = is.known
		}
	}
	if writes&flags != 0 {
		*c = conditions{same: f.comparesSelf(i)}
		if i.result() != none {
			c.from = i
		}
	} else if c.from != nil && writes&bit(c.from.result()) != 0 {
		c.from = nil
	}
	for r := range none {
		if writes.has(r) {
			c.is[r] = truth{}
		}
	}
	if to != none {
		c.is[to], c.at[to] = is, n
	}
}

// comparesSelf reports whether the instruction is ucomiss or ucomisd of a register and itself.
func (f *function) comparesSelf(i *inst) bool {
	if i.op != 0x0F2E || i.mem() {
		return false
	}
	to, from := i.vectors(f.code)
	return to == from
}

// zeroTest returns the register that an instruction compares with 0.
func zeroTest(i *inst) (r reg, ok bool) {
	if i.kind != plain || i.prefix != 0 || i.mem() {
		return none, false
	}
	const test, cmp = 0x85, 7
	return i.rm, i.op == test && i.rm == i.reg || (i.op == opImm8 || i.op == opImm32) && i.digit == cmp && i.imm == 0
}

// result returns the register with the result of which the instruction sets the flags.
func (i *inst) result() reg {
	if i.kind != plain || i.prefix != 0 || i.made {
		return none
	}
	switch i.op {
	case 0x01, 0x09, 0x21, 0x29, opXor: // to rm
		return i.rm
	case 0x0B, 0x23, 0x33:
		return i.reg
	case opImm8, opImm32:
		if i.digit != 7 {
			return i.rm
		}
	}
	return none
}

// logic reports whether an instruction with a result sets all flags as a comparison of it with
// 0 does.
func (i *inst) logic() bool {
	switch i.op {
	case 0x09, 0x21, opXor, 0x0B, 0x23, 0x33:
		return true
	case opImm8, opImm32:
		return i.digit == 1 || i.digit == 4 || i.digit == 6
	}
	return false
}

// condition returns the condition of a branch, a conditional move or setcc.
func (i *inst) condition() (cond uint8, ok bool) {
	switch {
	case i.kind == branch:
		return i.cond, true
	case i.kind == plain && (i.op>>4 == opMoveIf>>4 || i.op>>4 == opSet>>4):
		return uint8(i.op & 15), true
	}
	return 0, false
}

// setCondition sets the condition. A conditional move or setcc is encoded anew with it.
func (f *function) setCondition(i *inst, cond uint8) {
	if i.cond = cond; i.kind != plain {
		return
	}
	i.op = i.op&^15 | uint16(cond)
	f.measure(i)
}
