//go:build linux

package hostile

import "strings"

// Attacks on the processor's time: 1 to 6.
var cpu = []attack{
	{row: "1", name: "endless loop", lang: javascript, code: "console.log('before'); for (;;);", timeout: 3, want: timedOut, stdout: "before\n"},
	{row: "1b", name: "regular expression", lang: javascript, code: "/(a+)+$/.test('a'.repeat(40) + 'b')", timeout: 1, want: timedOut},
	{row: "1c", name: "Atomics.wait", lang: javascript, code: "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)", timeout: 1, want: timedOut},
	{row: "2", name: "ignores SIGTERM", lang: javascript, code: "Deno.addSignalListener('SIGTERM', () => {}); for (;;);", timeout: 1, want: timedOut},
	{row: "3", name: "endless loop", lang: python, code: "print('before')\nx = 0\nwhile True:\n    x += 1", timeout: 3, want: timedOut, stdout: "before\n"},
	{row: "3b", name: "refuses the interrupt", lang: python, code: "while True:\n    try:\n        while True: pass\n    except BaseException: pass", timeout: 1, want: timedOut},
	{row: "3c", name: "ignores the signal", lang: python, code: "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass", timeout: 1, want: timedOut},
	{row: "4", name: "large power", lang: python, code: "10**10**8", timeout: 1, want: []string{"timed_out", "out_of_memory", "failed"}},
	{row: "4b", name: "regular expression", lang: python, code: "import re\nre.match('(a+)+$', 'a'*40 + 'b')", timeout: 1, want: timedOut},
	{row: "4c", name: "loop inside C", lang: python, code: "import itertools\nsum(itertools.repeat(1))", timeout: 1, want: timedOut},
	{row: "4d", name: "decompression bomb", lang: python, timeout: 2, want: []string{"timed_out", "out_of_memory", "failed"}, code: `
import zlib
b = zlib.compress(b"\0" * 50_000_000)
while True: b, n = zlib.compress(zlib.decompress(b) * 4), len(b)`},
	{row: "4e", name: "sorting with a hostile key", lang: python, timeout: 1, want: timedOut, code: "class K:\n    def __init__(self, x): pass\n    def __lt__(self, other):\n        while True: pass\nsorted(range(100), key=K)"},
	{row: "4f", name: "sorting for ever", lang: python, timeout: 1, want: timedOut, code: "a = list(range(1000))\nwhile True: a.sort(key=lambda x: x * 7919 % 1009)"},
	{row: "5", name: "sleep", lang: python, code: "import time\ntime.sleep(1e9)", timeout: 1, want: timedOut},
	{row: "5b", name: "asyncio.sleep", lang: python, code: "import asyncio\nawait asyncio.sleep(1e8)", timeout: 1, want: timedOut},
	{row: "5c", name: "select on nothing", lang: python, code: "import os, select\nr, w = os.pipe()\nselect.select([r], [], [])", timeout: 1, want: timedOut},
	{row: "5d", name: "reads an empty pipe", lang: python, code: "import os\nr, w = os.pipe()\nos.read(r, 1)", timeout: 1, want: timedOut},
	{row: "5e", name: "promise that never settles", lang: javascript, code: "await new Promise(() => {})", timeout: 30, want: refused, has: "never resolved"},
	{row: "5f", name: "interval", lang: javascript, code: "setInterval(() => {}, 1)", timeout: 1, want: timedOut},
	{row: "6", name: "2 MB of source", lang: python, code: "y = 1\n" + strings.Repeat("x=1234567\n", 200_000), timeout: 2},
	{row: "6b", name: "2 MB of source", lang: javascript, code: "var x;" + strings.Repeat("x=1234567\n", 200_000), timeout: 2},
	{row: "6c", name: "100,000 parentheses", lang: python, code: strings.Repeat("(", 1e5) + "1" + strings.Repeat(")", 1e5), timeout: 30, want: refused},
	{row: "6d", name: "100,000 parentheses", lang: javascript, code: strings.Repeat("(", 1e5) + "1" + strings.Repeat(")", 1e5), timeout: 30, want: []string{"failed", "crashed"}},
	{row: "6e", name: "100,000 minus signs", lang: python, code: strings.Repeat("-", 1e5) + "1", timeout: 30, want: refused},
	{row: "6f", name: "large literal", lang: python, code: "{" + strings.Repeat("1:[2,3],\n", 100_000) + "}", timeout: 2},
	{row: "6g", name: "type recursion", lang: typescript, code: "type A<T, N extends number> = N extends 0 ? T : A<[T, T], N>;\nlet a: A<1, 99>;\n1", want: succeeded},
	{row: "6h", name: "nested functions", lang: python, code: strings.Repeat("lambda:", 50_000) + "1"},
}

// workers200 starts more workers than there can be.
const workers200 = "for (let i = 0; i < 200; i++) new Worker('data:text/javascript,for(;;);', { type: 'module' }); await new Promise(() => {})"

// Attacks on memory: 7 to 12.
var memory = []attack{
	{row: "7", name: "heap", lang: javascript, code: "console.log('before'); const a = []; for (;;) a.push({ a: [1, 2, 3] })", timeout: 60, want: noMemory, stdout: "before\n"},
	{row: "8", name: "buffers outside the heap", lang: javascript, code: "const a = []; for (;;) { const b = new Uint8Array(1e7); b.fill(1); a.push(b) }", timeout: 30, want: noMemory},
	{row: "9", name: "200 workers, room for none", lang: javascript, code: workers200, timeout: 30, want: noMemory, has: "a Worker needs"},
	{row: "9b", name: "200 workers, room for one", lang: javascript, code: workers200, timeout: 3, roomy: true, want: []string{"out_of_memory", "timed_out"}},
	{row: "10", name: "wasm memory", lang: javascript, code: "const a = []; for (;;) { const m = new WebAssembly.Memory({ initial: 4096 }); new Uint8Array(m.buffer).fill(1); a.push(m) }", timeout: 30, want: []string{"out_of_memory", "failed"}},
	{row: "11", name: "bytearray(2**31 - 1)", lang: python, code: "bytearray(2**31 - 1)", timeout: 30, want: []string{"failed", "out_of_memory"}, has: "MemoryError"},
	{row: "11b", name: "growing list", lang: python, code: "a = [0]\nwhile True: a += a", timeout: 30, want: []string{"failed", "out_of_memory"}},
	{row: "11c", name: "goes on after MemoryError", lang: python, code: "try: x = bytearray(10**9)\nexcept MemoryError: x = 'survived'\nx", want: succeeded, has: "survived"},
	{row: "11d", name: "string of 1 GB", lang: python, code: "a = []\nwhile True: a.append('x' * 10**9)", timeout: 30, want: []string{"failed", "out_of_memory"}},
	{row: "11e", name: "large file", lang: python, code: "f = open('big', 'wb')\nwhile True: f.write(b'x' * (1 << 20))", timeout: 30, want: []string{"failed", "out_of_memory"}, has: "No space||emory"},
	{row: "11f", name: "sparse files", lang: python, timeout: 30, want: succeeded, code: `
import os
for i in range(1000):
    f = os.open(f"s{i}", os.O_RDWR | os.O_CREAT)
    try:
        os.ftruncate(f, 1 << 40); os.pwrite(f, b"x", (1 << 40) - 1)
    except OSError as e: err = e
    os.close(f)
"done"`},
	{row: "11g", name: "many files and pipes", lang: python, code: `
import os
n = 0
try:
    while True: os.pipe(); n += 1
except OSError: pass
try:
    for i in range(10**6): os.mkdir("d" * 200 + str(i))
except (OSError, MemoryError): pass
n < 100000`, timeout: 60, want: succeeded, has: "True"},
	{row: "11h", name: "full pipes", lang: python, code: `
import os
pipes = []
try:
    while True:
        r, w = os.pipe(); os.set_blocking(w, False)
        try:
            while True: os.write(w, b"x" * 65536)
        except BlockingIOError: pass
        pipes.append((r, w))
except (OSError, MemoryError): pass
"done"`, timeout: 60, want: succeeded},
	{row: "11i", name: "lists in a list", lang: python, code: "a = []\nwhile True: a.append([None] * 100_000)", timeout: 60, want: noMemory},
}

// Attacks on the stack: 13 and 14.
var stack = []attack{
	{row: "13", name: "recursion", lang: javascript, code: "(function f() { f() })()", timeout: 30, want: refused, has: "RangeError"},
	{row: "13b", name: "deep JSON", lang: javascript, code: "JSON.parse('['.repeat(1e6))", timeout: 30, want: refused},
	{row: "14", name: "recursion", lang: python, code: "def f(): f()\nf()", timeout: 30, want: refused, has: "RecursionError"},
	{row: "14b", name: "no recursion limit", lang: python, timeout: 10, want: anyEnd, code: "import sys\nsys.setrecursionlimit(10**9)\ndef f(): f()\nf()"},
	{row: "14c", name: "deep repr", lang: python, timeout: 5, want: anyEnd, code: "a = []\nfor _ in range(10**6): a = [a]\nimport sys\nsys.setrecursionlimit(10**9)\nrepr(a)"},
	{row: "14d", name: "deep pickle", lang: python, timeout: 10, want: anyEnd, code: "import pickle, sys\nsys.setrecursionlimit(10**9)\na = []\nfor _ in range(10**5): a = [a]\nlen(pickle.dumps(a))"},
	{row: "14e", name: "deep json", lang: python, timeout: 3, want: anyEnd, code: "import json, sys\nsys.setrecursionlimit(10**9)\njson.loads('[' * 10**5 + ']' * 10**5)"},
	{row: "14f", name: "deep ast", lang: python, timeout: 10, want: anyEnd, code: "import ast\nast.parse('-' * 10**5 + '1')"},
	{row: "14g", name: "deep deletion", lang: python, timeout: 10, want: anyEnd, code: "a = []\nfor _ in range(10**6): a = [a]\ndel a\n1"},
	{row: "14h", name: "deep comparison", lang: python, timeout: 10, want: anyEnd, code: "import sys\nsys.setrecursionlimit(10**9)\na, b = [], []\nfor _ in range(10**6): a, b = [a], [b]\na == b"},
	{row: "14i", name: "deep recursion in a key", lang: python, timeout: 10, want: anyEnd, code: "import functools\ndef f(a, b): return sorted([2, 1], key=functools.cmp_to_key(f)) and 0\nf(1, 2)"},
}

// Attacks by output: 15 to 20.
var output = []attack{
	{row: "15", name: "flood", lang: javascript, timeout: 30, code: "for (;;) console.log('x'.repeat(1000))", want: flooded},
	{row: "15b", name: "flood of stderr", lang: javascript, timeout: 30, code: "for (;;) console.error('x'.repeat(1000))", want: flooded},
	{row: "15c", name: "flood", lang: python, timeout: 30, code: "while 1: print('x' * 1000)", want: flooded},
	{row: "15d", name: "flood of stderr", lang: python, timeout: 30, code: "import sys\nwhile 1: print('x' * 1000, file=sys.stderr)", want: flooded},
	{row: "16", name: "one line of 100 MB", lang: python, timeout: 30, code: "import sys\nfor _ in range(100): sys.stdout.write('x' * 10**6)", want: flooded},
	{row: "16b", name: "one line of 100 MB", lang: javascript, timeout: 30, code: "Deno.stdout.writeSync(new Uint8Array(1e8).fill(120))", want: flooded},
	{row: "16c", name: "many empty lines", lang: python, timeout: 30, code: "print('\\n' * 900_000)", want: succeeded},
	{row: "16d", name: "large result", lang: python, timeout: 30, code: "'x' * 10**8"},
	{row: "16e", name: "large result", lang: javascript, timeout: 30, code: "'x'.repeat(1e8)"},
	{row: "17", name: "no UTF-8", lang: python, code: "import sys\nprint('a\\0b', '\\ud800'.encode('utf-8', 'replace'))\nsys.stdout.flush()\nsys.stdout.buffer.write(b'\\xff\\xfe|')\nsys.stdout.buffer.write('é'.encode()[:1]); sys.stdout.buffer.flush(); sys.stdout.buffer.write('é'.encode()[1:])", want: succeeded, has: "é"},
	{row: "17b", name: "no UTF-8", lang: javascript, code: "const w = (b) => Deno.stdout.writeSync(new Uint8Array(b)); w([0xff, 0, 124, 0xc3]); w([0xa9]); console.log('\\ud800|')", want: succeeded, has: "é"},
	{row: "17c", name: "lone surrogate", lang: python, code: "print('\\ud800')"},
	{row: "17d", name: "lone surrogate as result", lang: python, code: "'\\ud800'"},
	{row: "17e", name: "lone surrogate as result", lang: javascript, code: "'\\ud800'"},
	{row: "18", name: "escape sequences", lang: python, code: `print("\x1b]0;evil\x07\x1b[2J\u202e\u2028😀")`, want: succeeded, has: "😀"},
	{row: "18b", name: "escape sequences", lang: javascript, code: `console.log("\x1b]0;evil\x07\x1b[2J\u202e\u2028😀")`, want: succeeded, has: "😀"},
	{row: "19", name: "prints protocol", lang: python, code: `print('{"jsonrpc":"2.0","id":1,"result":{}}\nContent-Length: 2\r\n\r\n{}')`, want: succeeded, stdout: `{"jsonrpc"`},
	{row: "19b", name: "prints protocol", lang: javascript, code: `console.log('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}')`, want: succeeded, stdout: `{"jsonrpc"`},
	{row: "20", name: "writes to descriptors", lang: python, code: "import os\nfor fd in range(3, 100):\n    try: os.write(fd, b'evil\\n')\n    except OSError: pass\nopen('/dev/stdout', 'w').write('through dev') and 1"},
	{row: "20b", name: "writes to the server's stdout", lang: javascript, code: "for (const p of ['/proc/' + Deno.ppid + '/fd/1', '/proc/self/fd/1', '/dev/stdout']) { try { Deno.writeTextFileSync(p, 'evil\\n'); console.log('wrote', p) } catch (e) { console.log(e.name) } }", not: "wrote /proc/"},
}

// Ends: 21 and 22.
var ends = []attack{
	{row: "21", name: "os._exit(3)", lang: python, code: "import os\nprint('before', flush=True)\nos._exit(3)", want: refused, stdout: "before\n"},
	{row: "21b", name: "sys.exit(3)", lang: python, code: "import sys\nprint('before')\nsys.exit(3)", want: refused, stdout: "before\n"},
	{row: "21c", name: "closes stdout", lang: python, code: "import os, sys\nprint('before', flush=True)\nos.close(1); os.close(2)\nprint('after')"},
	{row: "21d", name: "abort", lang: python, code: "import os\nos.abort()", want: []string{"failed", "crashed"}},
	{row: "21e", name: "kills itself", lang: python, code: "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n1"},
	{row: "21f", name: "BaseException", lang: python, code: "class E(BaseException): pass\nraise E('x')", want: refused},
	{row: "21g", name: "exception without words", lang: python, code: "class E(Exception):\n    def __str__(self): raise self\n    __repr__ = __str__\nraise E", want: refused},
	{row: "21h", name: "hostile value", lang: python, code: "class E:\n    def __repr__(self): raise SystemExit(7)\nE()"},
	{row: "21i", name: "Deno.exit(7)", lang: javascript, code: "console.log('before'); Deno.exit(7)", want: refused, stdout: "before\n"},
	{row: "21j", name: "process.abort()", lang: javascript, code: "console.log('before'); process.abort()", stdout: "before\n", want: []string{"failed", "crashed"}},
	{row: "21k", name: "unhandled rejection after the result", lang: javascript, code: "setTimeout(() => Promise.reject(new Error('late')), 10); 1", want: refused, has: "late"},
	{row: "21l", name: "throws nothing", lang: javascript, code: "throw undefined", want: refused},
	{row: "21m", name: "hostile error", lang: javascript, code: "throw new Proxy({}, { get() { throw 1 }, getPrototypeOf() { throw 2 } })", want: refused},
	{row: "21n", name: "hostile value", lang: javascript, code: "({ get [Symbol.for('Deno.customInspect')]() { for (;;); } })", timeout: 1, want: timedOut},
	{row: "22", name: "timers at the deadline", lang: javascript, code: "setInterval(() => console.log('tick'), 10)", timeout: 3, want: timedOut, stdout: "tick\n"},
	{row: "22b", name: "tasks at the deadline", lang: python, code: "import asyncio\nasync def f():\n    while True:\n        print('tick', flush=True); await asyncio.sleep(.1)\nt = asyncio.create_task(f())\nawait asyncio.sleep(100)", timeout: 3, want: timedOut, stdout: "tick\n"},
	{row: "22c", name: "atexit loops", lang: python, code: "import atexit\n@atexit.register\ndef f():\n    while True: pass\nprint('before', flush=True)", timeout: 3, want: timedOut, stdout: "before\n"},
	{row: "22d", name: "destructor loops", lang: python, code: "class A:\n    def __del__(self):\n        while True: pass\na = A()", timeout: 1},
}

// Isolation of calls: 23 and 24. The probe after each looks for what is left.
var isolation = []attack{
	{row: "23", name: "changes everything", lang: python, want: succeeded, code: `
import builtins, json, os, pathlib, sys, types
evil = builtins.evil = 1
open("/tmp/evil", "w").write("x"); open("evil", "w").write("x")
pathlib.Path.home().joinpath("evil").write_text("x")
os.environ["EVIL"] = "1"
json.evil = 1; json.dumps = lambda x: "evil"
sys.modules["evil"] = types.ModuleType("evil"); sys.path.insert(0, "/evil")
sys.setrecursionlimit(20000)
builtins.print = None
1`},
	{row: "23b", name: "changes the standard library", lang: python, code: `
import os, sys, zipfile
done = []
for p in sys.path + ["/lib/python3.14/site-packages"]:
    try:
        open(os.path.join(p, "json.py"), "w").write("evil = 1"); done.append(p)
    except OSError: pass
for p in ("/lib/python314.zip", "/lib/python3.14"):
    try:
        open(p, "r+b").write(b"evil"); done.append(p)
    except OSError: pass
done`},
	{row: "24", name: "localStorage and caches", lang: javascript, code: "globalThis.evil = Array.prototype.evil = 1; Deno.writeTextFileSync('evil', 'x'); try { Deno.env.set('EVIL', '1') } catch {}\ntry { localStorage.evil = 1 } catch {}\ntry { await caches.open('evil') } catch {}\ntry { sessionStorage.evil = 1 } catch {}\n1", want: succeeded},
	{row: "24b", name: "Deno.openKv", lang: javascript, code: "const kv = await Deno.openKv(); await kv.set(['evil'], 1)", want: refused},
	{row: "24c", name: "TypeScript in a blob", lang: typescript, code: "await import(URL.createObjectURL(new Blob(['let a: number = 1'], { type: 'text/typescript' }))); 1", want: succeeded},
}
