//go:build amd64

package relayout

// truths are what the validator knows of conditions, by the new code's flags as they are now.
type truths struct {
	is, made [none]truth // of registers, in the old code and in the new
	not0     truth       // of the condition NE in the old code, where its flags are others
	from     *inst       // what has set the flags by its result, which is still in its register
	same     bool        // they are of a number compared with itself
}

// meet returns what both know.
func (t truths) meet(u truths) truths {
	for r := range none {
		t.is[r], t.made[r] = t.is[r].meet(u.is[r]), t.made[r].meet(u.made[r])
	}
	t.not0, t.same = t.not0.meet(u.not0), t.same && u.same
	if t.from != u.from {
		t.from = nil
	}
	return t
}

func (t truth) meet(u truth) truth {
	if t != u {
		return truth{}
	}
	return t
}

// now returns the condition of the new flags that one of the old flags is.
func (t *truths) now(cond uint8, equal bool) (uint8, bool) {
	if equal {
		return cond, true
	}
	return t.not0.cond ^ cond&1 ^ 1, t.not0.known && cond|1 == condNE
}

// write forgets registers that change.
func (t *truths) write(old, new set) {
	for r := range none {
		if old.has(r) {
			t.is[r] = truth{}
		}
		if new.has(r) {
			t.made[r] = truth{}
		}
	}
	if t.from != nil && (old | new).has(t.from.result()) {
		t.from = nil
	}
}

// find returns what is known of a register of the old code, or of one that has the same value.
func (t *truths) find(r reg, v *values) truth {
	for o := range none {
		if t.is[o].known && v.same[o] == v.same[r] {
			return t.is[o]
		}
	}
	return truth{}
}

// makes returns the register whose truth an instruction makes of the flags or of another register.
func (t *truths) makes(i *inst, of func(reg) truth, cond uint8, sure bool) (to reg, is truth) {
	switch {
	case i.kind != plain || i.prefix != 0 || i.mem():
	case i.op&^15 == opSet && sure:
		return i.rm, truth{known: true, cond: cond}
	case i.op == opZeroByte:
		is = of(i.rm)
		is.whole = is.known
		return i.reg, is
	case t.same && (i.op == 0x21 || i.op == 0x09):
		a, b := of(i.rm), of(i.reg)
		if a.known && b.known && i.op == 0x21 && (a.cond == condNP && b.cond == condE || a.cond == condE && b.cond == condNP) {
			return i.rm, truth{known: true, cond: condNP}
		}
		if a.known && b.known && i.op == 0x09 && (a.cond == condP && b.cond == condNE || a.cond == condNE && b.cond == condP) {
			return i.rm, truth{known: true, cond: condP}
		}
	}
	return none, truth{}
}

// miss executes an instruction that only the old code has. It reports whether the flags are
// equal afterwards.
func (t *truths) miss(i *inst, v *values, equal bool) bool {
	cond, _ := i.condition()
	cond, sure := t.now(cond, equal)
	to, is := t.makes(i, func(r reg) truth { return t.find(r, v) }, cond, sure)
	if i.writes&flags != 0 {
		equal, t.not0 = false, truth{}
		if r, ok := zeroTest(i); !ok {
		} else if is := t.find(r, v); is.whole {
			t.not0 = is
		} else if t.from != nil && v.same[t.from.result()] == v.same[r] && t.from.wide == i.wide {
			equal, t.not0 = t.from.logic(), truth{known: true, cond: condNE}
		}
	}
	t.write(i.writes, 0)
	if to != none {
		t.is[to] = is
	}
	return equal
}

// match executes an instruction that both have, with the condition that it has in the new code,
// and the one that it should.
func (t *truths) match(a, b *inst, v *values, self bool, cond, want uint8, sure bool) {
	to, is := t.makes(a, func(r reg) truth { return t.find(r, v) }, want, sure)
	_, made := t.makes(b, func(r reg) truth { return t.made[r] }, cond, true)
	switch {
	case a.kind == call || a.kind == callAddress:
		*t = truths{}
		return
	case a.writes&flags != 0:
		*t = truths{same: self}
		if a.result() != none {
			t.from = a
		}
		return
	}
	t.write(a.writes, a.writes)
	if to != none {
		t.is[to], t.made[to] = is, made
	}
}

// isClear returns the register that xorps clears.
func isClear(b []byte) reg {
	for r := range none {
		if c := appendClear(nil, r); len(b) >= len(c) && string(b[:len(c)]) == string(c) {
			return r
		}
	}
	return none
}

// keepsHalf reports whether an instruction that ends at the end of b writes the lower part of an
// xmm register, and does not read it.
func keepsHalf(i *inst, b []byte, x reg) bool {
	scalar := i.prefix == 0xF2 || i.prefix == 0xF3
	switch i.op {
	case 0x0F2A, 0x0F51, 0x0F5A:
		if !scalar {
			return false
		}
	case 0x3A0A, 0x3A0B:
	default:
		return false
	}
	to, from := i.vectors(b)
	return to == x && from != x
}
