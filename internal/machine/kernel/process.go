package kernel

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// Exec is what a process begins with.
type Exec struct {
	// Path is the program: a path, relative to Dir, or a name that is looked up in
	// PATH of Env.
	Path string
	// Program, if not nil, is run instead: a part of the parent, as a subshell.
	Program Program
	Args    []string // with the name as the first
	Env     []string // "NAME=value"
	Dir     string   // the working directory, an absolute path
	Umask   uint32
	// Files are the descriptors. The process takes references of its own.
	Files map[int]*memfs.File
	// Group is the process group to join; 0: the parent's.
	Group int
	// Session begins a session, and a group.
	Session bool
	Line    int // of the script that starts it; 0: none does

	builtin string // the name of the program that Path resolved to
}

// NewGroup as an Exec.Group begins a process group.
const NewGroup = -1

// Process is one process. Args, Env, Dir, Umask and Stack belong to its program.
type Process struct {
	Line  int // of the script that has started it
	Path  string
	Args  []string
	Env   []string
	Dir   string
	Umask uint32
	Stack Stack

	k       *Kernel
	pid     int
	program Program // nil: Path is resolved
	done    chan struct{}
	waiters memfs.Waiters // woken when a child ends, and when the process does
	began   time.Duration // uptime

	// Guarded by Kernel.mu.
	parent         int
	group, session int
	own            bool // runs in a goroutine of the kernel
	reaps          bool // see Reaps
	exited         bool
	ended          time.Duration // uptime
	status         Status
	next           *Exec // what replaces the program
	cpu, childCPU  time.Duration
	measure        func() Usage // of the program that runs; nil: unknown
	measured       bool
	waiting        int           // calls of Idle
	asleep, idle   time.Duration // uptime when the process began to wait; for how long it did before
	dir            string        // that the program began in
	env            []string      // that it began with

	mu       sync.Mutex
	files    map[int]*memfs.File
	handler  func(Signal) bool
	ignored  uint64 // bits of signals
	received uint64 // likewise
	cancel   context.CancelCauseFunc
	killed   Signal // what ends it; 0: nothing
}

// Kernel returns the table that the process is in.
func (p *Process) Kernel() *Kernel { return p.k }

// FS returns the file system.
func (p *Process) FS() *memfs.FS { return p.k.fs }

// PID returns the process's number.
func (p *Process) PID() int { return p.pid }

// Parent returns the parent's number, which changes when that ends, Group the process group
// and Session the session.
func (p *Process) Parent() int  { return p.number(&p.parent) }
func (p *Process) Group() int   { return p.number(&p.group) }
func (p *Process) Session() int { return p.number(&p.session) }

// number reads a number that Kernel.mu guards.
func (p *Process) number(n *int) int {
	p.k.mu.Lock()
	defer p.k.mu.Unlock()
	return *n
}

// Command returns the program and the arguments of the process, which may be another's.
func (p *Process) Command() (path string, args []string) {
	p.k.mu.Lock()
	defer p.k.mu.Unlock()
	return p.Path, p.Args
}

// Name returns the last part of the command's path; a part of a program has the name of
// the whole.
func (p *Process) Name() string {
	at, args := p.Command()
	if at == "" && len(args) > 0 {
		at = args[0]
	}
	return path.Base(at)
}

// Start starts a child. Its error wraps an [abi.Errno].
func (p *Process) Start(e Exec) (*Process, error) {
	e.Dir = cmp.Or(e.Dir, p.Dir)
	if e.Program == nil {
		if err := p.k.resolve(&e); err != nil {
			return nil, err
		}
	}
	undo := func() {}
	if p.k.options.Admit != nil && e.builtin != "" {
		var err error
		if undo, err = p.k.options.Admit(e.builtin); err != nil {
			return nil, err
		}
	}
	p.k.mu.Lock()
	defer p.k.mu.Unlock()
	if p.exited {
		undo()
		return nil, fmt.Errorf("the process has ended: %w", abi.ESRCH)
	}
	c, err := p.k.addLocked(p, e)
	if err != nil {
		undo()
		return nil, err
	}
	c.own = true
	ctx := c.begin(p.k.values)
	p.k.running.Go(func() {
		defer c.cancel(nil)
		c.run(ctx)
	})
	return c, nil
}

// Run runs the program of the main process, in the caller's goroutine and until
// it ends or ctx does. The values of ctx are those of all processes. A nil program is the one of its Exec.
func (p *Process) Run(ctx context.Context, program Program) (Status, error) {
	if program != nil {
		p.program = program
	}
	if p.program == nil {
		e := Exec{Path: p.Path, Args: p.Args, Env: p.Env, Dir: p.Dir}
		if err := p.k.resolve(&e); err != nil {
			return 0, err
		}
		p.program, p.Path, p.Args = e.Program, e.Path, e.Args
	}
	p.k.mu.Lock()
	p.k.values = context.WithoutCancel(ctx)
	p.k.mu.Unlock()
	ctx = p.begin(ctx)
	returned := make(chan struct{})
	told := context.AfterFunc(ctx, func() {
		defer p.k.overruns()()
		<-returned
	})
	p.run(ctx)
	told()
	p.cancel(nil) // not before: an end that nobody waited for would start a goroutine
	close(returned)
	p.k.mu.Lock()
	defer p.k.mu.Unlock()
	p.k.removeLocked(p.pid, p)
	return p.status, nil
}

// begin returns the context of the process's program.
func (p *Process) begin(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cancel = cancel; p.killed != 0 {
		cancel(&Killed{p.killed})
	}
	return memfs.WithFiles(ctx, p.File)
}

// run runs the program, and what replaces it, until the process ends. The caller cancels ctx.
func (p *Process) run(ctx context.Context) {
	for alone := p.own; ; alone = true {
		code := p.call(ctx, alone)
		p.k.mu.Lock()
		next := p.next
		p.next = nil
		p.k.mu.Unlock()
		if next == nil || ctx.Err() != nil {
			p.exit(code)
			return
		}
		p.k.mu.Lock()
		p.program, p.Line, p.Path, p.Args, p.Env, p.Dir, p.Umask = next.Program, next.Line, next.Path, next.Args, next.Env, next.Dir, next.Umask
		p.dir, p.env, p.reaps = next.Dir, slices.Clone(next.Env), false
		p.k.mu.Unlock()
		p.mu.Lock()
		old := p.files
		p.files, p.handler = next.Files, nil
		p.mu.Unlock()
		closeFiles(old)
	}
}

// aborted is the exit status of a process whose program panicked: what a shell shows
// for one that SIGABRT ended.
const aborted = 134

// call calls the program. A panic of it ends the process alone, since programs read
// untrusted bytes; that of what the host runs as the main process ends all.
func (p *Process) call(ctx context.Context, alone bool) int {
	code, err := p.guarded(ctx, p.program)
	if err == nil {
		return code
	}
	whole := fmt.Errorf("process %d (%s): %w", p.pid, p.Path, err)
	if !alone {
		p.k.Fail(whole)
		return 1
	}
	if p.k.options.Panicked != nil {
		p.k.options.Panicked(whole)
	}
	p.guarded(ctx, func(ctx context.Context, p *Process) int {
		message, _, _ := strings.Cut(err.Error(), "\n")
		fmt.Fprintf(p.Stderr(ctx), "%s: %s (a bug of coderunner's program, which ended)\n", path.Base(p.Path), message)
		return 0
	})
	return aborted
}

// guarded calls a program. The error is a panic of it, with the stack. Output that
// nobody takes any more ends all processes.
func (p *Process) guarded(ctx context.Context, program Program) (code int, err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case *memfs.OutputError:
			p.k.Fail(v)
		default:
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	code = 1
	return program(ctx, p), nil
}

// Replace makes the process go on with another program when its own has
// returned, which has to be soon. Files that e has not are closed.
func (p *Process) Replace(e Exec) error {
	e.Dir = cmp.Or(e.Dir, p.Dir)
	if e.Program == nil {
		if err := p.k.resolve(&e); err != nil {
			return err
		}
	}
	e.Files = maps.Clone(e.Files)
	if e.Files == nil {
		e.Files = map[int]*memfs.File{}
	}
	for _, f := range e.Files {
		f.Ref()
	}
	p.k.mu.Lock()
	defer p.k.mu.Unlock()
	p.next = &e
	return nil
}

// exit ends the process: its files are closed, its children become orphans, and
// its parent may wait for it.
func (p *Process) exit(code int) {
	p.mu.Lock()
	files := p.files
	p.files, p.handler = nil, nil
	killed := p.killed
	p.mu.Unlock()
	closeFiles(files)

	k := p.k
	k.mu.Lock()
	p.exited, p.ended = true, k.Uptime()
	if p.status = Exited(code); killed != 0 {
		p.status = Signalled(killed)
	}
	for pid, c := range k.processes {
		if c.parent != p.pid {
			continue
		}
		c.parent = initPID
		if c.exited {
			k.removeLocked(pid, c)
		}
	}
	parent := k.processes[p.parent]
	if parent == nil || parent.exited {
		if p.own {
			k.removeLocked(p.pid, p)
		}
		parent = nil
	}
	k.mu.Unlock()
	close(p.done)
	p.waiters.Wake()
	if parent != nil {
		parent.waiters.Wake()
		parent.deliver(SIGCHLD)
	}
}

// removeLocked removes an ended process from the table.
func (k *Kernel) removeLocked(pid int, p *Process) {
	delete(k.processes, pid)
	k.cpu += p.cpu
	k.busy += p.cpuLocked()
}

func closeFiles(files map[int]*memfs.File) {
	for _, fd := range slices.Sorted(maps.Keys(files)) {
		files[fd].Close()
	}
}

// Done returns a channel that is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Status returns how the process ended, and whether it has.
func (p *Process) Status() (Status, bool) {
	p.k.mu.Lock()
	defer p.k.mu.Unlock()
	return p.status, p.exited
}
