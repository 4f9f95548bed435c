//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// inject puts a process under a filter that nothing could be started under, so
// it has to come after the start: the process was started traced by this
// thread and is stopped before its first instruction. It is made to do the
// system call itself, with the filter on its stack.
//
//	execve ─> stopped at pc ─> [pc] = syscall, one step ─> [pc] as it was
//
// It is still stopped then. The calls are those that the filter has supervised, if
// the flags ask for a listener.
func inject(pid int, p program, flags uintptr) (calls *Calls, err error) {
	if err := awaitTrap(pid); err != nil {
		return nil, err
	}
	var at registers
	if err := at.read(pid); err != nil {
		return nil, fmt.Errorf("read registers: %w", err)
	}
	defer func() {
		if err != nil && calls != nil {
			calls.Close()
			calls = nil
		}
	}()
	// Far below what is on the stack, in the part that every program has from
	// the start (128 KiB, setup_arg_pages in fs/exec.c).
	place := (at.stack() - 32<<10) &^ 15
	if err := writeMemory(pid, place, p.image(place)); err != nil {
		return nil, fmt.Errorf("write to the stack: %w", err)
	}
	code := make([]byte, 8)
	if _, err := unix.PtracePeekText(pid, at.pc(), code); err != nil {
		return nil, fmt.Errorf("read the first instruction: %w", err)
	}
	changed := append(bytes.Clone(syscallCode), code[len(syscallCode):]...)
	if _, err := unix.PtracePokeText(pid, at.pc(), changed); err != nil {
		return nil, fmt.Errorf("write the first instruction: %w", err)
	}
	result, err := at.step(pid, unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, place)
	if err != nil {
		return nil, err
	}
	if result < 0 {
		return nil, fmt.Errorf("filter system calls: %w", unix.Errno(-result))
	}
	if flags&unix.SECCOMP_FILTER_FLAG_NEW_LISTENER != 0 {
		if calls, err = newCalls(pid, int(result), &at); err != nil {
			return nil, err
		}
	}
	if _, err := unix.PtracePokeText(pid, at.pc(), code); err != nil {
		return calls, fmt.Errorf("restore the first instruction: %w", err)
	}
	if err := at.write(pid); err != nil {
		return calls, fmt.Errorf("restore registers: %w", err)
	}
	return calls, nil
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

// step has a stopped process do one system call, whose instruction is at its
// program counter, and returns the result.
func (at *registers) step(pid int, number, a, b, c uintptr) (int64, error) {
	then := *at
	then.call(number, a, b, c)
	if err := then.write(pid); err != nil {
		return 0, fmt.Errorf("write registers: %w", err)
	}
	if err := unix.PtraceSingleStep(pid); err != nil {
		return 0, fmt.Errorf("make a step: %w", err)
	}
	if err := awaitTrap(pid); err != nil {
		return 0, err
	}
	if err := then.read(pid); err != nil {
		return 0, fmt.Errorf("read registers: %w", err)
	}
	return then.result(), nil
}

// awaitTrap waits until a traced process stops by a trap.
func awaitTrap(pid int) error {
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(pid, &status, 0, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return fmt.Errorf("wait for it to stop: %w", err)
		case !status.Stopped():
			return fmt.Errorf("it ended before it began (status %#x)", status)
		case status.StopSignal() == unix.SIGTRAP:
			return nil
		default: // somebody else's
			if err := unix.PtraceCont(pid, int(status.StopSignal())); err != nil {
				return fmt.Errorf("hand on signal %d: %w", status.StopSignal(), err)
			}
		}
	}
}

// tryInject injects a filter into a trial start of this program. It fails where
// tracing is forbidden.
func tryInject(flags uintptr) error {
	return tryStart(&syscall.SysProcAttr{}, func(pid int) error {
		calls, err := inject(pid, program{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}}, flags)
		if calls != nil {
			calls.Close()
		}
		return err
	})
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
	for {
		var status unix.WaitStatus
		if _, werr := unix.Wait4(pid, &status, 0, nil); werr != unix.EINTR && (werr != nil || !status.Stopped()) {
			return err
		}
	}
}
