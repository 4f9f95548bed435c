// Where Deno's modules of Node do otherwise than Node's, without a word. This is part of
// bootstrap.js.

// mendServers has what a listener to a request of node:http and node:https throws end the
// program, or reach its listener to uncaughtException: Deno answers with status 400. And
// it has servers close as Node's do.
async function mendServers() {
  const require = (await import("node:module")).default.createRequire(self);
  for (const name of ["http", "https"]) {
    const { prototype } = require(name).Server, { emit, close } = prototype;
    here.answer(prototype, "emit", function (event, ...args) {
      if (event === "connection" && name === "http") accept(this, args[0]);
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

// ignoreSignals has listeners to signals, which never come, keep no program waiting whose
// top level awaits what never happens. Node ends it, too.
function ignoreSignals() {
  for (const name of ["addSignalListener", "removeSignalListener"]) here.answer(Deno, name, () => {});
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
  for (const name of ["cp", "cpSync"]) if (arrayIncludes(orders.files, name)) mend(fs, name, copy);
  if (arrayIncludes(orders.files, "promises") && arrayIncludes(orders.files, "cp")) mend(fs.promises, "cp", copy);
  if (!("path" in fs.Dirent.prototype)) {
    defineProperty(fs.Dirent.prototype, "path", { __proto__: null, get() { return this.parentPath }, configurable: true });
  }
  if (arrayIncludes(orders.files, "writeSync")) {
    mend(fs, "writeSync", (fd, data, at, encoding, ...rest) =>
      typeof data === "string" && typeof at === "number" ? [fd, Buffer.from(data, encoding), 0, undefined, at] : [fd, data, at, encoding, ...rest]);
  }
}
