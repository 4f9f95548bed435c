package sandbox

import "golang.org/x/sys/unix"

// auditArch names this processor in filters.
const auditArch = unix.AUDIT_ARCH_AARCH64

// forks are the calls of old for making processes, which this processor never
// had.
var forks []uint32

// oldAttributes are the calls of old among attributes, of which this processor has none.
var oldAttributes []uint32

// oldOfGo are the calls of old among those in ofGo, of which this processor has none.
var oldOfGo []uint32

// syscallCode is the instruction for a system call.
var syscallCode = []byte{0x01, 0x00, 0x00, 0xd4}

// generalRegisters is NT_PRSTATUS of elf.h.
const generalRegisters = 1

// registers are those of a stopped process.
type registers struct{ unix.PtraceRegsArm64 }

func (r *registers) read(pid int) error {
	return unix.PtraceGetRegSetArm64(pid, generalRegisters, &r.PtraceRegsArm64)
}

func (r *registers) write(pid int) error {
	return unix.PtraceSetRegSetArm64(pid, generalRegisters, &r.PtraceRegsArm64)
}

func (r *registers) pc() uintptr    { return uintptr(r.Pc) }
func (r *registers) stack() uintptr { return uintptr(r.Sp) }
func (r *registers) result() int64  { return int64(r.Regs[0]) }

// call makes the registers those for a system call.
func (r *registers) call(number, a, b, c uintptr) {
	r.Regs[8], r.Regs[0], r.Regs[1], r.Regs[2] = uint64(number), uint64(a), uint64(b), uint64(c)
}
