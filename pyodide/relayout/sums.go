package relayout

import "encoding/binary"

// fuseSums lets one lea compute what a copy and the addition to it compute, where nobody reads
// the addition's flags, and one extension what a copy and the conjunction with 255 do. Most are
// addresses whose bounds are checked. It is called with the liveness of removeDead, and returns
// how many there were.
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
			one, ok := sumOf(&f.insts[n-1], i)
			if !ok {
				one, ok = byteOf(&f.insts[n-1], i)
			}
			if ok && !f.insts[n-1].gone {
				f.measure(&one)
				*i = one
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

// byteOf returns the extension for a copy and the conjunction of it with 255.
func byteOf(move, and *inst) (extend inst, ok bool) {
	to, from, ok := move.moves()
	ok = ok && and.makesByte() == to && and.op == opImm32 && to != from && (bit(to)|bit(from))&frame == 0
	return inst{at: and.at, made: true, op: opZeroByte, reg: to, rm: from, base: none, idx: none,
		reads: bit(from), writes: bit(to), kills: bit(to)}, ok
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

// append appends an instruction that was made here: of general registers, without a prefix.
func (i *inst) append(b []byte) []byte {
	field, rm, idx := reg(i.digit), i.rm, rsp
	if i.reg != none {
		field = i.reg
	}
	if i.mem() {
		rm = i.base
	}
	if i.idx != none {
		idx = i.idx
	}
	rex := byte(field>>3)<<2 | byte(idx>>3)<<1 | byte(rm>>3)
	if i.wide {
		rex |= 8
	}
	if rex != 0 || i.op == opZeroByte { // of spl and so on
		b = append(b, rex|0x40)
	}
	if i.op >= 0x0F00 {
		b = append(b, 0x0F)
	}
	b = i.appendOperands(append(b, byte(i.op)), field, rm, idx)
	switch i.op {
	case opImm8:
		return append(b, byte(i.imm))
	case opImm32, opTestImm, opStoreImm:
		return binary.LittleEndian.AppendUint32(b, uint32(i.imm))
	}
	return b
}
