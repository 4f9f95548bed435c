package relayout

import (
	"bytes"
	"encoding/binary"
	"sync"
)

// Offsets of wazero's executionContext, from wazevoapi/offsetdata.go.
const (
	ctxFrame    = 0x10  // OriginalFramePointer
	ctxStack    = 0x18  // OriginalStackPointer
	ctxBottom   = 0x28  // StackBottomPtr
	ctxReturn   = 0x30  // GoCallReturnAddress
	ctxStackGo  = 0x38  // StackPointerBeforeGoCall
	ctxGrowSize = 0x40  // StackGrowRequiredSize
	ctxGrow     = 0x50  // StackGrowCallTrampolineAddress
	ctxFrameGo  = 0x480 // FramePointerBeforeGoCall
)

// template is an exit as wazero writes it: bytes around the four of its code.
type template struct{ begin, end []byte }

// templates are the exits for each register that has the execution context: see
// lowerExitWithCode and the encoding of exitSequence.
var templates = sync.OnceValue(func() (t [none]template) {
	for c := range none {
		b := appendMem(nil, true, opStore, rsp, c, ctxStackGo)
		b = appendMem(b, true, opStore, rbp, c, ctxFrameGo)
		t[c].begin = append(b, opMovImm|byte(rbp))
		b = appendMem(nil, false, opStore, rbp, c, 0)
		b = append(b, 0x48, opLea, 0x2D, 0xF9, 0xFF, 0xFF, 0xFF) // rbp, of itself
		b = appendMem(b, true, opStore, rbp, c, ctxReturn)
		b = appendMem(b, true, opLoad, rbp, c, ctxFrame)
		t[c].end = append(appendMem(b, true, opLoad, rsp, c, ctxStack), 0xC3)
	}
	return t
})

// exitAt joins the instructions of an exit, of which i is the first.
func exitAt(b []byte, i *inst) bool {
	if i.op != opStore || i.reg != rsp || i.base >= none || bit(i.base)&frame != 0 {
		return false
	}
	t := templates()[i.base]
	rest, ok := bytes.CutPrefix(b, t.begin)
	if !ok || len(rest) < 4 || !bytes.HasPrefix(rest[4:], t.end) {
		return false
	}
	*i = inst{at: i.at, size: uint8(len(t.begin) + 4 + len(t.end)), kind: exit, reg: i.base, rm: none, base: none, idx: none,
		imm: int32(binary.LittleEndian.Uint32(rest)), reads: bit(i.base)}
	return true
}

// place is where a function keeps the execution context: in a register, or in a
// slot of its frame.
type place struct {
	reg  reg
	disp int32 // of rsp, if reg is none
}

// stub is what an exit becomes: it is behind the function, and its rest, which is
// one for all functions of the module and each code, is at the end of the module.
//
//	mov rax, context; lea rcx, [rip]; jmp rest
//
// Registers need not be kept: nothing is resumed behind an exit.
type stub struct {
	code uint32
	from place
	wasm int32 // the exit's source; 0 without a source map, with which each source has its own
}

// exitOf returns the number of the function's stub for an exit.
func (f *function) exitOf(s stub) int32 {
	begin := 0
	if s.wasm != 0 {
		const near = 8 // exits of one source follow one another
		begin = max(0, len(f.stubs)-near)
	}
	for n, x := range f.stubs[begin:] {
		if x == s {
			return int32(begin + n)
		}
	}
	f.stubs = append(f.stubs, s)
	return int32(len(f.stubs) - 1)
}

// append appends the stub. The jump's target is the caller's.
func (s stub) append(b []byte) []byte {
	switch s.from.reg {
	case rax:
	case none:
		b = appendMem(b, true, opLoad, rax, rsp, s.from.disp)
	default:
		b = appendMove(b, rax, s.from.reg)
	}
	return append(b, 0x48, opLea, 0x0D, 0, 0, 0, 0, 0xE9, 0, 0, 0, 0)
}

// appendRest appends the rest of the stubs with a code, which does what an exit does.
func appendRest(b []byte, code uint32) []byte {
	b = appendMem(b, true, opStore, rsp, rax, ctxStackGo)
	b = appendMem(b, true, opStore, rbp, rax, ctxFrameGo)
	b = appendMem(b, true, opStore, rcx, rax, ctxReturn)
	b = binary.LittleEndian.AppendUint32(append(b, 0xC7, 0x00), code)
	b = appendMem(b, true, opLoad, rbp, rax, ctxFrame)
	return append(appendMem(b, true, opLoad, rsp, rax, ctxStack), 0xC3)
}

// # The check of the stack

// oldPrologue is a function's beginning with a frame of size bytes, as wazero
// writes it: see setupRBPRSP and insertStackBoundsCheck.
func oldPrologue(size int32) []byte {
	grow := appendStack(nil, 0, size)
	grow = appendGrow(grow, size)
	skip := appendStack(nil, 0, size)

	b := appendStack([]byte{opPush | byte(rbp), 0x48, opStore, 0xE5}, 5, size)
	b = appendMem(b, true, 0x3B, rsp, rax, ctxBottom)
	b = appendRel(b, int32(len(b)+6+len(grow)+5), 0x0F, 0x87) // ja
	b = append(b, grow...)
	b = appendRel(b, int32(len(b)+5+len(skip)), 0xE9)
	return append(b, skip...)
}

// appendGrowth appends what the new prologue leads to. It keeps all registers but rbp.
func appendGrowth(b []byte, size int32) []byte { return appendGrow(appendMove(b, rbp, rsp), size) }

// appendGrow appends what grows the stack. It keeps all registers.
func appendGrow(b []byte, size int32) []byte {
	b = append(b, 0x41, opPush|byte(r15&7), 0x49, 0xC7, 0xC7)
	b = binary.LittleEndian.AppendUint32(b, uint32(size))
	b = appendMem(b, true, opStore, r15, rax, ctxGrowSize)
	b = append(b, 0x41, opPop|byte(r15&7))
	return appendMem(b, false, 0xFF, 2, rax, ctxGrow)
}

// frameSize returns the size of the frame that the function's prologue checks the
// stack for, and the length of the prologue; 0 if it has another.
func frameSize(code []byte) (size int32, length int) {
	const at = 4 // of the subtraction
	if len(code) < at+7 {
		return 0, 0
	}
	switch code[at+1] {
	case opImm8:
		size = int32(int8(code[at+3]))
	case opImm32:
		size = int32(binary.LittleEndian.Uint32(code[at+3:]))
	}
	const most = 1 << 30
	if size <= 0 || size > most {
		return 0, 0
	}
	old := oldPrologue(size)
	if !bytes.HasPrefix(code, old) {
		return 0, 0
	}
	return size, len(old)
}

// appendPrologue appends the same with the growth elsewhere. The branch leads there, and is
// the caller's: beside the comparison, the processor takes both for one instruction. The stack grows where rsp-size is not above the
// bottom, as before.
//
//	push rbp; lea rbp, [rsp-size]; cmp rbp, [rax+bottom]; jbe growth; mov rbp, rsp
func appendPrologue(b []byte, size int32) []byte {
	b = appendMem(append(b, opPush|byte(rbp)), true, opLea, rbp, rsp, -size)
	b = appendMem(b, true, 0x3B, rbp, rax, ctxBottom)
	return appendMove(append(b, 0x0F, 0x86, 0, 0, 0, 0), rbp, rsp)
}

// growthAt is where the distance to what grows the stack is, before the end of the new prologue.
const growthAt = 3 + 4
