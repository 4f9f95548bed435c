package pyodide_test

import (
	"bytes"
	"context"
	"errors"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"coderunner/pyodide"
)

// refuse is a stream that takes nothing.
type refuse struct{}

func (refuse) Write([]byte) (int, error) { return 0, errors.New("enough") }

// TestHostileThreads has programs that misuse threads, C's functions for them
// included. Each must end in one of its ways and leave no goroutine.
func TestHostileThreads(t *testing.T) {
	const (
		ok, soft, hard = pyodide.Finished, pyodide.Interrupted, pyodide.Stopped
		trap, flood    = pyodide.Trapped, pyodide.Flooded
		died           = pyodide.Died
	)
	const spin = "def spin():\n  while True: pass\nstart(spin); start(time.sleep, 1000); start(threading.Event().wait)\n"
	type ends = []pyodide.Ended
	for _, c := range []struct {
		name, code string
		want       ends
	}{
		{"4096 starts", "n, e = 0, threading.Event()\nfor i in range(4096):\n  try: start(e.wait)\n  except RuntimeError: n += 1\ne.set()\nassert n == 4096 - 256, n", ends{ok}},
		{"a bomb", "def f():\n  for i in range(3): start(f)\nthreading.excepthook = lambda a: None\nf()\ntime.sleep(0.2)\nimport os\nos._exit(0)", ends{ok}},
		{"semaphores anywhere", "for a in (0, 1, 4, 1 << 20, 0x7fffffff, 0xfffffff0):\n  for ns in (0, 1000): c._PySemaphore_Wait(a, ctypes.c_int64(ns), 1)\n" + spin, ends{soft}},
		{"a semaphore for ever", "c._PySemaphore_Wait(0xfffffff0, ctypes.c_int64(-1), 1)", ends{soft, hard}},
		{"locks anywhere", "for a in (0xffffffff, 0x7fffffff): c.PyThread_acquire_lock_timed(a, ctypes.c_int64(1), 0)", ends{ok, trap}},
		{"a lock where there is no memory, for ever", "start(c.PyThread_acquire_lock_timed, 1 << 20, ctypes.c_int64(-1), 0)", ends{ok, soft, trap}},
		{"a wait with the GIL", "p.PyThread_acquire_lock_timed.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int]\nb = ctypes.create_string_buffer(b'x')\n" + spin + "p.PyThread_acquire_lock_timed(b, -1, 0)", ends{soft, hard}},
		{"joins of anything", "for h in range(5): assert c.PyThread_join_thread(h) in (0, 16)\nstart(lambda: [c.PyThread_join_thread(h) for h in range(3)]).join()", ends{ok}},
		{"a join of oneself", "t = start(lambda: t.join())\nthreading.excepthook = lambda a: print(a.exc_type)\nt.join()", ends{ok}},
		{"two that join each other", "a = start(lambda: (time.sleep(0.05), b.join()))\nb = start(lambda: a.join())", ends{soft}},
		{"pthread_exit in the main thread", spin + "c.pthread_exit(0)", ends{ok, trap}},
		{"pthread_exit in a thread", "start(c.pthread_exit, 0)\ntime.sleep(0.1)\nimport os\nos._exit(0)", ends{ok}},
		{"pthread_exit with the GIL", "start(p.pthread_exit, 0)\ntime.sleep(1000)", ends{died}},
		{"PyThread_exit_thread", "start(p.PyThread_exit_thread)\ntime.sleep(1000)", ends{died}},
		{"a start of no function", "c.PyThread_start_new_thread(1 << 30, 0)\ntime.sleep(1000)", ends{trap}},
		{"a start of another function", spin + "for slot in range(1, 200): c.PyThread_start_new_thread(slot, 0)\ntime.sleep(1000)", ends{trap}},
		{"a thread that keeps the GIL", "import itertools\nstart(sum, itertools.repeat(1))\ntime.sleep(0.1)", ends{hard}},
		{"a loop in C without the GIL", "import zlib\nstart(lambda: [zlib.compress(bytes(1 << 24), 9) for i in range(10**6)])", ends{soft, hard}},
		{"the GIL given up twice", "start(lambda: (c.PyEval_SaveThread(), c.PyEval_SaveThread()))\ntime.sleep(1000)", ends{trap, soft, hard}},
		{"the GIL given up for good", "start(lambda: p.PyEval_SaveThread())\ntime.sleep(1000)", ends{trap, soft, hard, died}},
		{"another thread's stack overwritten", "t = start(time.sleep, 0.2)\ntime.sleep(0.05)\nctypes.memset(t.ident, 255, 256 << 10)\nt.join()", ends{ok, trap, died, soft, hard}},
		{"the main thread's number changed", "ctypes.memset(c.pthread_self() + 8, 7, 8)\nprint(threading.current_thread(), threading.get_ident())\n" + spin, ends{soft, hard, ok}},
		{"mutexes", "for i in range(5000): c.pthread_mutex_lock(i)\nstart(c.pthread_mutex_lock, 1)", ends{ok, soft}},
		{"mutexes of another thread", "e = threading.Event()\nstart(lambda: ([c.pthread_mutex_lock(i) for i in range(5000)], e.set(), time.sleep(1000)))\ne.wait()\nc.pthread_mutex_unlock(1)\nassert c.pthread_mutex_trylock(1)\nc.pthread_mutex_lock(1)", ends{hard, soft}},
		{"conditions", "start(time.sleep, 0.1)\nfor i in range(20): c.pthread_cond_wait(i, 2 * i)\nc.pthread_cond_timedwait(0, 0, 0xfffffff0)", ends{ok}},
		{"stack sizes", "for n in (0, 32 << 10, 1 << 20, 1 << 30):\n  threading.stack_size(n)\n  start(int).join()\nfor n in (1, 2**32 - 1):\n  try: threading.stack_size(n)\n  except (ValueError, OverflowError): pass\n  start(int).join()\nc.PyThread_set_stacksize", ends{ok}},
		{"os._exit everywhere", spin + "import os\nfor i in range(50): threading.Timer(0.01, os._exit, (3,)).start()", ends{ok}},
		{"exceptions everywhere", "threading.excepthook = lambda a: 1 / 0\nfor i in range(50): start(lambda: 1 / 0)", ends{ok}},
		{"output that is refused", spin + "start(lambda: [print('x' * 1000, file=sys.stderr) for i in range(1000)])\ntime.sleep(1000)", ends{flood}},
		{"a stack overflow", "sys.setrecursionlimit(10**9)\nclass A:\n  def __eq__(self, o): return [self] == [o]\nstart(lambda: A() == A())\n", ends{ok, trap}},
		{"threads at exit", "import atexit\natexit.register(lambda: start(time.sleep, 1000))\nclass D:\n  def __del__(self): start(spin)\nd = D()\ndef spin():\n  while True: pass", ends{ok}},
		{"threads that start threads at the end", "def f():\n  time.sleep(0.01)\n  start(f)\nf()", ends{soft}},
		{"threading taken apart", "start(time.sleep, 1000)\nthreading._active = None\nthreading._thread_shutdown = None\nimport gc\ngc.get_objects = None", ends{ok}},
		{"signals", "import signal\nsignal.signal(signal.SIGALRM, lambda *a: start(int))\nsignal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)\nfor i in range(20): start(time.sleep, 0.02)\nts = list(threading.enumerate())[1:]\nfor t in ts: t.join()\nsignal.setitimer(signal.ITIMER_REAL, 0)", ends{ok}},
		{"callbacks that wait", "F = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)\n" +
			"def f(a, b):\n  time.sleep(0.05)\n  return 0\ng = F(f)\nx = (ctypes.c_int * 2)(1, 2)\nts = [start(c.qsort, x, 2, 4, g) for i in range(100)]\nfor t in ts: t.join()", ends{ok}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			code := "import ctypes, sys, threading, time\nc, p = ctypes.CDLL(None), ctypes.pythonapi\n" +
				"def start(f, *a):\n  t = threading.Thread(target=f, args=a)\n  t.start()\n  return t\n" + c.code
			o := pyodide.Options{}
			if slices.Contains(c.want, flood) {
				o.Stderr = refuse{}
			}
			rt := pyodide.OpenForTest(t)
			in, err := rt.New(context.Background(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			limit := 20 * time.Second
			switch {
			case slices.Contains(c.want, soft):
				limit = time.Second
			case slices.Contains(c.want, hard): // it must have come to its end by then
				limit = 5 * time.Second
			}
			res, err := in.Run(context.Background(), pyodide.Program{Code: code, Timeout: limit})
			if err == nil && res.Ended == hard && slices.Contains(c.want, soft) {
				return // the machine is busy
			}
			if err != nil || !slices.Contains(c.want, res.Ended) || res.Exception != nil && res.Ended == ok {
				t.Errorf("%+v %v, %+v, want %v", res, err, res.Exception, c.want)
			}
		})
	}
	t.Cleanup(func() {
		var stacks bytes.Buffer
		for until := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			stacks.Reset()
			pprof.Lookup("goroutine").WriteTo(&stacks, 2)
			if !strings.Contains(stacks.String(), "threads).run") {
				return
			}
			if time.Now().After(until) { // one that has said it ends shows until it is scheduled again
				t.Fatalf("threads are left:\n%s", stacks.String())
			}
		}
	})
}
