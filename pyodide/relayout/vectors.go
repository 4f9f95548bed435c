package relayout

// vectors returns the xmm registers of an instruction's ModRM byte. Where it has a general
// register or memory instead, from is none.
func (i *inst) vectors(code []byte) (to, from reg) {
	b := code[i.at:i.end()]
	if i.prefix != 0 {
		b = b[1:]
	}
	rex := byte(0)
	if b[0]&0xF0 == 0x40 {
		rex, b = b[0], b[1:]
	}
	m := b[2]
	if i.op >= 0x3800 {
		m = b[3]
	}
	to, from = reg(m>>3&7|rex<<1&8), reg(m&7|rex<<3&8)
	if i.mem() || i.rm != none {
		from = none
	}
	return to, from
}

// clears returns the xmm register that is to be cleared before an instruction: one of which it
// writes the lower part and keeps the rest, which nobody reads. The processor would wait for what
// was computed there last, which in a loop is the round before.
func (i *inst) clears(code []byte) (to reg, ok bool) {
	const convert, sqrt, convertFloat, roundFloat, roundDouble = 0x0F2A, 0x0F51, 0x0F5A, 0x3A0A, 0x3A0B
	switch i.op {
	case convert, sqrt, convertFloat:
		ok = i.prefix == 0xF2 || i.prefix == 0xF3
	case roundFloat, roundDouble:
		ok = true
	}
	if !ok {
		return none, false
	}
	to, from := i.vectors(code)
	return to, to != from
}

// appendClear appends xorps of a register with itself.
func appendClear(b []byte, r reg) []byte {
	if r >= r8 {
		b = append(b, 0x45)
	}
	return append(b, 0x0F, 0x57, 0xC0|byte(r&7)<<3|byte(r&7))
}
