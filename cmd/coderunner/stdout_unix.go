//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// dupStdout moves the real stdout to a new descriptor, which children do not
// inherit, and lets descriptor 1 be stderr.
func dupStdout() (*os.File, error) {
	fd, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	if err := unix.Dup2(2, 1); err != nil {
		return nil, os.NewSyscallError("dup2", err)
	}
	return os.NewFile(uintptr(fd), "stdout"), nil
}
