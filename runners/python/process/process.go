// Package process has the processes of one program: its own interpreter, the interpreters
// that are its children, and the shell and its commands, on one file system and one network.
// It knows no request and no packages.
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
	"coderunner/internal/netpolicy"
	"coderunner/internal/sysmem"
	"coderunner/internal/userland/commands"
	"coderunner/internal/userland/commands/tool"
	"coderunner/internal/userland/commands/web"
	"coderunner/pyodide"
	"coderunner/runners"
	"coderunner/runners/toolbox"
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

	// Hold, if not nil, stops the program's clock until release is called, while a guest is
	// made ready.
	Hold func() (release func())

	guests    Guests       // nil: none
	preparing atomic.Int64 // nanoseconds that they have taken

	// Interceptor is the program's own, nil if there is none: see Intercept.
	Interceptor netpolicy.Interceptor

	tools atomic.Pointer[toolbox.Box] // of the program that runs; nil: it has none
	shown bool                        // toolbox.Dir is there

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

// Guests are other languages, as commands. A nil interface has none.
type Guests interface {
	Commands() []string
	// Lookup returns a command's program, and what makes it ready, which takes long at its
	// first use.
	Lookup(name string) (program kernel.Program, ready func(context.Context, *kernel.Process) error, ok bool)
	// Formats is as in [kernel.Options].
	Formats() map[string]string
}

// Bin returns what /bin shows.
func Bin(g Guests) (fs.FS, error) {
	names := append(commands.Names(), "python", "python3", "python3.14", "pip", "pip3")
	if g != nil {
		names = append(names, g.Commands()...)
	}
	return kernel.Bin(names...)
}

// NewFiles returns what all programs find when they begin, without Python's library.
func NewFiles(p runners.Policy, bin fs.FS) (*memfs.FS, error) {
	fsys, err := pyodide.NewFS(0)
	if err != nil {
		return nil, err
	}
	err = kernel.MakeDirs(fsys, bin, p.CanRead)
	if err == nil && !p.Read.Any() && !p.Write.Any() { // else something of the host may be there
		err = kernel.LinkHome(fsys, pyodide.Home)
	}
	return fsys, err
}

// New returns a table of processes on files of their own. Missing and overrun are as in
// [kernel.Options].
func New(files *memfs.FS, log *zap.Logger, g Guests, missing func(name string) bool, overrun func(memory bool)) (*Table, error) {
	c := &Table{FS: files, log: log, guests: g}
	c.program.Store(&Program{})
	var err error
	var formats map[string]string
	if g != nil {
		formats = g.Formats()
	}
	c.Kernel, err = kernel.New(kernel.Options{FS: files, Lookup: c.lookup, Formats: formats, Missing: missing, Room: c.room, Admit: c.admit, Connect: c.connect, Overrun: overrun, Panicked: func(err error) {
		c.log.Error("a process panicked", zap.Error(err))
	}})
	return c, err
}

var errTimeLimit = errors.New("time limit")

// leastReplaced is the least time of what takes a program's place.
const leastReplaced = time.Second

// Begin prepares for a program, whose file has a name: its own process becomes the
// main one.
func (c *Table) Begin(p Program, name string) (err error) {
	c.Serve(p)
	c.Main, err = c.Kernel.Main(kernel.Exec{Path: Executable, Args: []string{Executable, name}, Dir: pyodide.Home})
	return err
}

// Offer gives the program that is to come its tools, nil if it has none.
func (c *Table) Offer(box *toolbox.Box) error {
	c.tools.Store(box)
	if box == nil || c.shown {
		return nil
	}
	c.shown = true
	if err := c.FS.MkdirAll(toolbox.Dir, 0o755); err != nil {
		return err
	}
	return c.FS.MountInto(toolbox.Dir, toolbox.Files(c.tools.Load))
}

// Parks reports whether the program is to be parked and what it has in the table allows that: it
// is alone.
func (c *Table) Parks() bool { return c.tools.Load().Parks() && c.Kernel.Alone() }

// Serve prepares for the interpreters of a program's processes.
func (c *Table) Serve(p Program) {
	p.Calls = c.serial(p.Calls)
	if box := c.tools.Load(); box != nil {
		p.Calls["tools"] = pyodide.Call{MaxArgument: toolbox.MaxQuery, Do: func(ctx context.Context, query json.RawMessage) (any, error) {
			return box.Ask(ctx, query), nil
		}}
	}
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
	unwatch := sysmem.Watch(int64(c.program.Load().Memory), c.Kernel.OverMemory)
	replaced := func() bool { return false } // stops the limit of what takes the program's place
	status, _ := c.Main.Run(whole, func(ctx context.Context, _ *kernel.Process) int {
		if res, err = run(ctx); err != nil {
			return 1
		}
		left := max(limit-time.Since(begun), leastReplaced) // its clock may have stood still
		replaced = time.AfterFunc(left, func() { cancel(errTimeLimit) }).Stop
		return res.ExitCode
	})
	replaced()
	failure := c.Kernel.Failure()
	left = c.Kernel.End()
	held := unwatch()
	if err != nil {
		return res, left, err
	}
	var output *memfs.OutputError
	switch {
	case errors.As(failure, &output):
		res.Ended, res.Cause, res.ExitCode = pyodide.Flooded, output, 1
	case errors.Is(failure, kernel.ErrMemory): // of a shell that the program has started
		res.Ended, res.Cause, res.MemoryCapHit = pyodide.Died, failure, true
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
	res.PeakMemory = max(res.PeakMemory, c.peak, held)
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
	if program := c.guest(name); program != nil {
		return program, true
	}
	program, ok := commands.Lookup(name)
	if ok && web.Connects(name) {
		program = web.WithNetwork(program, c.network())
	}
	if box := c.tools.Load(); ok && box != nil && name == tool.Name {
		program = tool.With(program, box)
	}
	return program, ok
}

// guest returns the program of another language, nil if there is none of the name. The time
// that it takes to make it ready is not the program's.
func (c *Table) guest(name string) kernel.Program {
	if c.guests == nil {
		return nil
	}
	program, ready, ok := c.guests.Lookup(name)
	if !ok {
		return nil
	}
	return func(ctx context.Context, p *kernel.Process) int {
		release := c.holdPreparing()
		err := ready(ctx, p)
		release()
		if err != nil {
			const cannot = 126 // as a shell has it
			fmt.Fprintf(p.Stderr(ctx), "%s: %v\n", name, err)
			return cannot
		}
		return program(ctx, p)
	}
}

// maxPreparing bounds the time in which preparing guests does not count as the program's, for
// it may bring any number of modules.
const maxPreparing = 2 * time.Minute

// holdPreparing stops the program's clock until release is called, or maxPreparing is used up.
func (c *Table) holdPreparing() (release func()) {
	left := maxPreparing - time.Duration(c.preparing.Load())
	if c.Hold == nil || left <= 0 {
		return func() {}
	}
	begun, let := time.Now(), sync.OnceFunc(c.Hold())
	timer := time.AfterFunc(left, let)
	return func() {
		timer.Stop()
		let()
		c.preparing.Add(int64(time.Since(begun)))
	}
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
