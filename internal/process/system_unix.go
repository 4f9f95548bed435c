//go:build unix

package process

import (
	"errors"
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

// ownGroup starts a process as the leader of its own process group, and of a session: Linux
// shares the processors out by sessions first (sched(7), autogroup), so a program that fills
// them with threads delays no other.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

func interruptGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGINT) }

func stopGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGSTOP) }

func continueGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGCONT) }

// maxRSS returns the peak memory of an ended process in the system's unit, 0 if
// unknown.
func maxRSS(state *os.ProcessState) int64 {
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		return int64(usage.Maxrss)
	}
	return 0
}

// groupLives reports whether the group of a reaped process has processes left.
func groupLives(p *os.Process) bool { return syscall.Kill(-p.Pid, 0) == nil }

// OpenPipe makes a named pipe and opens it for both reading and writing: it has
// no end before the process opens it.
func OpenPipe(name string) (*os.File, error) {
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		return nil, err
	}
	return os.OpenFile(name, os.O_RDWR|syscall.O_NONBLOCK, 0)
}

// makeInput makes a named pipe and opens both of its ends.
func makeInput(name string) (theirs, ours *os.File, err error) {
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		return nil, nil, err
	}
	if theirs, err = os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0); err != nil {
		return nil, nil, err
	}
	if ours, err = os.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0); err != nil {
		theirs.Close()
	}
	return theirs, ours, err
}

// reopenInput drops what is in a named pipe of makeInput, and opens our end of it
// again.
func reopenInput(name string) (*os.File, error) {
	theirs, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	buf := make([]byte, 64<<10)
	for n := 1; n > 0 && err == nil; {
		n, err = readNow(theirs, buf)
	}
	return os.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0)
}
