// esbuild works in a program of its own, which its package starts and talks to by pipes.
// esbuild-wasm has that program as WebAssembly, compiled from Go. Where a program may start
// no other, it runs here, in the program's thread, and what it calls of node:fs is the
// program's, with its permissions. This is part of bootstrap.js.

const { unrefTimer } = Deno;

// hostEsbuild has node:child_process run the program of esbuild-wasm here.
async function hostEsbuild() {
  const require = (await nodeModule()).createRequire(ownMeta.url);
  const child = require("child_process"), { spawn, execFileSync } = child;
  const start = esbuildStarter(require);
  const package_ = (args) => /^(.*\/esbuild-wasm\/[^/]+)\/bin\/esbuild$/.exec(isArray(args) ? args[0] : "")?.[1];
  Deno.env.set("ESBUILD_WORKER_THREADS", "0"); // else its synchronous functions start a Worker, which starts the program
  here.answer(child, "spawn", (file, args, options) => {
    const dir = package_(args);
    return dir ? esbuildProcess(require("events"), (host) => start(dir, args, options.cwd, host)) : spawn(file, args, options);
  });
  here.answer(child, "execFileSync", (file, args, options) => {
    const dir = package_(args);
    if (!dir) return execFileSync(file, args, options);
    const output = esbuildOutput(options.input, (host) => start(dir, args, options.cwd, host));
    return require("buffer").Buffer.concat(output);
  });
}

// esbuildProcess returns what looks like a process, whose program waits for requests.
function esbuildProcess({ EventEmitter }, start) {
  const stdin = new EventEmitter(), stdout = new EventEmitter(), input = [];
  let reader, held, ended = false;
  const feed = () => {
    if (!reader || input.length === 0) return;
    const take = reader;
    reader = undefined;
    take(input);
  };
  const emit = (event, bytes) => queueMicrotask(() => ended || stdout.emit(event, bytes));
  stdin.write = (bytes, done) => {
    push(input, bytes.slice());
    feed();
    queueMicrotask(done);
  };
  stdin.unref = stdout.unref = stdin.destroy = stdout.destroy = () => {};
  const running = start({
    later: (call) => queueMicrotask(() => ended || call()),
    timer: (call, delay) => unrefTimer(setTimeout(() => ended || call(), delay)),
    read: (take) => (reader = take, feed()),
    write: (bytes) => emit("data", bytes),
    exit: () => emit("end"),
  });
  then(running, undefined, () => emit("end"));
  return Object.assign(new EventEmitter(), {
    stdin, stdout,
    ref: () => held ??= setInterval(() => {}, 0x7fffffff),
    unref: () => held = clearInterval(held),
    kill: () => ended = true,
  });
}

// esbuildOutput returns what the program answers to an input, as chunks.
function esbuildOutput(input, start) {
  const next = [], timers = [], output = [];
  input = [input];
  let ended = false;
  const fail = () => ended = true;
  then(start({
    later: (call) => push(next, call), timer: (call) => push(timers, call),
    read: (take) => take(input), write: (bytes) => push(output, bytes), exit: fail,
  }), undefined, fail);
  for (let call; !ended && (call = next.shift() ?? timers.shift());) call();
  return output;
}

// esbuildStarter returns a function that runs esbuild-wasm by Go's own loader. What Go asks
// is answered once its code waits, by the host's later: it may not be called before.
function esbuildStarter(require) {
  const fs = require("fs"), path = require("path"), known = { __proto__: null };
  return (dir, [, ...args], cwd, host) => {
    const above = (name) => `${cwd}/`.startsWith(name === "/" ? name : `${name}/`) || dir.startsWith(`${name}/`);
    const { module, loader } = known[dir] ??= {
      module: new WebAssembly.Module(fs.readFileSync(`${dir}/esbuild.wasm`)),
      loader: new Function("globalThis", "setTimeout", fs.readFileSync(`${dir}/wasm_exec.js`, "utf8") + ";return globalThis.Go"),
    };
    function answer(name, args) {
      const [fd, bytes, at, length] = args;
      if (name === "write" && (fd === 1 || fd === 2)) {
        fd === 1 ? host.write(bytes.slice(at, at + length)) : process.stderr.write(bytes.slice(at, at + length));
        return length;
      }
      try {
        return fs[`${name}Sync`](...args);
      } catch (error) {
        // What is above the working directory looks as if it were not there. esbuild goes on
        // only where it is there and may not be read.
        if (!/^E[A-Z0-9]+$/.test(error.code) || error.code === "ENOENT" && above(fd)) error.code = "EACCES";
        throw error;
      }
    }
    const calls = new Proxy(fs, { get: (fs, name) => name === "constants" ? fs.constants : (...args) => {
      const done = typeof args.at(-1) === "function" ? args.pop() : undefined;
      if (name === "read" && args[0] === 0) return host.read((input) => {
        const [, bytes, at, room] = args, chunk = input.shift() ?? [], n = min(room, chunk.length);
        bytes.set(chunk.slice(0, n), at);
        if (n < chunk.length) input.unshift(chunk.slice(n));
        host.later(() => done(null, n));
      });
      if (name === "writeSync") return answer("write", [args[0], args[1], 0, args[1].length]);
      try {
        const result = answer(name, args);
        host.later(() => done(null, result));
      } catch (error) {
        host.later(() => done(error));
      }
    } });
    const Go = loader({ __proto__: globalThis, fs: calls, path, process: { __proto__: process, cwd: () => cwd } }, host.timer);
    const go = new Go(), { NO_COLOR, NODE_PATH, TMPDIR } = process.env;
    go.argv = ["esbuild", ...args.filter((arg) => arg !== "--ping")]; // it would end where nothing answers for a while
    for (const [name, value] of Object.entries({ NO_COLOR, NODE_PATH, TMPDIR })) if (value) go.env[name] = value;
    go.exit = host.exit;
    return go.run(new WebAssembly.Instance(module, go.importObject));
  };
}
