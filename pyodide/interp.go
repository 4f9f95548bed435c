package pyodide

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"sync"
	"time"

	"coderunner/internal/machine/hostdir"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/machine/netstack"
	"coderunner/pyodide/emscripten"
)

// Home is the working directory of a program, empty at first and writable.
const Home = "/home/user"

// SitePackages is where packages are mounted.
const SitePackages = "/lib/python3.14/site-packages"

// Options are what one interpreter is given. The zero value is a program
// without input, output or packages.
type Options struct {
	// From is the snapshot to start from, of the same runtime; nil: a boot.
	From *Snapshot

	Memory int64 // cap on linear memory, files and what else is held for the program, in bytes; 0: 512 MiB

	Stdin          io.Reader // nil: empty
	Stdout, Stderr io.Writer // nil: discarded; an error from Write ends the program

	Env      map[string]string
	Location *time.Location // local time; nil: time.Local

	// Network is what sockets may reach beside the program's own loopback; nil:
	// nothing.
	Network Network

	// Refused is told what the program asked for without a Network, HOST or HOST:PORT,
	// and returns the words of the refusal; nil: they name no flag.
	Refused func(to string) string

	// Sockets is the network of a program that has several processes; nil: the
	// interpreter has one of its own, with Network beyond it.
	Sockets *netstack.Stack

	// Calls are what the program may ask the host for, by name.
	Calls map[string]Call

	// Modules are modules of Go functions, by their names, for the program to import. Other
	// modules of these names come first: the standard library's, the program's own.
	Modules map[string]Module

	// Authorities are certificates that the program's TLS clients trust beside
	// those that they name: of a proxy through which it reaches its servers.
	Authorities []*x509.Certificate

	// FS is a file system of [NewFS]; nil: one of its own. It is Shared if
	// another interpreter has it already: what the snapshot has is there.
	FS     *memfs.FS
	Shared bool

	// Charged are bytes of the interpreter's memory that FS is charged with already. New
	// takes that over, also when it fails.
	Charged int64

	// Process is the program's process; nil: it can neither start nor signal others.
	Process *kernel.Process

	// Dir is the working directory ("": [Home]) and Umask the bits that new files
	// do not get (0: 022). Files are the descriptors, in place of the standard
	// streams; New takes them over, also when it fails.
	Dir   string
	Umask uint32
	Files map[int]*memfs.File

	// Populate, if not nil, fills [Home] and mounts directories of the host before the
	// files that were open are opened again: an [Interp.Snapshot] has none of that.
	Populate func(*Interp) error
}

// Sockets returns the network of the interpreter's program, for Options of its
// other processes. It is closed with the interpreter that has it as its own.
func (in *Interp) Sockets() *netstack.Stack { return in.proc.Sockets() }

// Hold stops the clock of the running program until release is called, for what the
// host lets it wait for, and every other holder's has been.
func (in *Interp) Hold() (release func()) { return in.deadline.hold() }

// Network is the network outside, see [Options].
type Network = netstack.Outside

func (o Options) memory() int64 {
	if o.Memory <= 0 {
		return 512 << 20
	}
	return o.Memory
}

// Interp is one interpreter. See the package comment for its concurrency, and for
// the stations whose files have its methods.
type Interp struct {
	*instance  // until it is closed
	rt         *Runtime
	env        map[string]string
	generators []uint32 // see random.go
	calls      map[string]Call
	asked      []string // environment variables looked up before a snapshot
	newZone    bool     // the snapshot was taken in another time zone
	stdinRead  bool     // an earlier program may have read standard input
	from       *Snapshot
	layer      *layer // what the layer below a Snapshot has; nil: there is none

	bottom   uint32      // the stack pointer when no program runs
	parks    func() bool // see Program.Parks; of the run in progress
	parked   *parked     // under mu; its program; nil: it has none
	resuming *parked     // which goes on, until umask returns

	mu     sync.Mutex // held while a program runs, and by Close
	closed bool       // under mu
	spent  bool       // under mu; no program can run any more

	patience time.Duration // beyond the grace; for tests whose outcome must not depend on the machine's speed
}

// Mount mounts a tree read-only at dir, which is created if need be; entries
// that dir has already stay.
func (in *Interp) Mount(dir string, tree fs.FS) error { return MountTree(in.fs, dir, tree) }

// MountTree is [Interp.Mount] on a file system of [NewFS].
func MountTree(fsys *memfs.FS, dir string, tree fs.FS) error {
	if err := fsys.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("mount on %s: %w", dir, err)
	}
	if err := fsys.MountInto(dir, tree); err != nil {
		return fmt.Errorf("mount on %s: %w", dir, err)
	}
	return nil
}

// HostDir is a directory of the host, see [NewHostDir].
type HostDir = hostdir.Dir

// HostDirRules are what programs may do in a HostDir.
type HostDirRules = hostdir.Rules

// NewHostDir returns a directory of the host for programs to use within the
// rules. The caller closes root when no interpreter has the directory mounted.
func NewHostDir(root *os.Root, rules HostDirRules) *HostDir { return hostdir.New(root, rules) }

// MountHostDir mounts a directory of the host at dir, which is created if need
// be. Files created there are on the host's disk and do not count as the
// program's memory; entries that dir has already stay. Files created in
// [Home], /lib and /dev stay in memory, and in /tmp unless the rules let it be
// written.
func (in *Interp) MountHostDir(dir string, f *HostDir) error { return MountHostDir(in.fs, dir, f) }

// MountHostDir is [Interp.MountHostDir] on a file system of [NewFS].
func MountHostDir(fsys *memfs.FS, dir string, f *HostDir) error {
	// Directories created above it are read-only: programs would take them for
	// the host's.
	err := fsys.MkdirAll(path.Dir(dir), 0o555)
	if err == nil {
		err = fsys.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return fmt.Errorf("mount on %s: %w", dir, err)
	}
	if err := fsys.MountHostDir(dir, f); err != nil {
		return fmt.Errorf("mount on %s: %w", dir, err)
	}
	return nil
}

// WriteFile writes a file, and the directories above it. A relative name is in the
// working directory.
func (in *Interp) WriteFile(name string, data []byte) error {
	return in.WriteFilePerm(name, data, 0o644)
}

// WriteFilePerm is WriteFile of a file with these permission bits.
func (in *Interp) WriteFilePerm(name string, data []byte, perm uint32) error {
	if !path.IsAbs(name) {
		name = path.Join(Home, name)
	}
	if err := in.fs.MkdirAll(path.Dir(name), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := in.fs.WriteFile(name, data, perm); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// Chtimes sets the times of a file, unless t is zero.
func (in *Interp) Chtimes(name string, t time.Time) error {
	if !path.IsAbs(name) {
		name = path.Join(Home, name)
	}
	return in.fs.Chtimes(name, t)
}

// Files is the interpreter's file system, for reading.
func (in *Interp) Files() fs.FS { return in.fs.FS() }

// Run runs a program as __main__. A program that fails is a Result; an error
// means that the interpreter could not run it.
//
// An interpreter may run several programs one after the other; they see what
// the earlier ones left. After a Result whose Ended is neither Finished nor
// Interrupted, after one with ThreadsEnded unless it is a session's, and after an
// error, only Close is possible.
func (in *Interp) Run(ctx context.Context, p Program) (*Result, error) {
	asked := p.request(in.env)
	asked.NewZone, asked.StdinRead = in.newZone, in.stdinRead
	req, err := json.Marshal(asked)
	if err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed || in.dead || in.spent || in.parked != nil {
		return nil, errClosed
	}
	stack, err := in.global("__stack_pointer")
	if err != nil {
		return nil, err
	}
	in.bottom = uint32(stack.Get())
	in.signals.act(sigxcpu, handled) // as the guest does first, also after a program that did not
	res, err := in.runLocked(ctx, p, asked.maxReport(), func(g guest) (uint32, error) {
		return g.callOne(in.functions.Run, string(req))
	})
	if err == nil && res.Ended == Finished {
		in.stdinRead = false // the guest has reopened it
	}
	return res, err
}

// runLocked runs a program by a function of the guest, within its limits, and returns how
// that ended. begin calls it and returns the report, a str.
func (in *Interp) runLocked(ctx context.Context, p Program, maxReport uint32, begin func(guest) (report uint32, err error)) (*Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	grace := softGrace + in.patience
	if p.Session {
		grace = sessionGrace + in.patience
	}
	in.deadline = startDeadline(p.Timeout, p.waitLimit(), grace, in.timeIsUp, func() { cancel(errTimeLimit) })
	defer in.deadline.stop()
	in.running = ctx
	defer func() { in.running = nil }()
	in.signals.struck.Store(false)
	in.interrupted = place{}
	// The guest does not look at ctx: its end sets the flag that loops check.
	stop := context.AfterFunc(ctx, in.signals.stop)
	defer stop()

	in.parks = p.Parks
	res, cpu, err := in.timed(ctx, maxReport, begin)
	if errors.Is(err, errParked) {
		in.deadline.stop()
		if context.Cause(ctx) == nil && !in.deadline.hasStruck() {
			in.dead = false
			res, err = &Result{Ended: Parked}, in.setGlobal("__stack_pointer", in.parked.Stack)
		}
	}
	left := in.endThreads(ctx, p.Session && err == nil)
	in.spent = left > 0 && !p.Session // CPython waits for them
	in.deadline.stop()
	// What the guest reports is only a claim: how the run ended is what the
	// host saw.
	switch {
	case err != nil:
		res = in.ended(ctx, err)
	case res.Ended == Parked && context.Cause(ctx) == nil:
	case in.deadline.hasStruck():
		res.Ended = Interrupted
	case context.Cause(ctx) != nil:
		res.Ended = Cancelled
	}
	if context.Cause(ctx) != nil {
		in.dead = true // the flag is set: the next loop traps
	}
	in.showPlace(res)
	res.CPUTime, res.ThreadsEnded = cpu, left
	res.PeakMemory = int64(in.memory.Committed())
	res.MemoryCapHit = in.memory.Refused() || errors.Is(err, errNoMemory)
	return res, nil
}

// Memory returns the bytes of linear memory. It may be called while a program runs.
func (in *Interp) Memory() int64 { return int64(in.instance.memory.Committed()) }

// Usable reports whether the interpreter can run another program.
func (in *Interp) Usable() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return !in.closed && !in.dead && !in.spent
}

var errTimeLimit = errors.New("time limit")

// timeIsUp is the time limit's first strike. The program may be waiting for other
// processes, which end here.
func (in *Interp) timeIsUp() {
	in.signals.interrupt()
	if in.process != nil {
		in.process.Kill(-1, kernel.SIGKILL)
	}
}

// timed calls a function of the guest that runs a program and measures the processor time that it
// takes: the guest is bound to a thread of the system, but where it waits.
func (in *Interp) timed(ctx context.Context, maxReport uint32, begin func(guest) (report uint32, err error)) (*Result, time.Duration, error) {
	known := in.cpu.reset()
	defer in.cpu.stop()
	if known { // on Linux
		in.deadline.measureBy(in.cpu.time)
		in.proc.MeasureBy(in.cpu.time)
		defer in.proc.MeasureBy(nil)
	}
	held := int64(0)
	defer func() { in.fs.Unreserve(held) }()
	g := in.guest(ctx)
	g.charge = func(bytes int64) bool {
		if !in.fs.Reserve(bytes) {
			return false
		}
		held += bytes
		return true
	}
	text, report, err := "", uint32(0), error(nil)
	if report, err = begin(g); err == nil {
		text, err = g.text(report, maxReport)
	}
	took := in.cpu.time()
	if err != nil {
		return nil, took, err
	}
	res, err := readReport(text)
	return res, took, err
}

// ended returns the Result of a call that did not return.
func (in *Interp) ended(ctx context.Context, err error) *Result {
	in.dead = true
	var exit *emscripten.Exit
	var output *emscripten.OutputError
	var bad *guestError
	switch cause := context.Cause(ctx); {
	case errors.As(err, &exit):
		return &Result{ExitCode: int(exit.Code)}
	case errors.As(err, &output):
		return &Result{Ended: Flooded, ExitCode: 1, Cause: output}
	case cause == errTimeLimit:
		return &Result{Ended: Stopped, ExitCode: 1}
	case cause != nil:
		return &Result{Ended: Cancelled, ExitCode: 1, Cause: cause}
	case in.deadline.hasStruck():
		return &Result{Ended: Stopped, ExitCode: 1}
	case errors.As(err, &bad):
		return &Result{Ended: Unreported, ExitCode: 1, Cause: err}
	}
	if trap := trapOf(err); trap != "" {
		return &Result{Ended: Trapped, ExitCode: 1, Trap: trap, Cause: err}
	}
	return &Result{Ended: Died, ExitCode: 1, Cause: err}
}

// Close frees the interpreter. It waits for a run in progress; cancel its
// context to end that early.
func (in *Interp) Close() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return nil
	}
	in.closed = true
	in.signals.close()
	if in.proc != nil {
		in.proc.Close()
	}
	old := in.instance
	if old.charged {
		old.charged = false
		old.fs.Unreserve(int64(old.memory.Committed()))
	}
	in.instance = &instance{compiled: old.compiled, dead: true, signals: &signals{}, fs: old.fs}
	return errors.Join(in.dropLayer(), in.rt.pool.giveBack(old))
}
