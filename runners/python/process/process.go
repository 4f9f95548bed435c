// Package process has the processes of one program: its own interpreter, the
// interpreters that children are, and the shell and its commands, on one file system
// and one network. It knows no request and no packages.
package process

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/machine/netstack"
	"coderunner/internal/userland/commands"
	"coderunner/internal/userland/commands/web"
	"coderunner/pyodide"
	"coderunner/runners"
)

// Executable is sys.Executable.
const Executable = "/usr/bin/python3"

// Program is what the interpreters of a program have in common.
type Program struct {
	Runtime *pyodide.Runtime
	From    *pyodide.Snapshot // what children start from; nil: the plain one
	Memory  int64             // bytes, of all together
	Calls   map[string]pyodide.Call
}

// Table is the processes of a program, or of a session's programs one after the
// other.
type Table struct {
	Kernel *kernel.Kernel
	FS     *memfs.FS
	Main   *kernel.Process // of the program that runs

	// Sockets is the network that all share.
	Sockets func() *netstack.Stack

	// Ready, if not nil, serves a program before a process first executes Python. Its error
	// ends all processes.
	Ready func(ctx context.Context) error

	log         *zap.Logger
	program     atomic.Pointer[Program] // that runs
	outside     outside
	authorities []*x509.Certificate

	mu      sync.Mutex
	there   map[*pyodide.Interp]bool // those that run, the main one, too
	peak    int64                    // bytes of memory that they had
	calling sync.Mutex               // held during a call of any interpreter
	booked  atomic.Int64             // interpreters whose memory admit has reserved
}

// bin is what /bin shows.
var bin = sync.OnceValue(func() fs.FS {
	b, err := kernel.Bin(append(commands.Names(), "python", "python3", "python3.14", "pip", "pip3")...)
	if err != nil {
		panic(err) // the names are fixed
	}
	return b
})

// NewFiles returns what all programs find when they begin, without Python's library.
func NewFiles(p runners.Policy) (*memfs.FS, error) {
	fsys, err := pyodide.NewFS(0)
	if err != nil {
		return nil, err
	}
	err = kernel.MakeDirs(fsys, bin(), p.CanRead)
	if err == nil && !p.Read.Any() && !p.Write.Any() { // else something of the host may be there
		err = kernel.LinkHome(fsys, pyodide.Home)
	}
	return fsys, err
}

// New returns a table of processes on files of their own. Missing is as in
// [kernel.Options].
func New(files *memfs.FS, log *zap.Logger, missing func(name string) bool) (*Table, error) {
	c := &Table{FS: files, log: log}
	c.program.Store(&Program{})
	var err error
	c.Kernel, err = kernel.New(kernel.Options{FS: files, Lookup: c.lookup, Missing: missing, Room: c.room, Admit: c.admit, Connect: c.connect, Panicked: func(err error) {
		c.log.Error("a process panicked", zap.Error(err))
	}})
	return c, err
}

var errTimeLimit = errors.New("time limit")

// Begin prepares for a program, whose file has a name: its own process becomes the
// main one.
func (c *Table) Begin(p Program, name string) (err error) {
	c.Serve(p)
	c.Main, err = c.Kernel.Main(kernel.Exec{Path: Executable, Args: []string{Executable, name}, Dir: pyodide.Home})
	return err
}

// Serve prepares for the interpreters of a program's processes.
func (c *Table) Serve(p Program) {
	p.Calls = c.serial(p.Calls)
	c.program.Store(&p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.there, c.peak = map[*pyodide.Interp]bool{}, 0
}

// Calls returns the calls of the program that runs.
func (c *Table) Calls() map[string]pyodide.Call { return c.program.Load().Calls }

// room returns how many interpreters fit into the memory limit.
func (c *Table) room() int {
	p := c.program.Load()
	if p.Runtime == nil {
		return math.MaxInt // nobody has asked for one
	}
	return int(p.Memory / p.each())
}

// each returns the bytes of memory that an interpreter of the program takes.
func (p *Program) each() int64 { return p.Runtime.Memory(p.From) }

// admit books the memory of a child that is an interpreter, so that who starts one too
// many is told so, and not the child.
func (c *Table) admit(name string) (undo func(), err error) {
	p := c.program.Load()
	if !isPython(name) || p.Runtime == nil {
		return func() {}, nil
	}
	if !c.FS.Reserve(p.each()) {
		return nil, p.noRoom()
	}
	c.booked.Add(1)
	return func() { c.FS.Unreserve(c.unbook()) }, nil
}

// unbook returns the bytes that admit has booked for a process, which are the caller's
// then: none if it became Python by execve.
func (c *Table) unbook() int64 {
	if c.booked.Add(-1) < 0 {
		c.booked.Add(1)
		return 0
	}
	return c.program.Load().each()
}

func (p *Program) noRoom() error {
	const mib = 1 << 20
	return fmt.Errorf("no memory for another process of Python: each takes %d MiB of the program's limit of %d MiB; "+
		"use fewer at a time (Pool(4)), or ask for a higher limit: %w", p.each()/mib, p.Memory/mib, abi.ENOMEM)
}

// isPython reports whether a built-in program is an interpreter.
func isPython(name string) bool {
	switch name {
	case "python", "python3", "python3.14", "pip", "pip3":
		return true
	}
	return false
}

// serial returns calls of which one at a time is performed: the interpreters of a
// program share what they change.
func (c *Table) serial(calls map[string]pyodide.Call) map[string]pyodide.Call {
	for name, call := range calls {
		do := call.Do
		call.Do = func(ctx context.Context, argument json.RawMessage) (any, error) {
			c.calling.Lock()
			defer c.calling.Unlock()
			return do(ctx, argument)
		}
		calls[name] = call
	}
	return calls
}

// Run runs the main process, whose program is run, and ends all others when it has
// ended. What the processes did counts as the program's.
func (c *Table) Run(ctx context.Context, limit time.Duration, run func(ctx context.Context) (*pyodide.Result, error)) (res *pyodide.Result, left int, err error) {
	whole, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begun := time.Now()
	replaced := func() bool { return false } // stops the limit of what takes the program's place
	status, _ := c.Main.Run(whole, func(ctx context.Context, _ *kernel.Process) int {
		if res, err = run(ctx); err != nil {
			return 1
		}
		replaced = time.AfterFunc(limit-time.Since(begun), func() { cancel(errTimeLimit) }).Stop
		return res.ExitCode
	})
	replaced()
	failure := c.Kernel.Failure()
	left = c.Kernel.End()
	if err != nil {
		return res, left, err
	}
	var output *memfs.OutputError
	switch {
	case errors.As(failure, &output):
		res.Ended, res.Cause, res.ExitCode = pyodide.Flooded, output, 1
	case failure != nil:
		return nil, left, failure
	case context.Cause(whole) == errTimeLimit:
		res.Ended, res.ExitCode = pyodide.Stopped, 1
	case ctx.Err() == nil && status.Signal() != 0, status.Code() != res.ExitCode&0xff:
		// A signal ended it, or another program took its place.
		res.Ended, res.Cause, res.ExitCode = pyodide.Finished, nil, status.Code()
	}
	res.CPUTime += c.Kernel.CPU()
	c.mu.Lock()
	defer c.mu.Unlock()
	res.PeakMemory = max(res.PeakMemory, c.peak)
	return res, left, nil
}

// lookup finds the built-in programs.
func (c *Table) lookup(name string) (kernel.Program, bool) {
	switch name {
	case "python", "python3", "python3.14":
		return c.python, true
	case "pip", "pip3":
		return func(ctx context.Context, p *kernel.Process) int {
			p.Args = append([]string{Executable, "-m", "pip"}, p.Args[min(1, len(p.Args)):]...)
			return c.python(ctx, p)
		}, true
	}
	program, ok := commands.Lookup(name)
	if ok && web.Connects(name) {
		program = web.WithNetwork(program, c.network())
	}
	return program, ok
}

// network is what the shell and its commands may reach.
func (c *Table) network() web.Network {
	n := web.Network{Loopback: c.Sockets(), Refused: c.outside.refused, Authorities: c.authorities}
	if c.outside.open {
		n.Outside = &c.outside
	}
	return n
}

// connect connects a shell.
func (c *Table) connect(ctx context.Context, address string) (memfs.Stream, error) {
	return c.network().Connect(ctx, address)
}

// python is the program of a child: an interpreter of its own on the same files.
func (c *Table) python(ctx context.Context, p *kernel.Process) int {
	if c.Ready != nil {
		if err := c.Ready(ctx); err != nil {
			c.Kernel.Fail(err)
			return 1
		}
	}
	program := c.program.Load()
	files := p.TakeFiles()
	if f := files[2]; f != nil {
		defer f.Ref().Close()
	}
	stderr := p.Writer(ctx, files[2])
	in, err := program.Runtime.New(ctx, pyodide.Options{
		From: program.From, Memory: program.Memory, FS: c.FS, Shared: true, Charged: c.unbook(), Process: p,
		Dir: p.Dir, Umask: p.Umask, Files: files, Calls: program.Calls,
		Sockets: c.Sockets(), Authorities: c.authorities,
	})
	if errors.Is(err, abi.ENOMEM) {
		err = program.noRoom()
	}
	if err != nil {
		fmt.Fprintf(stderr, "python: %v\n", err)
		return 1
	}
	unnote := c.Note(p, in)
	res, err := in.Exec(ctx, pyodide.Command{Args: p.Args, Env: p.Env})
	unnote()
	p.Handle(nil)
	if err := in.Close(); err != nil {
		c.log.Error("close an interpreter", zap.Error(err))
	}
	if err != nil {
		fmt.Fprintf(stderr, "python: %v\n", err)
		return 1
	}
	p.AddCPU(res.CPUTime)
	return c.ended(p, res, func(text string) { fmt.Fprintln(stderr, "python: "+text) })
}

// ended returns the exit status of an interpreter, or ends the process by the
// signal that would end it elsewhere.
func (c *Table) ended(p *kernel.Process, res *pyodide.Result, say func(string)) int {
	const sigabrt, sigsegv = 6, 11
	switch {
	case res.Signal != 0:
		p.Die(kernel.Signal(res.Signal))
	case res.Ended == pyodide.Flooded:
		p.Kernel().Fail(res.Cause)
	case res.MemoryCapHit && res.Ended != pyodide.Finished && res.Ended != pyodide.Cancelled:
		say(runners.Limits{Memory: c.program.Load().Memory}.Exceeded(runners.OutOfMemory).Message)
		p.Die(kernel.SIGKILL)
	case res.Trap == pyodide.StackOverflow:
		say("the interpreter's stack overflowed")
		p.Die(sigsegv)
	case res.Ended == pyodide.Trapped:
		say(res.Trap)
		p.Die(sigabrt)
	case res.Ended == pyodide.Died:
		c.log.Error("an interpreter died", zap.Error(res.Cause))
		p.Die(sigabrt)
	}
	return res.ExitCode
}

// Note notes an interpreter that is there from now on, and unnote that it ends.
func (c *Table) Note(p *kernel.Process, in *pyodide.Interp) (unnote func()) {
	p.Measure(func() kernel.Usage { return kernel.Usage{Memory: in.Memory(), CPU: in.CPUTime()} })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.there[in] = true
	return func() {
		p.Measure(nil)
		c.mu.Lock()
		defer c.mu.Unlock()
		held := int64(0)
		for in := range c.there {
			held += in.Memory()
		}
		c.peak = max(c.peak, held)
		delete(c.there, in)
	}
}
