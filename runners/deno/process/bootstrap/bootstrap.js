// What every process runs, by load.js. It waits for its orders, runs the program and
// reports its end.
//
// It imports the program by a specifier that Deno cannot know beforehand: only
// then is each import of the program checked against the permissions. Imports
// of a main module itself are not.
//
// It reads its configuration from stdin, makes the realm what programs expect, reports
// with one byte on stdout that it is ready, and waits, maybe for minutes, for its orders on stdin. What follows
// them is the program's own stdin. Configuration and orders are JSON, after its
// length as eight hexadecimal digits.
//
// It reports in a pipe that it opens while it still may write there: a letter
// for the kind of record, and its fields in UTF-8, each after its length in
// four bytes, little-endian (report.go).
//
// The program runs in the same realm. So the code that runs after its start uses
// functions saved before, and looks up no property of a prototype except those of
// the program's own objects. That keeps honest programs that change built-in
// objects from spoiling the report. It is not a security boundary: the program may
// find the pipe and write to it, so the host treats a report as the program's
// claim.

const { stdin, exit, inspect, permissions, readTextFileSync: readText, readDirSync: readDir } = Deno;
const { parse, stringify } = JSON;
const { getPrototypeOf, getOwnPropertyDescriptor, getOwnPropertyDescriptors, getOwnPropertySymbols, defineProperty, defineProperties, keys, is, prototype: objectPrototype } = Object;
const { isArray } = Array;
const listen = addEventListener; // a test's page has another
const { isFinite } = Number;
const { min } = Math;
const { now } = performance;
const { wait } = Atomics;
const internals = Deno[Deno.internal] ?? {};
const exitCode = getOwnPropertyDescriptor(Deno, "exitCode").get;
const { apply } = Reflect, made = { __proto__: null }; // functions that were compiled late
const lateText = (begin, end) => `(${slice(late, begin, end)})//# sourceURL=${self}`;
const resultName = "coderunner:result", resultProperty = Symbol.for(resultName), turned = Symbol.for("coderunner:turned");
const NativeArray = Array, NativeError = Error, NativePromise = Promise, NativeSyntaxError = SyntaxError, NativeString = String, NativeUint8Array = Uint8Array;
const { captureStackTrace } = NativeError;

// method returns a method as a function, with the object as its first argument.
const method = Function.prototype.bind.bind(Function.prototype.call);
const bind = method(Function.prototype.bind);
const slice = method(String.prototype.slice);
const indexOf = method(String.prototype.indexOf);
const includes = method(String.prototype.includes);
const arrayIncludes = method(Array.prototype.includes);
const trimStart = method(String.prototype.trimStart);
const replace = method(String.prototype.replace);
const subarray = method(NativeUint8Array.prototype.subarray);
const set = method(NativeUint8Array.prototype.set);
const byteLength = method(getOwnPropertyDescriptor(getPrototypeOf(NativeUint8Array.prototype), "byteLength").get);
const then = method(Promise.prototype.then);
const errorText = method(NativeError.prototype.toString);
const tagOf = method(objectPrototype.toString);
const { encode, decode } = internals.core; // the classes for it would have to be loaded

function read(from, n) {
  const bytes = new NativeUint8Array(n);
  for (let at = 0; at < n;) {
    const k = from.readSync(subarray(bytes, at));
    if (k === null) exit(0); // the host is gone
    at += k;
  }
  return decode(bytes);
}

function readFrame(from) {
  return parse(read(from, parseInt(read(from, 8), 16)));
}

let orders; // of the program
let beginNode; // makes Node's process in a fork whose zygote has loaded Node's part
let unread; // the error about a script that cannot be read
let startTimer; // a session's setTimeout, which its programs may replace; Deno takes 8 ms for the first use of it
let readOrders = () => orders = readFrame(stdin); // waits for them
const place = readFrame(stdin);
const out = Deno.openSync(place.report, { write: true });
const writeOut = out.writeSync.bind(out);
const writeStdout = Deno.stdout.writeSync.bind(Deno.stdout);
if (place.revoke) Deno.permissions.revokeSync({ name: "write", path: place.report });

// Variables for Deno only, not for the program.
for (const name of place.hide) {
  try {
    Deno.env.delete(name);
  } catch {
    // not allowed to, so the program cannot see it either
  }
}

defineProperty(Deno.errors.NotCapable.prototype, "code", { __proto__: null, value: "EACCES", writable: true, configurable: true }); // Node's has one

defineTests();
defineDisplay();
const here = machine(place, () => orders);
const patched = { __proto__: null }; // the modules of Node that have been patched, by their names
patchRealm();
const beginFork = place.forked && prepareFork();
if (place.session) await startSession();
await patchModules(place.modules ?? []);
for (const name of place.packages ?? []) await standIns[name]();
Deno.stdout.writeSync(new Uint8Array([6]));
if (place.early) await loadEarly();
addEventListener("error", (event) => failed(event, event.error));
addEventListener("unhandledrejection", (event) => failed(event, event.reason));
if (place.tell) hearEnd();
for (readOrders(); orders.warm; readOrders()) await warmUp();
await prepareCall();

// prepareCall has the program find its name, its arguments and the modules of Node that it
// imports as it would in Node.
async function prepareCall() {
  orders.path = decodeURIComponent(slice(orders.main, "file://".length));
  defineProperty(Deno, "mainModule", { value: orders.main, configurable: true, enumerable: true });
  if (orders.args || place.session) here.answer(Deno, "args", orders.args ?? []);
  if (orders.seed) beginFork(orders.seed);
  await patchModules(orders.modules ?? []);
  if (orders.aliases) await nameRequired();
  if (orders.tools?.module) await offerTools();
  if (orders.decorated) leaveSealed();
  if (hasNode()) here.named(process);
}

// warmUp has Deno load what it loads when something first uses it, for all forks to come: Node's
// part takes longer than most programs. What Node knows of a process, as its number, is left
// to each fork. It reports the end by the byte that reports a process ready.
async function warmUp() {
  await import("data:text/javascript,console.log()"); // to a pipe that nobody shows
  await new NativePromise((ok) => setTimeout(ok));
  const args = internals.__nodeBootstrapArgs;
  if (args) {
    internals.__nodeBootstrapArgs = undefined; // then Node's process is not made yet
    for (const name of ["url", "fs", "fs/promises", "process", "buffer", "events", "path", "util", "os", "module", "stream", "assert", "crypto", "timers", "timers/promises"]) {
      if (patches[name]) await patchModules([name]); // before it exports what is there
      await import("node:" + name);
    }
    internals.__nodeBootstrapArgs = args;
    delete globalThis.nodeBootstrap; // as Deno does
    beginNode = () => internals.__bootstrapNodeProcess(args.argv0, args.denoArgs, args.denoVersion, args.nodeDebug ?? "", false, args.runningOnMainThread);
  }
  await (await fetch("data:,")).text();
  await crypto.subtle.digest("SHA-256", new NativeUint8Array(1));
  await Deno.readTextFile("/").catch(() => {});
  (1.5).toLocaleString();
  structuredClone({});
  for (let i = 0; i < 40; i++) new NativeArray(4096).fill(i); // so much that V8 moves what is in use out of the young generation
  Deno.stdout.writeSync(new NativeUint8Array([6]));
}

// prepareFork returns a function that has a fork of this process begin: else its random numbers
// and its clock would go on from those of the process. The numbers are xoshiro128**'s, of Blackman
// and Vigna.
function prepareFork() {
  const { imul } = Math;
  let a, b, c, d;
  function draw() {
    const five = imul(b, 5);
    const drawn = imul(five << 7 | five >>> 25, 9);
    const shifted = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= shifted;
    d = d << 11 | d >>> 21;
    return drawn;
  }
  replaceMethods(Math, { random: () => ((draw() >>> 5) * 67108864 + (draw() >>> 6)) / 9007199254740992 });

  let begun;
  const prototype = Performance.prototype, origin = getOwnPropertyDescriptor(prototype, "timeOrigin");
  const { mark, measure } = prototype;
  const passed = () => now.call(performance) - begun;
  defineProperty(prototype, "timeOrigin", { ...origin, get() {
    return origin.get.call(this) + begun;
  } });
  replaceMethods(prototype, {
    now() {
      return now.call(this) - begun;
    },
    mark(name, options) {
      return arguments.length === 0 ? mark.call(this) : mark.call(this, name, { startTime: passed(), ...options });
    },
    measure(name, start, end) {
      if (arguments.length === 0 || end !== undefined) return measure.apply(this, arguments);
      const options = typeof start === "object" ? { ...start } : start === undefined ? {} : { start };
      if (!("end" in options || "start" in options && "duration" in options)) options.end = passed();
      return measure.call(this, name, options);
    },
  });
  return (seed) => {
    [a, b, c, d] = seed;
    begun = now.call(performance);
    beginNode?.();
  };
}

// replaceMethods replaces methods of an object by others of the same names.
function replaceMethods(object, methods) {
  for (const name in methods) defineProperty(object, name, { ...getOwnPropertyDescriptor(object, name), value: methods[name] });
}

// hasNode reports whether Deno has made Node's part, which it does when something first uses
// it and which takes longer than many programs.
function hasNode() {
  return !("__nodeBootstrapArgs" in internals) || internals.dispatchProcessExitEvent !== undefined;
}

function writeAll(write, bytes) {
  while (byteLength(bytes) > 0) bytes = subarray(bytes, write(bytes));
}

// report writes a record, at once: each write wakes the reader.
function report(kind, ...fields) {
  let size = 1;
  for (let i = 0; i < fields.length; i++) {
    fields[i] = encode(fields[i]);
    size += 4 + byteLength(fields[i]);
  }
  const record = new NativeUint8Array(size);
  set(record, encode(kind), 0);
  for (let i = 0, at = 1; i < fields.length; i++) {
    const n = byteLength(fields[i]);
    for (let k = 0; k < 4; k++) record[at++] = n >>> (8 * k);
    set(record, fields[i], at);
    at += n;
  }
  writeAll(writeOut, record);
}

// plain reports whether a value survives a round trip through JSON.
function plain(value, room) {
  if (--room.nodes < 0) return false;
  switch (typeof value) {
    case "string":
    case "boolean":
      return true;
    case "number":
      return isFinite(value) && !is(value, -0);
    case "object":
      break;
    default:
      return false;
  }
  if (value === null) return true;
  if (--room.depth < 0) return false;
  let ok = true;
  const names = keys(value);
  if (isArray(value)) {
    ok = names.length === value.length;
  } else {
    const proto = getPrototypeOf(value);
    ok = (proto === null || proto === objectPrototype) && typeof value.toJSON !== "function" &&
      getOwnPropertySymbols(value).length === 0;
  }
  for (let i = 0; ok && i < names.length; i++) ok = plain(value[names[i]], room);
  room.depth++;
  return ok;
}

// started reports whether a value is not what a program found out, but what it set
// going: a timer, a server, a stream or another of Node's emitters, a subscription.
function started(value) {
  if (typeof value !== "object" || value === null) return false;
  return "_events" in value || "oncomplete" in value || typeof value.unsubscribe === "function" || typeof value.ref === "function" && typeof value.unref === "function";
}

// isMachinery reports whether a value is an object of a library's class, such as the
// compiler that webpack(options, callback) returns. All that is in it fills pages.
function isMachinery(value) {
  const proto = typeof value === "object" && value !== null && getPrototypeOf(value);
  return proto && proto !== objectPrototype && tagOf(value) === "[object Object]" && !(Symbol.for("Deno.customInspect") in value) && !(Symbol.for("nodejs.util.inspect.custom") in value);
}

// give shows the value of the last expression, or reports it, of a promise what it
// resolves to. A rejection stays unhandled.
function give(value) {
  if (value === undefined) return report("r", "", "", "");
  try {
    const shown = isShown(value) && show(value);
    if (shown instanceof NativePromise) return then(shown, (ok) => ok || giveText(value), () => giveText(value));
    if (shown) return;
  } catch {
    // a property that throws
  }
  giveText(value);
}

function giveText(value) {
  let shown = "", json = "", trace = "";
  try {
    if (started(value)) return report("r", "", "", "");
    shown = inspect(value, { __proto__: null, colors: false });
    if (shown.length > 3000 && isMachinery(value)) shown = slice(inspect([value], { __proto__: null, colors: false, depth: 0 }), 2, -2); // [Compiler]
    trace = value instanceof NativeError ? "1" : "";
    if (trace) shown = topLevel(shown);
    if (plain(value, { __proto__: null, nodes: 100000, depth: 100 })) {
      const all = stringify(value);
      if (all.length <= orders.room) json = all;
    }
  } catch {
    shown ||= "(the value cannot be shown)";
  }
  report("r", text(shown, orders.room), json, trace);
  if (value instanceof NativePromise) then(value, give);
}

// The last events of a program are "unload", also if it exits, and then Node's
// "exit". If the program has no listeners for them, it is over when the first
// begins: the host kills the process, since Deno's cleanup takes longer than a
// small program. Otherwise the process ends by itself.
function over() {
  try {
    let listeners = hasNode() ? process.listenerCount("exit") : 0;
    const symbols = getOwnPropertySymbols(globalThis);
    for (let i = 0; i < symbols.length; i++) listeners += globalThis[symbols[i]]?.listeners?.unload?.length ?? 0;
    if (listeners > 0 || orders.load) return;
    reportServers();
    reportQuestion();
    report("x", NativeString(exitCode()));
    wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
  } catch {
    // then it ends in the ordinary way
  }
}

// hearEnd has over called when Deno notes that it dispatches "unload". For a listener it
// would compile all that dispatches events, which takes longer than the rest of the end.
function hearEnd() {
  let begun = false;
  defineProperty(globalThis, Symbol.for("Deno.isUnloadDispatched"), { __proto__: null, configurable: true, get: () => begun, set(value) {
    begun = value;
    over();
  } });
}

function failed(event, thrown) {
  if (testFailed(event, thrown)) return;
  place.session ? failedLater(event, thrown) : blame("e", thrown, "", event.type === "unhandledrejection");
}

// load loads a program as a run would and evaluates nothing of it: the first
// module that is evaluated throws.
function load(url) {
  if (orders.kind === "script") return readScript(), NativePromise.reject(0);
  const source = `import "data:text/javascript,throw 0";import ${stringify(url)}`;
  return import("data:text/javascript," + encodeURIComponent(source));
}

// readScript returns the program as a function, in which it is what Node runs: not strict,
// with a this, and with names that nobody has declared. Errors of its text have no frames.
function readScript() {
  const text = replace(orders.code ?? "", /^#!/, "//"), { core } = internals;
  const [program, bad] = core.compileFunction(text, orders.main, [], ["exports", "require", "module", "__filename", "__dirname", "__coderunner_meta__"]);
  if (bad) throw unread = bad.thrown;
  return program;
}

// runScript runs such a program and returns what it exports as a module would.
async function runScript() {
  const program = readScript(), module = { exports: {} }, meta = { url: orders.main, resolve: ownMeta.resolve };
  const require = arrayIncludes(orders.modules ?? [], "module") ? (await import("node:module")).default.createRequire(orders.main) : undefined;
  const directory = slice(orders.path, 0, orders.path.lastIndexOf("/"));
  delete globalThis.name; // Deno has it as browsers do, Node has not: there a name nobody declared throws
  const run = bind(program, module.exports, module.exports, require, module, orders.path, directory, meta);
  if (orders.turn) { // the reaction of a promise could not have others run within it
    let returned;
    const runOnce = Symbol.for("coderunner:run");
    defineProperty(globalThis, runOnce, { configurable: true, value() {
      delete globalThis[runOnce];
      returned = run();
      globalThis[turned]();
    } });
    await import(`data:text/javascript,globalThis[Symbol.for("coderunner:run")]()`);
    return { default: returned };
  }
  // As the reaction of a promise that nothing awaits it has no frames of ours below its own.
  return new NativePromise((ok, bad) => {
    then(then(NativePromise.resolve(), run), (returned) => ok({ default: returned }), (thrown) => bad(thrown));
  });
}

// loadFirst loads modules in turns of their own. Deno's require() of an ES module that it has
// not read before waits until other threads have, and forever if its turn has waited for
// them too often: Tokio allows 128 times in each, of which loading may have used all.
async function loadFirst(modules) {
  for (const url of modules) await then(load(url), undefined, () => {}); // an error comes again
  await new NativePromise((ok) => (startTimer ?? setTimeout)(ok));
}

// prepareTurn has what the program's first turn leaves run in Node's order: what was given
// to process.nextTick before promises, and in a module after them; then timers that are
// due, then immediates, then files that were read. Deno runs timers that are due before
// the ticks of a module that was imported dynamically, and immediates before the timers.
// A program calls turned at its end, unless it awaits, so has ended its turn before.
async function prepareTurn() {
  const { core } = internals, { nextTick } = process;
  const goOn = (next) => {
    core.runNextTicks();
    try {
      next();
      core.runNextTicks();
    } catch (thrown) {
      core.__reportException(thrown);
    }
  };
  const fs = patched.fs && (await import("node:fs")).default, readFile = fs?.readFile;
  if (fs) fs.readFile = (...args) => {
    const done = args.at(-1);
    if (typeof done !== "function") return readFile(...args);
    args[args.length - 1] = (...read) => (done(...read), goOn(core.runImmediates));
    setImmediate(() => readFile(...args));
  };
  if (orders.kind === "module") process.nextTick = (...args) => queueMicrotask(() => {
    process.nextTick = nextTick;
    nextTick(...args);
  });
  defineProperty(globalThis, turned, { configurable: true, value() {
    delete globalThis[turned];
    goOn(() => {
      if (fs) fs.readFile = readFile;
      core.__processTimers(core.createTimer(() => {}, 1, undefined, false, false)._idleStart + 1);
    });
  } });
}

if (place.session) serveSession();
else try {
  const { kind, turn, main } = orders;
  if (place.cold && !orders.load) await loadFirst(kind === "script" ? place.cold : [...place.cold, main]);
  if (turn && !orders.load) await prepareTurn();
  const program = await (orders.load ? load(main) : kind === "script" ? runScript() : import(main));
  const exported = program.default;
  if (resultName in program) give(program[resultName]);
  else if (typeof exported === "object" && exported !== null && resultProperty in exported) give(exported[resultProperty]);
} catch (thrown) {
  if (orders.load && thrown === 0) exit(0);
  thrown = await asThrown(thrown);
  if (!heard(thrown)) {
    blame("t", thrown, thrown === unread ? "1" : "");
    exitByError();
    exit(1);
  }
}
if (!place.session && tests.length > 0) then(runTests(), (ok) => ok || exit(1));
