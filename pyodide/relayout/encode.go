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
