package python

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"coderunner/internal/session"
	"coderunner/runners"
)

// Each program asserts what it wants of processes.
func TestProcesses(t *testing.T) {
	r := newIndex(t).newRunner(base{}, false, t.TempDir())
	const head = "import asyncio, os, signal, subprocess, sys, time\nfrom subprocess import *\npython = [sys.executable, '-c']\n" +
		"def refuses(kind, words, f):\n  try:\n    f()\n  except kind as e:\n    assert words in str(e), e\n  else:\n    assert 0, words\n"
	for what, code := range map[string]string{
		"an exit status":   "assert run([*python, 'import sys; sys.exit(3)']).returncode == 3",
		"who they are":     "r = run([*python, 'import os; print(os.getpid(), os.getppid())'], capture_output=True, text=True)\nchild, parent = map(int, r.stdout.split())\nassert parent == os.getpid() == 42 and child > 42",
		"input":            "assert run([*python, 'import sys; print(sys.stdin.read().upper(), end=\"\")'], input='ab\\n' * 100_000, capture_output=True, text=True).stdout == 'AB\\n' * 100_000",
		"a time limit":     "try:\n  run([*python, 'while True: pass'], timeout=0.2)\nexcept TimeoutExpired as e:\n  assert e.timeout == 0.2\nelse:\n  assert 0",
		"signals":          "p = Popen([*python, 'while True: pass'])\np.terminate()\nassert p.wait() == -15\np = Popen([*python, 'raise KeyboardInterrupt'], stderr=DEVNULL)\nassert p.wait() == -2",
		"a handler":        "p = Popen([*python, 'import signal, time\\nsignal.signal(signal.SIGTERM, lambda *a: sys.exit(5))\\nimport sys\\nprint(flush=True)\\ntime.sleep(60)'], stdout=PIPE)\np.stdout.readline()\np.terminate()\nassert p.wait() == 5",
		"its environment":  "r = run([*python, 'import os; print(os.environ[\"X\"], os.getcwd(), len(os.environ))'], env={'X': 'é'}, cwd='/tmp', capture_output=True, text=True)\nassert r.stdout == 'é /tmp 1\\n', r",
		"files":            "open('a', 'w').write('1')\nrun([*python, 'open(\"a\", \"a\").write(\"2\")'])\nassert open('a').read() == '12'",
		"pass_fds":         "r, w = os.pipe()\nrun([*python, f'import os; os.write({w}, b\"x\")'], pass_fds=[w])\nos.close(w)\nassert os.read(r, 9) == b'x' and os.read(r, 9) == b''",
		"close_fds":        "r, w = os.pipe()\nassert run([*python, f'import os; os.fstat({w})'], stderr=DEVNULL).returncode == 1",
		"scripts":          "open('s', 'w').write('#!/usr/bin/python3\\nimport sys; print(__file__, sys.argv[1:])')\nos.chmod('s', 0o755)\nassert check_output(['./s', 'x']) == b\"./s ['x']\\n\"",
		"-m":               "assert check_output([sys.executable, '-m', 'json.tool'], input=b'[]') == b'[]\\n'",
		"standard input":   "assert check_output(['python3', '-'], input=b'print(__name__)') == b'__main__\\n'",
		"a traceback":      "e = run([*python, 'def f():\\n  1/0\\nf()'], stderr=PIPE, text=True).stderr\nassert e.startswith('Traceback') and 'File \"<string>\", line 2, in f' in e and 'coderunner' not in e, e",
		"what is missing":  "for words, name in ((['nope'], 'nope'), (['/x/y'], '/x/y')):\n  try:\n    run(words)\n  except FileNotFoundError as e:\n    assert e.filename == name\n  else:\n    assert 0\ntry:\n  run(python, cwd='/nowhere')\nexcept FileNotFoundError as e:\n  assert e.filename == '/nowhere', e",
		"preexec_fn":       "try:\n  run(python, preexec_fn=print)\nexcept NotImplementedError as e:\n  assert 'preexec_fn' in str(e)\nelse:\n  assert 0",
		"groups":           "p = Popen([*python, 'import time; time.sleep(60)'], start_new_session=True)\nassert os.getpgid(p.pid) == os.getsid(p.pid) == p.pid\nos.killpg(p.pid, signal.SIGKILL)\nassert p.wait() == -9",
		"wait":             "ps = [Popen([*python, '']) for _ in range(3)]\nassert {os.wait()[0] for _ in ps} == {p.pid for p in ps}\ntry:\n  os.wait()\nexcept ChildProcessError:\n  pass\nelse:\n  assert 0",
		"SIGCHLD":          "came = []\nsignal.signal(signal.SIGCHLD, lambda *a: came.append(1))\np = Popen([*python, ''])\np.wait()\nwhile not came: time.sleep(0.01)",
		"posix_spawn":      "pid = os.posix_spawn(sys.executable, ['python', '-c', 'print(1)'], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, 'out', os.O_WRONLY | os.O_CREAT, 0o600)])\nassert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0 and open('out').read() == '1\\n'",
		"spawnl":           "assert os.spawnl(os.P_WAIT, sys.executable, 'python', '-c', 'import sys; sys.exit(4)') == 4",
		"exec":             "assert run([*python, 'import os; os.execlp(\"python3\", \"python3\", \"-c\", \"import os; print(os.getpid()); exit(6)\")']).returncode == 6",
		"asyncio":          "async def main():\n  p = await asyncio.create_subprocess_exec(*python, 'print(input())', stdin=PIPE, stdout=PIPE)\n  return await p.communicate(b'x'), p.returncode\nassert asyncio.run(main()) == ((b'x\\n', None), 0)",
		"a shell":          "assert check_output('printf \"b\\na\\n\" | sort; echo $X $((6 * 7)); python3 -c \"print(7)\"', shell=True, env={**os.environ, 'X': 'x'}) == b'a\\nb\\nx 42\\n7\\n'",
		"os.system":        "assert os.system('echo a > f; exit 3') >> 8 == 3 and open('f').read() == 'a\\n'\nassert os.popen('cat f').read() == 'a\\n'",
		"bash":             "assert run(['bash', '-c', 'set -eu; x=(1 2 3); echo ${#x[@]}; false; echo no'], capture_output=True).stdout == b'3\\n'",
		"a shell's script": "open('s.sh', 'w').write('#!/bin/bash\\nfor a; do echo \"<$a>\"; done')\nos.chmod('s.sh', 0o755)\nassert check_output(['./s.sh', 'a b']) == b'<a b>\\n'",
		"a command":        "assert check_output(['tr', 'a-z', 'A-Z'], input=b'x') == b'X' and os.access('/bin/ls', os.X_OK)",
		"processors":       "n = os.cpu_count()\nassert n == os.process_cpu_count() == len(os.sched_getaffinity(0)) == int(check_output('nproc')) == " + strconv.Itoa(runtime.GOMAXPROCS(0)) + "\nassert check_output([*python, 'import os; print(os.cpu_count())'], env={'PYTHON_CPU_COUNT': '5'}) == b'5\\n'",
		"bad words":        "for f in (lambda: os.execv('x', []), lambda: os.execv('x', ['']), lambda: os.execve(sys.executable, ['x'], {'A=B': ''}), lambda: os.posix_spawn('x', [], {})):\n  try:\n    f()\n  except ValueError:\n    pass\n  else:\n    assert 0",
		"stop signals":     "for s in (signal.SIGSTOP, signal.SIGTSTP):\n  refuses(OSError, 'only ended: send SIGTERM or SIGKILL', lambda: os.kill(os.getpid(), s))",
		"start methods":    "import multiprocessing as m\nm.set_start_method('spawn')\nrefuses(ValueError, 'whose start method is spawn', lambda: m.set_start_method('fork'))\nrefuses(RuntimeError, 'already', lambda: m.set_start_method('spawn'))\nm.set_start_method(None, force=True)",
		"terminals":        "import pty\nrefuses(OSError, 'subprocess.Popen', pty.fork)\nrefuses(OSError, 'subprocess.Popen', pty.openpty)",
		"spawn's options":  "def spawn(**options):\n  return os.posix_spawn(sys.executable, ['python', '-c', ''], os.environ, **options)\nassert os.waitpid(spawn(setsigdef=[signal.SIGUSR1], setsigmask=[]), 0)[1] == 0\nrefuses(NotImplementedError, 'setsigmask', lambda: spawn(setsigmask=[10]))\nfor o in ({'setsigdef': [0]}, {'setsigmask': [65]}):\n  refuses(ValueError, 'signal number', lambda: spawn(**o))\nfor o in ({'setpgroup': 'x'}, {'setsigdef': 'x'}, {'setsigdef': 3}, {'nope': 1}, *({'file_actions': a} for a in (3, [()], [3], [(None,)], [(9, 1)], [(os.POSIX_SPAWN_CLOSE,)], [(os.POSIX_SPAWN_CLOSE, 'x')], [(os.POSIX_SPAWN_DUP2, 1, 'x')]))):\n  refuses(TypeError, '', lambda: spawn(**o))",
		"a pipe's size":    "import fcntl\nr, w = os.pipe()\nassert fcntl.fcntl(r, fcntl.F_GETPIPE_SZ) == fcntl.fcntl(w, fcntl.F_SETPIPE_SZ, 4096) == 65536\nrefuses(PermissionError, '', lambda: fcntl.fcntl(w, fcntl.F_SETPIPE_SZ, 1 << 20))\nrefuses(OSError, '', lambda: fcntl.fcntl(os.open('f', os.O_CREAT), fcntl.F_GETPIPE_SZ))",
		"locks":            "import fcntl\nf = open('f', 'w')\nfcntl.flock(f, fcntl.LOCK_EX)\ntry:\n  fcntl.flock(open('f'), fcntl.LOCK_SH | fcntl.LOCK_NB)\nexcept BlockingIOError:\n  pass\nelse:\n  assert 0\np = Popen([*python, 'import fcntl; f = open(\"f\"); print(flush=True); fcntl.flock(f, fcntl.LOCK_EX); print(open(\"f\").read())'], stdout=PIPE, text=True)\np.stdout.readline()\nassert call(['flock', '-n', 'f', 'true']) == 1\nf.write('first')\nf.flush()\nfcntl.flock(f, fcntl.LOCK_UN)\nassert p.stdout.read() == 'first\\n'\nfcntl.flock(f, fcntl.LOCK_EX)\nfcntl.flock(f, fcntl.LOCK_SH)\nfcntl.flock(open('f'), fcntl.LOCK_SH)\ng = open('f')\nsignal.signal(signal.SIGALRM, lambda *a: f.close())\nsignal.setitimer(signal.ITIMER_REAL, 0.05)\nfcntl.flock(g, fcntl.LOCK_EX)\nfor fd, how in ((-1, fcntl.LOCK_EX), (g, 0), (g, 16)):\n  refuses(OSError, '', lambda: fcntl.flock(fd, how))",
		"optimized":        "open('m.py', 'w').write('def f():\\n  \"doc\"\\n  return __debug__')\ncode = 'import m; print(__debug__, m.f(), m.f.__doc__); assert not __debug__'\nfor options, env, want in ((['-O'], {}, 'False False doc'), (['-OO'], {}, 'False False None'), ([], {'PYTHONOPTIMIZE': '1'}, 'False False doc')):\n  assert check_output([sys.executable, *options, '-c', code], env=env, text=True) == want + '\\n'\nassert run([*python, code], stderr=DEVNULL).returncode == run([sys.executable, '-E', '-c', code], env={'PYTHONOPTIMIZE': '1'}, stderr=DEVNULL).returncode == 1",
		"isolated":         "code = 'import sys; f = sys.flags; print(f.isolated, f.ignore_environment, f.no_user_site, f.safe_path, f.optimize)'\nassert check_output([sys.executable, '-I', '-c', code]) == b'1 1 1 True 0\\n'\nassert check_output([*python, code])[:1] == b'0'",
		"venv":             "r = run([sys.executable, '-m', 'venv', '.venv'], capture_output=True, text=True)\nassert r.returncode == 1 and 'installed by importing them, or by pip' in r.stderr and not os.path.exists('.venv'), r",
		"faulthandler":     "code = 'import faulthandler; print(faulthandler.is_enabled())'\nfor options, env, want in (([], {}, 'False'), (['-X', 'faulthandler'], {}, 'True'), (['-X', 'dev'], {}, 'True'), ([], {'PYTHONFAULTHANDLER': '1'}, 'True'), (['-E'], {'PYTHONFAULTHANDLER': '1'}, 'False')):\n  assert check_output([sys.executable, *options, '-c', code], env=env, text=True) == want + '\\n', options",
		"stacks":           "p = Popen([*python, 'import faulthandler, signal, time\\nfaulthandler.register(signal.SIGUSR1)\\ndef wait():\\n  print(flush=True)\\n  time.sleep(60)\\nwait()'], stdout=PIPE, stderr=PIPE, text=True)\np.stdout.readline()\np.send_signal(signal.SIGUSR1)\nwhile 'in wait' not in p.stderr.readline(): pass\np.kill()\np.wait()",
		"threads' ids":     "import threading\nids = []\nfor _ in range(3):\n  t = threading.Thread(target=lambda: ids.append(threading.get_native_id()))\n  t.start()\n  t.join()\n  assert t.native_id == ids[-1]\nassert len({os.getpid(), *ids}) == 4 and threading.get_native_id() == threading.main_thread().native_id == os.getpid()",
		"/etc":             "import datetime, platform, pwd, zoneinfo\nassert ' '.join(platform.uname()[:5]) + ' GNU/Linux' == check_output('uname -a', shell=True, text=True).strip()\nassert ':'.join(map(str, pwd.getpwuid(0))) + '\\n' == open('/etc/passwd').read() == check_output('cat /etc/passwd', shell=True, text=True)\nassert platform.freedesktop_os_release()['ID'] == 'coderunner' and datetime.datetime.now(zoneinfo.ZoneInfo.from_file(open('/etc/localtime', 'rb'))).tzname() == 'UTC'",
		"/proc":            "p = Popen([*python, 'print(flush=True); input()'], stdin=PIPE, stdout=PIPE, text=True)\np.stdout.readline()\nline = lambda pid: open(f'/proc/{pid}/stat').read().split()\nwhile line('self')[13] == '0': pass  # ticks\na, b = line('self'), line(p.pid)\nassert (a[0], a[1], b[3]) == (str(os.getpid()), '(python3)', a[0]) and int(b[23]) * os.sysconf('SC_PAGESIZE') >= 30 << 20\nassert open(f'/proc/{p.pid}/cmdline').read().split('\\0')[0] == sys.executable and str(p.pid) in os.listdir('/proc')\nassert check_output('grep -c ^processor /proc/cpuinfo', shell=True) == check_output('nproc')\np.communicate('')\nassert not os.path.exists(f'/proc/{p.pid}') and os.path.exists('/proc/self/cwd')",
		"processor time":   "run([*python, 'sum(range(1_000_000))'])\nassert os.times().children_user > 0",
	} {
		t.Run(what, func(t *testing.T) { value(t, run(t, r, head+code+"\n'done'"), "'done'") })
	}
}

// atTheEnd leaves what an interpreter's end has to see to: threads, finalizers, files.
const atTheEnd = `
import atexit, helper, sys, threading, time
class A:
    def __init__(self, name): self.name = name
    def __del__(self): print("del", self.name, time.time() > 0, NAME)
class Proxy:
    __class__ = property(lambda self: 1 / 0)
NAME, proxy = "x", Proxy()
atexit.register(print, "atexit")
first, second, cycle, several = A("first"), A("second"), A("cycle"), [A("several")]
cycle.itself = cycle
def generate():
    try: yield
    finally: print("closed")
g = generate(); next(g)
def spin():
    while True: len([]); time.sleep(0.001)
threading.Thread(target=spin, daemon=True).start()
said = threading.Event()
threading.Thread(target=lambda: (said.wait(), time.sleep(0.05), print("joined"))).start()
open("mine", "w").write("1"); f = open("mine", "a"); f.write("2")
helper.log.write("3")
print("end", end=" ")
said.set()`

// TestEnd: what a program sees of its interpreter's end is the same in the main
// process and in a child.
func TestEnd(t *testing.T) {
	x := newIndex(t)
	r := x.newRunner(base{}, false, t.TempDir())
	const helper = "log = open('log', 'w')"
	const want = "end joined\natexit\ndel first True x\ndel second True x\nclosed\ndel several True x\ndel cycle True x\n"
	o, _ := runFiles(t, x, r, atTheEnd, map[string]string{"helper.py": helper})
	if o.Stdout != want || o.Stderr != "" {
		t.Errorf("the main process printed %q and %q, want %q", o.Stdout, o.Stderr, want)
	}
	sizes := map[string]int64{}
	for _, f := range o.Files {
		sizes[f.Path] = f.Size
	}
	if sizes["mine"] != 2 || sizes["log"] != 1 {
		t.Errorf("the main process left files of %v bytes", sizes)
	}
	o = run(t, r, "import subprocess, sys\nopen('helper.py', 'w').write("+strconv.Quote(helper)+")\n"+
		"p = subprocess.run([sys.executable, '-c', "+strconv.Quote(atTheEnd)+"], capture_output=True, text=True)\n"+
		"print(p.stdout, end='')\nassert not p.stderr, p.stderr\nopen('mine').read() + open('log').read()")
	value(t, o, "'123'")
	if o.Stdout != want {
		t.Errorf("the child printed %q, want %q", o.Stdout, want)
	}
}

// TestSharedNetwork: the processes of a program have one loopback, and sockets are
// inherited as other descriptors are.
func TestSharedNetwork(t *testing.T) {
	r := newIndex(t).newRunner(base{}, false, t.TempDir())
	o := run(t, r, `import socket, subprocess, sys
server = socket.create_server(("127.0.0.1", 0))
port = server.getsockname()[1]
child = subprocess.Popen([sys.executable, "-c", f"import socket; c = socket.create_connection(('127.0.0.1', {port})); c.sendall(b'from the child'); print(c.recv(10))"])
a, _ = server.accept()
print(a.recv(100), flush=True)
a.sendall(b"answer")
child.wait()
here, there = socket.socketpair()
here.sendall(b"inherited")
subprocess.run([sys.executable, "-c", "import socket; print(socket.socket(fileno=0).recv(20))"], stdin=there)`)
	if want := "b'from the child'\nb'answer'\nb'inherited'\n"; o.Stdout != want {
		t.Errorf("stdout %q, stderr %q, want %q", o.Stdout, o.Stderr, want)
	}
}

// TestCommandsNetwork: curl and wget reach servers of the program, and of the host where
// the policy names them.
func TestCommandsNetwork(t *testing.T) {
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "the host's") }))
	defer host.Close()
	port := host.URL[strings.LastIndex(host.URL, ":")+1:]
	code := `import http.server, subprocess, threading
class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        body = self.rfile.read(int(self.headers["Content-Length"] or 0)) or b"own" * 300_000
        self.send_response(200), self.end_headers(), self.wfile.write(body)
    do_GET = do_POST = do_PUT = answer
    log_message = lambda *_: None
def serve(port):
    s = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=s.serve_forever).start()
    return s
def sh(line):
    p = subprocess.run(line, shell=True, capture_output=True, text=True)
    return p.returncode, p.stdout[:10], len(p.stdout)
s, port = serve(0), ` + port + `
at = f"localhost:{s.server_port}"
seen = [sh(f"curl -s {at}"), sh(f"curl -s -d data {at}"), sh(f"printf 'a b' > f; curl -s --data-urlencode 'q=a b' --data-urlencode n@f {at}; curl -s -T f {at}/"), sh(f"wget -qO- http://127.1:{s.server_port}"), sh(f"curl -s -m 9 localhost:{port}")]
s.shutdown(), s.server_close()
seen += [sh(f"curl -s {at}")]
seen`
	r := newIndex(t).newRunner(base{}, false, t.TempDir())
	const want = "[(0, 'ownownowno', 900000), (0, 'data', 4), (0, 'q=a+b&n=a+', 14), (0, 'ownownowno', 900000), %s, (7, '', 0)]"
	value(t, run(t, r, code), fmt.Sprintf(want, "(7, '', 0)"))
	r.cfg.Policy.Net = runners.Grant{List: []string{"127.0.0.1:" + port}}
	value(t, run(t, r, code), fmt.Sprintf(want, `(0, "the host's", 10)`))
}

func TestProcessLimits(t *testing.T) {
	r := newIndex(t).newRunner(base{}, false, t.TempDir())
	limited := func(code string, limits runners.Limits) *runners.Outcome {
		t.Helper()
		o, err := r.Run(t.Context(), runners.Request{Language: runners.Python, Code: code, Limits: limits})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	const head = "import os, signal, subprocess, sys\npython = [sys.executable, '-c']\n"

	o := limited(head+"p = subprocess.Popen([*python, 'while True: pass'])\nsubprocess.run([*python, 'while True: pass'])", runners.Limits{Timeout: time.Second})
	if o.Status != runners.TimedOut {
		t.Errorf("time: %s %+v", o.Status, o.Error)
	}

	o = limited(head+"subprocess.Popen([*python, 'import time; time.sleep(60)'])\n'left'", runners.Limits{})
	if value(t, o, "'left'"); o.Usage.RunMS > 20_000 {
		t.Errorf("a process outlived the program: %+v", o.Usage)
	}

	o = limited(head+"subprocess.run([*python, 'while True: print(\"x\" * 1000)'])", runners.Limits{Output: 10_000})
	if o.Status != runners.OutputLimit {
		t.Errorf("output: %s %+v", o.Status, o.Error)
	}

	grow := "import sys\nx = []\ntry:\n  while True: x.append(bytearray(1 << 20))\nexcept MemoryError:\n  print(len(x))\nsys.stdout.flush()\nsys.stdin.read()"
	o = limited(head+"ps = [subprocess.Popen([*python, "+quote(grow)+"], stdin=-1, stdout=-1) for _ in range(3)]\nsum(int(p.stdout.readline()) for p in ps)", runners.Limits{Memory: 300 << 20})
	if o.Result == nil || len(o.Result.Text) != 3 || o.Result.Text > "250" || o.Usage.PeakMemoryBytes > 310<<20 {
		t.Errorf("memory: %+v %+v %+v %s", o.Result, o.Error, o.Usage, o.Stderr)
	}

	o = limited(head+"os.system('while :; do x+=xxxxxxxx$x; done')", runners.Limits{Memory: 100 << 20})
	if o.Status != runners.OutOfMemory {
		t.Errorf("a shell's memory: %s %+v", o.Status, o.Error)
	}

	o = limited(head+"ps = []\nwhile True: ps.append(subprocess.Popen(['sleep', '60']))", runners.Limits{})
	if o.Status != runners.Failed || o.Error.Type != "BlockingIOError" || !strings.Contains(o.Error.Message, "at most 64 processes") {
		t.Errorf("a bomb: %s %+v", o.Status, o.Error)
	}

	o = limited(head+"ps = []\nwhile True: ps.append(subprocess.Popen([*python, 'input()'], stdin=-1))", runners.Limits{Memory: 100 << 20})
	if o.Status != runners.Failed || o.Error.Type != "OSError" || !strings.Contains(o.Error.Message, "of the program's limit of 100 MiB") || o.Stderr != "" {
		t.Errorf("no room: %s %+v %q", o.Status, o.Error, o.Stderr)
	}

	o = limited("import os, subprocess\nprint(os.cpu_count(), subprocess.check_output('nproc'))", runners.Limits{Memory: 70 << 20})
	if o.Stdout != "1 b'1\\n'\n" {
		t.Errorf("processors with room for two interpreters: %q %+v", o.Stdout, o.Error)
	}

	o = limited(head+"os.kill(os.getpid(), signal.SIGTERM)\nwhile True: pass", runners.Limits{})
	if o.Status != runners.Failed || o.ExitCode != 143 {
		t.Errorf("a signal: %s %d %+v", o.Status, o.ExitCode, o.Error)
	}

	o = limited(head+"os.execv(sys.executable, ['python', '-c', 'while True: pass'])", runners.Limits{Timeout: time.Second})
	if o.Status != runners.TimedOut {
		t.Errorf("exec and the time limit: %s %+v", o.Status, o.Error)
	}

	o = limited(head+"print(1)\nos.execv(sys.executable, ['python', '-c', 'print(2); exit(3)'])", runners.Limits{})
	if o.Status != runners.Failed || o.ExitCode != 3 || o.Stdout != "1\n2\n" {
		t.Errorf("exec: %s %d %+v %q", o.Status, o.ExitCode, o.Error, o.Stdout)
	}
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "\n", `\n`) + "'" }

// A program whose processes do what people use multiprocessing for. The file is
// imported by each of them.
const multiprocessing = `
import multiprocessing as mp, os, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import shared_memory

def square(x):
    return x * x

def put(queue, n):
    for i in range(n):
        queue.put(i)
    queue.put(None)

def add(value, array, lock, n):
    for i in range(n):
        with lock:
            value.value += 1
            array[i % len(array)] += 1

def answer(pipe):
    pipe.send(pipe.recv() + 1)

def write(name):
    memory = shared_memory.SharedMemory(name)
    memory.buf[100_000:100_005] = b"hello"
    memory.close()

def meet(barrier, event, queue):
    barrier.wait()
    event.wait()
    queue.put(os.getpid())

def fill(d):
    d["child"] = os.getpid()

if __name__ == "__main__":
    assert mp.get_all_start_methods() == ["spawn"]
    try:
        mp.get_context("fork")
    except ValueError as e:
        assert "whose start method is spawn" in str(e)
    else:
        assert 0
    os.fstat(mp.resource_tracker._resource_tracker._fd)  # joblib passes it on
    queue = mp.Queue()
    p = mp.Process(target=put, args=(queue, 100))
    p.start()
    assert sum(iter(queue.get, None)) == 4950
    p.join()
    assert p.exitcode == 0

    with mp.Pool(2) as pool:
        assert pool.map(square, range(10)) == [x * x for x in range(10)]
        assert pool.apply_async(square, (7,)).get(60) == 49
    with ProcessPoolExecutor(2) as executor:
        assert list(executor.map(square, range(5))) == [0, 1, 4, 9, 16]

    ours, theirs = mp.Pipe()
    p = mp.Process(target=answer, args=(theirs,))
    p.start()
    ours.send(41)
    assert ours.recv() == 42
    p.join()

    value, array, lock = mp.Value("i", 0, lock=False), mp.Array("i", 10), mp.Lock()
    ps = [mp.Process(target=add, args=(value, array, lock, 500)) for _ in range(2)]
    [p.start() for p in ps]
    [p.join() for p in ps]
    assert value.value == 1000 and array[:] == [100] * 10

    memory = shared_memory.SharedMemory(create=True, size=200_000)
    p = mp.Process(target=write, args=(memory.name,))
    p.start()
    p.join()
    assert bytes(memory.buf[100_000:100_006]) == b"hello\0"
    memory.close()
    memory.unlink()

    barrier, event = mp.Barrier(3), mp.Event()
    ps = [mp.Process(target=meet, args=(barrier, event, queue)) for _ in range(2)]
    [p.start() for p in ps]
    barrier.wait()
    event.set()
    assert {queue.get(), queue.get()} == {p.pid for p in ps}
    [p.join() for p in ps]

    with mp.Manager() as manager:
        d = manager.dict()
        p = mp.Process(target=fill, args=(d,))
        p.start()
        p.join()
        assert dict(d) == {"child": p.pid}

    s = mp.BoundedSemaphore(1)
    assert s.acquire(timeout=1) and not s.acquire(timeout=0.01)
    s.release()
    try:
        s.release()
    except ValueError:
        print("done")
`

func TestMultiprocessing(t *testing.T) {
	r := newIndex(t).newRunner(base{}, false, t.TempDir())
	o := run(t, r, multiprocessing)
	if o.Status != runners.Succeeded || o.Stdout != "done\n" || o.Stderr != "" {
		t.Errorf("%s %+v, stdout %q, stderr %q", o.Status, o.Error, o.Stdout, o.Stderr)
	}
	// A program without a guard runs once.
	o = run(t, r, "from multiprocessing import Pool\nprint('once')\nn = 10\ndef f(x): return x * n\nwith Pool(2) as p: print(p.map(f, range(3)))")
	if o.Status != runners.Succeeded || o.Stdout != "once\n[0, 10, 20]\n" || o.Stderr != "" {
		t.Errorf("%s %+v, stdout %q, stderr %q", o.Status, o.Error, o.Stdout, o.Stderr)
	}
	// Its magics are for its first run.
	o = run(t, r, "!echo shell\nfrom multiprocessing import Pool\n%pwd\ndef f(x): return x + 1\nif __name__ == '__main__':\n    with Pool(2) as p: print(p.map(f, range(3)))")
	if o.Status != runners.Succeeded || o.Stdout != "shell\n/home/user\n[1, 2, 3]\n" || o.Stderr != "" {
		t.Errorf("%s %+v, stdout %q, stderr %q", o.Status, o.Error, o.Stdout, o.Stderr)
	}
	// The clock of one process goes by that of the others.
	o = run(t, r, "import time\nfrom multiprocessing import Pool\ndef now(_): return time.monotonic()\nif __name__ == '__main__':\n    time.sleep(0.2)\n    before = time.monotonic()\n    with Pool(1) as p: child = p.map(now, [0])[0]\n    print(before < child < time.monotonic())")
	if o.Stdout != "True\n" {
		t.Errorf("%s %+v, stdout %q, stderr %q", o.Status, o.Error, o.Stdout, o.Stderr)
	}
	// Nothing of it is left for the next program.
	value(t, run(t, r, "import os\nos.listdir('/dev/shm')"), "[]")
}

// TestSessionProcesses has processes find what a session's earlier calls defined, with
// the values that it uses, and run nothing of those calls again.
func TestSessionProcesses(t *testing.T) {
	store, err := session.Open(session.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c := &calls{t, store, newIndex(t).newRunner(base{}, false, t.TempDir())}
	for _, call := range []struct{ code, want string }{
		{`
import math
n = 10
lock = __import__("threading").Lock()
class Point:
    def __init__(self, x): self.x = x
    def up(self): return self.x + n, lock
p = Point(5)
def square(x): return x * x
open("calls.txt", "a").write("once\n")
log = open("log.txt", "w"); log.write("kept"); log.flush()
`, ""},
		{"n = 20\nfrom concurrent.futures import ProcessPoolExecutor\ndef f(x): return square(x) + n + p.x + math.floor(1.5)\n" +
			"with ProcessPoolExecutor(1) as e: print(list(e.map(f, [1, 2])))", "[27, 30]\n"},
		{"import multiprocessing as mp\nif __name__ == '__main__':\n  with mp.Pool(1) as e: print(e.map(f, [3]), e.map(len, [[p]]), e.map(type, [p])[0] is Point)", "[35] [1] True\n"},
		{"def nest(x):\n  with mp.Pool(1) as e: return e.map(f, [x])\nif __name__ == '__main__':\n  with ProcessPoolExecutor(1) as e: print(list(e.map(nest, [4])))", "[[42]]\n"},
		{"%cd /tmp\nwith mp.Pool(1) as e: print(e.map(f, [5]))\n%cd /home/user", "/tmp\n[51]\n/home/user\n"},
		{"def square(x): return -x\nwith mp.Pool(1) as e: print(e.map(square, [3]), open('calls.txt').read(), open('log.txt').read())", "[-3] once\n kept\n"},
	} {
		if o := c.run("s", call.code); o.Status != runners.Succeeded || o.Stdout != call.want || o.Stderr != "" {
			t.Errorf("%s: %s %+v, stdout %q, stderr %q", call.code, o.Status, o.Error, o.Stdout, o.Stderr)
		}
	}
}
