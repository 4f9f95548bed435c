//go:build amd64

package relayout

// loads are the memory operands, of the new code, of which a register of the old code has the
// value: as the load has it, with a number for a register, and with the sums that its base has.
type loads [4]address

// loadedFrom returns them for a load of the old code that is missing in the new one.
func (e *equal) loadedFrom(i *inst) (l loads) {
	if i.op != opLoad || !i.mem() || i.prefix != 0 || i.base >= none {
		return l
	}
	at := *i
	l[0] = e.addressOf(&at)
	if frame.has(at.base) && e.old.sp == e.new.sp {
		l[0].base = bit(at.base)
	}
	at.base, at.idx, at.scale, at.disp, _ = e.plain(i)
	l[1] = e.addressOf(&at)
	for k, s := range e.sums[i.base] {
		if sum := int64(s.disp) + int64(i.disp); i.idx == none && s.known && sum == int64(int32(sum)) {
			s.disp = int32(sum)
			l[2+k] = s
		}
	}
	for k := range l {
		l[k].wide = i.wide
	}
	return l
}

// has reports whether an instruction of the new code has such a memory operand.
func (l *loads) has(b *inst) bool {
	for _, s := range l {
		if s.known && b.base < none && s.base.has(b.base) && s.disp == b.disp && (s.wide || !b.wide) &&
			(!s.of2 && b.idx == none || s.of2 && s.idx.has(b.idx) && s.scale == b.scale) {
			return true
		}
	}
	return false
}

// loaded reports whether an instruction of the new code is the old one, with the memory from which
// a register was loaded in its place, and executes both.
func (e *equal) loaded(a, b *inst) bool {
	if a.kind != plain || b.kind != plain || a.prefix != 0 || b.prefix != 0 || a.mem() || !b.mem() || b.stores || a.wide != b.wide {
		return false
	}
	const cmp = 0x39
	loaded, other := a.reg, a.rm
	switch {
	case a.op == cmp && b.op == cmp:
		loaded, other = a.rm, a.reg
	case b.op != a.op|2:
		return false
	}
	switch a.op {
	case cmp:
	case opAdd, 0x09, 0x21, 0x29, opXor:
		if b.reg != other {
			return false
		}
	default:
		return false
	}
	if loaded == other || !e.loads[loaded].has(b) || !e.regs.has(b.reg) || !e.values.isSame(b.reg, bit(other)) || e.old.sp != e.new.sp {
		return false
	}
	e.regs |= a.writes
	if e.truths = (truths{}); a.result() != none {
		e.truths.from = a
	}
	e.step(a)
	e.stepNew(b)
	return true
}
