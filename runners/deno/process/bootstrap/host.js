// What a program asks about the machine and the person before it. Deno refuses
// the first without --allow-sys, and the second when stdin is not a terminal, so
// packages that only look around fail while they load. Here they get answers that
// fit the run and tell nothing of the host. What the policy grants stays Deno's
// own. This is part of bootstrap.js.
//
// It is not a security boundary: Deno's operations refuse as ever, whoever calls
// them.

// machine replaces what Deno refuses, and returns functions that do so in modules of
// Node and for Workers. Its source begins each Worker, too, so it uses nothing that
// is declared outside of it.
function machine({ home, memory, run, real }, orders, isWorker) {
  const { memoryUsage } = Deno;
  const { defineProperty, getOwnPropertyDescriptor } = Object;
  const { now } = performance;
  const { floor } = Math;

  function answer(object, name, value) {
    defineProperty(object, name, { __proto__: null, value, writable: true, configurable: true, enumerable: true });
  }

  // refused reports whether the policy has nothing of a kind of --allow-sys.
  const refused = (kind) => !real.includes(kind);

  // umask keeps the mask: others cannot enter the program's directory anyway.
  let mask = 0o022;
  function umask(next) {
    const before = mask;
    if (next !== undefined) mask = next & 0o777;
    return before;
  }

  // Most of node:os and node:process calls these.
  const answers = {
    __proto__: null,
    hostname: () => "localhost",
    osRelease: () => "6.1.0",
    osUptime: () => floor(now.call(performance) / 1000),
    loadavg: () => [0, 0, 0],
    networkInterfaces: () => [],
    uid: () => 1000,
    gid: () => 1000,
    umask,
    systemMemoryInfo: () => {
      const { heapTotal, external } = memoryUsage();
      const free = memory > heapTotal + external ? memory - heapTotal - external : 0;
      return { total: memory, free, available: free, buffers: 0, cached: 0, swapTotal: 0, swapFree: 0 };
    },
  };
  for (const name in answers) if (refused(name)) answer(Deno, name, answers[name]);
  answer(Deno, "memoryUsage", () => {
    const used = memoryUsage();
    used.rss ||= used.heapTotal + used.external; // Deno reads it from /proc, which the sandbox hides
    return used;
  });
  if (!run) answer(Deno, "execPath", () => "/usr/bin/deno");
  if (refused("cpus")) {
    const prototype = (isWorker ? WorkerNavigator : Navigator).prototype;
    defineProperty(prototype, "hardwareConcurrency", { __proto__: null, get: () => 1, configurable: true, enumerable: true });
  }
  try {
    if (!Deno.env.has("HOME")) Deno.env.set("HOME", home);
  } catch {
    // not allowed to, so the program cannot see it either
  }

  // os replaces the functions of node:os that call no function of Deno. The exports
  // of the module stay Deno's; programs import them by way of the import map.
  function os(os) {
    const at = () => Deno.env.get("HOME") ?? home;
    const answers = {
      __proto__: null,
      cpus: ["cpus", () => [{ model: "", speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } }]],
      homedir: ["homedir", at],
      uptime: ["osUptime", () => Deno.osUptime()],
      getPriority: ["getPriority", () => 0],
      userInfo: ["userInfo", (options) => {
        const shown = (text) => options?.encoding === "buffer" ? Buffer.from(text) : text;
        return { uid: Deno.uid(), gid: Deno.gid(), username: shown("user"), homedir: shown(at()), shell: null };
      }],
    };
    for (const name in answers) if (refused(answers[name][0])) answer(os, name, answers[name][1]);
  }

  // process does the same for node:process.
  function process(process) {
    if (!run) process.argv[0] = "/usr/bin/node"; // packages know by it what else is the program's name
    named(process);
    const { kill } = process;
    answer(process, "kill", (...args) => (hooks.sends?.(), kill.call(process, ...args)));
    // Deno warns of values that are no strings, which Node turns into strings without a word.
    answer(process, "env", new Proxy(process.env, {
      __proto__: null,
      set: (env, name, value) => (env[name] = typeof value === "symbol" ? value : `${value}`, true),
    }));
    if (refused("uid")) answer(process, "geteuid", () => Deno.uid());
    if (refused("gid")) {
      answer(process, "getegid", () => Deno.gid());
      answer(process, "getgroups", () => [Deno.gid()]);
    }
    for (const name of ["stdout", "stderr"]) {
      const { get } = getOwnPropertyDescriptor(process, name) ?? {};
      if (get) defineProperty(process, name, { __proto__: null, get: () => {
        const stream = get.call(process);
        if (!stream?.isTTY) delete stream?.getWindowSize; // packages ask for it to know a terminal
        return stream;
      } });
    }
    if (refused("cpus")) {
      const libc = Deno.build.env === "gnu" ? { glibcVersionRuntime: "2.36" } : {};
      answer(process.report, "getReport", () => ({ header: libc, sharedObjects: [] })); // tells native packages apart
    }
    if (refused("systemMemoryInfo")) answer(process, "constrainedMemory", () => memory);
    if (refused("umask")) answer(process, "umask", (mask) => Deno.umask(typeof mask === "string" ? parseInt(mask, 8) : mask));
  }

  // named has node:process find the program's name and arguments, once these are known.
  function named(process) {
    const { path } = orders?.() ?? {};
    if (path) process.argv.splice(1, process.argv.length, path, ...Deno.args);
  }

  // The first use of the global process has it answer, since Deno makes Node's part
  // then, which takes longer than many programs.
  const { get, set } = getOwnPropertyDescriptor(globalThis, "process");
  const restore = () => defineProperty(globalThis, "process", { __proto__: null, get, set, enumerable: true, configurable: true });
  const first = () => {
    const made = get();
    if (!made?.umask) return made; // Deno itself asks while it makes it
    restore();
    process(made);
    return made;
  };
  if (get) {
    defineProperty(globalThis, "process", {
      __proto__: null, get: first, set: (value) => { restore(); set(value) }, enumerable: true, configurable: true,
    });
  }

  // workers has Workers answer, too, and find the program's arguments: Deno passes
  // those of its command line, which every user of the machine could read. A
  // Worker may be named by its path, and is a module whether or not it is said so.
  const { stringify } = JSON;
  const start = `${stringify({ home, memory, run, real })},()=>o,true`;
  const passed = () => stringify({ args: orders().args, main: orders().main, modules: orders().modules });
  const uses = (name) => orders().modules?.includes(name);
  let beginning;

  // wrapped returns the address of a module that begins a Worker, and then imports its own.
  function wrapped(specifier) {
    beginning ??= createObjectURL(new Blob([(uses("os") ? 'import os from"node:os";' : "") + (uses("worker_threads") ? 'import t from"node:worker_threads";' : "") +
      `const o=${passed()},m=(${machine})(${start});if(o.args)m.answer(Deno,"args",o.args);` +
      (uses("os") ? "m.os(os);" : "") + `m.workers();${uses("worker_threads") ? "m.threads(t);" : ""}`], { type: "text/javascript" }));
    const url = URL.canParse(specifier) ? specifier : new URL(specifier, orders().main).href;
    return "data:text/javascript," + encodeURIComponent(`import ${stringify(beginning)};import ${stringify(`${url}`)};`);
  }

  const { createObjectURL } = URL;

  function workers() {
    // A module that another one imports must have a type.
    answer(URL, "createObjectURL", (blob) => createObjectURL(blob?.type === "" ? blob.slice(0, blob.size, "text/javascript") : blob));
    const Native = Worker;
    globalThis.Worker = class Worker extends Native {
      constructor(specifier, options) {
        super(wrapped(`${specifier}`), { ...options, type: "module" });
      }
    };
  }

  // threads does the same for node:worker_threads.
  function threads(threads) {
    const port = threads.parentPort;
    if (port && !port.close) answer(port, "close", () => port.unref()); // the Worker ends when it has nothing else to do
    const prelude = () => `{const o=${passed()},m=(0,eval)(${stringify(`(${machine})`)})(${start});if(o.args)m.answer(Deno,"args",o.args);` +
      (uses("os") ? 'm.os(require("os"));' : "") + 'm.workers();m.threads(require("worker_threads"))}';
    const NativeNode = threads.Worker;
    answer(threads, "Worker", class Worker extends NativeNode {
      constructor(file, options) {
        if (options?.eval) super(prelude() + file, options);
        else super(new URL(wrapped(`${file}`)), options);
      }
      emit(event, error, ...rest) {
        if (event === "error" && error && error.stack === undefined) error.stack = `${error.name}: ${error.message}`;
        return super.emit(event, error, ...rest);
      }
      listenerCount(event, ...rest) { // Deno asks it before it emits an error, which without a listener ends a program of Node's
        return super.listenerCount(event, ...rest) || (event === "error" ? 1 : 0);
      }
    });
  }
  const hooks = { answer, named, os, threads, workers }; // sends is called before the program sends a signal
  return hooks;
}

// codeURLs has errors of new URL have Node's code, which programs look at.
function codeURLs() {
  const { construct } = Reflect, Native = URL;
  const coded = new Proxy(Native, { __proto__: null, construct(of, args, target) {
    try {
      return construct(of, args, target);
    } catch (error) {
      if (error instanceof TypeError) [error.code, error.input] = ["ERR_INVALID_URL", NativeString(args[0])];
      throw error;
    }
  } });
  Native.prototype.constructor = coded;
  here.answer(globalThis, "URL", coded);
}

const promised = Symbol.for("nodejs.util.promisify.custom");

// explainRun has errors about other programs have a code, as Node's do, and the words
// of place.refused: many programs print them.
function explainRun(child) {
  const { ChildProcess: { prototype }, fork } = child, { emit, unref } = prototype, forked = new WeakSet();
  let forking = false;
  here.answer(child, "fork", (...args) => {
    forking = true;
    try {
      const made = fork(...args);
      forked.add(made);
      return made;
    } catch (error) {
      throw refused(error, "spawn " + args[0]);
    } finally {
      forking = false;
    }
  });
  function refused(error, syscall, isFork = forking) {
    if (includes(error.message, "Requires run access")) error.message = syscall + " EACCES";
    error.code ??= "EACCES";
    error.errno ??= -13;
    error.syscall ??= syscall;
    const words = isFork ? place.refused.fork : place.refused.run;
    if (!includes(error.message, words)) error.message += "; " + words;
    return error;
  }
  here.answer(prototype, "emit", function (event, ...args) {
    if (event === "error" && args[0] instanceof NativeError) refused(args[0], "spawn " + this.spawnfile, forking || forked.has(this));
    return emit.call(this, event, ...args);
  });
  here.answer(prototype, "unref", function () { // of a process that has not begun, too: its error comes as an event
    try {
      unref.call(this);
    } catch {
      // there is none
    }
  });
  for (const name of ["spawnSync", "execSync", "execFileSync"]) {
    const call = child[name];
    here.answer(child, name, (...args) => {
      const syscall = `spawnSync ${args[0]}`;
      try {
        const result = call(...args);
        return keys(result).length > 0 ? result // else Deno has nothing to say
          : { error: refused(new NativeError(syscall + " EACCES"), syscall), status: null, signal: null, output: null, pid: 0, stdout: null, stderr: null };
      } catch (error) {
        throw refused(error, syscall);
      }
    });
  }
}

const questions = new Set(); // that have no answer: functions that report whether there will be none

// reportQuestion reports that a question waits for a line that stdin does not have.
function reportQuestion() {
  for (const waits of questions) if (waits()) return report("q", "1");
}

// keepLines has questions find the lines that came before them and after another
// question: Node drops those, so only the first question of a program gets an answer
// where stdin is not a terminal. Who pauses one that has ended with stdin, such as
// enquirer, gets no error, as in Node before version 24.
//
// Deno waits for signals while a module awaits. Where a question that reads keys has come to
// the end of stdin, the listeners to signals go, so that the program ends.
function keepLines({ prototype }) {
  const { emit, question, pause } = prototype;
  const early = new WeakMap(); // of each interface that has asked a question
  here.answer(prototype, "emit", function (event, ...args) {
    if (event === "close" && this.terminal && this.input === process.stdin && this.input.readableEnded) {
      for (const name of process.eventNames()) if (/^SIG/.test(name)) process.removeAllListeners(name);
    }
    const lines = event === "line" && this.listenerCount(event) === 0 && early.get(this);
    return lines ? lines.push(args[0]) > 0 : emit.call(this, event, ...args);
  });
  here.answer(prototype, "pause", function () { return this.closed ? this : pause.call(this) });
  here.answer(prototype, "question", function (query, ...args) {
    if (!early.has(this)) early.set(this, []);
    const lines = early.get(this), done = args.findLast((arg) => typeof arg === "function");
    if (lines.length === 0) {
      const waits = () => this.closed, answered = () => questions.delete(waits);
      questions.add(waits);
      const asked = question.call(this, query, ...args.map((arg) => arg === done ? (...line) => (answered(), done(...line)) : arg));
      if (asked instanceof NativePromise) then(asked, answered, answered);
      return asked;
    }
    this.output?.write(query);
    const line = lines.shift();
    if (!done) return NativePromise.resolve(line);
    queueMicrotask(() => done(line));
  });
  if (question[promised]) prototype.question[promised] = function (query, options) {
    return new NativePromise((done) => this.question(query, options ?? {}, done));
  };
}

// readLine reads a line of stdin, a byte at a time: what follows is for others.
function readLine() {
  const line = [], byte = new NativeUint8Array(1);
  for (let n = 0; stdin.readSync(byte) === 1 && byte[0] !== 10;) line[n++] = byte[0];
  return byte[0] !== 10 && line.length === 0 ? null : new TextDecoder().decode(new NativeUint8Array(line)).replace(/\r$/, "");
}

function ask(text) {
  writeAll(writeStdout, encode(text + " "));
  return readLine();
}

// answerDialogs has prompt, confirm and alert read stdin where there is no
// terminal. They show what Deno shows in one.
function answerDialogs() {
  let silent = false;
  here.answer(globalThis, "prompt", (message = "Prompt", defaultValue = "") => {
    const line = ask(`${message}` + (defaultValue === "" ? "" : ` [${defaultValue}]`));
    if (line === null && !silent) report("q", "0"), silent = true;
    return line === "" ? `${defaultValue}` : line;
  });
  here.answer(globalThis, "confirm", (message = "Confirm") => /^y$/i.test(ask(`${message} [y/N]`) ?? ""));
  here.answer(globalThis, "alert", (message = "Alert") => void (print(`${message} [Enter]`), readLine()));
}
