// Where Deno's modules of Node do otherwise than Node's, without a word. This is part of
// bootstrap.js.

// mendServers has what a listener to a request of node:http and node:https throws end the
// program, or reach its listener to uncaughtException: Deno answers with status 400. And
// it has servers close as Node's do.
function mendServers({ Server: { prototype } }, plain) {
  const { emit, close } = prototype;
  here.answer(prototype, "emit", function (event, ...args) {
    if (event === "connection" && plain) accept(this, args[0]);
    if (event === "close" && inUse.delete(this)) return setTimeout(() => emit.call(this, event, ...args), turn), true;
    if (event !== "request") return emit.call(this, event, ...args);
    try {
      return emit.call(this, event, ...args);
    } catch (thrown) {
      queueMicrotask(() => { throw thrown });
      return true;
    }
  });
  here.answer(prototype, "close", function (...args) {
    const closed = close.apply(this, args), open = [...accepted.get(this) ?? []].filter((socket) => !socket.destroyed);
    if (open.some((socket) => socket.bytesRead > 0)) inUse.add(this);
    if (open.length > 0) setTimeout(() => open.forEach((socket) => socket.bytesRead > 0 || socket.destroy()), turn);
    return closed;
  });
}

// mendRequests has a request that is destroyed end, as at its time limit: where its
// connection was used before, Deno sends it again by another one.
function mendRequests({ ClientRequest: { prototype } }) {
  const { destroy } = prototype;
  here.answer(prototype, "destroy", function (...args) {
    this._retrying = true;
    return destroy.apply(this, args);
  });
}

const turn = 10; // ms in which what was sent on this machine has come

// The servers that were closed while they answered. Deno ends their connections with the
// answers, and calls back before the clients have these.
const inUse = new WeakSet();

// The open connections of servers. Deno's fetch opens some that it then has no use for,
// and Deno has the server wait for their first request, without end.
const accepted = new WeakMap();

function accept(server, socket) {
  if (!accepted.has(server)) accepted.set(server, new Set());
  const open = accepted.get(server).add(socket);
  socket.once("close", () => open.delete(socket));
}

// holdSignals has listeners to signals keep no program waiting whose top level awaits what
// never happens, as long as nothing sends it one: Deno gets them when the program does. Node
// ends such a program, too.
function holdSignals() {
  const { addSignalListener, removeSignalListener } = Deno, held = [];
  let sent = false; // it has sent one
  const none = () => !sent && !orders.signals;
  here.answer(Deno, "addSignalListener", (...args) => none() ? push(held, args) : addSignalListener(...args));
  here.answer(Deno, "removeSignalListener", (...args) => {
    const at = held.findIndex(([signal, listener]) => signal === args[0] && listener === args[1]);
    at < 0 ? none() || removeSignalListener(...args) : held.splice(at, 1);
  });
  here.sends = () => {
    sent = true;
    for (const args of held.splice(0)) addSignalListener(...args);
  };
  const { get } = getOwnPropertyDescriptor(Deno, "kill");
  defineProperty(Deno, "kill", { __proto__: null, configurable: true, enumerable: true, get: () => (here.sends(), get.call(Deno)), set: (kill) => here.answer(Deno, "kill", kill) });
}

// hearErrors has listeners to Node's "exit" hear of the end by an error that nothing
// handles: Deno calls none.
function hearErrors() {
  const { dispatchEvent, ErrorEvent, PromiseRejectionEvent } = globalThis;
  here.answer(globalThis, "dispatchEvent", function (event) {
    const ends = dispatchEvent.call(this, event);
    if (ends && (event instanceof ErrorEvent || event instanceof PromiseRejectionEvent && event.type === "unhandledrejection") && !hears(event)) exitByError();
    return ends;
  });
}

// hears reports whether the program listens to Node's event about an error or a rejection.
function hears({ type }) {
  return hasNode() && (process.listenerCount("uncaughtException") > 0 || type !== "error" && process.listenerCount("unhandledRejection") > 0);
}

// heard has listeners to Node's "uncaughtException" hear of what the program's top level
// throws: the program then goes on. It reports whether there are any.
function heard(thrown) {
  if (orders.load || !hasNode() || process.listenerCount("uncaughtException") === 0) return false;
  process.emit("uncaughtException", thrown, orders.kind === "module" ? "unhandledRejection" : "uncaughtException");
  return true;
}

function exitByError() {
  if (orders.load || !hasNode() || process._exiting) return;
  process._exiting = true;
  try {
    process.emit("exit", 1);
  } catch {
    // the first error is the one to show
  }
}

// leaveSealed has decorators seal their class: the compiler defines a class's metadata
// after them, which Node's compilers do only where Symbol.metadata is known.
function leaveSealed() {
  const metadata = Symbol.metadata ?? Symbol.for("Symbol.metadata"), { isExtensible } = Object;
  here.answer(Object, "defineProperty", (target, key, descriptor) =>
    key === metadata && !isExtensible(target) ? target : defineProperty(target, key, descriptor));
}

// mendFiles has functions of node:fs copy to a name without a directory, whose directory ""
// Deno refuses, and write a text at a position, which Deno ignores, and has the entries of
// directories have their path, as in Node before version 24.
function mendFiles(fs) {
  const within = (to) => typeof to !== "string" || to === "" || /\/./.test(to) ? to : to === "." || to === ".." ? Deno.cwd() + "/" + to : "./" + to;
  const mend = (object, name, args) => {
    const native = object[name];
    here.answer(object, name, defineProperties(function (...all) { return native.apply(this, args(...all)) }, getOwnPropertyDescriptors(native)));
  };
  const copy = (from, to, options, ...rest) => {
    const named = within(to);
    if (named === to || typeof options?.filter !== "function") return [from, named, options, ...rest];
    const asGiven = (name) => slice(name, 0, 2) === "./" ? slice(name, 2) : name;
    return [from, named, { ...options, filter: (from, to) => options.filter(from, asGiven(to)) }, ...rest];
  };
  for (const name of ["cp", "cpSync"]) mend(fs, name, copy);
  mend(fs.promises, "cp", copy);
  if (!("path" in fs.Dirent.prototype)) {
    defineProperty(fs.Dirent.prototype, "path", { __proto__: null, get() { return this.parentPath }, configurable: true });
  }
  mend(fs, "writeSync", (fd, data, at, encoding, ...rest) =>
    typeof data === "string" && typeof at === "number" ? [fd, Buffer.from(data, encoding), 0, undefined, at] : [fd, data, at, encoding, ...rest]);
}

// The functions of node:fs whose errors are not as Node's, and what Node's call them.
const calls = {
  __proto__: null, copyFile: "copyfile", copyFileSync: "copyfile", readdir: "scandir", readdirSync: "scandir", opendir: "opendir", unlink: "unlink", unlinkSync: "unlink",
  utimes: "utime", utimesSync: "utime", closeSync: "close", fsyncSync: "fsync", ftruncateSync: "ftruncate", writeSync: "write",
};

// codeFiles has these errors have the class, the message and the fields of Node's, and
// unlink refuse a directory: Deno removes an empty one.
function codeFiles(fs, require) {
  for (const name of keys(calls)) {
    codeCall(fs, name, require);
    if (fs.promises[name]) codeCall(fs.promises, name, require);
  }
}

// codeCall does so for one that returns, returns a promise or calls its last argument.
function codeCall(object, name, require) {
  const native = object[name], syscall = calls[name];
  const call = function (...args) {
    const named = typeof args[0] === "number" ? [] : args.slice(0, syscall === "copyfile" ? 2 : 1);
    const coded = (error, from) => {
      const code = error instanceof NativeError && systemCode(error);
      return code ? nodeError(code, syscall, named, require, from) ?? error : error;
    };
    const done = args.at(-1);
    if (syscall === "unlink" && isDirectory(args[0])) {
      const error = nodeError(Deno.build.os === "linux" ? "EISDIR" : "EPERM", syscall, named, require, call);
      if (typeof done === "function") return queueMicrotask(() => done(error));
      if (name === "unlink") return NativePromise.reject(error);
      throw error;
    }
    if (typeof done === "function") args[args.length - 1] = function (error, ...rest) { return done.call(this, coded(error), ...rest) };
    try {
      const made = native.apply(this, args);
      return made instanceof NativePromise ? then(made, undefined, (error) => { throw coded(error) }) : made;
    } catch (error) {
      throw coded(error, call);
    }
  };
  here.answer(object, name, defineProperties(call, getOwnPropertyDescriptors(native)));
}

function isDirectory(path) {
  try {
    return Deno.lstatSync(path).isDirectory;
  } catch {
    return false; // or no path
  }
}

// systemCode returns the code of an error of Deno's, if it is not about a permission.
function systemCode({ code, message }) {
  if (includes(message, "Requires ")) return;
  if (includes(message, "exists at the destination")) return "EEXIST";
  return includes(message, "the source path is neither a regular file") ? "EISDIR" : code;
}

// nodeError returns an error like Node's with a code of the system, or nothing for another.
function nodeError(code, syscall, [path, dest], require, call) {
  const errno = require("os").constants.errno[code];
  if (errno === undefined) return;
  const shown = (name) => name instanceof URL ? decodeURIComponent(name.pathname) : NativeString(name);
  const names = (path === undefined ? "" : ` '${shown(path)}'`) + (dest === undefined ? "" : ` -> '${shown(dest)}'`);
  const error = new NativeError(`${code}: ${require("util").getSystemErrorMap().get(-errno)[1]}, ${syscall}${names}`);
  if (call) captureStackTrace(error, call); // else it gets the frames of its site: Deno makes another of one without any
  Object.assign(error, { errno: -errno, code, syscall });
  if (path !== undefined) error.path = shown(path);
  if (dest !== undefined) error.dest = shown(dest);
  return error;
}

// mendFetch has errors of fetch say what was refused, and their causes have Node's codes,
// which are not shown.
function mendFetch() {
  const native = fetch;
  here.answer(globalThis, "fetch", async function fetch(...args) {
    try {
      return await native(...args);
    } catch (error) {
      codeCause(error?.cause);
      throw place.net ? error : explained(error);
    }
  });
}

function codeCause(cause) {
  const told = NativeString(cause?.message);
  for (const [part, code, syscall] of causes) if (includes(told, part)) {
    for (const [name, value] of [["code", code], ["syscall", syscall]]) {
      if (!(name in cause)) defineProperty(cause, name, { __proto__: null, value, writable: true, configurable: true });
    }
    return;
  }
}

const causes = [
  ["Connection refused", "ECONNREFUSED", "connect"], ["dns error", "ENOTFOUND", "getaddrinfo"], ["Connection reset", "ECONNRESET", "read"],
  ["Connection timed out", "ETIMEDOUT", "connect"], ["unreachable", "ENETUNREACH", "connect"], ["connection closed before message completed", "UND_ERR_SOCKET", "read"],
];

// formatNumbers has %d show fractions, of which Deno shows the whole number.
function formatNumbers() {
  for (const name of ["log", "info", "debug", "warn", "error", "group"]) {
    const native = console[name];
    const call = (...args) => {
      if (typeof args[0] === "string" && args.length > 1 && includes(args[0], "%d")) {
        let next = 1;
        args[0] = args[0].replace(/%([%sdifjoOc])/g, (found, kind) => {
          if (kind === "%" || next >= args.length) return found;
          const at = next++;
          if (kind !== "d" || typeof args[at] === "symbol") return found;
          const n = Number(args[at]);
          args[at] = typeof args[at] === "bigint" ? args[at] + "n" : is(n, -0) ? "-0" : NativeString(n);
          return "%s";
        });
      }
      return native.apply(console, args);
    };
    here.answer(console, name, defineProperties(call, getOwnPropertyDescriptors(native)));
  }
}
