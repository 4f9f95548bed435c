package pyodide

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/tetratelabs/wazero/api"

	"coderunner/internal/machine/baton"
	"coderunner/pyodide/emscripten"
	"coderunner/pyodide/rewrite"
)

// Threads of the guest. Each has a goroutine, and so a native stack, of its own,
// and one at a time, the one that has the baton, runs code of the instance.
//
// The baton changes hands only where the running thread does not hold the GIL
// (CPython's current thread state is NULL then), so that a thread that gets it
// always finds the GIL free: while it waits, for the host or for memory, and, when
// its time slice is over, between two bytecodes. All that is a thread's own but has
// one place in the instance is saved then and restored at its next turn.

// Limits of threads.
const (
	maxThreads   = 256        // of a program, beside the main one
	defaultStack = 512 << 10  // bytes of the guest's memory: CPython's recursion limit through C
	minStack     = 64 << 10   // bytes
	maxStack     = 2560 << 10 // bytes, the main thread's, too: wazero's 640 MiB hold what Python called through C takes beside it
	threadCost   = 48 << 10   // bytes of the host's memory, beside native stacks that have grown
	slice        = 5 * time.Millisecond
)

// threads are those of one run. Whoever has the baton may use all of it; failed is
// set before the baton's end.
type threads struct {
	in       *instance
	at       rewrite.ThreadState
	globals  [5]api.MutableGlobal // those of threadState
	handling uint32               // Py_EMSCRIPTEN_SIGNAL_HANDLING
	clock    uint32               // _Py_emscripten_signal_clock

	ctx    context.Context // of the threads' calls: ends with the run, or when one fails
	cancel context.CancelFunc
	unhook func() bool
	wg     sync.WaitGroup // of their goroutines

	baton   *baton.Baton
	main    *thread
	running *thread            // has the baton
	alive   map[uint32]*thread // by handle, all but main
	handles uint32             // that were given out
	free    []stack            // of threads that have ended
	mutexes map[uint32]*mutex  // of libraries, by address, that are held
	failed  error              // why all are to end

}

// thread is one thread. Its number is its stack's address, 0 for the main one.
type thread struct {
	*baton.Thread
	handle  uint32 // as PyThread_join_thread takes it; never used again
	stack   stack
	charged int64 // bytes of the host's memory
	saved   threadState
}

// stack is a block of the guest's memory: see package rewrite.
type stack struct{ addr, size uint32 }

// threadState is what is a thread's own and has one place in the instance.
type threadState struct {
	globals        [5]uint64 // stack pointer, its bounds, exception and its value
	current, errno uint32
	cxx            [8]byte
	values         [4 * rewrite.ThreadKeys]byte
	calls          []api.Function
	depth          int // see linking.nested
}

// threading returns the threads of the run in progress, which begin with the first
// thread that is started or has to wait for another.
func (in *instance) threading(ctx context.Context) (*threads, error) {
	if in.threads != nil {
		return in.threads, nil
	}
	s := &threads{in: in, at: in.compiled.module.info.Threads, alive: map[uint32]*thread{}, mutexes: map[uint32]*mutex{}}
	for i, name := range []string{"__stack_pointer", s.at.Base, s.at.End, rewrite.FlagGlobal, rewrite.ValueGlobal} {
		g, err := in.global(name)
		if err != nil {
			return nil, err
		}
		s.globals[i] = g
	}
	var err error
	if s.clock, err = in.compiled.symbol("_Py_emscripten_signal_clock"); err != nil {
		return nil, err
	}
	if s.handling, err = in.compiled.symbol("Py_EMSCRIPTEN_SIGNAL_HANDLING"); err != nil {
		return nil, err
	}
	s.main = &thread{}
	s.running = s.main
	s.baton, s.main.Thread = baton.New(slice, s.preempt)
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.unhook = context.AfterFunc(ctx, s.baton.End)
	in.threads = s
	in.signals.setFirst(func() { s.baton.First(s.main.Thread) })
	return s, nil
}

// preempt asks the running thread to call Check soon: CPython looks for signals
// when its countdown is 0.
func (s *threads) preempt() {
	s.in.memory.Store32(s.handling, 1)
	s.in.memory.Store32(s.clock, 0)
}

func (s *threads) word(addr uint32) uint32 {
	v, _ := s.in.mem.Uint32(addr)
	return v
}

// attached reports whether the running thread holds the GIL.
func (s *threads) attached() bool { return s.word(s.at.Current) != 0 }

// detached calls f without the GIL, which the running thread may hold.
func (s *threads) detached(ctx context.Context, f func()) {
	if !s.attached() {
		f()
		return
	}
	state := s.in.callback(ctx, "PyEval_SaveThread")
	f() // unwinds if the thread is to end
	s.in.callback(ctx, "PyEval_RestoreThread", state)
}

// save ends a turn. A goroutine that waits is not bound to a thread of the system:
// that would make it slow to wake.
func (s *threads) save() {
	t, mem := &s.running.saved, s.in.mem
	for i, g := range s.globals {
		t.globals[i] = g.Get()
	}
	t.current, t.errno = s.word(s.at.Current), s.word(s.at.Errno)
	cxx, _ := mem.Bytes(s.at.CXX, uint32(len(t.cxx)))
	copy(t.cxx[:], cxx)
	values, _ := mem.Bytes(s.at.Values, uint32(len(t.values)))
	copy(t.values[:], values)
	t.calls, t.depth = s.in.calls, s.in.linking.depth
	s.charge(s.running)
	s.in.cpu.stop()
}

// enter begins a turn of t, which has the baton, or ends the thread.
func (s *threads) enter(t *thread, goesOn bool) {
	s.in.cpu.start()
	s.running = t
	s.in.calls, s.in.linking.depth = t.saved.calls, t.saved.depth
	if !goesOn {
		s.unwind()
	}
	s.restore(t)
}

// restore undoes save.
func (s *threads) restore(t *thread) {
	for i, g := range s.globals {
		g.Set(t.saved.globals[i])
	}
	mem := s.in.mem
	mem.PutUint32(s.at.Current, t.saved.current)
	mem.PutUint32(s.at.Errno, t.saved.errno)
	mem.PutUint32(s.at.Main+rewrite.ThreadNumber, t.stack.addr)
	mem.Put(s.at.CXX, t.saved.cxx[:])
	mem.Put(s.at.Values, t.saved.values[:])
}

// unwind ends the running thread: its host function does not return. The main one
// fails with what failed in another.
func (s *threads) unwind() {
	if s.running != s.main {
		runtime.Goexit() // see run
	}
	if s.failed != nil {
		panic(s.failed)
	}
	panic(&emscripten.Stopped{Err: context.Cause(s.ctx)})
}

// fail ends all threads, with err as the program's end. The caller has the baton.
func (s *threads) fail(err error) {
	if s.failed == nil {
		s.failed = err
	}
	s.cancel()
	s.baton.End()
	s.in.proc.Interrupt() // the main thread may wait for the host
}

var errExitWithGIL = errors.New("a thread ended while it held the interpreter's lock")

// run is a thread's goroutine.
func (s *threads) run(t *thread, fn, arg uint32) {
	defer s.wg.Done()
	defer s.ended(t)
	s.enter(t, t.Begin())
	switch _, err := s.in.guest(s.ctx).call(rewrite.ThreadStart, fn, arg); {
	case err != nil:
		s.fail(fmt.Errorf("thread: %w", err))
	case s.attached():
		s.fail(errExitWithGIL)
	}
}

// ended passes the baton on for the last time.
func (s *threads) ended(t *thread) {
	delete(s.alive, t.handle)
	s.free = append(s.free, t.stack)
	s.in.fs.Unreserve(t.charged)
	if len(s.alive) == 0 {
		s.in.mem.PutUint32(s.at.Main+rewrite.ThreadOthers, 0)
		clear(s.mutexes)
	}
	s.in.cpu.stop()
	t.Release()
}

// endThreads ends the threads that are left after a run, and returns how many. If
// CPython is to run on, it forgets them as after a fork.
func (in *instance) endThreads(ctx context.Context, goesOn bool) (left int) {
	s := in.threads
	if s == nil {
		return 0
	}
	left = len(s.alive)
	fork := goesOn && left > 0 && !in.dead
	g := in.guest(ctx)
	if fork {
		if _, err := g.call("PyOS_BeforeFork"); err != nil {
			fork = false // dead now
		}
	}
	in.signals.setFirst(nil)
	s.unhook()
	s.cancel()
	s.baton.End()
	s.save()
	s.main.Release()
	s.wg.Wait()
	in.fs.Unreserve(s.main.charged)
	in.threads = nil
	in.memory.Store32(s.handling, 0)
	in.calls, in.linking.depth = nil, 0
	s.restore(s.main) // the others left theirs
	if fork {
		if _, err := g.call("PyOS_AfterFork_Child"); err != nil {
			return left
		}
	}
	if !in.dead && (fork || left == 0) {
		s.freeStacks(g.ctx)
	}
	return left
}

// spawn starts a thread that calls the function in slot fn of the table, and returns
// its number; 0 if there are too many or memory is short.
func (s *threads) spawn(ctx context.Context, fn, arg, size uint32) uint32 {
	if size == 0 {
		size = defaultStack
	}
	st := stack{size: max(minStack, min(size, maxStack)) &^ 15}
	if len(s.alive) >= maxThreads || !s.in.fs.Reserve(threadCost) {
		return 0
	}
	if st.addr = s.takeStack(ctx, st.size); st.addr == 0 {
		s.in.fs.Unreserve(threadCost)
		return 0
	}
	s.handles++
	t := &thread{Thread: s.baton.Add(), handle: s.handles, stack: st, charged: threadCost}
	s.alive[t.handle] = t
	s.in.mem.Put(st.addr, make([]byte, rewrite.ThreadHead))
	s.in.mem.PutUint32(st.addr+rewrite.ThreadHandle, t.handle)
	s.in.mem.PutUint32(s.at.Main+rewrite.ThreadOthers, 1)
	bottom := (st.addr + rewrite.ThreadHead + 15) &^ 15
	top := uint64(bottom + st.size)
	t.saved.globals = [5]uint64{top, top, uint64(bottom)}
	s.wg.Add(1)
	go s.run(t, fn, arg)
	return st.addr
}

// takeStack returns memory for a thread, 0 if there is none.
func (s *threads) takeStack(ctx context.Context, size uint32) uint32 {
	if n := len(s.free); n > 0 && s.free[n-1].size == size {
		addr := s.free[n-1].addr
		s.free = s.free[:n-1]
		return addr
	}
	s.freeStacks(ctx)
	return s.in.callback(ctx, "malloc", rewrite.ThreadHead+16+size)
}

// freeStacks frees what threads have left, which cannot do it themselves. It must
// not be called by one of those.
func (s *threads) freeStacks(ctx context.Context) {
	for _, st := range s.free {
		s.in.callback(ctx, "free", st.addr)
	}
	s.free = nil
}
