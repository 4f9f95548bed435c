package pyodide_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"coderunner/pyodide"
)

// TestThreads has programs that end by themselves.
func TestThreads(t *testing.T) {
	for _, c := range []struct{ name, code, want string }{
		{"pool", "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(4) as ex: print(list(ex.map(lambda x: x * x, range(6))))", "[0, 1, 4, 9, 16, 25]\n"},
		{"to_thread", "import asyncio, time\nasync def main(): print(await asyncio.gather(*(asyncio.to_thread(lambda x: time.sleep(0.01) or x, i) for i in range(5))))\nasyncio.run(main())", "[0, 1, 2, 3, 4]\n"},
		{"turns", "n = 0\ndef f():\n  global n\n  for i in range(100000): n += 1\nts = [threading.Thread(target=f) for i in range(4)]\nfor t in ts: t.start()\nfor t in ts: t.join()\nprint(n)", "400000\n"},
		{"a loop that waits for a thread", "done = []\nthreading.Thread(target=done.append, args=(1,)).start()\nwhile not done: pass\nprint(done)", "[1]\n"},
		{"non-daemon threads are waited for", "threading.Timer(0.05, print, ('later',)).start()\nprint('end')", "end\nlater\n"},
		{"daemons are not", "threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\nprint('end')", "end\n"},
		{"a pipe between threads", "import os\nr, w = os.pipe()\nthreading.Thread(target=lambda: (time.sleep(0.02), os.write(w, b'x'))).start()\nprint(os.read(r, 1))", "b'x'\n"},
		{"poll", "import os, select\nr, w = os.pipe()\nthreading.Timer(0.02, os.write, (w, b'x')).start()\nprint(select.select([r], [], [], 30)[0] == [r])", "True\n"},
		{"each its own", "l = threading.local()\nout = []\ndef f(i):\n  l.x = i\n  time.sleep(0.01)\n  try: open('/none')\n  except OSError as e: out.append((l.x == i, e.errno == 2))\nts = [threading.Thread(target=f, args=(i,)) for i in range(10)]\nfor t in ts: t.start()\nfor t in ts: t.join()\nprint(set(out), len(set(map(id, ts))), len(sys._current_frames()))", "{(True, True)} 10 1\n"},
		{"recursion", "def f(): return f()\nout = []\ndef g():\n  try: f()\n  except RecursionError as e: out.append(1)\nimport json\ndef h():\n  try: json.loads('[' * 10**6)\n  except RecursionError as e: out.append(2)\nfor x in g, h:\n  t = threading.Thread(target=x); t.start(); t.join()\nprint(out)", "[1, 2]\n"},
		{"recursion through C", "import functools\nf = functools.cache(lambda n: n and f(n - 1))\nt = threading.Thread(target=lambda: print(f(900))); t.start(); t.join()", "0\n"},
		{"exception", "threading.excepthook = lambda a: print(a.exc_type.__name__, a.thread.name)\nt = threading.Thread(target=lambda: 1 / 0, name='t'); t.start(); t.join()", "ZeroDivisionError t\n"},
		{"native_id", "import os\nout = []\nt = threading.Thread(target=lambda: out.append(threading.get_native_id())); t.start(); t.join()\nprint(out[0] == t.native_id != os.getpid() == threading.get_native_id() == threading.main_thread().native_id)", "True\n"},
		{"exit of a thread", "t = threading.Thread(target=sys.exit, args=(3,)); t.start(); t.join()\nprint('on')", "on\n"},
		{"too many", "e = threading.Event()\nn = 0\ntry:\n  while True:\n    threading.Thread(target=e.wait).start()\n    n += 1\nexcept RuntimeError as x: print(x, 100 < n <= 256)\ne.set()", "can't start new thread True\n"},
		{"stack_size", "threading.stack_size(64 << 20)\nt = threading.Thread(target=print, args=('big',)); t.start(); t.join()\nthreading.stack_size(32 << 10)\nt = threading.Thread(target=print, args=('small',)); t.start(); t.join()", "big\nsmall\n"},
		{"many, one after the other", "for i in range(2000):\n  t = threading.Thread(target=int); t.start(); t.join()\nprint(threading.active_count())", "1\n"},
		{"handlers run in the main thread", "import signal\nsignal.signal(signal.SIGALRM, lambda *a: print(threading.current_thread().name))\nsignal.setitimer(signal.ITIMER_REAL, 0.02)\nt = threading.Thread(target=time.sleep, args=(0.1,)); t.start(); t.join()", "MainThread\n"},
		{"a signal ends what the main thread waits for", "import os, signal, socket\na, b = socket.socketpair()\nsignal.signal(signal.SIGUSR1, lambda *a: b.send(b'x'))\nmain = threading.get_ident()\nfor kill in lambda: signal.pthread_kill(main, signal.SIGUSR1), lambda: os.kill(os.getpid(), signal.SIGUSR1):\n  threading.Timer(0.02, kill).start()\n  print(a.recv(1))\nbegin = time.monotonic()\nthreading.Timer(0.02, kill).start()\ntime.sleep(0.1)\nprint(time.monotonic() - begin >= 0.1)", "b'x'\nb'x'\nTrue\n"},
		{"faulthandler", "import faulthandler\nt = threading.Thread(target=time.sleep, args=(0.05,)); t.start()\nfaulthandler.dump_traceback_later(0.01, exit=False, file=open('f', 'w+'))\nt.join()\nprint('most recent call first' in open('f').read())", "True\n"},
		{"a library's callbacks into Python let others use the same connection", "import sqlite3\ncon = sqlite3.connect(':memory:', check_same_thread=False)\ncon.execute('create table t(a)')\ncon.executemany('insert into t values(?)', [(i,) for i in range(200)])\ncon.create_function('f', 1, lambda x: time.sleep(0.0001) or x + 1)\ncon.set_progress_handler(lambda: time.sleep(0), 50)\ncon.set_trace_callback(lambda s: time.sleep(0))\nout = []\ndef g(n):\n  for i in range(3):\n    out.append(con.execute('select sum(f(a)) from t where a >= ?', (n,)).fetchone()[0] == sum(range(n + 1, 201)))\n    con.execute('insert into t values(-1)')\nts = [threading.Thread(target=g, args=(n,)) for n in range(5)]\nfor t in ts: t.start()\nfor t in ts: t.join()\nprint(out.count(True), con.execute('select count(*) from t where a < 0').fetchone())", "15 (15,)\n"},
		{"signals without handlers", "import signal\nfor s in signal.SIGKILL, signal.SIGSTOP:\n  try: signal.signal(s, print)\n  except OSError as e: print(e)", "[Errno 22] Invalid argument\n[Errno 22] Invalid argument\n"},
		{"a hash beside a loop", "import hashlib\nout = []\nts = [threading.Thread(target=lambda: out.append(hashlib.pbkdf2_hmac('sha256', b'a', b'b', 20000).hex()[:8])) for i in range(3)]\nfor t in ts: t.start()\nfor t in ts: t.join()\nprint(len(out), len(set(out)))", "3 1\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			res, out, stderr := run(t, pyodide.Options{}, pyodide.Program{Code: "import sys, threading, time\n" + c.code, Timeout: 2 * time.Minute})
			if res.Ended != pyodide.Finished || res.ExitCode != 0 || out != c.want {
				t.Errorf("%v %d %+v, stdout %q, stderr %q; want %q", res.Ended, res.ExitCode, res.Exception, out, stderr, c.want)
			}
		})
	}
}

// TestThreadsAreEnded has programs that a thread ends, or that do not end with
// threads of all kinds.
func TestThreadsAreEnded(t *testing.T) {
	const others = "for f in (lambda: time.sleep(1000), threading.Event().wait, threading.Lock().acquire):\n  threading.Thread(target=f).start()\n" +
		"def loop():\n  while True: pass\nfor i in range(4): threading.Thread(target=loop).start()\n"
	for _, c := range []struct {
		name, code string
		want       pyodide.Ended
		code2      int
		traceback  string // contains
	}{
		{"os._exit", others + "import os\nthreading.Timer(0.05, os._exit, (7,)).start()\ntime.sleep(1000)", pyodide.Finished, 7, ""},
		{"os._exit, the main thread computes", "import os\nthreading.Timer(0.05, os._exit, (7,)).start()\nloop = 1\nwhile loop: pass", pyodide.Finished, 7, ""},
		{"abort", others + "import os\nthreading.Timer(0.05, os.abort).start()\ntime.sleep(1000)", pyodide.Trapped, 1, ""},
		{"the main thread sleeps", others + "time.sleep(1000)", pyodide.Interrupted, 1, "time.sleep(1000)"},
		{"the main thread computes", others + "loop()", pyodide.Interrupted, 1, "while True: pass"},
		{"the main thread waits", others + "t = threading.Thread(target=loop)\nt.start()\nt.join()", pyodide.Interrupted, 1, "Threads Thread-4 (loop), Thread-5 (loop), Thread-6 (loop) and 2 more"},
		{"the program has ended", others, pyodide.Interrupted, 1, "Thread Thread-1"},
		{"a deadlock", "a, b = threading.Lock(), threading.Lock()\nbar = threading.Barrier(2)\ndef f(x, y):\n  with x:\n    bar.wait()\n    with y: pass\n" +
			"threading.Thread(target=f, args=(a, b), name='one').start()\nf(b, a)", pyodide.Interrupted, 1, "Thread one (most recent call last):\n  File \"main.py\", line 8, in f\n    with y: pass\n"},
		{"tasks that wait", "import asyncio\nasync def f(q):\n  await q.get()\nasync def main():\n  q = asyncio.Queue()\n  ts = [asyncio.create_task(f(q)) for _ in range(5)]\n  await asyncio.gather(*ts)\nasyncio.run(main())",
			pyodide.Interrupted, 1, "line 9, in main\n    await asyncio.gather(*ts)\nKeyboardInterrupt\n\nTasks Task-2, Task-3, Task-4 and 2 more (most recent call last):\n  File \"main.py\", line 5, in f\n    await q.get()\n"},
		{"a deadlock with oneself", "l = threading.Lock()\nl.acquire()\nl.acquire()", pyodide.Interrupted, 1, "l.acquire()"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			limit := 5 * time.Second // within which a busy machine comes to the last line
			if c.want != pyodide.Interrupted {
				limit = 2 * time.Minute
			}
			res, out, _ := runEnduring(t, time.Minute, pyodide.Options{}, pyodide.Program{Code: "import threading, time\nprint('begun')\n" + c.code, Timeout: limit})
			traceback := ""
			if res.Exception != nil {
				traceback = res.Exception.Traceback
			}
			if res.Ended != c.want || res.ExitCode != c.code2 || out != "begun\n" || !strings.Contains(traceback, c.traceback) {
				t.Errorf("%v %d (%v), stdout %q, want %v %d with %q in\n%s", res.Ended, res.ExitCode, res.Cause, out, c.want, c.code2, c.traceback, traceback)
			}
		})
	}
}

// TestThreadsMemory has threads whose native stacks do not fit the memory that is
// left, each of which would fit alone.
func TestThreadsMemory(t *testing.T) {
	res, out, _ := run(t, pyodide.Options{Memory: 128 << 20}, pyodide.Program{Timeout: 2 * time.Minute, Code: `
import json, threading
e = threading.Event()
def f():
    try:
        json.loads("[" * 10**5)
    except RecursionError:
        pass
    e.wait()
for i in range(60):
    threading.Thread(target=f).start()
print("all")`})
	if res.Ended != pyodide.Died || !res.MemoryCapHit || out != "" {
		t.Errorf("%v, %v, stdout %q", res.Ended, res.Cause, out)
	}
}

// TestThreadsFreeze has modules that start threads when they are imported.
func TestThreadsFreeze(t *testing.T) {
	rt := pyodide.OpenForTest(t)
	for code, fit := range map[string]bool{
		"import threading, time\nthreading.Thread(target=time.sleep, args=(9,), daemon=True).start()":       false,
		"import threading, time\nt = threading.Thread(target=time.sleep, args=(.01,)); t.start(); t.join()": true,
	} {
		mounts := []pyodide.Mount{{Dir: pyodide.SitePackages, Tree: fstest.MapFS{"m.py": {Data: []byte(code)}}, Key: code}}
		z, err := rt.Snapshot(context.Background(), []string{"m"}, mounts)
		if (err == nil) != fit || err != nil && !errors.Is(err, pyodide.ErrUnfit) {
			t.Errorf("%s: %v", code, err)
		}
		if err != nil {
			continue
		}
		defer z.Close()
		res, out, _ := run(t, pyodide.Options{From: z}, pyodide.Program{Code: "import m\nt = m.threading.Thread(target=print, args=(1,)); t.start(); t.join()"})
		if res.Ended != pyodide.Finished || out != "1\n" {
			t.Errorf("%+v %q", res, out)
		}
	}
}

// TestThreadsOfSessions has programs of one interpreter, some of which leave threads.
func TestThreadsOfSessions(t *testing.T) {
	rt := pyodide.OpenForTest(t)
	var out strings.Builder
	in, err := rt.New(context.Background(), pyodide.Options{Stdout: &out, Stderr: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	in.Endure(time.Minute)
	for _, c := range []struct {
		code, want string
		left       int
		ended      pyodide.Ended
	}{
		{"import threading, time\nfrom concurrent.futures import ThreadPoolExecutor\ndef start(f, *a):\n  t = threading.Thread(target=f, args=a); t.start(); return t", "", 0, pyodide.Finished},
		{"x = start(time.sleep, 1000); y = start(threading.Event().wait); ex = ThreadPoolExecutor(2); f = ex.submit(int); f.result()", "", 3, pyodide.Finished},
		{"print(threading.active_count(), x.is_alive(), f.result())\ntry: ex.submit(int)\nexcept RuntimeError as e: print(e)", "1 False 0\nits threads ended with the call of the session that started them: make a new one\n", 0, pyodide.Finished},
		{"start(print, 'again').join()\nwith ThreadPoolExecutor(2) as ex: print(ex.submit(int).result())", "again\n0\n", 0, pyodide.Finished},
		{"for i in range(3): start(time.sleep, 1000)\nwhile True: pass", "", 3, pyodide.Interrupted},
		{"start(print, threading.active_count()).join()", "1\n", 0, pyodide.Finished},
	} {
		out.Reset()
		limit := time.Minute
		if c.ended == pyodide.Interrupted {
			limit = 3 * time.Second
		}
		res, err := in.Run(context.Background(), pyodide.Program{Code: c.code, Session: true, Timeout: limit})
		if err != nil || res.Ended != c.ended || out.String() != c.want || res.ThreadsEnded != c.left {
			t.Fatalf("%s:\n%+v %v, printed %q", c.code, res, err, out.String())
		}
	}
}
