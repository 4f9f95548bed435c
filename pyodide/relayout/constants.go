package relayout

const opStoreImm = 0xC7

// constants are the numbers that registers surely have, whose upper half is 0.
type constants struct {
	known set
	at    [none]int32
}

// has returns the number of a register, if that is known.
func (c *constants) has(r reg) (n int32, ok bool) {
	if !c.known.has(r) {
		return 0, false
	}
	return c.at[r], true
}

// step follows an instruction.
func (c *constants) step(i *inst) {
	to, n, ok := c.result(i)
	c.known &^= i.writes | i.kills // those of calls are only in kills
	if ok {
		c.known |= bit(to)
		c.at[to] = n
	}
}

// result returns the number that an instruction surely writes to a register. Of 64 bits, the upper
// half is surely 0 if the number is not negative.
func (c *constants) result(i *inst) (to reg, n int32, ok bool) {
	if i.kind != plain || i.prefix != 0 {
		return
	}
	sum := func(r reg, n int32) (int32, bool) {
		was, ok := c.has(r)
		total := int64(was) + int64(n)
		return int32(total), ok && was >= 0 && total == int64(int32(total)) && total >= 0
	}
	switch from, added, is := none, int32(0), false; {
	case i.op == opMovImm:
		return i.reg, i.imm, !i.wide
	case i.op == opXor && i.rm == i.reg:
		return i.rm, 0, true
	case i.op == opLea && i.idx == none:
		n, ok = sum(i.base, i.disp)
		return i.reg, n, ok
	default:
		if to, from, is = i.moves(); is {
			n, ok = c.has(from)
			return to, n, ok
		}
		if from, added, is = addend(i); is && from == none {
			n, ok = sum(i.rm, added)
			return i.rm, n, ok
		}
	}
	return none, 0, false
}

// foldConstants lets instructions have numbers in place of the registers that were loaded with
// them. It is called with the liveness of removeDead, and leaves those that nobody reads any more
// to compact.
func (f *function) foldConstants() {
	for k := range f.blocks {
		b := &f.blocks[k]
		var c constants
		changed := false
		for n := b.begin; n < b.end; n++ {
			i := &f.insts[n]
			if i.gone {
				continue
			}
			next := c
			next.step(i)
			if c.known&i.reads != 0 && i.kind == plain {
				changed = c.address(f, i) || changed
				if now, ok := c.operand(i); ok {
					*i, changed = now, true
					f.measure(i)
				}
			}
			c = next
		}
		if changed {
			f.markDead(b, f.liveAfter(b))
		}
	}
}

// operand returns an instruction with the number of its register reg.
func (c *constants) operand(i *inst) (now inst, ok bool) {
	n, ok := c.has(i.reg)
	if now = *i; !ok || i.wide && n < 0 || i.made || i.rm == i.reg || i.prefix != 0 {
		return now, false
	}
	switch i.op {
	case opAdd, 0x09, 0x21, 0x29, opXor, 0x39:
		if i.mem() {
			return now, false
		}
		now.op, now.digit = opImm32, uint8(i.op>>3)
		if n == int32(int8(n)) {
			now.op = opImm8
		}
	case opStore:
		if !i.mem() {
			return now, false
		}
		now.op, now.digit = opStoreImm, 0
	default:
		return now, false
	}
	now.reg, now.imm, now.made, now.now = none, n, true, 0
	now.reads = i.reads&^bit(i.reg) | bit(i.base) | bit(i.idx)
	return now, true
}

// address lets a memory operand have the number of a register.
func (c *constants) address(f *function, i *inst) bool {
	base, idx, scale, disp, ok := c.sum(i)
	if !ok || !addresses(i) {
		return false
	}
	i.reads = i.reads&^(bit(i.base)|bit(i.idx)) | bit(base) | bit(idx)
	if !i.kills.has(i.reg) || i.op == 0x03 || i.op == 0x2B || i.op == 0x23 || i.op == 0x0B || i.op == 0x33 {
		i.reads |= bit(i.reg)
	}
	i.base, i.idx, i.scale, i.disp = base, idx, scale, disp
	f.measure(i)
	return true
}

// sum returns the memory operand of an instruction with a number in place of a register.
func (c *constants) sum(i *inst) (base, idx reg, scale uint8, disp int32, ok bool) {
	base, idx = i.base, i.idx
	if base >= none || idx == none {
		return
	}
	n, ok := c.has(idx)
	if ok {
		idx = none
	} else if n, ok = c.has(base); ok && i.scale == 0 {
		base, idx = idx, none
	} else {
		return base, idx, 0, 0, false
	}
	total := int64(n)<<i.scale + int64(i.disp)
	return base, idx, 0, int32(total), n >= 0 && total == int64(int32(total)) && base != rsp
}

// addresses reports whether an instruction may have another memory operand.
func addresses(i *inst) bool {
	switch i.op {
	case opLoad, opLea, 0x63, 0x0FB6, 0x0FB7, 0x0FBE, 0x0FBF, opStore, opStore8, 0x03, 0x2B, 0x23, 0x0B, 0x33, 0x39, 0x3B, 0x0F10, 0x0F11:
		return true
	}
	return false
}
