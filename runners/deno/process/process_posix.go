//go:build unix

package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// readNow reads what is in a non-blocking pipe, whatever its deadline. It returns
// io.EOF if the pipe is empty.
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

// groupLives reports whether the group of a reaped process has processes left.
func groupLives(p *os.Process) bool { return syscall.Kill(-p.Pid, 0) == nil }

// MakePipe makes a named pipe that the process can open for writing, and opens it.
// Unlike a file, it wakes the reader at each write.
func MakePipe(name string) (*Output, error) {
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		return nil, fmt.Errorf("make a named pipe: %w", err)
	}
	// opened O_RDWR: no EOF before the process opens it
	file, err := os.OpenFile(name, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open a named pipe: %w", err)
	}
	return newOutput(file), nil
}
