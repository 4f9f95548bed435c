//go:build linux && (amd64 || arm64)

package sandbox

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// landlockQuery asks for the version of Landlock or for its repaired faults,
// 0 if there is none.
func landlockQuery(what uintptr) int {
	n, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, what)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// createRuleset makes rules; the caller closes them. Kernels that know fewer
// fields accept the others as zero.
func createRuleset(attr *unix.LandlockRulesetAttr) (fd int, err error) {
	n, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(attr)), unsafe.Sizeof(*attr), 0)
	return int(n), result(errno)
}

func addPathRule(ruleset int, attr *unix.LandlockPathBeneathAttr) error {
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(attr)), 0, 0, 0)
	return result(errno)
}

func restrictSelf(ruleset int) error {
	_, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0)
	return result(errno)
}

func seccomp(operation, flags uintptr, arg unsafe.Pointer) error {
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, operation, flags, uintptr(arg))
	return result(errno)
}

// result returns nil for no error.
func result(errno unix.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

// onThread calls f on a thread that ends with f. It is never the process's
// first one, which cannot end, and whose confinement the kernel would take for
// that of the whole process.
func onThread(f func()) {
	runtime.LockOSThread() // never unlocked: nothing else may run here
	if unix.Gettid() != os.Getpid() {
		f()
		return
	}
	begun := make(chan struct{})
	go onThread(func() { close(begun); f() })
	<-begun
	runtime.UnlockOSThread() // nothing was done to it
}
