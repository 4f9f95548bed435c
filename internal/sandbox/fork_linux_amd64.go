package sandbox

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// forked is a fork in the making.
type forked struct {
	of    *Zygote
	pid   int
	main  thread
	pipes []*os.File
}

// make makes the fork, which is stopped.
func (f *forked) make() error {
	z := f.of
	if z.threads == nil {
		return errors.New("it is not stopped")
	}
	b := z.batch()
	b.call(unix.SYS_CLONE, unix.CLONE_PARENT|unix.CLONE_PTRACE|uintptr(unix.SIGCHLD))
	if err := b.run(z.threads[0]); err != nil {
		return err
	}
	f.main = *z.threads[0]
	f.pid = int(b.calls[0][0])
	f.main.id = f.pid
	if err := f.main.await(); err != nil {
		return err
	}
	return f.reopen()
}

// confine puts the fork under its filter, in a network that nobody has used, makes its threads,
// and lets it go.
func (f *forked) confine(alone bool, supervise func(*Calls)) error {
	z := f.of
	s := &stopped{pid: f.pid, at: registers{f.main.At}, place: z.place}
	s.at.Rip = uint64(z.entry) + syscallInCaller
	var err error
	if alone {
		if err = s.unshare(unix.CLONE_NEWNET); err == nil {
			err = s.raiseLoopback()
		}
	}
	if z.armed && err == nil {
		err = s.disarm()
	}
	if err != nil {
		return err
	}
	flags, supervised := probe().flags, z.spec.Network && supervise != nil && Supervised() == nil
	if supervised {
		flags, _ = supervision()
	}
	calls, err := s.filter(filterProgram(os.Getpid(), z.reach, true, supervised, z.spec), flags)
	if err != nil {
		return err
	}
	err = f.begin()
	switch {
	case calls != nil && err != nil:
		calls.Close()
	case calls != nil:
		supervise(calls)
	}
	return err
}

// reopen gives the fork numbers, a group and open files of its own.
func (f *forked) reopen() error {
	b, main := f.of.batch(), &f.main
	b.call(unix.SYS_SET_TID_ADDRESS, main.TID)
	b.call(unix.SYS_SET_ROBUST_LIST, main.Robust[0], main.Robust[1])
	if !f.of.kept() { // else it has been started in its own
		b.call(unix.SYS_SETPGID, 0, 0)
	}
	b.call(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL))
	ours, spare := reopen(b, f.of.open, f.of.pipes)
	for _, r := range f.of.learned {
		// While it has one thread no other processor has to be told.
		b.call(unix.SYS_MADVISE, r[0], r[1], unix.MADV_POPULATE_WRITE)
	}
	if err := b.run(main); err != nil {
		return err
	}
	if main.TID != 0 { // there is a C library
		if err := writeMemory(f.pid, main.TID, packed(uint32(f.pid))); err != nil {
			return fmt.Errorf("write its number: %w", err)
		}
	}
	if err := f.take(ours); err != nil {
		return err
	}
	b = f.of.batch()
	for _, fd := range spare {
		b.call(unix.SYS_CLOSE, uintptr(fd))
	}
	return b.run(main)
}

// take takes over our ends of the pipes, descriptors of the fork.
func (f *forked) take(numbers []int) error {
	pidfd, err := unix.PidfdOpen(f.pid, 0)
	if err != nil {
		return fmt.Errorf("open the process: %w", err)
	}
	defer unix.Close(pidfd)
	for _, number := range numbers {
		fd, err := unix.PidfdGetfd(pidfd, number, 0)
		if err == nil {
			err = unix.SetNonblock(fd, true)
			f.pipes = append(f.pipes, os.NewFile(uintptr(fd), "pipe"))
		}
		if err != nil {
			return fmt.Errorf("take over a pipe: %w", err)
		}
	}
	return nil
}

// begin makes the other threads, and lets all of them go.
func (f *forked) begin() error {
	const flags = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_THREAD | unix.CLONE_SYSVSEM |
		unix.CLONE_SETTLS | unix.CLONE_PARENT_SETTID | unix.CLONE_CHILD_CLEARTID | unix.CLONE_PTRACE
	z, b := f.of, f.of.batch()
	for _, t := range z.threads[1:] {
		b.call(unix.SYS_CLONE, flags, uintptr(t.At.Rsp), t.TID, t.TID, uintptr(t.At.Fs_base))
	}
	if err := b.run(&f.main); err != nil {
		return err
	}
	for i, t := range z.threads[1:] {
		own := *t
		own.id = int(b.calls[i][0])
		if err := own.awaitBegin(); err != nil {
			return err
		}
		b := z.batch()
		b.register(&own)
		if err := b.run(&own); err != nil {
			return err
		}
		if err := own.release(); err != nil {
			return err
		}
	}
	return f.main.release()
}

// kill kills and reaps a fork that could not be made.
func (f *forked) kill() {
	for _, pipe := range f.pipes {
		pipe.Close()
	}
	if f.pid != 0 {
		bury(f.pid)
		awaitDeath(f.pid)
	}
}
