// The main module of every run. It waits for its orders, runs the program and
// reports how that went.
//
// It imports the program by a specifier that Deno cannot know beforehand: only
// then is each import of the program checked against the permissions. Imports
// of a main module itself are not.
//
// It is told on stdin what it needs before there is a program. Then it says
// that it is ready with one byte on stdout and waits, maybe for minutes, until
// its orders come on stdin; what follows them is what the program reads as its
// own stdin. Both are JSON, after its length as eight hexadecimal digits. It
// reports by lines of JSON in a pipe that it opens while it still may write
// there.
//
// The program runs in the same realm, so what is used after its start is
// taken out of its reach before.

const { stdin, exit, inspect, memoryUsage } = Deno;
const { parse, stringify } = JSON;
const { getPrototypeOf, getOwnPropertyDescriptor, getOwnPropertySymbols, defineProperty, keys, is } = Object;
const { isArray } = Array;
const isFinite = Number.isFinite;
const wait = Atomics.wait;
const internals = Deno[Deno.internal] ?? {};
const exitCode = getOwnPropertyDescriptor(Deno, "exitCode").get;
const encoder = new TextEncoder();
const encode = encoder.encode.bind(encoder);
const self = import.meta.url;
const shownSelf = decodeURIComponent(self); // in most frames, that is how Deno writes it
const resultName = "coderunner:result";

function read(n) {
  const bytes = new Uint8Array(n);
  for (let at = 0; at < n;) {
    const k = stdin.readSync(bytes.subarray(at));
    if (k === null) exit(0); // whoever started us is gone
    at += k;
  }
  return new TextDecoder().decode(bytes);
}

function readFrame() {
  return parse(read(parseInt(read(8), 16)));
}

const place = readFrame();
const out = Deno.openSync(place.report, { write: true });
const write = out.writeSync.bind(out);
if (place.revoke) Deno.permissions.revokeSync({ name: "write", path: place.report });

// Variables that are for Deno and not for the program.
for (const name of place.hide) {
  try {
    Deno.env.delete(name);
  } catch {
    // not allowed to, so the program cannot see it either
  }
}

Deno.stdout.writeSync(new Uint8Array([6]));
const orders = readFrame();

defineProperty(Deno, "mainModule", { value: orders.main, configurable: true, enumerable: true });
if (orders.args) defineProperty(Deno, "args", { value: orders.args, writable: true, configurable: true, enumerable: true });
if (orders.argv) process.argv.splice(1, process.argv.length, orders.path, ...Deno.args);

function report(record) {
  let bytes = encode(stringify(record) + "\n");
  while (bytes.length > 0) bytes = bytes.subarray(write(bytes));
}

// describe turns what was thrown into something to report.
function describe(kind, thrown) {
  try {
    if (!(thrown instanceof Error)) {
      const what = typeof thrown === "object" && thrown !== null ? thrown.constructor?.name : typeof thrown;
      return { kind, type: String(what), message: clip(inspect(thrown)), stack: "" };
    }
    const own = thrown.constructor?.name;
    const type = thrown.name === "Error" && own ? own : thrown.name;
    const message = String(thrown.message);
    let stack = String(thrown.stack);
    const frames = stack.slice(stack.indexOf(message) + message.length);
    // The graph could not be loaded: nothing of the program has run.
    const first = frames.trimStart().split("\n", 1)[0];
    const load = first.includes(self) || first.includes(shownSelf);
    for (let e = thrown.cause, i = 0; e instanceof Error && i < 5; e = e.cause, i++) {
      stack += "\nCaused by " + e.stack;
    }
    return { kind, type: String(type), message: clip(message), stack: clip(stack), code: String(thrown.code ?? ""), load };
  } catch {
    return { kind, type: "Error", message: "(the error cannot be shown)", stack: "" };
  }
}

function clip(text) {
  return text.length > 20000 ? text.slice(0, 20000) + "…" : text;
}

// plain reports whether a value is the same after a journey through JSON.
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
    ok = (proto === null || proto === Object.prototype) && typeof value.toJSON !== "function" &&
      getOwnPropertySymbols(value).length === 0;
  }
  for (let i = 0; ok && i < names.length; i++) ok = plain(value[names[i]], room);
  room.depth++;
  return ok;
}

// give reports the value of the last expression. A promise stands for what it
// becomes; it is not handled here, so a rejection stays unhandled.
function give(value) {
  if (value === undefined) return report({ kind: "result" });
  const record = { kind: "result", text: "" };
  try {
    record.text = inspect(value, { colors: false });
    record.trace = value instanceof Error;
    if (plain(value, { nodes: 100000, depth: 100 })) {
      const json = stringify(value);
      if (json.length <= orders.room) record.json = json;
    }
  } catch {
    record.text ||= "(the value cannot be shown)";
  }
  if (record.text.length > orders.room) record.text = record.text.slice(0, orders.room) + "…";
  report(record);
  if (value instanceof Promise) value.then(give);
}

// The last thing that happens in a program is the event "unload", also if it
// exits, and then Node's "exit". If nobody else waits for them, it is over as
// soon as ours has come: the process is killed rather than left to tidy up,
// which takes longer than a small program. Whoever kills it need not be asked
// twice: it ends by itself if nobody does.
function over() {
  try {
    // Deno makes Node's part when it is first used, which takes longer than
    // all the rest; whoever listens to "exit" has used it.
    const unmade = "__nodeBootstrapArgs" in internals && internals.dispatchProcessExitEvent === undefined;
    let listeners = unmade ? 0 : process.listenerCount("exit");
    for (const symbol of getOwnPropertySymbols(globalThis)) listeners += globalThis[symbol].listeners?.unload?.length ?? 0;
    if (listeners !== 1) return;
    report({ kind: "exit", exit: exitCode() });
    wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
  } catch {
    // then it ends in the ordinary way
  }
}
if (orders.tell) addEventListener("unload", over);

addEventListener("error", (event) => report(describe("error", event.error)));
addEventListener("unhandledrejection", (event) => report(describe("error", event.reason)));

try {
  const program = await import(orders.main);
  if (resultName in program) give(program[resultName]);
  if (orders.memory) report({ kind: "done", memory: memoryUsage().rss });
} catch (thrown) {
  report(describe("thrown", thrown));
  exit(1);
}
