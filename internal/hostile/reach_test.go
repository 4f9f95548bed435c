//go:build linux

package hostile

// Host files: 27 to 29.
var files = []attack{
	{row: "27", name: "static text import", lang: javascript, code: `import t from "SECRETFILE.txt" with { type: "text" }; console.log(t)`, want: refused},
	{row: "27b", name: "static bytes import", lang: javascript, code: `import t from "SECRETFILE.txt" with { type: "bytes" }; console.log(new TextDecoder().decode(t))`, want: refused},
	{row: "27c", name: "static JSON import", lang: javascript, code: `import t from "SECRETFILE.json" with { type: "json" }; console.log(t)`, want: refused},
	{row: "27d", name: "static module import", lang: typescript, code: `import t from "SECRETFILE.ts"; console.log(t)`, want: refused},
	{row: "27e", name: "import for its syntax error", lang: typescript, code: `import "SECRETFILE.bad.ts"`, want: refused},
	{row: "27f", name: "file URL", lang: typescript, code: `export * from "file://SECRETFILE.ts"`, want: refused},
	{row: "27g", name: "percent-encoded file URL", lang: typescript, code: `import t from "file://%2fSECRETFILE.txt" with { type: "text" }; console.log(t)`, want: refused},
	{row: "27h", name: "upward path", lang: javascript, code: `import t from "../../../../../../../../../..SECRETFILE.txt" with { type: "text" }; console.log(t)`, want: refused},
	{row: "27i", name: "dynamic import", lang: javascript, code: `console.log((await import("SECRETFILE.ts")).default)`, want: refused},
	{row: "27j", name: "dynamic text import", lang: javascript, code: `console.log((await import("SECRETFILE.txt", { with: { type: "text" } })).default)`, want: refused},
	{row: "27k", name: "import through a link", lang: javascript, code: `Deno.symlinkSync("SECRETFILE.ts", "l.ts"); console.log((await import(Deno.cwd() + "/l.ts")).default)`, want: refused},
	{row: "27l", name: "link made by Node", lang: javascript, code: `import fs from "node:fs"; fs.symlinkSync("SECRETFILE.txt", "l.txt"); console.log(fs.readFileSync("l.txt", "utf8"))`, want: refused},
	{row: "27m", name: "import in a blob", lang: javascript, code: `await import(URL.createObjectURL(new Blob(['import t from "file://SECRETFILE.txt" with { type: "text" }; console.log(t)'], { type: "text/javascript" })))`, want: refused},
	{row: "27n", name: "import in a data URL", lang: javascript, code: `await import('data:text/javascript,import t from "file://SECRETFILE.txt" with { type: "text" }; console.log(t)')`, want: refused},
	{row: "27o", name: "import in another file", lang: javascript, code: `import "./lib.ts"`, files: []file{{"lib.ts", `import t from "SECRETFILE.txt" with { type: "text" }; console.log(t)`}}, want: refused},
	{row: "27p", name: "require", lang: javascript, code: `import { createRequire } from "node:module"; console.log(createRequire(import.meta.url)("SECRETFILE.json"))`, want: []string{"failed", "not_installed"}},
	{row: "27q", name: "worker from a file", lang: javascript, code: `const w = new Worker("file://SECRETFILE.ts", { type: "module" }); await new Promise((f) => { w.onerror = f; w.onmessage = f; setTimeout(f, 20000) })`, timeout: 30, roomy: true, want: refused, has: "Requires read access"},
	{row: "27r", name: "source map", lang: javascript, code: "//# sourceMappingURL=file://SECRETFILE.json\nthrow new Error('x')", want: refused},
	{row: "27s", name: "import map in a file", lang: javascript, code: `import t from "secret"; console.log(t)`, keeps: true, files: []file{{"deno.json", `{"imports":{"secret":"SECRETFILE.ts"}}`}}, want: []string{"failed", "not_installed"}},
	{row: "27t", name: "npm: package of the disk", lang: javascript, code: `import t from "npm:x@file:SECRETFILE.ts"; console.log(t)`, keeps: true, want: []string{"failed", "not_installed"}},
	{row: "27u", name: "wasm import", lang: javascript, code: `import * as t from "SECRETFILE.wasm"; console.log(t)`, want: refused},
	{row: "27v", name: "deferred import", lang: typescript, code: `import defer * as t from "SECRETFILE.ts"; console.log(t.default)`, want: refused},
	{row: "27w", name: "fetch of a file", lang: javascript, code: `console.log(await (await fetch("file://SECRETFILE.txt")).text())`, want: refused},
	{row: "27x", name: "static import in a worker's blob", lang: javascript, timeout: 30, roomy: true, code: `const w = new Worker(URL.createObjectURL(new Blob(['import t from "file://SECRETFILE.txt" with { type: "text" }; postMessage(t)'], { type: "text/javascript" })), { type: "module" }); await new Promise((f) => { w.onerror = f; w.onmessage = (e) => { console.log("reached", e.data); f() } })`, want: refused, not: "reached"},
	{row: "27y", name: "static import in a worker's data URL", lang: javascript, timeout: 30, roomy: true, code: `const w = new Worker('data:text/javascript,import t from "file://SECRETFILE.ts"; postMessage(t)', { type: "module" }); await new Promise((f) => { w.onerror = f; w.onmessage = (e) => { console.log("reached", e.data); f() } })`, want: refused, not: "reached"},
	{row: "27z", name: "Node's ways to load", lang: javascript, timeout: 30, code: `
import module from "node:module"; import { pathToFileURL } from "node:url"; import fs from "node:fs"; import vm from "node:vm";
const r = module.createRequire(import.meta.url);
for (const f of [() => r("SECRETFILE.ts"), () => r("SECRETFILE.txt"), () => r.resolve("SECRETFILE.json") && module._load("SECRETFILE.json"), () => new module("x").load("SECRETFILE.json"),
  () => module._extensions[".json"]({}, "SECRETFILE.json"), () => module.register(pathToFileURL("SECRETFILE.ts")), () => process.getBuiltinModule("fs").readFileSync("SECRETFILE"),
  () => module.findPackageJSON?.("SECRETFILE.ts") && fs.openAsBlob("SECRETFILE"), () => vm.runInThisContext("import('file://SECRETFILE.ts')", { importModuleDynamically: vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER }),
  () => process.loadEnvFile("SECRETFILE"), () => fs.cpSync("SECRETFILE", "copy"), () => fs.linkSync("SECRETFILE", "hard"), () => fs.renameSync("SECRETFILE", "moved")]) {
  try { const x = await f(); console.log("reached", x) } catch (e) { console.log("no") }
}`, want: succeeded},
	{row: "28", name: "open", lang: python, code: "open('SECRETFILE.txt').read()", want: refused, has: "FileNotFoundError"},
	{row: "28b", name: "upward path", lang: python, code: "open('../../../../../../../..SECRETFILE.txt').read()", want: refused},
	{row: "28c", name: "list the root", lang: python, code: "import os\nr = os.listdir('/')\nassert 'root' not in r and 'boot' not in r, r\nopen('/etc/passwd').read()", want: refused, has: "FileNotFoundError"},
	{row: "28d", name: "links", lang: python, code: "import os\nos.symlink('SECRETFILE.txt', 'l')\nopen('l').read()", want: refused},
	{row: "28e", name: "/proc", lang: python, code: "open('/proc/self/environ').read()", want: refused},
	{row: "28f", name: "NUL in a path", lang: python, code: "open('a\\0SECRETFILE.txt')", want: refused},
	{row: "28g", name: "long paths and loops", lang: python, code: `
import os
os.symlink("loop", "loop")
for p in ("loop", "x" * 100000, "/".join(["d"] * 50000), "a/" * 3000 + "..", "/dev/fd/99", "/dev/../../etc/passwd"):
    try: open(p); print("opened", p[:20])
    except (OSError, ValueError) as e: pass
"done"`, want: succeeded, not: "opened"},
	{row: "28h", name: "the folder goes away", lang: python, code: "import os, shutil\nd = os.getcwd()\nos.chdir('/')\nshutil.rmtree(d)\nos.path.exists(d)"},
	{row: "29", name: "/proc and devices", lang: javascript, code: "for (const p of ['/proc/self/environ', '/proc/self/maps', '/dev/tcp', '/dev/mem', '/etc/shadow', '/proc/1/environ']) { try { console.log('read', Deno.readTextFileSync(p).length) } catch (e) { console.log(e.name) } }", want: succeeded, not: "read "},
	{row: "29b", name: "FIFO instead of a file", lang: javascript, code: "import fs from 'node:fs'; const c = new Deno.Command('mkfifo', { args: ['x'] }); await c.output()", want: refused},
	{row: "29c", name: "closed folders", lang: javascript, code: "Deno.mkdirSync('a/b', { recursive: true }); Deno.writeTextFileSync('a/b/c', 'x'); Deno.chmodSync('a/b', 0); Deno.chmodSync('a', 0); 1", want: succeeded},
	{row: "29d", name: "writes elsewhere", lang: javascript, code: "for (const p of ['/tmp/evil', '../report', '../../bootstrap.js', '../../lock', '/root/evil', Deno.execPath?.()]) { try { Deno.writeTextFileSync(p, ''); console.log('wrote', p) } catch (e) { console.log(e.name) } }", not: "wrote"},
	{row: "29e", name: "many files", lang: javascript, timeout: 300, code: "for (let i = 0; ; i++) Deno.writeTextFileSync('f' + i, '')", want: flooded, has: "20000 files"},
	{row: "29f", name: "large files", lang: javascript, timeout: 300, code: "const b = new Uint8Array(1 << 24); const f = []; for (let i = 0; ; i++) { f.push(Deno.openSync('f' + i, { create: true, write: true })); for (let k = 0; k < 32; k++) f[i].writeSync(b) }", want: flooded, has: "1024 MiB||No space left"},
	{row: "29g", name: "makeTempFile", lang: javascript, code: "Deno.makeTempFileSync({ dir: '/var/tmp' })", want: refused},
}

// Environment and secrets: 30 to 32.
var environment = []attack{
	{row: "30", name: "environment", lang: javascript, code: "JSON.stringify(Deno.env.toObject()) + JSON.stringify(process.env) + Deno.env.get('HOSTILE_SECRET')", want: succeeded, not: "CODE_RUNNER"},
	{row: "30b", name: "environment", lang: python, code: "import os\nstr(dict(os.environ)) + str(os.environ.get('HOSTILE_SECRET'))", want: succeeded, not: "CODE_RUNNER"},
	{row: "30c", name: "environment by C", lang: python, code: "import ctypes\nf = ctypes.CDLL(None).getenv\nf.restype = ctypes.c_char_p\nstr(f(b'HOSTILE_SECRET')) + str(f(b'PATH'))", not: "/usr/bin"},
	{row: "32", name: "the host", lang: javascript, code: "const o = {}; for (const k of ['hostname', 'osRelease', 'networkInterfaces', 'uid', 'gid', 'systemMemoryInfo', 'loadavg']) { try { o[k] = Deno[k]() } catch (e) { o[k] = e.name } }; JSON.stringify(o)", want: succeeded, has: "NotCapable"},
	{row: "32b", name: "the host", lang: python, code: "import os, platform, socket, getpass\nprint(platform.uname(), os.getcwd())\nprint(socket.gethostname())", not: "/root"},
}

// Network: 33 to 36.
var network = []attack{
	{row: "33", name: "loopback by many names", lang: javascript, code: `
const port = "LISTENER".split(":")[1];
for (const h of ["127.0.0.1", "[::1]", "0.0.0.0", "localhost", "2130706433", "0x7f.1", "127.1", "[::ffff:127.0.0.1]", "169.254.169.254"]) {
  try { await fetch("http://" + h + ":" + port + "/"); console.log("reached", h) } catch (e) { console.log(e.name) }
}`, want: succeeded, not: "reached"},
	{row: "33b", name: "loopback by many names", lang: python, code: `
import socket, urllib.request
port = "LISTENER".split(":")[1]
for h in ["127.0.0.1", "[::1]", "0.0.0.0", "localhost", "2130706433", "0x7f.1", "127.1"]:
    try: urllib.request.urlopen("http://" + h + ":" + port + "/", timeout=1); print("reached", h)
    except (OSError, ValueError) as e: pass
    try: socket.create_connection((h.strip("[]"), int(port)), 1).send(b"x"); print("reached", h)
    except (OSError, ValueError) as e: pass
"done"`, want: succeeded, not: "reached"},
	{row: "34", name: "sockets of every kind", lang: javascript, code: `
import net from "node:net"; import dgram from "node:dgram"; import http2 from "node:http2";
const [host, port] = "LISTENER".split(":");
const tries = {
  connect: () => Deno.connect({ hostname: host, port: +port }),
  tls: () => Deno.connectTls({ hostname: host, port: +port }),
  ws: () => new Promise((f, r) => { const w = new WebSocket("ws://LISTENER/"); w.onopen = f; w.onerror = r }),
  net: () => new Promise((f, r) => net.connect(+port, host, f).on("error", r)),
  udp: () => new Promise((f, r) => dgram.createSocket("udp4").send("x", +port, host, (e) => e ? r(e) : f())),
  http2: () => new Promise((f, r) => http2.connect("http://LISTENER").on("error", r).on("connect", f)),
  unix: () => Deno.connect({ transport: "unix", path: "/var/run/docker.sock" }),
  dns: () => Deno.resolveDns("example.com", "A"),
  events: () => new Promise((f, r) => { const s = new EventSource("http://LISTENER/"); s.onopen = f; s.onerror = r }),
};
for (const [name, f] of Object.entries(tries)) {
  try { await Promise.race([f(), new Promise((_, r) => setTimeout(() => r(new Error("late")), 300))]); console.log("reached", name) } catch (e) { console.log(name, "refused") }
}
Deno.exit(0)`, want: nil, not: "reached"},
	{row: "35", name: "import as a message", lang: javascript, code: `for (const u of ["http://LISTENER/x.js?secret", "https://LISTENER/x.js?secret", "https://esm.sh/x?secret", "jsr:@std/none@9?secret", "npm:@evil/none" + "pkg"]) { try { await import(u); console.log("reached", u) } catch (e) { console.log(e.name) } }`, keeps: true, not: "reached"},
	{row: "35b", name: "computed import", lang: javascript, code: `const p = "ht" + "tp://LISTENER/x.js"; await import(p)`, want: refused},
	{row: "36", name: "listens", lang: javascript, code: "for (const f of [() => Deno.serve({ port: 0 }, () => new Response('')), () => Deno.listen({ port: 0 }), () => Deno.listen({ transport: 'unix', path: 's' }), () => Deno.listenDatagram({ port: 0, transport: 'udp' })]) { try { f(); console.log('reached') } catch (e) { console.log(e.name) } }\nDeno.exit(0)", not: "reached"},
	{row: "36b", name: "listens", lang: python, code: "import socket\ns = socket.socket()\ntry:\n    s.bind(('127.0.0.1', 0)); s.listen(); print('reached', s.getsockname())\nexcept OSError as e: print('refused')", not: "reached"},
}

// Oddities: 63, 66 and 69.
var oddities = []attack{
	{row: "63", name: "asks for permission", lang: javascript, code: "[(await Deno.permissions.request({ name: 'read', path: '/etc' })).state, prompt('name?'), confirm('ok?')]", want: succeeded, not: "granted"},
	{row: "66", name: "empty", lang: python, code: "", want: succeeded},
	{row: "66b", name: "empty", lang: javascript, code: "", want: succeeded},
	{row: "66c", name: "byte order mark, CRLF", lang: python, code: "\ufeffx = 1\r\nif x:\r\n    x = 2\r\nx\r\n", want: succeeded, has: "2"},
	{row: "66d", name: "byte order mark, CRLF", lang: javascript, code: "\ufeffconst x = 1;\r\nx + 1\r\n", want: succeeded, has: "2"},
	{row: "66e", name: "shebang and cookie", lang: python, code: "#!/usr/bin/env python\n# -*- coding: latin-1 -*-\n'é'", want: succeeded, has: "é"},
	{row: "66f", name: "shebang", lang: javascript, code: "#!/usr/bin/env node\n'é'", want: succeeded, has: "é"},
	{row: "66g", name: "only comments", lang: python, code: "# nothing", want: succeeded},
	{row: "66h", name: "NUL in the source", lang: python, code: "1\x00", want: refused},
	{row: "66i", name: "NUL in the source", lang: javascript, code: "1\x00", want: refused},
	{row: "66j", name: "strange line ends", lang: javascript, code: "let a = 1\u2028let b = 2\u2029console.log('sum', a + b)", want: succeeded, has: "sum 3"},
	{row: "69", name: "reads address 0", lang: python, want: anyEnd, code: "import ctypes\nctypes.string_at(0, 10)\n1"},
	{row: "69b", name: "reads beyond memory", lang: python, want: anyEnd, code: "import ctypes\nctypes.string_at(0xfffffff0, 100)"},
	{row: "69c", name: "overwrites memory", lang: python, want: anyEnd, code: "import ctypes\nctypes.memset(4096, 255, 30_000_000)"},
	{row: "69d", name: "calls a wrong pointer", lang: python, want: anyEnd, code: "import ctypes\nctypes.CFUNCTYPE(ctypes.c_int)(123456)()"},
	{row: "69e", name: "calls with a wrong type", lang: python, want: anyEnd, code: "import ctypes\nf = ctypes.CDLL(None).strlen\nf.argtypes = [ctypes.c_double]\nf(1.0)"},
	{row: "69f", name: "breaks the interpreter", lang: python, want: anyEnd, code: "import ctypes\nctypes.pythonapi.Py_Finalize()\n1"},
	{row: "69g", name: "hostile code object", lang: python, want: anyEnd, code: "def f(): pass\nf.__code__ = f.__code__.replace(co_code=b'\\xff' * 100)\nf()"},
}
