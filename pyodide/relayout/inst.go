package relayout

// reg is a general register, as encoded.
type reg int8

const (
	rax reg = iota
	rcx
	rdx
	rbx
	rsp
	rbp
	rsi
	rdi
	r8
	r9
	r10
	r11
	r12
	r13
	r14
	r15
	none // no register
	rip  // as a base: the address is relative to the instruction's end
)

// set is a set of general registers, and of the flags as a whole.
type set uint32

const (
	flags set = 1 << 16

	// The convention of abi.go. Results are where arguments are.
	arguments   set = 1<<rax | 1<<rbx | 1<<rcx | 1<<rdi | 1<<rsi | 1<<r8 | 1<<r9 | 1<<r10 | 1<<r11
	callerSaved     = arguments
	calleeSaved set = 1<<rdx | 1<<r12 | 1<<r13 | 1<<r14 | 1<<r15
	frame       set = 1<<rsp | 1<<rbp
)

// order is that of the registers of arguments, behind two contexts, and of results.
var order = [...]reg{rax, rbx, rcx, rdi, rsi, r8, r9, r10, r11}

// first returns the first n registers of the convention.
func first(n int) (s set) {
	for _, r := range order[:min(n, len(order))] {
		s |= bit(r)
	}
	return s
}

// bit returns the set of r.
func bit(r reg) set {
	if r < rax || r >= none {
		return 0
	}
	return 1 << r
}

func (s set) has(r reg) bool { return s&bit(r) != 0 }

// kind says what follows an instruction.
type kind uint8

const (
	plain       kind = iota
	branch           // target or the next
	jump             // target
	table            // one of the jump table target
	call             // the function at target, then the next
	callAddress      // any function, then the next
	tail             // the function at target
	tailAddress      // any function
	ret
	exit // the way out of a check: see exits.go
)

// leaves reports whether the next instruction does not follow one of this kind.
func (k kind) leaves() bool {
	return k == jump || k >= table && k != call && k != callAddress
}

// inst is an instruction, or the nine of an exit.
type inst struct {
	at        int32 // offset in the old code of the function
	size      uint8
	kind      kind
	op        uint16 // 0x0F__ of two bytes, 0x38__ and 0x3A__ of three; without the register in it
	digit     uint8  // ModRM.reg as a part of the opcode
	prefix    uint8  // 0, 0x66, 0xF2, 0xF3
	wide      bool   // REX.W
	cond      uint8  // of a branch
	reg       reg    // ModRM.reg or the register in the opcode, if it is a general one; the context of an exit
	rm        reg    // ModRM.rm if it is a general register
	base, idx reg    // of the memory operand, if base is not none
	scale     uint8
	stores    bool  // to the memory operand
	gone      bool  // until compact
	made      bool  // a lea of fuseSums, which is not in the old code
	now       uint8 // the size in the new code, if it has other registers there
	fields    uint8 // ModRM.reg and, above, ModRM.rm, also of xmm registers
	disp, imm int32
	// target is an instruction if it is positive, ^n for the stub n. For a call it is
	// the offset in the module's old code; for the lea of a jump table, the table.
	target int32

	// reads are the registers that are read. writes are those that change, kills the
	// ones of them whose old value is of no influence.
	reads, writes, kills set
}

func (i *inst) mem() bool { return i.base != none }

// end is the offset of the next instruction.
func (i *inst) end() int32 { return i.at + int32(i.size) }

// The opcodes that this package treats on their own.
const (
	opAdd      = 0x01 // add rm, reg
	opXor      = 0x31
	opPush     = 0x50
	opPop      = 0x58
	opImm32    = 0x81
	opImm8     = 0x83
	opStore8   = 0x88
	opStore    = 0x89 // mov rm, reg
	opLoad     = 0x8B // mov reg, rm
	opLea      = 0x8D
	opMovImm   = 0xB8
	opShiftImm = 0xC1

	opMoveIf   = 0x0F40 // cmovcc reg, rm
	opSet      = 0x0F90 // setcc rm
	opZeroByte = 0x0FB6 // movzx reg, rm
)

// moves returns the registers of a move between two, of 32 or 64 bits.
func (i *inst) moves() (to, from reg, ok bool) {
	if i.kind != plain || i.prefix != 0 || i.mem() {
		return
	}
	switch i.op {
	case opStore:
		return i.rm, i.reg, true
	case opLoad:
		return i.reg, i.rm, true
	}
	return
}

// copies returns the registers of a move of 64 bits between two.
func (i *inst) copies() (to, from reg, ok bool) {
	to, from, ok = i.moves()
	return to, from, ok && i.wide
}
