package relayout

import "sync"

// role is what an instruction does with an operand.
type role uint8

const (
	unused role = iota
	read
	write
	change // read and written
	part   // written in part: the rest stays
	vector // an xmm register, of no interest, or memory that is read
	spill  // the same, but memory is written
)

// flagUse is what an instruction does with the flags.
type flagUse uint8

const (
	noFlags    flagUse = iota
	readsFlags         //
	setsFlags          // all that wazero reads
	partFlags          // some, or none
)

// prefixes is a set of mandatory prefixes.
type prefixes uint8

const (
	np prefixes = 1 << iota // none
	p66
	pF2
	pF3
)

// form describes an opcode.
type form struct {
	pre      prefixes // that it may have; 0: the opcode is unknown
	modrm    bool
	lock     bool // it must have the prefix
	reg, rm  role
	noMem    bool  // rm is a register
	noReg    bool  // rm is memory
	bytes    bool  // a register operand is a byte
	imm      uint8 // bytes
	flags    flagUse
	kind     kind
	implicit set // read besides
	clobbers set // and written
	group    *[8]form
}

// The opcodes of one byte, of two, and of three behind 0x38 and 0x3A.
var (
	one, two         = sync.OnceValue(oneByte), sync.OnceValue(twoBytes)
	three38, three3A = sync.OnceValue(threeBytes38), sync.OnceValue(threeBytes3A)
)

// put sets the form of opcodes with a ModRM byte.
func put(t *[256]form, f form, ops ...byte) {
	if f.pre == 0 {
		f.pre = np
	}
	f.modrm = true
	if f.group != nil {
		group := *f.group
		for n := range group {
			group[n].imm, group[n].implicit = group[n].imm|f.imm, group[n].implicit|f.implicit
		}
		f.group = &group
	}
	for _, op := range ops {
		t[op] = f
	}
}

func oneByte() *[256]form {
	t := new([256]form)
	put(t, form{rm: change, reg: read, flags: setsFlags}, 0x01, 0x09, 0x21, 0x29, opXor)
	put(t, form{reg: change, rm: read, flags: setsFlags}, 0x03, 0x0B, 0x23, 0x2B, 0x33)
	put(t, form{reg: read, rm: read, flags: setsFlags}, 0x39, 0x3B, 0x85)
	put(t, form{reg: write, rm: read}, 0x63, opLoad)
	put(t, form{reg: write, rm: read, noReg: true}, opLea)
	put(t, form{reg: write, rm: read, flags: partFlags, imm: 4}, 0x69)
	put(t, form{reg: write, rm: read, flags: partFlags, imm: 1}, 0x6B)
	put(t, form{reg: part, rm: part, bytes: true}, 0x86)
	put(t, form{pre: np | p66, reg: change, rm: change}, 0x87)
	put(t, form{reg: read, rm: part, bytes: true, noReg: true}, opStore8)
	put(t, form{pre: np | p66, reg: read, rm: write}, opStore)
	add := form{modrm: true, pre: np, rm: change, flags: setsFlags}
	cmp := form{modrm: true, pre: np, rm: read, flags: setsFlags}
	arithmetic := [8]form{0: add, 1: add, 4: add, 5: add, 6: add, 7: cmp}
	put(t, form{imm: 4, group: &arithmetic}, opImm32)
	put(t, form{imm: 1, group: &arithmetic}, opImm8)
	shift := form{modrm: true, pre: np, rm: change, flags: partFlags}
	shifts := [8]form{0: shift, 1: shift, 4: shift, 5: shift, 7: shift}
	put(t, form{imm: 1, group: &shifts}, opShiftImm)
	put(t, form{implicit: 1 << rcx, group: &shifts}, 0xD3)
	put(t, form{imm: 4, group: &[8]form{0: {modrm: true, pre: np, rm: write}}}, 0xC7)
	mul := form{modrm: true, pre: np, rm: read, flags: partFlags, implicit: 1 << rax, clobbers: 1<<rax | 1<<rdx}
	div := mul
	div.implicit |= 1 << rdx
	put(t, form{group: &[8]form{
		0: {modrm: true, pre: np, rm: read, flags: setsFlags, imm: 4}, // test
		2: {modrm: true, pre: np, rm: change},                         // not
		3: {modrm: true, pre: np, rm: change, flags: setsFlags},       // neg
		4: mul, 5: mul, 6: div, 7: div}}, 0xF7)
	put(t, form{group: &[8]form{
		2: {modrm: true, pre: np, rm: read, kind: callAddress},
		4: {modrm: true, pre: np, rm: read, kind: tailAddress}}}, 0xFF)
	t[0x99] = form{pre: np, implicit: 1 << rax, clobbers: 1 << rdx} // cdq, cqo
	t[0xC3] = form{pre: np, kind: ret}
	t[0xE8] = form{pre: np, kind: call, imm: 4}
	t[0xE9] = form{pre: np, kind: jump, imm: 4}
	for r := range 8 {
		t[opPush+r] = form{pre: np, reg: read, implicit: 1 << rsp, clobbers: 1 << rsp}
		t[opPop+r] = form{pre: np, reg: write, implicit: 1 << rsp, clobbers: 1 << rsp}
		t[opMovImm+r] = form{pre: np, reg: write, imm: 4}
	}
	return t
}

func twoBytes() *[256]form {
	t := new([256]form)
	put(t, form{pre: np | p66 | pF2 | pF3, reg: vector, rm: vector}, 0x10, 0x51, 0x58, 0x59, 0x5A, 0x5C, 0x5D, 0x5E, 0x5F)
	put(t, form{pre: np | p66 | pF2 | pF3, reg: vector, rm: vector, imm: 1}, 0xC2)
	put(t, form{pre: np | p66 | pF2 | pF3, reg: vector, rm: spill}, 0x11)
	put(t, form{pre: np | p66, reg: vector, rm: spill}, 0x29)
	put(t, form{reg: vector, rm: vector}, 0x16)
	put(t, form{pre: np | p66, reg: vector, rm: vector}, 0x14, 0x28, 0x54, 0x55, 0x56, 0x57)
	put(t, form{pre: np | p66, reg: vector, rm: vector, flags: setsFlags}, 0x2E)
	put(t, form{pre: np | pF3, reg: vector, rm: vector}, 0x5B)
	put(t, form{pre: p66 | pF3, reg: vector, rm: vector}, 0x6F, 0xE6)
	put(t, form{pre: p66 | pF3, reg: vector, rm: spill}, 0x7F)
	put(t, form{pre: p66, reg: vector, rm: vector},
		0x60, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x6B, 0x74, 0x75, 0x76,
		0xD1, 0xD2, 0xD3, 0xD4, 0xD5, 0xD8, 0xD9, 0xDA, 0xDB, 0xDC, 0xDD, 0xDE, 0xDF, 0xE0, 0xE1, 0xE2, 0xE3, 0xE8, 0xE9,
		0xEA, 0xEB, 0xEC, 0xED, 0xEE, 0xEF, 0xF1, 0xF2, 0xF3, 0xF4, 0xF5, 0xF8, 0xF9, 0xFA, 0xFB, 0xFC, 0xFD, 0xFE)
	put(t, form{pre: p66, reg: vector, rm: vector, imm: 1}, 0x70)
	put(t, form{reg: vector, rm: vector, imm: 1}, 0xC6)
	shift := form{modrm: true, pre: p66, rm: vector, noMem: true}
	put(t, form{pre: p66, imm: 1, group: &[8]form{2: shift, 4: shift, 6: shift}}, 0x71, 0x72)
	put(t, form{pre: p66, imm: 1, group: &[8]form{2: shift, 6: shift}}, 0x73)
	put(t, form{pre: pF2 | pF3, reg: vector, rm: read}, 0x2A)
	put(t, form{pre: p66, reg: vector, rm: read}, 0x6E)
	put(t, form{pre: p66, reg: vector, rm: write}, 0x7E)
	put(t, form{pre: p66, reg: vector, rm: read, imm: 1}, 0xC4)
	put(t, form{pre: pF2 | pF3, reg: write, rm: vector}, 0x2C)
	put(t, form{pre: np | p66, reg: write, rm: vector, noMem: true}, 0x50)
	put(t, form{pre: p66, reg: write, rm: vector, noMem: true}, 0xD7)
	put(t, form{pre: p66, reg: write, rm: vector, noMem: true, imm: 1}, 0xC5)
	for c := range byte(16) {
		put(t, form{reg: change, rm: read, flags: readsFlags}, 0x40+c)
		put(t, form{group: &[8]form{0: {modrm: true, pre: np, rm: part, bytes: true, flags: readsFlags}}}, 0x90+c)
		t[0x80+c] = form{pre: np, kind: branch, imm: 4, flags: readsFlags}
	}
	put(t, form{group: &[8]form{6: {modrm: true, pre: np}}}, 0xAE) // mfence
	put(t, form{reg: change, rm: read, flags: partFlags}, 0xAF)
	put(t, form{pre: np | pF3, reg: change, rm: read, flags: partFlags}, 0xBC, 0xBD) // bsf and bsr, which may write nothing; tzcnt, lzcnt
	put(t, form{pre: pF3, reg: write, rm: read, flags: setsFlags}, 0xB8)
	put(t, form{reg: write, rm: read, bytes: true}, 0xB6, 0xBE)
	put(t, form{reg: write, rm: read}, 0xB7, 0xBF)
	put(t, form{lock: true, noReg: true, bytes: true, reg: read, rm: change, flags: setsFlags, implicit: 1 << rax, clobbers: 1 << rax}, 0xB0)
	put(t, form{pre: np | p66, lock: true, noReg: true, reg: read, rm: change, flags: setsFlags, implicit: 1 << rax, clobbers: 1 << rax}, 0xB1)
	put(t, form{lock: true, noReg: true, bytes: true, reg: part, rm: change, flags: setsFlags}, 0xC0)
	put(t, form{pre: np | p66, lock: true, noReg: true, reg: change, rm: change, flags: setsFlags}, 0xC1)
	return t
}

func threeBytes38() *[256]form {
	t := new([256]form)
	put(t, form{pre: p66, reg: vector, rm: vector},
		0x00, 0x04, 0x0B, 0x14, 0x15, 0x1C, 0x1D, 0x1E, 0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x29, 0x2B,
		0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x37, 0x38, 0x39, 0x3A, 0x3B, 0x3C, 0x3D, 0x3E, 0x3F, 0x40)
	put(t, form{pre: p66, reg: vector, rm: vector, flags: setsFlags}, 0x17)
	return t
}

func threeBytes3A() *[256]form {
	t := new([256]form)
	put(t, form{pre: p66, reg: vector, rm: vector, imm: 1}, 0x08, 0x09, 0x0A, 0x0B, 0x0F, 0x21)
	put(t, form{pre: p66, reg: vector, rm: write, imm: 1}, 0x14, 0x16)
	put(t, form{pre: p66, reg: vector, rm: read, imm: 1}, 0x20, 0x22)
	return t
}
