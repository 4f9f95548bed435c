//go:build linux && (amd64 || arm64)

package sandbox

import (
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
