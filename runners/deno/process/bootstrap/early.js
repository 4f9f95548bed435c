// Packages that are loaded before there is a program. This is part of bootstrap.js.
//
// The host asks for it when the process is ready and limited, and gets what speaks against it:
// nothing, or the process is not used. In a trial, whose process runs no program, the answer
// has what the packages read that differs from run to run, what they start, and a digest of
// what they export: two trials at different times are compared.

async function loadEarly() {
  const early = readFrame(stdin), answer = { found: [], clock: false, print: "" };
  const note = (what) => void (arrayIncludes(answer.found, what) || push(answer.found, what));
  orders = early; // the program's name, and the modules of Node that it imports
  await prepareCall();
  const compare = early.watch ? await observe(early.later, note, () => answer.clock = true) : undefined;
  const names = early.watch ? getOwnPropertyDescriptors(globalThis) : {}, exported = [];
  try {
    for (let i = 0; i < early.load.length; i++) push(exported, await import(early.load[i]));
  } catch (error) {
    note(`throw ${error instanceof NativeError ? errorText(error) : inspect(error)}`);
  }
  if (compare) {
    compare();
    const fresh = getOwnPropertyDescriptors(globalThis);
    for (const name in names) delete fresh[name];
    answer.print = digest([exported, fresh]);
  }
  const text = encode(stringify(answer));
  writeAll(writeStdout, encode(slice(`0000000${byteLength(text).toString(16)}`, -8)));
  writeAll(writeStdout, text);
}

// observe has note called with what the packages do from now on that they would do otherwise,
// or too early, before there is a program, and clocked when they ask for the time, which is
// some milliseconds later than it is. It returns a function that compares what they have left.
async function observe(later, note, clocked) {
  const { apply, construct } = Reflect;

  // calls replaces a function by one that calls another with its result.
  function calls(object, name, result) {
    const made = object[name];
    if (typeof made === "function") here.answer(object, name, new Proxy(made, { __proto__: null, apply: (fn, self, args) => result(apply(fn, self, args)) }));
  }

  const input = "read the program's input"; // which is not there
  for (const object of [Deno, process]) defineProperty(object, "stdin", { __proto__: null, configurable: true, enumerable: true, get() {
    note(input);
    throw new NativeError(input);
  } });

  const clock = (time) => (clocked(), typeof time === "bigint" ? time + BigInt(later) * 1000000n : isArray(time) ? [time[0] + later / 1000, time[1]] : time + later);
  calls(performance, "now", clock);
  const { bigint } = process.hrtime;
  calls(process, "hrtime", clock);
  here.answer(process.hrtime, "bigint", () => clock(bigint()));
  calls(process, "uptime", (time) => (clocked(), time + later / 1000));
  const NativeDate = Date, { now } = NativeDate;
  here.answer(NativeDate, "now", () => clock(now()));
  here.answer(globalThis, "Date", new Proxy(NativeDate, {
    __proto__: null,
    apply: () => `${new NativeDate(clock(now()))}`,
    construct: (fn, args, target) => construct(fn, args.length === 0 ? [clock(now())] : args, target),
  }));

  const timers = (await nodeModule()).createRequire(ownMeta.url)("timers");
  for (const name of ["setTimeout", "setInterval", "setImmediate"]) {
    for (const object of [globalThis, timers]) calls(object, name, (timer) => (note("start a timer"), timer));
  }

  const before = leftBehind();
  return () => {
    const after = leftBehind();
    for (const what in after) if (after[what] !== before[what]) note(what);
  };
}

// leftBehind returns what a package could leave to be called later, or to change the end.
function leftBehind() {
  let listeners = 0, events = "";
  for (const symbol of getOwnPropertySymbols(globalThis)) {
    const of = globalThis[symbol]?.listeners ?? {};
    for (const type in of) listeners += of[type]?.length ?? 0;
  }
  for (const name of process.eventNames()) events += `${NativeString(name)} ${process.listenerCount(name)} `;
  return {
    __proto__: null,
    "listen to events of the process": `${listeners} ${events}`,
    "register tests": tests.length + hooks.beforeAll.length + hooks.beforeEach.length + hooks.afterEach.length + hooks.afterAll.length,
    "set the exit code": exitCode(),
    "change the working directory": Deno.cwd(),
  };
}

// digest returns a text that differs where what can be reached from a value by properties does.
// It calls no function of the packages.
function digest(root) {
  const seen = new Map(), queue = [root], getTime = method(Date.prototype.getTime);
  let hash = 7n;
  const add = (text) => { for (let i = 0; i < text.length; i++) hash = (hash * 31n + BigInt(text.charCodeAt(i))) & 0xffffffffffffffffn };
  const visit = (value) => {
    if ((typeof value !== "object" || value === null) && typeof value !== "function") return add(`${typeof value} ${NativeString(value)};`);
    if (!seen.has(value)) seen.set(value, seen.size), queue.push(value);
    add(`#${seen.get(value)};`);
  };
  const inside = [method(Map.prototype.entries), method(Set.prototype.values), (date) => [getTime(date)]];
  for (let i = 0; i < queue.length && i < 50000; i++) {
    const object = queue[i];
    add(typeof object);
    for (const values of inside) {
      try {
        for (const value of values(object)) visit(value);
      } catch {
        // it is of another class
      }
    }
    for (const key of Reflect.ownKeys(object)) {
      let property;
      try {
        property = getOwnPropertyDescriptor(object, key);
      } catch {
        continue; // an export that was not evaluated
      }
      add(NativeString(key));
      if ("value" in property) visit(property.value);
    }
  }
  return hash.toString(16);
}
