//go:build unix

package deno

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// readNow reads what is in a pipe, which does not block, without waiting for
// more. It gives io.EOF if there is nothing. Deadlines do not matter to it.
func readNow(f *os.File, b []byte) (n int, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	controlErr := conn.Control(func(fd uintptr) {
		for {
			if n, err = syscall.Read(int(fd), b); !errors.Is(err, syscall.EINTR) {
				return
			}
		}
	})
	switch {
	case controlErr != nil:
		return 0, controlErr
	case errors.Is(err, syscall.EAGAIN):
		return 0, io.EOF
	case err != nil:
		return 0, os.NewSyscallError("read", err)
	}
	return n, nil
}
