package relayout

import "encoding/binary"

// decoder reads the bytes of one instruction.
type decoder struct {
	b     []byte
	p     int
	short bool // b ends too early
}

func (d *decoder) byte() byte {
	if d.p >= len(d.b) {
		d.short = true
		return 0
	}
	d.p++
	return d.b[d.p-1]
}

// number reads a signed number of 1, 4 or 8 bytes, of which it returns the lower 32
// bits.
func (d *decoder) number(size int) int32 {
	if len(d.b)-d.p < size {
		d.short = true
		return 0
	}
	d.p += size
	switch b := d.b[d.p-size:]; size {
	case 1:
		return int32(int8(b[0]))
	case 4, 8:
		return int32(binary.LittleEndian.Uint32(b))
	}
	return 0
}

// decode decodes the instruction at the beginning of b, in the encodings that
// wazero uses. Its at and target are the caller's. It reports false for any other.
func decode(b []byte, i *inst) bool {
	d := decoder{b: b}
	*i = inst{reg: none, rm: none, base: none, idx: none}
	lock, rex, f := i.opcode(&d)
	if f.pre == 0 {
		return false
	}
	high := func(n uint) reg { return reg(rex>>n&1) << 3 }
	i.wide = rex&8 != 0
	imm := int(f.imm)
	if f.modrm {
		m := d.byte()
		i.digit = m >> 3 & 7
		if f.group != nil {
			if f = &f.group[i.digit]; f.pre == 0 {
				return false
			}
			imm = int(f.imm)
		}
		i.reg = reg(i.digit) | high(2)
		i.fields = uint8(i.reg)
		if m>>6 == 3 {
			i.rm = reg(m&7) | high(0)
			i.fields |= uint8(i.rm) << 4
		} else if !i.memory(&d, m, high(1), high(0)) {
			return false
		}
	} else if f.reg != unused { // in the opcode
		i.reg = reg(i.op&7) | high(0)
		i.op &^= 7
		if i.op == opMovImm && i.wide {
			imm = 8
		}
	}
	if f.bytes && rex == 0 && (i.reg >= rsp && f.reg != write || i.rm >= rsp && i.rm < none) {
		return false // ah, ch, dh, bh
	}
	if f.pre&prefixOf(i.prefix) == 0 || f.lock != lock || f.noMem && i.mem() || f.noReg && !i.mem() || i.base == rip && (imm > 0 || f.kind != plain) {
		return false
	}
	i.imm = d.number(imm)
	if d.short {
		return false
	}
	i.size, i.kind = uint8(d.p), f.kind
	if f.kind == branch {
		i.cond = uint8(i.op & 15)
	}
	i.effects(f)
	return i.op != 0x0FAE || i.rm == rax // mfence
}

// opcode reads prefixes and opcode.
func (i *inst) opcode(d *decoder) (lock bool, rex byte, f *form) {
	op := d.byte()
	if op == 0x66 || op == 0xF2 || op == 0xF3 {
		i.prefix, op = op, d.byte()
	}
	if op == 0xF0 && i.prefix&0xF0 != 0xF0 {
		lock, op = true, d.byte()
	}
	if op&0xF0 == 0x40 {
		rex, op = op, d.byte()
	}
	i.op = uint16(op)
	t := one()
	if op == 0x0F {
		op, t = d.byte(), two()
		i.op = 0x0F00 | uint16(op)
		if op == 0x38 || op == 0x3A {
			t = three38()
			if op == 0x3A {
				t = three3A()
			}
			i.op = uint16(op) << 8
			op = d.byte()
			i.op |= uint16(op)
		}
	}
	if d.short {
		return false, 0, &form{}
	}
	return lock, rex, &t[op]
}

func prefixOf(b byte) prefixes {
	switch b {
	case 0x66:
		return p66
	case 0xF2:
		return pF2
	case 0xF3:
		return pF3
	}
	return np
}

// memory reads a memory operand. It reports false if it has no base.
func (i *inst) memory(d *decoder, m byte, x, b reg) bool {
	mod, rm := m>>6, m&7
	if mod == 0 && rm == 5 {
		i.base, i.disp = rip, d.number(4)
		return true
	}
	i.base = reg(rm) | b
	if rm == 4 {
		sib := d.byte()
		i.base = reg(sib&7) | b
		if mod == 0 && sib&7 == 5 {
			return false
		}
		if n := reg(sib>>3&7) | x; n != rsp {
			i.idx, i.scale = n, sib>>6
		}
	}
	i.disp = d.number([]int{0, 1, 4}[mod])
	return true
}

// effects sets what the instruction reads and writes. An operand that is no general
// register is none afterwards.
func (i *inst) effects(f *form) {
	i.reads = f.implicit | bit(i.base) | bit(i.idx)
	i.writes, i.kills = f.clobbers, f.clobbers
	use := func(r reg, ro role) {
		switch ro {
		case read:
			i.reads |= bit(r)
		case write, change, part:
			i.writes |= bit(r)
			if ro == change {
				i.reads |= bit(r)
			}
			if ro == part || i.prefix == 0x66 && f.reg < vector && f.rm < vector { // 16 bits
				i.reads |= bit(r)
			} else {
				i.kills |= bit(r)
			}
		}
	}
	use(i.reg, f.reg)
	use(i.rm, f.rm)
	i.stores = i.mem() && (f.rm == write || f.rm == change || f.rm == part || f.rm == spill)
	if i.op == opXor && i.rm == i.reg { // it is cleared, whatever it was
		i.reads &^= bit(i.rm)
	}
	switch f.flags {
	case readsFlags:
		i.reads |= flags
	case partFlags:
		i.reads, i.writes = i.reads|flags, i.writes|flags
		if i.op == opShiftImm && i.digit >= 4 && i.imm&31 != 0 {
			i.reads, i.kills = i.reads&^flags, i.kills|flags
		}
	case setsFlags:
		i.writes, i.kills = i.writes|flags, i.kills|flags
	}
	if f.reg == unused || f.reg >= vector {
		i.reg = none
	}
	if f.rm == unused || f.rm >= vector {
		i.rm = none
	}
}
