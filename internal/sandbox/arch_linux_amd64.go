package sandbox

import "golang.org/x/sys/unix"

// auditArch names this processor in filters.
const auditArch = unix.AUDIT_ARCH_X86_64

// forks are the calls of old that this processor has for making processes.
var forks = []uint32{unix.SYS_FORK, unix.SYS_VFORK}

// oldAttributes are the calls of old among attributes.
var oldAttributes = []uint32{unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT}

// oldOfGo are the calls among those in ofGo that this processor alone has.
var oldOfGo = []uint32{unix.SYS_ARCH_PRCTL, unix.SYS_POLL, unix.SYS_EPOLL_WAIT, unix.SYS_TIME, unix.SYS_ACCESS}

// syscallCode is the instruction for a system call.
var syscallCode = []byte{0x0f, 0x05}

// registers are those of a stopped process.
type registers struct{ unix.PtraceRegs }

func (r *registers) read(pid int) error  { return unix.PtraceGetRegs(pid, &r.PtraceRegs) }
func (r *registers) write(pid int) error { return unix.PtraceSetRegs(pid, &r.PtraceRegs) }

func (r *registers) pc() uintptr    { return uintptr(r.Rip) }
func (r *registers) stack() uintptr { return uintptr(r.Rsp) }
func (r *registers) result() int64  { return int64(r.Rax) }

// call makes the registers those for a system call.
func (r *registers) call(number, a, b, c uintptr) {
	r.Orig_rax = ^uint64(0) // it is in none that would have to be begun again
	r.Rax, r.Rdi, r.Rsi, r.Rdx = uint64(number), uint64(a), uint64(b), uint64(c)
}
