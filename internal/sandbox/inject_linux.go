//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stopped is a process that was started traced by this thread and stands before its
// first instruction. It is made to do system calls itself, with what they point to on
// its stack.
//
//	execve ─> stopped at pc ─> [pc] = syscall, a step for each call ─> [pc] as it was
type stopped struct {
	pid   int
	at    registers
	place uintptr // of what system calls point to
	code  []byte  // the first instruction
}

// hold waits until a process that was started traced stops, and makes it ready for
// system calls.
func hold(pid int) (*stopped, error) {
	s := &stopped{pid: pid, code: make([]byte, 8)}
	if err := awaitTrap(pid); err != nil {
		return nil, err
	}
	if err := s.at.read(pid); err != nil {
		return nil, fmt.Errorf("read registers: %w", err)
	}
	// Far below what is on the stack, in the part that every program has from
	// the start (128 KiB, setup_arg_pages in fs/exec.c).
	s.place = (s.at.stack() - 32<<10) &^ 15
	if _, err := unix.PtracePeekText(pid, s.at.pc(), s.code); err != nil {
		return nil, fmt.Errorf("read the first instruction: %w", err)
	}
	changed := append(bytes.Clone(syscallCode), s.code[len(syscallCode):]...)
	if _, err := unix.PtracePokeText(pid, s.at.pc(), changed); err != nil {
		return nil, fmt.Errorf("write the first instruction: %w", err)
	}
	return s, nil
}

// release makes the process as it was. It is still stopped.
func (s *stopped) release() error {
	if _, err := unix.PtracePokeText(s.pid, s.at.pc(), s.code); err != nil {
		return fmt.Errorf("restore the first instruction: %w", err)
	}
	if err := s.at.write(s.pid); err != nil {
		return fmt.Errorf("restore registers: %w", err)
	}
	return nil
}

// filter puts the process under a filter that nothing could be started under, so it
// has to come after the start. The calls are those that the filter has supervised, if
// the flags ask for a listener.
func (s *stopped) filter(p program, flags uintptr) (calls *Calls, err error) {
	if err := s.write(p.image(s.place)); err != nil {
		return nil, err
	}
	result, err := s.call(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, s.place)
	if err != nil {
		return nil, fmt.Errorf("filter system calls: %w", err)
	}
	if flags&unix.SECCOMP_FILTER_FLAG_NEW_LISTENER != 0 {
		return newCalls(s, int(result))
	}
	return nil, nil
}

// write puts bytes at the place.
func (s *stopped) write(b []byte) error {
	if err := writeMemory(s.pid, s.place, b); err != nil {
		return fmt.Errorf("write to the stack: %w", err)
	}
	return nil
}

// writeMemory writes into another process's memory.
func writeMemory(pid int, address uintptr, b []byte) error {
	from := []unix.Iovec{{Base: &b[0]}}
	from[0].SetLen(len(b))
	n, err := unix.ProcessVMWritev(pid, from, []unix.RemoteIovec{{Base: address, Len: len(b)}}, 0)
	if err == nil && n != len(b) {
		err = unix.EFAULT
	}
	return err
}

// call has the process do one system call and returns the result.
func (s *stopped) call(number, a, b, c uintptr) (int64, error) {
	then := s.at
	then.call(number, a, b, c)
	if err := then.write(s.pid); err != nil {
		return 0, fmt.Errorf("write registers: %w", err)
	}
	if err := unix.PtraceSingleStep(s.pid); err != nil {
		return 0, fmt.Errorf("make a step: %w", err)
	}
	if err := awaitTrap(s.pid); err != nil {
		return 0, err
	}
	if err := then.read(s.pid); err != nil {
		return 0, fmt.Errorf("read registers: %w", err)
	}
	if result := then.result(); result < 0 {
		return 0, unix.Errno(-result)
	}
	return then.result(), nil
}

// awaitTrap waits until a traced process or thread stops by a trap.
func awaitTrap(id int) error {
	for {
		signal, err := awaitStop(id)
		if err != nil || signal == unix.SIGTRAP {
			return err
		}
		if err := unix.PtraceCont(id, int(signal)); err != nil { // somebody else's
			return fmt.Errorf("hand on signal %d: %w", signal, err)
		}
	}
}

// awaitStop waits until a traced process or thread stops, and returns the signal by which it
// does. The error is ESRCH if it has ended, and it is not reaped: the kernel tells at once that a
// first thread stops no more, but its end only when the other traced threads have been reaped.
func awaitStop(id int) (unix.Signal, error) {
	_, signal, err := await(unix.P_PID, id, unix.WSTOPPED|unix.WALL)
	if err == unix.ECHILD {
		err = unix.ESRCH
	}
	if err != nil {
		return 0, fmt.Errorf("wait for it to stop: %w", err)
	}
	return signal, nil
}

// await is waitid(2). It returns the process or thread, and the signal by which it has stopped.
func await(kind, id, options int) (which int, signal unix.Signal, err error) {
	var info struct { // siginfo_t of SIGCHLD
		_                [4]int32
		which, _, status int32
		_                [25]int32
	}
	for {
		err = unix.Waitid(kind, id, (*unix.Siginfo)(unsafe.Pointer(&info)), options, nil)
		if err != unix.EINTR {
			return int(info.which), unix.Signal(info.status & 0xff), err // the rest is the kind of trap
		}
	}
}

// tryInject injects a filter into a trial start of this program. It fails where
// tracing is forbidden. Shared is why the process cannot have a network of its own,
// which is tried only if asked for, and kept for the next one.
func tryInject(flags uintptr, loopback bool) (shared, err error) {
	err = tryStart(&syscall.SysProcAttr{}, func(pid int) error {
		s, err := hold(pid)
		if err != nil {
			return err
		}
		if loopback {
			if shared = s.unshare(ownNetwork); shared == nil {
				if shared = s.settle(identify); shared == nil {
					shared = s.disarm()
				}
			}
			if shared == nil {
				openNamespace(pid).giveBack()
			}
		}
		calls, err := s.filter(program{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}}, flags)
		if calls != nil {
			calls.Close()
		}
		return err
	})
	if err != nil {
		shared = err
	}
	return shared, err
}

// tryStart starts this program once more, traced, calls f before its first
// instruction and kills it there.
func tryStart(attr *syscall.SysProcAttr, f func(pid int) error) error {
	attr.Ptrace, attr.Pdeathsig = true, unix.SIGKILL
	failure := make(chan error)
	go onThread(func() { failure <- tryStartHere(attr, f) })
	return <-failure
}

// tryStartHere is tryStart for a thread that ends afterwards.
func tryStartHere(attr *syscall.SysProcAttr, f func(pid int) error) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"coderunner"}, &syscall.ProcAttr{Sys: attr})
	if err != nil {
		return fmt.Errorf("start a process: %w", err)
	}
	err = f(pid)
	if kerr := unix.Kill(pid, unix.SIGKILL); err == nil {
		err = kerr
	}
	awaitDeath(pid)
	return err
}

// awaitDeath reaps a traced process or thread that was killed.
func awaitDeath(id int) {
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(id, &status, unix.WALL, nil)
		if err != unix.EINTR && (err != nil || !status.Stopped()) {
			return
		}
	}
}
