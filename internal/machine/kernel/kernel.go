// Package kernel is the process table of one program: processes that are Go
// functions, on one file system, with pids, process groups, signals, exit
// statuses and limits.
//
// It knows neither a language nor a shell. Whoever runs a program makes a
// [Kernel] with the programs that its processes may execute; a [Program] reads
// and writes the files of its [Process], and starts others through it.
//
//	k := kernel.New(kernel.Options{FS: fs, Lookup: lookup, Bin: bin})
//	p := k.Main(kernel.Exec{Path: "/bin/sh", Args: []string{"sh", "-c", "true"}, …})
//	status := p.Run(ctx)
//	k.End()
//
// # Sources
//
// POSIX and Linux's fork(2), execve(2), wait(2), kill(2) and signal(7), as far as
// processes without users and terminals have them.
//
// # Locking
//
// Kernel.mu guards the table and what relates its processes to one another;
// Process.mu the files and handlers of one, and is taken last. Neither is held
// while a program, a signal handler or a memfs.File is called.
//
// # Limits
//
// No fork: a process begins with a program. Stop signals are refused, since a
// program that computes cannot be stopped from outside. There are no sessions of
// terminals, no priorities and no users.
package kernel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// Program is what a process runs. It returns the exit status, 0 to 255, and must
// return soon after ctx has ended.
type Program func(ctx context.Context, p *Process) int

// Options configure a [Kernel]. FS is needed.
type Options struct {
	FS *memfs.FS

	// Lookup finds a built-in program by its name.
	Lookup func(name string) (Program, bool)

	// Formats has built-in programs by what the files begin with that they run: such a file
	// is executed with its path as their first argument.
	Formats map[string]string

	// Missing, if not nil, is told of a command that no directory of PATH has, and reports
	// whether one may have it now.
	Missing func(name string) bool

	// Bin is what /bin and /usr/bin show, from [Bin]; nil: FS is a clone of one
	// with [MakeDirs].
	Bin fs.FS

	// Panicked, if not nil, is called with a panic that ended a process, and its stack.
	Panicked func(error)

	// Overrun, if not nil, is called when programs that were told to end go on for seconds,
	// or take far more memory: only the end of the host's process stops what ignores its
	// context.
	Overrun func(memory bool)

	// Admit, if not nil, is asked before a child runs a built-in program. Its error, which
	// wraps an [abi.Errno], is that of Start; undo is called if the child does not start
	// after all.
	Admit func(name string) (undo func(), err error)

	// Room, if not nil, returns how many programs that compute fit into the memory limit
	// at once.
	Room func() int

	// Connect, if not nil, connects a shell's /dev/tcp/HOST/PORT to an address.
	Connect func(ctx context.Context, address string) (memfs.Stream, error)

	// MaxProcesses bounds the processes that run or wait to be waited for; 0: 64.
	MaxProcesses int
}

// ErrMemory is the error of [Kernel.Fail] when a process exceeds the memory limit
// of the program in a way that it cannot be told.
var ErrMemory = errors.New("the program's memory limit is reached")

// firstPID is the pid of the main process.
const firstPID = 42

// initPID is the parent of the main process and of orphans. It is not in the
// table.
const initPID = 1

const defaultProcesses = 64

// Kernel is the process table of one program.
type Kernel struct {
	options Options
	fs      *memfs.FS
	began   time.Time
	booted  atomic.Pointer[time.Time]

	mu        sync.Mutex
	processes map[int]*Process // those that run, and those that nobody has waited for
	last      int              // the newest pid
	ended     bool             // no process may start
	failure   error            // of Fail
	values    context.Context  // of the main process, for what its children do
	cpu, busy time.Duration    // of processes that are gone: reported, and with what is estimated
	running   sync.WaitGroup   // the goroutines of processes
}

// New returns a kernel without processes. With Options.Bin it makes the directories
// of [MakeDirs]. Where there is a directory /proc, it shows the processes.
func New(o Options) (*Kernel, error) {
	if o.Lookup == nil {
		o.Lookup = func(string) (Program, bool) { return nil, false }
	}
	o.MaxProcesses = cmp.Or(o.MaxProcesses, defaultProcesses)
	k := &Kernel{options: o, fs: o.FS, began: time.Now(), processes: map[int]*Process{}, last: firstPID, values: context.Background()}
	if o.Bin != nil {
		if err := MakeDirs(k.fs, o.Bin, func(string) bool { return false }); err != nil {
			return nil, err
		}
	}
	if err := k.fs.MountHostDir("/proc", procfs{k}); err != nil && !errors.Is(err, abi.ENOENT) {
		return nil, err
	}
	return k, nil
}

// Booted returns when the monotonic clock of all processes showed 0: what the first that asks
// says of its own.
func (p *Process) Booted(own time.Time) time.Time {
	p.k.booted.CompareAndSwap(nil, &own)
	return *p.k.booted.Load()
}

// Processors returns the number of processors that programs are told of: those that
// the server uses, but no more than processes beside the main one can occupy.
func (k *Kernel) Processors() int {
	n := min(runtime.GOMAXPROCS(0), k.options.MaxProcesses-1)
	if k.options.Room != nil {
		n = min(n, k.options.Room()-1)
	}
	return max(1, n)
}

// Connect connects to an address; without a network it is refused.
func (k *Kernel) Connect(ctx context.Context, address string) (memfs.Stream, error) {
	if k.options.Connect == nil {
		return nil, abi.ECONNREFUSED
	}
	return k.options.Connect(ctx, address)
}

// Main makes the main process, whose program [Process.Run] runs. When it has ended
// there can be another.
func (k *Kernel) Main(e Exec) (*Process, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e.Session = true
	k.cpu, k.busy = 0, 0
	return k.addLocked(nil, e)
}

// addLocked adds a process to the table.
func (k *Kernel) addLocked(parent *Process, e Exec) (*Process, error) {
	switch {
	case k.ended:
		return nil, fmt.Errorf("the program has ended: %w", abi.EAGAIN)
	case len(k.processes) >= k.options.MaxProcesses:
		return nil, fmt.Errorf("a program may have at most %d processes at once: %w", k.options.MaxProcesses, abi.EAGAIN)
	}
	pid := firstPID
	if parent != nil {
		k.last++
		pid = k.last
	}
	p := &Process{
		k: k, pid: pid, parent: initPID,
		Line: e.Line, Path: e.Path, Args: slices.Clone(e.Args), Env: slices.Clone(e.Env), Dir: cmp.Or(e.Dir, "/"), Umask: e.Umask,
		dir: cmp.Or(e.Dir, "/"), env: slices.Clone(e.Env), began: k.Uptime(),
		program: e.Program, done: make(chan struct{}), files: map[int]*memfs.File{},
	}
	if parent != nil {
		p.parent, p.group, p.session = parent.pid, parent.group, parent.session
		p.ignored = parent.ignored
	}
	switch {
	case e.Session:
		p.group, p.session = p.pid, p.pid
	case e.Group == NewGroup:
		p.group = p.pid
	case e.Group != 0:
		if !k.hasGroupLocked(e.Group, p.session) {
			return nil, fmt.Errorf("process group %d: %w", e.Group, abi.EPERM)
		}
		p.group = e.Group
	}
	for fd, f := range e.Files {
		p.files[fd] = f.Ref()
	}
	k.processes[p.pid] = p
	return p, nil
}

func (k *Kernel) hasGroupLocked(group, session int) bool {
	for _, p := range k.processes {
		if p.group == group && p.session == session {
			return true
		}
	}
	return false
}

// Process returns the process with a pid, also one that has ended and that nobody
// has waited for, or nil.
func (k *Kernel) Process(pid int) *Process {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.processes[pid]
}

// Fail ends all processes because of an error that is not one process's own:
// output that nobody takes any more, a bug of the host. The first error counts;
// it is the cause of the main process's context.
func (k *Kernel) Fail(err error) {
	k.mu.Lock()
	k.failure = cmp.Or(k.failure, err)
	err = k.failure
	main := k.processes[firstPID]
	k.mu.Unlock()
	if main != nil {
		main.stop(err)
	}
	k.killAll()
}

// Failure returns the error of Fail, or nil.
func (k *Kernel) Failure() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.failure
}

// Settle waits until no process runs, but not longer than grace, for what a main process
// that has ended left behind: tee of exec > >(tee log) still reads what it was sent.
func (k *Kernel) Settle(ctx context.Context, grace time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	for {
		list := k.Processes()
		left := slices.IndexFunc(list, func(p *Process) bool { _, ended := p.Status(); return p.own && !ended })
		if left < 0 {
			return
		}
		select {
		case <-list[left].Done():
		case <-ctx.Done():
			return
		}
	}
}

// Alone reports whether there is no process but the main one, not even one to wait for.
func (k *Kernel) Alone() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.processes) == 1
}

// End ends all processes and waits until none runs. It returns how many of them
// had not ended by themselves. Processes may start again afterwards.
func (k *Kernel) End() (left int) {
	k.mu.Lock()
	k.ended = true
	k.mu.Unlock()
	left = k.killAll()
	ended := k.overruns()
	k.running.Wait()
	ended()
	k.mu.Lock()
	defer k.mu.Unlock()
	for pid, p := range k.processes {
		if p.exited {
			delete(k.processes, pid)
		}
	}
	k.ended, k.failure = false, nil
	return left
}

// OverMemory is for whoever watches what the processes have of the host's memory: it fails all
// with [ErrMemory]; when they take more again, that is an overrun.
func (k *Kernel) OverMemory(again bool) {
	switch {
	case !again:
		k.Fail(ErrMemory)
	case k.options.Overrun != nil:
		k.options.Overrun(true)
	}
}

// overrunGrace is how long a program may go on once it was told to end.
const overrunGrace = 5 * time.Second

// overruns reports an overrun unless ended is called in time.
func (k *Kernel) overruns() (ended func() bool) {
	if k.options.Overrun == nil {
		return func() bool { return true }
	}
	return time.AfterFunc(overrunGrace, func() { k.options.Overrun(errors.Is(k.Failure(), ErrMemory)) }).Stop
}

func (k *Kernel) killAll() (killed int) {
	k.mu.Lock()
	var list []*Process
	for _, p := range k.processes {
		if !p.exited && p.own {
			list = append(list, p)
		}
	}
	k.mu.Unlock()
	for _, p := range list {
		p.end(SIGKILL)
	}
	return len(list)
}
