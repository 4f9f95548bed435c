package pyodide_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"coderunner/pyodide"
	"coderunner/pyodide/pyodidetest"
)

// run runs a program in a fresh interpreter.
func run(t testing.TB, o pyodide.Options, p pyodide.Program) (res *pyodide.Result, stdout, stderr string) {
	t.Helper()
	return runEnduring(t, 0, o, p)
}

// runEnduring is run with more time between the soft and the hard end.
func runEnduring(t testing.TB, more time.Duration, o pyodide.Options, p pyodide.Program) (res *pyodide.Result, stdout, stderr string) {
	t.Helper()
	rt := pyodidetest.Runtime(t)
	var out, errs bytes.Buffer
	if o.Stdout == nil {
		o.Stdout = &out
	}
	if o.Stderr == nil {
		o.Stderr = &errs
	}
	in, err := rt.New(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}()
	in.Endure(more)
	res, err = in.Run(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	return res, out.String(), errs.String()
}

func TestPrograms(t *testing.T) {
	for _, c := range []struct {
		name, code, stdin string
		want              string // Value.Repr, or Exception.Type
		stdout            string
		exit              int
	}{
		{name: "expression", code: "1 + 1", want: "2"},
		{name: "output", code: "print('hello'); print('wörld', end='')", stdout: "hello\nwörld"},
		{name: "no value", code: "x = 1"},
		{name: "None", code: "None"},
		{name: "exit", code: "import sys; print(1); sys.exit(3)", stdout: "1\n", exit: 3},
		{name: "hard exit", code: "import os; print(1); os._exit(4)", stdout: "1\n", exit: 4},
		{name: "input", code: "input() + input()", stdin: "a\nb\n", want: "'ab'"},
		{name: "raises", code: "1/0", want: "ZeroDivisionError", exit: 1},
		{name: "await", code: "import asyncio\nawait asyncio.sleep(0.01, 'x')", want: "'x'"},
		{name: "asyncio.run", code: "import asyncio\nasync def f():\n  await asyncio.gather(*[asyncio.sleep(.01) for _ in range(9)])\n  return 5\nasyncio.run(f())", want: "5"},
		{name: "surrogate", code: `print('\ud800')`, want: "UnicodeEncodeError", exit: 1},
		{name: "bytes as text", code: `print(input())`, stdin: "\xff\n", stdout: "\xff\n"},
		{name: "folder", code: "import os\nopen('a','w').write('x'); os.getcwd(), os.listdir()", want: "('/home/user', ['a'])"},
		{name: "environment", code: "import os\nsorted(os.environ)", want: "['HOME', 'LANG', 'PATH', 'USER']"},
		{name: "stack", code: "import logging, traceback\ndef f(): return traceback.extract_stack()\n[[s.name for s in f()], len(traceback.format_stack())]", want: "[['<module>', 'f'], 1]"},
		{name: "frames", code: "import inspect, sys\ndef f(): return [frame.function for frame in inspect.stack()]\nf(), sys._getframe().f_back", want: "(['f', '<module>'], None)"},
		{name: "arguments", code: "import sys\nsys.argv, sys.orig_argv", want: "(['main.py'], ['python', 'main.py'])"},
		{name: "no frame above", code: "import sys\nsys._getframe(1)", want: "ValueError", exit: 1},
		{name: "frames at exit", code: "import atexit, inspect\natexit.register(lambda: print(len(inspect.stack())));", stdout: "1\n"},
		{name: "warning at the end", code: "import warnings\nwarnings.showwarning = lambda m, category, file, line, *more: print(file, line)\nasync def f(): pass\nc = f()", stdout: "<sys> 0\n"},
		{name: "locale", code: "import locale\nlocale.setlocale(locale.LC_ALL, locale.setlocale(locale.LC_ALL, ''))\nlocale.setlocale(locale.LC_ALL, 'en_US.UTF-8')", want: "Error", exit: 1},
		{name: "network", code: "import socket\nsocket.create_connection(('1.1.1.1', 80))", want: "PermissionError", exit: 1},
		{name: "refusals", code: `
import errno, socket
to = "1.1.1.1", 80
with socket.socket(type=socket.SOCK_DGRAM) as s:
    for f in (lambda: socket.create_connection(to), lambda: s.connect(to), lambda: s.sendto(b"x", to), lambda: s.sendmsg([b"x"], [], 0, to), lambda: socket.getaddrinfo("example", 80)):
        try: f()
        except PermissionError as e: print(e.errno == errno.EACCES, "--allow-net" in str(e))
print(socket.socket().connect_ex(to) == errno.EACCES)
`, stdout: strings.Repeat("True True\n", 5) + "True\n"},
		{name: "numbers of errno", code: `
import ctypes, errno, os, socket
for f, *a in (open, "a"), (os.rename, "a", "b"), (os.mkdir, "/tmp"), (os.link, "a", "b"), (socket.create_connection, ("127.0.0.1", 9)), (os.kill, 9999, 0):
    try: f(*a)
    except OSError as e: print(e.args == (e.errno, os.strerror(e.errno)), type(e).__name__, e)
print(OSError(errno.EEXIST, "x").__class__.__name__, errno.errorcode[17], errno.ENOENT, os.strerror(13), socket.socket().connect_ex(("127.0.0.1", 9)))
libc = ctypes.CDLL(None, use_errno=True)
print(libc.close(99), ctypes.get_errno(), ctypes.set_errno(17), ctypes.get_errno())
# as glibc's
print([os.strerror(n) for n in (0, 5, 12, 25, 36, 40, 95, 98, 110, 999)])
print([n for n in vars(errno) if n.isupper() and errno.errorcode[getattr(errno, n)] != n])
taken = socket.create_server(("127.0.0.1", 0))
try: socket.socket().bind(taken.getsockname())
except OSError as e: print(e)
`, stdout: `True FileNotFoundError [Errno 2] No such file or directory: 'a'
True FileNotFoundError [Errno 2] No such file or directory: 'a' -> 'b'
True FileExistsError [Errno 17] File exists: '/tmp'
True FileNotFoundError [Errno 2] No such file or directory: 'a' -> 'b'
True ConnectionRefusedError [Errno 111] Connection refused
True OSError [Errno 38] Function not implemented
FileExistsError EEXIST 2 Permission denied 111
-1 9 9 17
['Success', 'Input/output error', 'Cannot allocate memory', 'Inappropriate ioctl for device', 'File name too long', 'Too many levels of symbolic links', 'Operation not supported', 'Address already in use', 'Connection timed out', 'Unknown error 999']
['EWOULDBLOCK', 'EDEADLK', 'EOPNOTSUPP']
[Errno 98] Address already in use
`},
		{name: "epoll", code: `
import asyncio, os, select, selectors
r, w = os.pipe()
with select.epoll() as e:
    e.register(r, select.EPOLLIN)
    os.write(w, b"x")
    print(e.poll(1) == [(r, select.EPOLLIN)])
asyncio.run(asyncio.sleep(0))
print(selectors.DefaultSelector.__name__)
select.kqueue
`, want: "AttributeError", stdout: "True\nPollSelector\n", exit: 1},
		{name: "names", code: "import socket, urllib.request\ntry:\n  socket.gethostbyname_ex('example')\nexcept socket.gaierror as e:\n  print(isinstance(e, PermissionError))\nurllib.request.urlopen('file://example/f')", want: "URLError", stdout: "True\n", exit: 1},
		{name: "bytecode", code: "import xml.sax\nxml.sax.__file__", want: "'/lib/python314.zip/xml/sax/__init__.pyc'"},
		{name: "source", code: "import inspect, xml.sax\ninspect.getsource(xml.sax)[:3]", want: "'\"\"\"'"},
		{name: "no terminal", code: "import os, sys\n[s.isatty() for s in (sys.stdin, sys.stdout, sys.stderr)] + [os.isatty(os.open('/dev/null', 0))]", want: "[False, False, False, False]"},
		{name: "own signal", code: "import signal\nsignal.raise_signal(signal.SIGINT)", want: "KeyboardInterrupt", exit: 130},
		{name: "own signal, caught", code: "import signal\ntry:\n  signal.raise_signal(signal.SIGINT)\nexcept KeyboardInterrupt: pass\nsignal.getsignal(signal.SIGINT) is signal.default_int_handler", want: "True"},
		{name: "own signal, asyncio", code: "import asyncio, signal\nasync def f():\n  try:\n    signal.raise_signal(signal.SIGINT)\n    await asyncio.sleep(9)\n  except asyncio.CancelledError:\n    print('cancelled')\n    raise\nasyncio.run(f())", want: "KeyboardInterrupt", stdout: "cancelled\n", exit: 130},
		{name: "main", code: "__name__, __file__", want: "('__main__', '/home/user/main.py')"},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, stdout, stderr := run(t, pyodide.Options{Stdin: strings.NewReader(c.stdin)}, pyodide.Program{Code: c.code})
			got := ""
			if res.Value != nil {
				got = res.Value.Repr
			}
			if res.Exception != nil {
				got = res.Exception.Type
			}
			if res.Ended != pyodide.Finished || got != c.want || stdout != c.stdout || stderr != "" || res.ExitCode != c.exit {
				t.Errorf("%v %q, stdout %q, stderr %q, exit code %d (%+v %v)\nwant %q, stdout %q, exit code %d",
					res.Ended, got, stdout, stderr, res.ExitCode, res.Exception, res.Cause, c.want, c.stdout, c.exit)
			}
		})
	}
}
