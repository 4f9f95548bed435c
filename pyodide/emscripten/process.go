package emscripten

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/tetratelabs/wazero/api"

	"coderunner/pyodide/abi"
	"coderunner/pyodide/hostfn"
	"coderunner/pyodide/memfs"
)

// Config is what a process is given. Only FS has to be there.
type Config struct {
	// FS holds the files. New adds /dev to it.
	FS *memfs.FS
	// Cwd is the working directory; empty: the root.
	Cwd string
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
	// MaxHeap is the most linear memory, in bytes, that the guest may ask for.
	// 0: as much as 32 bits can address.
	MaxHeap int64
	// MaxFiles is the number of descriptors. 0: 1024.
	MaxFiles int
	// Guest lets host functions call back. Its fields may also be set later,
	// through Process.Guest, before the guest first runs.
	Guest Guest
}

// Guest holds what host functions need of the guest. A field that is nil makes
// the functions that would use it fail, politely.
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
	// Alarm tells that interval timer which (0 real, 1 virtual, 2 profiling)
	// has run out. It is called on a goroutine of its own.
	Alarm func(which uint32)

	// Dlopen and Dlsym are the dynamic linker: see _dlopen_js and _dlsym_js.
	// DlError sets what dlerror says.
	Dlopen  func(ctx context.Context, handle uint32) int32
	Dlsym   func(ctx context.Context, handle, symbol, indexAddr uint32) uint32
	DlError func(ctx context.Context, message string)

	// The host half of libffi.
	FFICall         func(ctx context.Context, cif, fn, rvalue, avalue uint32)
	FFIClosureAlloc func(ctx context.Context, size, codeAddr uint32) uint32
	FFIClosureFree  func(ctx context.Context, closure uint32)
	FFIClosurePrep  func(ctx context.Context, closure, cif, fun, data, code uint32) int32
}

// Process is the kernel's side of one interpreter.
type Process struct {
	Guest Guest

	fs       *memfs.FS
	mem      hostfn.Mem
	env      []string
	now      func() time.Time
	location *time.Location
	zone     Zone
	maxHeap  uint32
	stdio    [3]memfs.Stream

	start time.Time     // when the monotonic clock showed 0
	mono  time.Duration // the latest it has shown

	waited time.Duration // what the program has spent in waiting, in all

	fds      descriptors
	cwd      *memfs.Node
	umask    uint32
	mappings map[uint32]*mapping // by address
	promises uint32
	logged   int       // bytes of emscripten_log so far
	timers   [3]*timer // under mu

	mu          sync.Mutex
	cancel      context.CancelFunc // of the wait in progress
	interrupted time.Time          // when an interrupt found no wait
}

// mapping is a file's contents in guest memory. There is no paging: msync and
// munmap write back the pages that have changed.
type mapping struct {
	file   *memfs.File // a reference of its own: the guest may close its
	length uint32
	offset int64
	shared bool // writes go to the file
	sums   []uint64
}

// timer is an interval timer that is set. Process.mu guards it.
type timer struct {
	*time.Timer
	due      time.Time
	interval time.Duration // 0: it runs out once
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

// FS is the file system given to New.
func (p *Process) FS() *memfs.FS { return p.fs }

// interruptLife is how long an interrupt that found nothing waiting is kept
// for a wait that is about to begin.
const interruptLife = 50 * time.Millisecond

// Interrupt makes the host function that waits, if any, return EINTR: the
// guest then looks for signals. It may be called from any goroutine.
func (p *Process) Interrupt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cancel != nil {
		p.cancel()
	} else {
		p.interrupted = time.Now()
	}
}

// interruptible returns a context that ends when ctx does or when the program is
// interrupted. done must be called when the wait is over.
func (p *Process) interruptible(ctx context.Context) (wait context.Context, done func()) {
	wait, cancel := context.WithCancel(ctx)
	p.mu.Lock()
	p.cancel = cancel
	if !p.interrupted.IsZero() && time.Since(p.interrupted) < interruptLife {
		cancel()
	}
	p.interrupted = time.Time{}
	p.mu.Unlock()
	return wait, func() {
		p.mu.Lock()
		p.cancel = nil
		p.mu.Unlock()
		cancel()
	}
}

// waiting calls f, which may wait as long as its context lasts. It does not
// return if ctx is done.
func (p *Process) waiting(ctx context.Context, f func(ctx context.Context) (int, abi.Errno)) (int, abi.Errno) {
	begin := p.monotonic()
	n, errno := func() (int, abi.Errno) {
		defer func() { p.waited += p.monotonic() - begin }()
		wait, done := p.interruptible(ctx)
		defer done() // also when f ends the program
		return f(wait)
	}()
	if errno == abi.EINTR && ctx.Err() != nil {
		stop(ctx)
	}
	return n, errno
}

// fault is EFAULT unless ok.
func fault(ok bool) abi.Errno {
	if !ok {
		return abi.EFAULT
	}
	return abi.OK
}

// monotonic is the time since the program started. It never goes back, even
// if the host's clock does.
func (p *Process) monotonic() time.Duration {
	p.mono = max(p.mono, p.now().Sub(p.start))
	return p.mono
}

func stop(ctx context.Context) { panic(&Stopped{context.Cause(ctx)}) }
