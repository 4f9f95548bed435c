package relayout

import "encoding/binary"

// fuseSums lets one lea compute what a copy and the addition to it compute, where nobody reads
// the addition's flags. Most are addresses whose bounds are checked. It is called with the
// liveness of removeDead, and returns how many there were.
func (f *function) fuseSums() (fused int) {
	for k := range f.blocks {
		b := &f.blocks[k]
		live := f.liveAfter(b)
		for n := b.end - 1; n >= b.begin; n-- {
			i := &f.insts[n]
			if i.gone {
				continue
			}
			after := live
			live = live&^i.kills | f.reads(i)
			if n == b.begin || after&flags != 0 {
				continue
			}
			if lea, ok := sumOf(&f.insts[n-1], i); ok && !f.insts[n-1].gone {
				lea.size = uint8(len(lea.append(f.laid.code[:0])))
				*i = lea
				live = after&^i.kills | i.reads
				n--
				f.insts[n].gone = true
				fused++
			}
		}
	}
	return fused
}

// sumOf returns the lea for a copy and the addition to it.
func sumOf(move, add *inst) (lea inst, ok bool) {
	to, from, ok := move.moves()
	if !ok {
		return
	}
	idx, disp, ok := addend(add)
	// The upper half of a 32-bit sum is 0, whatever that of the copy is.
	if !ok || add.rm != to || to == from || idx == to || add.wide && !move.wide || (bit(to)|bit(from)|bit(idx))&frame != 0 {
		return lea, false
	}
	lea = inst{at: add.at, made: true, op: opLea, wide: add.wide, reg: to, rm: none, base: from, idx: idx, disp: disp,
		reads: bit(from) | bit(idx), writes: bit(to), kills: bit(to)}
	return lea, true
}

// addend returns the register or the number that an instruction adds to its register rm.
func addend(i *inst) (idx reg, disp int32, ok bool) {
	const sub = 5
	switch {
	case i.kind != plain || i.prefix != 0 || i.mem():
	case i.op == opAdd:
		return i.reg, 0, true
	case (i.op == opImm8 || i.op == opImm32) && i.digit == 0:
		return none, i.imm, true
	case (i.op == opImm8 || i.op == opImm32) && i.digit == sub && i.imm != -i.imm:
		return none, -i.imm, true
	}
	return none, 0, false
}

// append appends a lea or test that was made here.
func (i *inst) append(b []byte) []byte {
	if i.op == opTest || i.op == opTestImm {
		b = append(b, 0x40|byte(i.rm>>3), byte(i.op), 0xC0|byte(i.rm&7))
		at := len(b) - 3
		if i.wide {
			b[at] |= 8
		}
		if i.op == opTestImm {
			return binary.LittleEndian.AppendUint32(b, uint32(i.imm))
		}
		b[at] |= byte(i.reg>>3) << 2
		b[at+2] |= byte(i.reg&7) << 3
		return b
	}
	if i.idx == none {
		return appendMem(b, i.wide, opLea, i.reg, i.base, i.disp)
	}
	rex := byte(0x40) | byte(i.reg>>3)<<2 | byte(i.idx>>3)<<1 | byte(i.base>>3)
	if i.wide {
		rex |= 8
	}
	b = append(b, rex, opLea, byte(i.reg&7)<<3|byte(rsp), byte(i.idx&7)<<3|byte(i.base&7))
	if i.base&7 == rbp { // without a displacement it would be none
		b[len(b)-2] |= 0x40
		b = append(b, 0)
	}
	return b
}
