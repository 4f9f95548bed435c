//go:build unix

package main

import (
	"os"
	"os/signal"
	"runtime"
	"runtime/metrics"
	"strconv"
	"syscall"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// closeInherited keeps what this process was started with open, files, sockets
// and pipes to others, from the processes that it starts. What it opens itself
// they do not inherit anyway.
func closeInherited() {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil || len(entries) == 0 {
		for fd := 3; fd < 1024; fd++ {
			syscall.CloseOnExec(fd)
		}
		return
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}

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

// inBackground reports whether another process group than ours may read from
// the terminal.
func inBackground(terminal *os.File) bool {
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group != unix.Getpgrp()
}

// raise sends this process a signal, and waits a moment for it.
func raise(s syscall.Signal) {
	_ = syscall.Kill(os.Getpid(), s)
	time.Sleep(time.Second)
}

// logState logs, for each SIGUSR1, what the server holds: for operators, and
// for tests that look for leaks.
func logState(log *zap.Logger) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	go func() {
		for range asked {
			heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
			metrics.Read(heap)
			log.Info("state", zap.Int("goroutines", runtime.NumGoroutine()), zap.Uint64("heap_bytes", heap[0].Value.Uint64()))
		}
	}()
}
