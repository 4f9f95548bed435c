package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Zygote is a confined process that has begun, was stopped for good and is forked: each fork goes
// on where the zygote was stopped, with all of its threads, under the filter that [Start] puts
// a process under, in a process group of its own. It shares no open file with the zygote or
// with another fork.
//
//	StartZygote ─> it runs, unfiltered, what is trusted ─> Freeze ─> Fork, Fork, … ─> Kill
//
// Its thread is the only one that may trace it, so it makes all calls that do.
type Zygote struct {
	spec   Spec
	reach  reach
	armed  bool        // it has a network of its own, and capabilities there, which forks have not
	own    *namespace  // that network; nil: nobody knows what has passed through it
	traces chan func() // for the thread
	end    <-chan struct{}
	pid    int
	entry  uintptr // where its first instruction was, which runs no more: see caller

	threads []*thread // the first is the one of its number; set by freeze
	open    []*description
	pipes   int     // how many of open are pipes
	written []pages // where forks may write
	learned []pages // what they do write, and get before they begin; nil: it is not known
	place   uintptr // of what system calls point to

	snapshot   *Snapshot                // of which it is made; nil: it is started
	restored   []*os.File               // our ends of its pipes then
	unconfined func(func() error) error // calls a function on a thread that is not confined
}

// thread is a thread of a stopped process, with all that the kernel keeps for it and does not
// give to a new one.
type thread struct {
	id     int
	At     unix.PtraceRegs // where it goes on
	Vector []byte          // the other registers (XSAVE)
	Mask   uint64          // of signals
	TID    uintptr         // where its number is, for the C library
	Robust [2]uintptr      // its list of mutexes, and the size of the head
	Stack  [24]byte        // its stack for signals (stack_t)
	Rseq   rseq
}

// rseq is struct ptrace_rseq_configuration.
type rseq struct {
	Area            uint64
	Size, Signature uint32
	Flags, _        uint32
}

// CanFork returns why there can be no zygotes, nil if there can.
func CanFork() error { return probe().injects() }

// StartZygote is [Start] for a process that is to be forked, and leads a process group. The thread
// lives until end is closed, when all forks must have ended, and the zygote by Kill.
func StartZygote(s Spec, end <-chan struct{}, start func(trace bool, files []*os.File) (pid int, err error)) (*Zygote, error) {
	z := &Zygote{spec: s, traces: make(chan func()), end: end}
	return z, begin(s, z, end, start)
}

// began keeps what is known of a zygote that is about to run.
func (z *Zygote) began(pid int, entry uintptr, to reach, armed bool) {
	z.pid, z.entry, z.reach, z.armed = pid, entry, to, armed
}

// has keeps the network that it has.
func (z *Zygote) has(n *namespace) { z.own = n }

// serve makes the calls of trace, if there is a zygote, until end is closed.
func (z *Zygote) serve(end <-chan struct{}) {
	if z == nil {
		<-end
		return
	}
	for {
		select {
		case f := <-z.traces:
			f()
		case <-end:
			return
		}
	}
}

// trace has the zygote's thread call f.
func (z *Zygote) trace(f func() error) error {
	result := make(chan error)
	select {
	case z.traces <- func() { result <- f() }:
		return <-result
	case <-z.end:
		return errors.New("its thread has ended")
	}
}

// Freeze stops all threads of the zygote, wherever they are. Pipes are our ends of those that it
// has; each fork has others in their place. The zygote is to be killed if Freeze fails.
func (z *Zygote) Freeze(pipes []*os.File) error {
	for try := 1; ; try++ {
		err := z.freeze(pipes)
		if err == nil {
			return nil
		}
		if !errors.Is(err, errShared) || try == maxTries {
			z.threads = nil // it cannot be forked
			return err
		}
		// A thread has it open for a moment, as the C library the list of processors.
		if err := z.Thaw(); err != nil {
			return err
		}
		time.Sleep(time.Duration(try) * time.Millisecond) // until it has run: of that there is no event
	}
}

// maxTries bounds how often Freeze stops a zygote that has something open which forks would share.
const maxTries = 20

// freeze is Freeze for one try.
func (z *Zygote) freeze(pipes []*os.File) error {
	err := z.stop()
	if err == nil {
		err = z.trace(z.read)
	}
	if err != nil {
		return fmt.Errorf("stop the threads of process %d: %w", z.pid, err)
	}
	z.pipes = len(pipes)
	var m memory
	all, err := vmas(z.pid, "smaps")
	if err == nil {
		m, err = forForks(all)
	}
	if err == nil {
		z.written = m.written
		z.open, err = descriptions(z.pid, pipes)
	}
	if err == nil {
		err = z.trace(func() error { return z.examine(m) })
	}
	if err != nil {
		return fmt.Errorf("examine process %d: %w", z.pid, err)
	}
	return nil
}

// read reads what is kept of the stopped threads.
func (z *Zygote) read() error {
	for _, t := range z.threads {
		if err := t.read(); err != nil {
			return err
		}
	}
	return nil
}

// Thaw has the zygote go on where it was stopped, until it is frozen again.
func (z *Zygote) Thaw() error {
	return z.trace(func() error {
		threads := z.threads
		z.threads, z.learned = nil, nil
		for _, t := range threads {
			if err := t.release(); err != nil {
				return err
			}
		}
		return nil
	})
}

// maxEnding is how often threads are seen that cannot be traced, since they end at that moment.
const maxEnding = 100

// stop stops all threads. A thread that is not stopped yet may make others.
func (z *Zygote) stop() error {
	known, ending := map[int]bool{}, 0
	for found := true; found; {
		found = false
		tasks, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(z.pid), "task"))
		if err != nil {
			return err
		}
		for _, task := range tasks {
			id, err := strconv.Atoi(task.Name())
			if err != nil || known[id] {
				continue
			}
			known[id], found = true, true
			switch err := z.trace(func() error { return seize(id) }); {
			case errors.Is(err, unix.ESRCH) && id != z.pid: // it has ended
				awaitDeath(id)
			case errors.Is(err, unix.EPERM) && id != z.pid && ending < maxEnding: // it ends, and is still listed
				known[id] = false
				ending++
			case err != nil:
				return err
			default:
				z.threads = append(z.threads, &thread{id: id})
			}
		}
	}
	first := slices.IndexFunc(z.threads, func(t *thread) bool { return t.id == z.pid })
	if first < 0 {
		return errors.New("it has ended")
	}
	z.threads[0], z.threads[first] = z.threads[first], z.threads[0]
	return nil
}

// examine asks the stopped threads for the rest, and has forks get all of the memory.
func (z *Zygote) examine(m memory) error {
	main := z.threads[0]
	z.place = (uintptr(main.At.Rsp) - maxBatch - 4<<10) &^ 15 // below what is on the stack
	if !slices.ContainsFunc(m.written, func(r pages) bool { return z.place >= r[0] && uintptr(main.At.Rsp) <= r[0]+r[1] }) {
		return errors.New("its stack has no room for system calls")
	}
	if _, err := unix.PtracePokeText(z.pid, z.entry, caller); err != nil {
		return fmt.Errorf("write what makes system calls: %w", err)
	}
	b := z.batch()
	b.call(unix.SYS_MADVISE, z.place&^uintptr(os.Getpagesize()-1), 1, unix.MADV_POPULATE_WRITE) // since Linux 5.14
	for _, r := range m.hidden {
		b.call(unix.SYS_MADVISE, r[0], r[1], unix.MADV_DOFORK)
	}
	if err := b.run(main); err != nil {
		return err
	}
	for _, r := range m.files {
		// A range that has a page of its own is copied with what is mapped there, and else
		// each fork has faults for it.
		first := make([]byte, 8)
		if _, err := unix.PtracePeekText(z.pid, r[0], first); err != nil {
			continue // beyond the end of the file
		}
		if _, err := unix.PtracePokeText(z.pid, r[0], first); err != nil {
			return fmt.Errorf("copy a page of a file: %w", err)
		}
	}
	for _, t := range z.threads {
		b := z.batch()
		tid, stack := b.room(make([]byte, 8)), b.room(t.Stack[:])
		b.call(unix.SYS_PRCTL, unix.PR_GET_TID_ADDRESS, tid)
		b.call(unix.SYS_SIGALTSTACK, 0, stack)
		if err := b.run(t); err != nil {
			return err
		}
		found, err := readMemory(t.id, tid, 8+len(t.Stack))
		if err != nil {
			return err
		}
		t.TID = uintptr(word(found))
		copy(t.Stack[:], found[8:])
	}
	return nil
}

// Fork makes a fork, with which the zygote shares only what it reads. It returns the fork's
// number and our ends of its pipes, in Freeze's order, which do not block. The fork is our
// child, which the caller reaps. Supervise is called as Spec.Supervise is.
func (z *Zygote) Fork(supervise func(*Calls)) (pid int, pipes []*os.File, err error) {
	f := &forked{of: z}
	// What has passed through the network of all was by an ended fork: then this one has its own.
	alone := z.armed && (z.own == nil || z.own.passed() != z.own.before)
	err = z.trace(func() error {
		err := f.make()
		if err == nil {
			err = f.confine(alone, supervise)
		}
		if err != nil {
			f.kill()
		}
		return err
	})
	if err != nil {
		return 0, nil, fmt.Errorf("fork process %d: %w", z.pid, err)
	}
	return f.pid, f.pipes, nil
}

// Learn has later forks begin with the pages that a fork has written which is still there:
// copying each when it is written, with several threads, costs ten times as much.
func (z *Zygote) Learn(fork int) error {
	learned, err := learn(z.pid, fork, z.written)
	if err != nil {
		return fmt.Errorf("find what process %d has written: %w", fork, err)
	}
	return z.trace(func() error {
		if z.threads != nil {
			z.learned = learned
		}
		return nil
	})
}

// Kill kills the zygote. The caller reaps it.
func (z *Zygote) Kill() {
	_ = z.trace(func() error {
		bury(z.pid)
		return nil
	})
}
