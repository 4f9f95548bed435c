package rewrite

import (
	"fmt"

	"coderunner/pyodide/wasmbin"
)

// CPython's threads.
//
// The build has no threads: its pthread functions do nothing or fail, and what
// stands on them was folded into their callers. With Options.Threads the few
// functions that start a thread, wait, or ask which thread runs become calls of
// one host function, which has the import
//
//	env._PyEM_TrampolineCall_JS(op, a, b, c) -> i32
//
// that nothing calls once a call trampoline is installed: no index changes. The
// host runs one thread at a time, and switches only in that function.
//
// Each thread has a block of memory, whose address is its number:
//
//	+0               +ThreadHandle             +ThreadHead
//	zeros (struct    what PyThread_join_thread  the thread's stack …
//	pthread)         takes
//
// The main thread's number is 0 to the host, and to CPython the address of the
// static struct pthread, of which two words that no code reads are ours:
//
//	+ThreadNumber    the running thread's number
//	+ThreadOthers    not 0: there are other threads than the main one
//
// Mutexes and condition variables are no-ops within the module: CPython's own
// code is switched only where it holds none. Libraries get functions of their own
// under these names, since a library may hold a mutex while it calls Python. The
// main module exports one function under 80 such names.

// Operations of threads, the first argument of the host function.
const (
	ThreadSpawn        = 0xffffff01 + iota // (fn, arg, stack size or 0): block, 0 for none
	ThreadSemaphore                        // (address of the counter, ns low, ns high): as _PySemaphore_Wait
	ThreadLock                             // (lock, µs low, µs high): as PyThread_acquire_lock_timed
	ThreadLockOrSignal                     // the same; signals end it
	ThreadJoin                             // (handle): 0
	ThreadExit                             // (): does not return except in the main thread
	ThreadMutexLock                        // (mutex): errno
	ThreadMutexTryLock                     // (mutex): errno
	ThreadMutexUnlock                      // (mutex): errno
	ThreadCondWait                         // (condition, mutex, *timespec or 0): errno
)

// Offsets in a thread's block, and of our words in the main thread's struct.
const (
	ThreadNumber = 8
	ThreadOthers = 12
	ThreadHandle = 64
	ThreadHead   = 128 // bytes before the stack
)

// threadHost is the host function.
const threadHost = "_PyEM_TrampolineCall_JS"

// threads is what is added for threads.
type threads struct {
	state  ThreadState
	host   uint32 // index of the host function
	main   int32  // the main thread's number
	bodies []Body
	start  uint32            // ThreadStart
	split  map[string]uint32 // functions for libraries, by the export's name
	einval int32             // what PyThread_join_thread returns
}

// findThreads reads from the module's code what threads need.
func (r *rewriter) findThreads() error {
	if !r.o.Trampoline {
		return fmt.Errorf("they need the trampoline")
	}
	n := Names{r.m}
	t := &r.threads
	var ok bool
	if t.host, ok = n.Import("env", threadHost); !ok {
		return fmt.Errorf("the import env.%s is missing", threadHost)
	}
	find := finder{m: r.m}
	t.main = find.constant("pthread_self")
	t.einval = find.constant("PyThread_join_thread")
	t.state = ThreadState{
		Main:    uint32(t.main),
		Current: uint32(find.constant("_PyThreadState_GetCurrent")),
		Errno:   uint32(find.constant("__errno_location")),
		CXX:     uint32(find.constant("__cxa_get_globals")),
		Values:  find.values("pthread_getspecific"),
		Base:    find.global("emscripten_stack_get_base"),
		End:     find.global("emscripten_stack_get_end"),
	}
	t.bodies = r.threadBodies(&find)
	return find.err
}

// checkThreadWords refuses code that names our words in the main thread's struct.
func (r *rewriter) checkThreadWords(in *wasmbin.Instr) error {
	if off := int64(in.Value) - int64(r.threads.main); r.o.Threads && off >= ThreadNumber && off < ThreadOthers+4 {
		return r.fail("code", in.Start, "threads: the word at offset %d of the main thread's struct is in use", off)
	}
	return nil
}

// threadBodies are the functions of CPython and of libc that are replaced.
func (r *rewriter) threadBodies(find *finder) []Body {
	current, stack := find.export("_PyThreadState_GetCurrent"), find.export("PyThread_get_stacksize")
	save, restore := find.export("PyEval_SaveThread"), find.export("PyEval_AcquireThread")
	counter := find.offset("_PySemaphore_Init", wasmbin.OpI32Store)
	lock := byte(find.offset("PyThread_release_lock", wasmbin.OpI32Store8))
	// host calls the host with the operation and what a pushes after it.
	host := func(a asm) asm { return a.idx(wasmbin.OpCall, r.threads.host) }
	op := func(a asm, op uint32) asm { return a.i32(int32(op)) }
	// halves pushes both halves of an i64.
	halves := func(a asm, local byte) asm {
		return a.get(local).op(wasmbin.OpI32WrapI64).get(local).i64(32).op(wasmbin.OpI64ShrU, wasmbin.OpI32WrapI64)
	}
	number := func(a asm) asm { return a.i32(r.threads.main).op(wasmbin.OpI32Load, 2, ThreadNumber) }
	// ident pushes the running thread's number, CPython's for the main one.
	ident := func(a asm) asm { return number(number(a).i32(r.threads.main)).op(wasmbin.OpSelect) }
	// spawn sets two locals: to a new thread's block or 0, and the stack's size.
	spawn := func(block, size byte) asm {
		a := asm{1, 2, byte(wasmbin.I32)}.idx(wasmbin.OpCall, current).void(wasmbin.OpIf).idx(wasmbin.OpCall, stack).set(size).end()
		return host(op(a, ThreadSpawn).get(0).get(1).get(size)).set(block)
	}
	exit := func(a asm) asm {
		a = host(op(a, ThreadExit).i32(0).i32(0).i32(0)).op(wasmbin.OpDrop)
		return a.i32(0).idx(wasmbin.OpCall, find.imported("exit")).op(wasmbin.OpUnreachable)
	}
	var out []Body
	add := func(export string, aliases bool, a asm) {
		out = append(out, Body{Export: export, Aliases: aliases, Build: func(Names) ([]byte, error) { return a.end(), nil }})
	}
	// (func, arg, *ident u64, *handle) -> 0 or -1
	a := spawn(4, 5).get(4).op(wasmbin.OpI32Eqz).void(wasmbin.OpIf).i32(-1).op(wasmbin.OpReturn).end()
	a = a.get(2).get(4).op(wasmbin.OpI64ExtendI32U, wasmbin.OpI64Store, 3, 0)
	add("PyThread_start_joinable_thread", false, a.get(3).get(4).op(wasmbin.OpI32Load, 2, ThreadHandle, wasmbin.OpI32Store, 2, 0).i32(0))
	// (func, arg) -> ident or -1
	add("PyThread_start_new_thread", false, spawn(2, 3).get(2).i32(-1).get(2).op(wasmbin.OpSelect))
	// (handle) -> errno
	add("PyThread_join_thread", false, host(op(asm{0}, ThreadJoin).get(0).i32(0).i32(0)))
	add("PyThread_get_thread_ident", false, ident(asm{0}))
	add("PyThread_get_thread_ident_ex", false, ident(asm{0}).op(wasmbin.OpI64ExtendI32U))
	add("pthread_self", true, ident(asm{0}))
	add("PyThread_exit_thread", false, exit(asm{0}))
	add("pthread_exit", true, exit(asm{0}))
	// (semaphore, ns i64, detach) -> PySemaphore's result
	a = asm{1, 2, byte(wasmbin.I32)} // 3: the thread state, 4: the result
	a = a.get(2).void(wasmbin.OpIf).idx(wasmbin.OpCall, current).void(wasmbin.OpIf).idx(wasmbin.OpCall, save).set(3).end().end()
	a = host(halves(op(a, ThreadSemaphore).get(0).i32(int32(counter)).op(wasmbin.OpI32Add), 1)).set(4)
	add("_PySemaphore_Wait", false, a.get(3).void(wasmbin.OpIf).get(3).idx(wasmbin.OpCall, restore).end().get(4))
	// (lock, µs i64, intr) -> PyLockStatus
	a = asm{0}.get(0).op(wasmbin.OpI32Load8U, 0, lock, wasmbin.OpI32Eqz).void(wasmbin.OpIf)
	a = a.get(0).i32(1).op(wasmbin.OpI32Store8, 0, lock).i32(1).op(wasmbin.OpReturn).end()
	a = a.get(1).op(wasmbin.OpI64Eqz).void(wasmbin.OpIf).i32(0).op(wasmbin.OpReturn).end()
	orSignal, plain := uint32(ThreadLockOrSignal), uint32(ThreadLock)
	a = a.i32(int32(orSignal)).i32(int32(plain)).get(2).op(wasmbin.OpSelect).get(0).i32(int32(lock)).op(wasmbin.OpI32Add)
	add("PyThread_acquire_lock_timed", false, host(halves(a, 1)))
	return out
}

// addThreadFuncs adds the function that begins a thread and those for libraries.
func (r *rewriter) addThreadFuncs() {
	void := r.typeOf(wasmbin.FuncType{Params: i32s(1)})
	// (slot, arg)
	r.threads.start = r.addHelper(2, 0, asm(nil).get(1).get(0).idx(wasmbin.OpCallIndirect, void).op(0))
	r.threads.split = map[string]uint32{}
	for _, f := range []struct {
		name   string
		params int
		op     uint32
	}{
		{"pthread_mutex_lock", 1, ThreadMutexLock},
		{"pthread_mutex_trylock", 1, ThreadMutexTryLock},
		{"pthread_mutex_unlock", 1, ThreadMutexUnlock},
		{"pthread_cond_wait", 2, ThreadCondWait},
		{"pthread_cond_timedwait", 3, ThreadCondWait},
	} {
		fn, ok := r.m.ExportedFunc(f.name)
		if !ok || !r.m.FuncType(fn).Equal(wasmbin.FuncType{Params: i32s(f.params), Results: i32s(1)}) {
			continue // nothing was built that could use it
		}
		a := asm(nil).i32(r.threads.main).op(wasmbin.OpI32Load, 2, ThreadOthers, wasmbin.OpI32Eqz)
		a = a.void(wasmbin.OpIf).i32(0).op(wasmbin.OpReturn).end().i32(int32(f.op))
		for i := range 3 {
			if i < f.params {
				a = a.get(byte(i))
			} else {
				a = a.i32(0)
			}
		}
		r.threads.split[f.name] = r.addHelper(f.params, 1, a.idx(wasmbin.OpCall, r.threads.host))
	}
}
