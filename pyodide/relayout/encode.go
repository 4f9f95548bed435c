package relayout

import "encoding/binary"

// appendMem appends an instruction with a register and memory, as wazero encodes
// it: see encodeEncMem.
func appendMem(b []byte, wide bool, op byte, r, base reg, disp int32) []byte {
	rex := byte(r>>3)<<2 | byte(base>>3)
	if wide {
		rex |= 8
	}
	if rex != 0 {
		b = append(b, 0x40|rex)
	}
	mod := byte(0x80)
	switch {
	case disp == 0 && base&7 != rbp:
		mod = 0
	case disp == int32(int8(disp)):
		mod = 0x40
	}
	b = append(b, op, mod|byte(r&7)<<3|byte(base&7))
	if base&7 == rsp {
		b = append(b, 0x24)
	}
	switch mod {
	case 0x40:
		b = append(b, byte(disp))
	case 0x80:
		b = binary.LittleEndian.AppendUint32(b, uint32(disp))
	}
	return b
}

// encode appends the instruction that was old with the registers and the displacement that it
// has now.
func (i *inst) encode(b, old []byte) []byte {
	p, rex := 0, byte(0)
	if i.prefix != 0 {
		b, p = append(b, i.prefix), 1
	}
	if old[p]&0xF0 == 0x40 {
		rex, p = old[p]&8|0x40, p+1
	}
	op := p
	switch {
	case i.op < 0x0F00:
		p++
	case i.op>>8 == 0x0F:
		p += 2
	default:
		p += 3
	}
	// What is behind ModRM and the memory operand is the immediate.
	d := decoder{b: old, p: p + 1}
	field, rm, idx := reg(i.fields&15), reg(i.fields>>4), rsp
	if i.reg != none {
		field = i.reg
	}
	if i.mem() {
		new(inst).memory(&d, old[p], 0, 0)
		rm = i.base
	} else if i.rm != none {
		rm = i.rm
	}
	if i.idx != none {
		idx = i.idx
	}
	rex |= byte(field>>3)<<2 | byte(idx>>3)<<1 | byte(rm>>3)
	if rex != 0 || i.op == opStore8 || i.op == 0x0FB6 || i.op == 0x0FBE { // of spl and so on
		b = append(b, rex|0x40)
	}
	b = append(b, old[op:p]...)
	if i.op>>4 == opMoveIf>>4 || i.op>>4 == opSet>>4 {
		b[len(b)-1] = byte(i.op) // the condition may be another
	}
	return append(i.appendOperands(b, field, rm, idx), old[d.p:]...)
}

// appendOperands appends ModRM and the memory operand.
func (i *inst) appendOperands(b []byte, field, rm, idx reg) []byte {
	m := byte(field&7)<<3 | byte(rm&7)
	switch {
	case !i.mem():
		return append(b, m|0xC0)
	case i.idx != none || rm&7 == rsp:
		return appendDisp(append(b, m&^7|byte(rsp), i.scale<<6|byte(idx&7)<<3|byte(rm&7)), rm, i.disp, len(b))
	}
	return appendDisp(append(b, m), rm, i.disp, len(b))
}

// appendDisp appends a displacement to the base, and its size to ModRM at a place.
func appendDisp(b []byte, base reg, disp int32, modrm int) []byte {
	switch {
	case disp == 0 && base&7 != rbp:
		return b
	case disp == int32(int8(disp)):
		b[modrm] |= 0x40
		return append(b, byte(disp))
	}
	b[modrm] |= 0x80
	return binary.LittleEndian.AppendUint32(b, uint32(disp))
}

// appendMove appends a move of 64 bits between registers.
func appendMove(b []byte, to, from reg) []byte {
	return append(b, 0x48|byte(from>>3)<<2|byte(to>>3), opStore, 0xC0|byte(from&7)<<3|byte(to&7))
}

// appendStack appends the addition (digit 0) to rsp or the subtraction (5).
func appendStack(b []byte, digit byte, size int32) []byte {
	if size == int32(int8(size)) {
		return append(b, 0x48, opImm8, 0xC0|digit<<3|byte(rsp), byte(size))
	}
	return binary.LittleEndian.AppendUint32(append(b, 0x48, opImm32, 0xC0|digit<<3|byte(rsp)), uint32(size))
}

// appendRel appends an opcode and the distance of 4 bytes to a target in b.
func appendRel(b []byte, target int32, op ...byte) []byte {
	b = append(b, op...)
	return binary.LittleEndian.AppendUint32(b, uint32(target-int32(len(b))-4))
}

// pad appends zeros up to a multiple of n.
func pad(b []byte, n int) []byte {
	for len(b)%n != 0 {
		b = append(b, 0)
	}
	return b
}
