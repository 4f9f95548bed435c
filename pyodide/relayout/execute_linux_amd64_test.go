package relayout

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// processor is what an instruction works on. The order is that of its block in
// memory.
type processor struct {
	regs   [16]uint64
	flags  uint64
	_      uint64
	xmm    [16][2]uint64
	memory [512]byte // the base of memory operands is at memoryBase
}

const (
	memoryBase = 128
	atFlags    = 128
	atXMM      = 144
	atMemory   = atXMM + 256

	statusFlags = 0x8D5 // OF, SF, ZF, AF, PF, CF
	seenFlags   = 0x8C5 // those that branches of wazero read
)

// executor runs single instructions.
type executor struct {
	code  []byte
	block []byte
}

func newExecutor(t *testing.T) *executor {
	t.Helper()
	code, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Skip("no memory to execute:", err)
	}
	block, err := unix.Mmap(-1, 0, 8192, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = unix.Munmap(code), unix.Munmap(block) })
	return &executor{code, block}
}

// address returns where the memory operand of instructions may be.
func (e *executor) address() uint64 {
	return uint64(uintptr(unsafe.Pointer(&e.block[0]))) + atMemory + memoryBase
}

// load writes the function that loads the processor but rsp and rbp, executes the
// instruction and stores the processor.
func (e *executor) load(enc []byte) {
	block := uint64(uintptr(unsafe.Pointer(&e.block[0])))
	b := []byte{0x55, 0x41, 0x56, 0x41, 0x57} // push rbp; push r14; push r15
	immediate := func(r reg) { b = binary.LittleEndian.AppendUint64(append(b, 0x48|byte(r>>3), 0xB8|byte(r&7)), block) }
	vectors := func(op byte) {
		for n := range 16 {
			b = append(b, 0xF3, 0x40|byte(n>>3)<<2, 0x0F, op, 0x80|byte(n&7)<<3)
			b = binary.LittleEndian.AppendUint32(b, uint32(atXMM+16*n))
		}
	}
	immediate(rax)
	vectors(0x6F)
	b = appendMem(b, false, 0xFF, 6, rax, atFlags)
	b = append(b, 0x9D) // popf
	for r := none - 1; r >= rax; r-- {
		if bit(r)&frame == 0 {
			b = appendMem(b, true, opLoad, r, rax, int32(8*r))
		}
	}
	b = append(append(b, enc...), 0x50) // push rax
	immediate(rax)
	for r := rcx; r < none; r++ {
		if bit(r)&frame == 0 {
			b = appendMem(b, true, opStore, r, rax, int32(8*r))
		}
	}
	b = append(b, 0x59) // pop rcx
	b = appendMem(b, true, opStore, rcx, rax, 0)
	b = append(b, 0x9C, 0x59) // pushf; pop rcx
	b = appendMem(b, true, opStore, rcx, rax, atFlags)
	vectors(0x7F)
	b = append(b, 0x66, 0x45, 0x0F, 0xEF, 0xFF)             // Go has 0 in xmm15
	b = append(b, 0x41, 0x5F, 0x41, 0x5E, 0x5D, 0xFC, 0xC3) // pop r15; pop r14; pop rbp; cld; ret
	copy(e.code, b)
}

// run executes the instruction.
func (e *executor) run(p processor) processor {
	copy(e.block, (*[unsafe.Sizeof(p)]byte)(unsafe.Pointer(&p))[:])
	code := unsafe.Pointer(&e.code[0])
	closure := unsafe.Pointer(&code)
	(*(*func())(unsafe.Pointer(&closure)))()
	runtime.KeepAlive(closure)
	copy((*[unsafe.Sizeof(p)]byte)(unsafe.Pointer(&p))[:], e.block)
	return p
}

// random returns a processor on which s can be executed.
func (e *executor) random(r *rand.Rand, s *sample) (p processor) {
	for n := range p.regs {
		p.regs[n] = r.Uint64() >> (r.Uint64() % 64)
		for v := range p.xmm[n] {
			p.xmm[n][v] = r.Uint64()
		}
	}
	for n := range p.memory {
		p.memory[n] = byte(r.Uint32() | 1)
	}
	p.flags = r.Uint64()&statusFlags | 2
	if s.mem() {
		p.regs[s.base] = e.address()
		if s.idx != none {
			p.regs[s.idx] = uint64(r.IntN(3)) * 16
		}
	}
	if s.op == 0xF7 && s.digit >= 6 { // a division that does not trap
		p.regs[rax] >>= 2
		p.regs[rdx] = 0
		if s.rm != none {
			p.regs[s.rm] |= 1 << 8
		}
		if !s.wide {
			p.regs[rax] &= 1<<30 - 1
		}
	}
	return p
}

// inProcess reports whether a test that executes instructions runs in a process of its own,
// which a wrong encoding would end. Otherwise it has run there.
func inProcess(t *testing.T) bool {
	const child = "RELAYOUT_EXECUTE"
	if os.Getenv(child) != "" {
		runtime.LockOSThread()
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), child+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// TestEffects executes instructions with random registers: what one does not write
// stays, and what it does not read is of no influence.
func TestEffects(t *testing.T) {
	if !inProcess(t) {
		return
	}
	r := rand.New(rand.NewPCG(5, 6))
	e := newExecutor(t)
	all := samples(t, r, 30)
	done := 0
	for _, s := range all {
		if s.kind != plain || (s.reads|s.writes)&frame != 0 || s.divisorIsDividend() {
			continue
		}
		done++
		e.load(s.enc)
		for range 4 {
			before := e.random(r, &s)
			e.check(t, &s, before, e.run(before))
		}
	}
	t.Logf("%d instructions", done)
	if done < len(all)*3/4 {
		t.Error("too few were executed")
	}
}

func (s *sample) divisorIsDividend() bool {
	return s.op == 0xF7 && s.digit >= 6 && (s.rm == rax || s.rm == rdx || s.base == rax || s.base == rdx || s.idx == rax || s.idx == rdx)
}

// check compares the processor before and after, and again with another value in
// each register that s does not read.
func (e *executor) check(t *testing.T, s *sample, before, after processor) {
	t.Helper()
	fail := func(what string, r reg) {
		t.Errorf("% x %s %d: reads %b, writes %b, kills %b", s.enc, what, r, s.reads, s.writes, s.kills)
	}
	seen := s.seenFlags()
	for r := range none {
		if !s.writes.has(r) && before.regs[r] != after.regs[r] {
			fail("writes register", r)
		}
	}
	for r := range none {
		if shortens(&s.inst).has(r) && after.regs[r]>>32 != 0 {
			fail("does not clear the upper half of", r)
		}
	}
	if s.writes&flags == 0 && (before.flags^after.flags)&statusFlags != 0 {
		fail("writes flags", 0)
	}
	if !s.stores && before.memory != after.memory {
		fail("stores", 0)
	}
	same := func(again processor, other reg) bool {
		for r := range none {
			if r != other && again.regs[r] != after.regs[r] {
				return false
			}
		}
		return again.xmm == after.xmm && again.memory == after.memory
	}
	for r := range none {
		if bit(r)&frame != 0 || s.reads.has(r) {
			continue
		}
		other := before
		other.regs[r] = ^other.regs[r]
		again := e.run(other)
		if !same(again, r) || (again.flags^after.flags)&seen != 0 {
			fail("reads register", r)
		}
		if s.kills.has(r) && again.regs[r] != after.regs[r] {
			fail("keeps a part of register", r)
		}
		if s.kills.has(r) != s.writes.has(r) {
			fail("writes what it neither kills nor reads, register", r)
		}
	}
	if s.reads&flags == 0 {
		other := before
		other.flags ^= statusFlags
		again := e.run(other)
		if !same(again, none) {
			fail("reads flags", 0)
		}
		if s.kills&flags != 0 && (again.flags^after.flags)&seen != 0 {
			fail("keeps flags", 0)
		}
	}
}

// seenFlags are the flags that the instruction defines.
func (s *sample) seenFlags() uint64 {
	const overflow = 0x800
	if s.op == opShiftImm || s.op == 0xD3 {
		return seenFlags &^ overflow
	}
	return seenFlags
}
