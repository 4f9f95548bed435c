package relayout

const (
	opTest    = 0x85
	opTestImm = 0xF7 // with digit 0
)

// fuseTests lets one test do what a copy, the conjunction with it and the test of the result do,
// where the result is for the test alone. It is called with the liveness of removeDead.
func (f *function) fuseTests() {
	for k := range f.blocks {
		b := &f.blocks[k]
		live := f.liveAfter(b)
		for n := b.end - 1; n >= b.begin; n-- {
			test, after := &f.insts[n], live
			live = live&^test.kills | f.reads(test)
			if n < b.begin+2 {
				continue
			}
			move, and := &f.insts[n-2], &f.insts[n-1]
			r, ok := zeroTest(test)
			if !ok || r != and.rm || test.wide != and.wide || after.has(r) {
				continue
			}
			if t, ok := testOf(move, and); ok {
				f.measure(&t)
				*and, move.gone, test.gone = t, true, true
				live = after&^flags | t.reads
				n -= 2
			}
		}
	}
}

// testOf returns the test for a copy and the conjunction with it.
func testOf(move, and *inst) (t inst, ok bool) {
	to, from, ok := move.moves()
	if !ok {
		return
	}
	t = inst{at: and.at, made: true, op: opTest, wide: and.wide, reg: and.reg, rm: from, base: none, idx: none, writes: flags, kills: flags}
	if and.op != 0x21 {
		t.op, t.reg, t.imm = opTestImm, none, and.imm
		ok = (and.op == opImm8 || and.op == opImm32) && and.digit == 4
	}
	t.reads = bit(t.reg) | bit(t.rm)
	return t, ok && and.rm == to && and.reg != to && to != from && (!and.wide || move.wide) && (bit(to)|bit(from))&frame == 0
}

// foldSums lets memory operands have the sum that a lea has computed, where nobody else reads
// it. It is called with the liveness of removeDead.
func (f *function) foldSums() {
	for k := range f.blocks {
		b := &f.blocks[k]
		live := f.liveAfter(b)
		for n := b.begin; n < b.end; n++ {
			lea := &f.insts[n]
			if lea.op != opLea || !lea.wide || lea.gone || lea.base >= none || (bit(lea.base)|bit(lea.reg))&frame != 0 {
				continue
			}
			var users [4]*inst
			if count, ok := f.usersOf(lea, f.insts[n+1:b.end], live, users[:]); ok {
				for _, i := range users[:count] {
					i.base, i.idx, i.scale, i.disp = lea.base, lea.idx, lea.scale, i.disp+lea.disp
					i.reads = i.reads&^bit(lea.reg) | lea.reads
					f.measure(i)
				}
				lea.gone = true
			}
		}
	}
}

// usersOf finds the instructions behind a lea that read its result. ok is false if one does it
// otherwise than as the base of a memory operand, or behind a change of what the sum is of.
func (f *function) usersOf(lea *inst, rest []inst, live set, users []*inst) (count int, ok bool) {
	changed := false
	for n := range rest {
		i := &rest[n]
		if i.gone {
			continue
		}
		if f.reads(i).has(lea.reg) {
			if changed || count == len(users) || !folds(i, lea) {
				return 0, false
			}
			users[count] = i
			count++
		}
		if i.writes.has(lea.reg) {
			return count, i.kills.has(lea.reg)
		}
		changed = changed || i.writes&lea.reads != 0
	}
	return count, !live.has(lea.reg)
}

// folds reports whether the instruction reads the lea's result as a base only, and has room for
// the sum.
func folds(i, lea *inst) bool {
	disp := int64(i.disp) + int64(lea.disp)
	if i.kind != plain || i.made || i.base != lea.reg || i.idx != none || i.rm != none || disp != int64(int32(disp)) {
		return false
	}
	switch i.op {
	case opLoad, 0x63, 0x0FB6, 0x0FB7, 0x0FBE, 0x0FBF:
		return true
	case opStore, opStore8, 0x03, 0x2B, 0x23, 0x0B, 0x33, 0x39, 0x3B, 0x0F10, 0x0F11:
		return i.reg != lea.reg
	}
	return false
}
