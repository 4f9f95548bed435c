package emscripten

import (
	"context"
	"io"
	"math"
	"sync"
	"time"

	"github.com/tetratelabs/wazero/api"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/machine/netstack"
	"coderunner/pyodide/hostfn"
)

// Config is what a process is given. Only FS has to be there.
type Config struct {
	// FS holds the files. New adds /dev to it.
	FS *memfs.FS
	// Cwd is the working directory; empty: the root.
	Cwd string
	// Umask holds the permission bits that new files do not get. 0: 022.
	Umask uint32
	// Files are the open descriptors, in place of the three standard streams; nil:
	// those. The process takes them out of the map, and closes them in the end.
	Files map[int]*memfs.File
	// Stdin is read ahead of the program, in a goroutine of its own unless it
	// is a reader on memory. Such a read may outlive the process: whoever has
	// the reader ends it. Nil: empty.
	Stdin io.Reader
	// Stdout and Stderr are written to without buffering, on the goroutine of
	// the guest. An error ends the program with [*OutputError]. Nil: dropped.
	Stdout, Stderr io.Writer
	// Env holds the environment as "NAME=value".
	Env []string
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
	// Monotonic is what the monotonic clock shows at the start.
	Monotonic time.Duration
	// Location is the time zone. Nil: UTC.
	Location *time.Location
	// MaxFiles is the number of descriptors. 0: 8192, for a server of thousands and its clients.
	MaxFiles int
	// Sockets is the network of the program, shared by its processes. Nil: the
	// process has one of its own, with Outside beyond it.
	Sockets *netstack.Stack
	Outside netstack.Outside
	Refused func(to string) string // see [netstack.Options]
	// Guest lets host functions call back.
	Guest Guest
}

// Guest holds what host functions need of the guest. All fields are needed.
type Guest struct {
	// Malloc and Free are emscripten_builtin_malloc and its free.
	Malloc func(ctx context.Context, size uint32) uint32
	Free   func(ctx context.Context, addr uint32)
	// Memalign is emscripten_builtin_memalign.
	Memalign func(ctx context.Context, align, size uint32) uint32
	// SetErrno sets errno.
	SetErrno func(ctx context.Context, errno int32)
	// Raise sets a Python exception. The guest sees it when the host function
	// has returned.
	Raise func(ctx context.Context, message string)
	// CallHandler calls the signal handler at slot fn of the table.
	CallHandler func(ctx context.Context, fn uint32, signal int32)
	// MapShared makes a part of the memory the file's own, from off on, which
	// only some files have: others are an error. UnmapShared ends that.
	MapShared   func(f *memfs.File, addr, length uint32, off int64) abi.Errno
	UnmapShared func(addr, length uint32)

	// Park is umask(ParkMask), in CPython a call of C with nothing on its stack but the
	// evaluation loop: it may unwind the guest, which goes on there later.
	Park func() abi.Errno

	// OpenHost opens the device of OpenHost.
	OpenHost func(ctx context.Context, name string, flags uint32) (memfs.Stream, abi.Errno)
	// Alarm is called when one of the process's Timers has run out, on a
	// goroutine of its own.
	Alarm func(which uint32)

	// Dlopen and Dlsym are the dynamic linker: a failure is 0, with
	// the text of dlerror set, which DlError does.
	Dlopen  func(ctx context.Context, handle uint32) int32
	Dlsym   func(ctx context.Context, handle, symbol uint32) uint32
	DlError func(ctx context.Context, message string)

	// Threads are the guest's; nil: there is one.
	Threads Threads
	// Rest is called when the guest waits, and goOn on the same goroutine when it goes on.
	Rest func() (goOn func())

	// The host half of libffi.
	FFICall         func(ctx context.Context, cif, fn, rvalue, avalue uint32)
	FFIClosureAlloc func(ctx context.Context, size, codeAddr uint32) uint32
	FFIClosureFree  func(ctx context.Context, closure uint32)
	FFIClosurePrep  func(ctx context.Context, closure, cif, fun, data, code uint32) int32
}

// Threads are the guest's threads, of which one runs at a time.
type Threads interface {
	// Op does an operation of threads: see package rewrite.
	Op(ctx context.Context, op, a, b, c uint32) uint32
	// Check is called when CPython looks for signals.
	Check(ctx context.Context)
	// Main reports whether the running thread is the main one, whose waits signals
	// interrupt.
	Main() bool
	// Leave is called when the running thread is about to wait for the host. If
	// others may run meanwhile, back is not nil: it waits for the thread's turn and
	// returns for how long none has run. It does not return if the thread is to end.
	Leave() (back func() (idle time.Duration))
}

// Process is the kernel's side of one interpreter.
type Process struct {
	Guest  Guest
	Timers Timers

	fs       *memfs.FS
	mem      hostfn.Mem
	env      []string
	location *time.Location
	zone     Zone
	stdio    [3]memfs.Stream
	clock    clock
	waits    waits

	fds      descriptors
	cwd      *memfs.Node
	umask    uint32
	mappings mappings
	promises uint32
	aliases  aliases

	netMu   sync.Mutex
	net     *netstack.Stack // nil: not made yet; guarded by netMu, as what follows
	ownNet  bool            // Close closes it
	outside netstack.Outside
	refused func(to string) string
	logged  int // bytes of emscripten_log so far
}

// mappings are the mapped files of a process, by address.
type mappings map[uint32]*mapping

// mapping is a file's contents in guest memory. There is no paging: msync and
// munmap write back the pages that have changed.
type mapping struct {
	file   *memfs.File // a reference of its own: the guest may close its
	length uint32
	offset int64
	shared bool // writes go to the file
	live   bool // it is memory that the file has, too
	sums   []uint64
}

// dropMappings drops the mappings of a range. The guest may have freed their memory
// without munmap, so that it was given out again.
func (p *Process) dropMappings(addr, length uint32) {
	end := uint64(addr) + uint64(length)
	for at, m := range p.mappings {
		if uint64(at) < end && uint64(addr) < uint64(at)+uint64(m.length) {
			if m.live {
				p.Guest.UnmapShared(at, m.length)
			}
			m.file.Close()
			delete(p.mappings, at)
		}
	}
}

// Zone is where the guest's C library keeps its time zone; zero before it has
// asked for one.
type Zone [4]uint32

type contextKey struct{}

// NewContext returns the context that the exports of p's instance are called
// with.
func NewContext(ctx context.Context, p *Process) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// fromContext finds the process of a call. Without one the host has a bug.
func fromContext(ctx context.Context) *Process {
	p, _ := ctx.Value(contextKey{}).(*Process)
	if p == nil {
		panic("emscripten: host function called without a process in its context")
	}
	return p
}

// SetMemory sets the guest's memory: the main module's, also for calls
// from side modules. It is to be called before the guest runs.
func (p *Process) SetMemory(m api.Memory) { p.mem = hostfn.NewMem(m) }

// Close closes the descriptors and stops the timers. The guest must not run.
func (p *Process) Close() {
	p.Timers.stopAll()
	p.dropMappings(0, math.MaxUint32)
	p.fds.closeAll()
	if p.ownNet {
		p.net.Close()
	}
}

// Booted returns when the guest's monotonic clock showed 0.
func (p *Process) Booted() time.Time { return p.clock.zero }

// GoBy has the monotonic clock of a process that has not begun go by that of others, which
// showed 0 at a time, unless it shows more already: see [Config.Monotonic].
func (p *Process) GoBy(booted time.Time) {
	if ahead := p.clock.zero.Sub(booted); ahead > 0 {
		p.clock.zero, p.clock.waited = booted, p.clock.waited+ahead
	}
}

// Monotonic is what the guest's monotonic clock shows. A process that goes on
// with a guest's memory must not show less: see [Config.Monotonic].
func (p *Process) Monotonic() time.Duration { return p.clock.monotonic() }

// Interrupt makes the host function that waits, if any, return EINTR: the
// guest then looks for signals. It may be called from any goroutine.
func (p *Process) Interrupt() { p.waits.interrupt() }
