package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// caller makes the system calls of a table, of which r15 points to the next and r14 counts the
// rest: seven words each, the number, which the result replaces, and the arguments. It stands in a
// zygote where its dynamic loader begins, which runs once.
//
//	next: mov rax, [r15];  mov rdi, [r15+8];  mov rsi, [r15+16]; mov rdx, [r15+24]
//	      mov r10, [r15+32]; mov r8, [r15+40]; mov r9, [r15+48]
//	      syscall;  mov [r15], rax
//	      add r15, 56;  dec r14;  jnz next;  int3
var caller = []byte{
	0x49, 0x8b, 0x07, 0x49, 0x8b, 0x7f, 0x08, 0x49, 0x8b, 0x77, 0x10, 0x49, 0x8b, 0x57, 0x18,
	0x4d, 0x8b, 0x57, 0x20, 0x4d, 0x8b, 0x47, 0x28, 0x4d, 0x8b, 0x4f, 0x30,
	0x0f, 0x05, 0x49, 0x89, 0x07,
	0x49, 0x83, 0xc7, 0x38, 0x49, 0xff, 0xce, 0x75, 0xd7, 0xcc,
}

const syscallInCaller = 27 // its offset

// batch are system calls that a stopped thread is to make one after the other, and what they
// point to. Calls of threads of one process use the same place.
type batch struct {
	entry, place uintptr
	calls        [][7]uint64
	data         []byte // in front of the calls
}

// Bounds of a batch, in bytes: all of it, and its data.
const (
	maxBatch     = 28 << 10
	maxBatchData = 2 << 10
)

func (z *Zygote) batch() *batch { return &batch{entry: z.entry, place: z.place} }

// room puts something into the memory of the process, and returns its address.
func (b *batch) room(data []byte) uintptr {
	at := b.place + uintptr(len(b.data))
	b.data = append(b.data, data...)
	return at
}

func (b *batch) call(number uintptr, args ...uintptr) {
	call := [7]uint64{uint64(number)}
	for i, a := range args {
		call[1+i] = uint64(a)
	}
	b.calls = append(b.calls, call)
}

// register adds the calls by which a new thread tells the kernel what it had been told of an old one.
func (b *batch) register(t *thread) {
	b.call(unix.SYS_SIGALTSTACK, b.room(t.Stack[:]), 0)
	b.call(unix.SYS_SET_ROBUST_LIST, t.Robust[0], t.Robust[1])
	if r := t.Rseq; r.Area != 0 {
		b.call(unix.SYS_RSEQ, uintptr(r.Area), uintptr(r.Size), 0, uintptr(r.Signature))
	}
}

// run has a thread make the calls, of which none may fail, and puts the results in the place of
// the numbers. The thread is stopped before and after.
func (b *batch) run(t *thread) error {
	if len(b.calls) == 0 {
		return nil
	}
	if len(b.data) > maxBatchData || maxBatchData+56*len(b.calls) > maxBatch {
		return errors.New("too much for one batch of system calls")
	}
	table := b.place + maxBatchData
	for at, part := range map[uintptr][]byte{b.place: b.data, table: packed(b.calls)} {
		if len(part) == 0 {
			continue
		}
		if err := writeMemory(t.id, at, part); err != nil {
			return fmt.Errorf("write system calls: %w", err)
		}
	}
	then := t.At
	then.Rip, then.R15, then.R14, then.Orig_rax = uint64(b.entry), uint64(table), uint64(len(b.calls)), ^uint64(0)
	if err := unix.PtraceSetRegs(t.id, &then); err != nil {
		return fmt.Errorf("write registers: %w", err)
	}
	if err := unix.PtraceCont(t.id, 0); err != nil {
		return fmt.Errorf("have it make system calls: %w", err)
	}
	if err := t.await(); err != nil {
		return err
	}
	if err := unix.PtraceGetRegs(t.id, &then); err != nil {
		return fmt.Errorf("read registers: %w", err)
	}
	if then.Rip != uint64(b.entry)+uint64(len(caller)) || then.R14 != 0 {
		return errors.New("it stopped before it had made all system calls") // a fork may send it signals
	}
	results, err := readMemory(t.id, table, 56*len(b.calls))
	if err != nil {
		return err
	}
	for i := range b.calls {
		number, result := b.calls[i][0], word(results[56*i:])
		if n := int64(result); n < 0 && n > -4096 {
			return fmt.Errorf("system call %d: %w", number, unix.Errno(-n))
		}
		b.calls[i][0] = result
	}
	return nil
}

// The requests of ptrace that package unix has no function for.
const (
	getSigmask = 0x420a
	setSigmask = 0x420b
	getRseq    = 0x420f
	xstate     = 0x202 // NT_X86_XSTATE, a set of registers
)

// ptrace calls ptrace with a pointer.
func ptrace(request, id int, address uintptr, data unsafe.Pointer) error {
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, uintptr(request), uintptr(id), address, uintptr(data), 0, 0)
	return result(errno)
}

// seize stops a running thread, which then ends with this one.
func seize(id int) error {
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(id), 0, unix.PTRACE_O_EXITKILL, 0, 0)
	if errno != 0 {
		return errno
	}
	if err := unix.PtraceInterrupt(id); err != nil {
		return err
	}
	return awaitTrap(id)
}

// await waits until a traced thread stops, by itself or at the end of a batch.
func (t *thread) await() error {
	signal, err := awaitStop(t.id)
	if err == nil && signal != unix.SIGTRAP {
		err = fmt.Errorf("a thread got signal %d", signal)
	}
	return err
}

// awaitBegin waits until a traced thread stops that has been made: by SIGSTOP if its maker is
// traced since it was started, and not seized.
func (t *thread) awaitBegin() error {
	signal, err := awaitStop(t.id)
	if err == nil && signal != unix.SIGTRAP && signal != unix.SIGSTOP {
		err = fmt.Errorf("a new thread got signal %d", signal)
	}
	return err
}

// bury kills a process that leads a group, and reaps its traced threads but the first, which can
// be reaped then.
func bury(pid int) {
	_ = unix.Kill(pid, unix.SIGKILL)
	// What stops after that is a fork that the process has made and not told of. When nothing
	// stops any more, all have ended.
	for _, next := range []int{unix.WSTOPPED, unix.WEXITED | unix.WNOWAIT} {
		for {
			id, _, err := await(unix.P_PGID, pid, next|unix.WCLONE) // only those that are traced
			if err != nil || id == pid {
				break
			}
			_ = unix.Kill(id, unix.SIGKILL)
			awaitDeath(id)
		}
	}
}

// vectorSize is how much of the other registers there can be at most, in bytes: 11 KiB with AMX.
const vectorSize = 32 << 10

// read reads what is kept of a stopped thread. A system call that was interrupted is begun again.
func (t *thread) read() error {
	if err := unix.PtraceGetRegs(t.id, &t.At); err != nil {
		return fmt.Errorf("read registers: %w", err)
	}
	if int64(t.At.Orig_rax) >= 0 {
		switch -int64(t.At.Rax) {
		case 512, 513, 514, 516: // ERESTARTSYS and its kin
			t.At.Rax = t.At.Orig_rax
			t.At.Rip -= uint64(len(syscallCode))
		}
		t.At.Orig_rax = ^uint64(0)
	}
	t.Vector = make([]byte, vectorSize)
	v := unix.Iovec{Base: &t.Vector[0], Len: vectorSize}
	if err := ptrace(unix.PTRACE_GETREGSET, t.id, xstate, unsafe.Pointer(&v)); err != nil {
		return fmt.Errorf("read vector registers: %w", err)
	}
	t.Vector = t.Vector[:v.Len]
	if err := ptrace(getSigmask, t.id, unsafe.Sizeof(t.Mask), unsafe.Pointer(&t.Mask)); err != nil {
		return fmt.Errorf("read its mask of signals: %w", err)
	}
	if err := ptrace(getRseq, t.id, unsafe.Sizeof(t.Rseq), unsafe.Pointer(&t.Rseq)); err != nil {
		return fmt.Errorf("read its restartable sequences: %w", err)
	}
	_, _, errno := unix.Syscall(unix.SYS_GET_ROBUST_LIST, uintptr(t.id), uintptr(unsafe.Pointer(&t.Robust[0])), uintptr(unsafe.Pointer(&t.Robust[1])))
	if errno != 0 {
		return fmt.Errorf("read its list of mutexes: %w", errno)
	}
	return nil
}

// release lets a thread go on as it was kept.
func (t *thread) release() error {
	v := unix.Iovec{Base: &t.Vector[0], Len: uint64(len(t.Vector))}
	if err := ptrace(unix.PTRACE_SETREGSET, t.id, xstate, unsafe.Pointer(&v)); err != nil {
		return fmt.Errorf("write vector registers: %w", err)
	}
	if err := ptrace(setSigmask, t.id, unsafe.Sizeof(t.Mask), unsafe.Pointer(&t.Mask)); err != nil {
		return fmt.Errorf("write a mask of signals: %w", err)
	}
	if err := unix.PtraceSetRegs(t.id, &t.At); err != nil {
		return fmt.Errorf("write registers: %w", err)
	}
	if err := unix.PtraceDetach(t.id); err != nil {
		return fmt.Errorf("let it go on: %w", err)
	}
	return nil
}

// readMemory reads another process's memory.
func readMemory(pid int, address uintptr, size int) ([]byte, error) {
	b := make([]byte, size)
	to := []unix.Iovec{{Base: &b[0]}}
	to[0].SetLen(size)
	n, err := unix.ProcessVMReadv(pid, to, []unix.RemoteIovec{{Base: address, Len: size}}, 0)
	if err == nil && n != size {
		err = unix.EFAULT
	}
	if err != nil {
		return nil, fmt.Errorf("read the memory of a process: %w", err)
	}
	return b, nil
}

// word returns the first word of some memory.
func word(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
