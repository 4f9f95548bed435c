// What Jest and Vitest define beside it: expect, functions that remember their calls,
// and timers that stand still.
import { mock } from "node:test";
import { isModuleNamespaceObject } from "node:util/types";
import { expect } from "expect";
import { ModuleMocker } from "jest-mock";
import { format, plugins } from "pretty-format";
import { checks, fixtures } from "coderunner:tests";

const mocker = new ModuleMocker(globalThis), { timers } = mock, later = setTimeout;
const settle = async (run) => {
  for (let i = 0; i < 10; i++) await null;
  run();
  for (let i = 0; i < 10; i++) await null;
};
const instead = (name) => `pass what is to be replaced as an argument, or have the module export an object (export const api = { ${name} }) and use spyOn on that`;
const missing = (name) => () => {
  throw new Error(`${name} replaces modules for the program that calls it, and neither in a session nor for another file: ${instead("load")}`);
};
const due = new Map(); // when those that stand still are due, by what setTimeout has returned
function count(name, once) {
  const make = globalThis["set" + name], drop = globalThis["clear" + name];
  const made = (fn, ms, ...args) => {
    const later = () => due.set(timer, { at: Date.now() + (+ms || 0), drop }), timer = make((...given) => {
      once ? due.delete(timer) : later();
      return fn(...given);
    }, ms, ...args);
    later();
    return timer;
  };
  globalThis["set" + name] = Object.defineProperties(made, Object.getOwnPropertyDescriptors(make));
  globalThis["clear" + name] = (timer) => (due.delete(timer), drop(timer));
}
const clocks = ["setTimeout", "setInterval", "setImmediate", "Date"];
let still = false;
const real = () => (timers.reset(), due.clear(), still = false, jest);
const jest = {
  setTimeout() {},
  useFakeTimers(options) {
    real();
    const apis = clocks.filter((name) => (options?.toFake?.includes(name) ?? true) && !options?.doNotFake?.includes(name));
    timers.enable({ apis, now: +new Date(options?.now ?? Date.now()) });
    if (apis.includes("setTimeout")) count("Timeout", true);
    if (apis.includes("setInterval")) count("Interval", false);
    still = true;
    return jest;
  },
  useRealTimers: real,
  isFakeTimers: () => still,
  getTimerCount: () => due.size,
  clearAllTimers() {
    for (const [timer, { drop }] of due) drop(timer);
    due.clear();
    return jest;
  },
  advanceTimersToNextTimer() {
    if (due.size > 0) timers.tick(Math.max(0, Math.min(...Array.from(due.values(), ({ at }) => at)) - Date.now()));
    return jest;
  },
  getMockedSystemTime: () => still ? new Date() : null,
  advanceTimersByTime: (ms) => (timers.tick(ms), jest),
  advanceTimersByTimeAsync: (ms) => settle(() => timers.tick(ms)),
  runAllTimers: () => (timers.runAll(), jest),
  runAllTimersAsync: () => settle(() => timers.runAll()),
  runOnlyPendingTimers: () => (timers.runAll(), jest),
  setSystemTime: (time = Date.now()) => (still ? timers.setTime(+new Date(time)) : jest.useFakeTimers({ toFake: ["Date"], now: time }), jest),
  mock: missing("mock"),
  doMock: missing("doMock"),
};
for (const name of ["fn", "isMockFunction", "replaceProperty", "clearAllMocks", "resetAllMocks", "restoreAllMocks"]) jest[name] = mocker[name].bind(mocker);
jest.spyOn = (object, name, ...rest) => {
  if (isModuleNamespaceObject(object)) throw new TypeError(`spyOn cannot replace what a module exports (${String(name)}): ${instead(String(name))}`);
  return mocker.spyOn(object, name, ...rest);
};
jest.mocked = (value) => value;
jest.hoisted = (fn) => fn();

// stubs returns functions that set a property of an object and undo it.
function stubs(object) {
  const before = new Map();
  return [(name, value) => {
    if (!before.has(name)) before.set(name, Object.getOwnPropertyDescriptor(object(), name));
    Object.defineProperty(object(), name, { value, writable: true, configurable: true, enumerable: true });
    return jest;
  }, () => {
    for (const [name, was] of before) was ? Object.defineProperty(object(), name, was) : delete object()[name];
    before.clear();
    return jest;
  }];
}
[jest.stubGlobal, jest.unstubAllGlobals] = stubs(() => globalThis);
[jest.stubEnv, jest.unstubAllEnvs] = stubs(() => process.env);
jest.waitFor = async (fn, { timeout = 1000 } = {}) => {
  for (const until = performance.now() + timeout; ;) {
    try {
      return await fn();
    } catch (error) {
      if (performance.now() > until) throw error;
      await new Promise((done) => later(done, 20));
    }
  }
};

jest.waitUntil = (fn, options) => jest.waitFor(async () => {
  const value = await fn();
  if (!value) throw new Error("waitUntil: it is still " + value);
  return value;
}, options);

// Snapshots in files are as in a first run, which writes them; those in the text are compared.
const { AsymmetricMatcher, DOMCollection, DOMElement, Immutable, ReactElement, ReactTestComponent } = plugins;
const shown = (value) => format(value, {
  escapeRegex: true, escapeString: false, printBasicPrototype: false, printFunctionName: false,
  plugins: [ReactTestComponent, ReactElement, DOMElement, DOMCollection, Immutable, AsymmetricMatcher],
});
const written = () => ({ pass: true, message: () => "there is no earlier snapshot" });
const unindented = (text) => {
  const lines = text.split("\n"), [indent] = /^[ \t]*/.exec(lines[1] ?? "");
  const framed = lines.length > 2 && !lines[0].trim() && !lines.at(-1).trim();
  return framed ? lines.slice(1, -1).map((line) => line.startsWith(indent) ? line.slice(indent.length) : line).join("\n") : text;
};
function inline(values, snapshots) {
  const text = snapshots.findLast((given) => typeof given === "string");
  if (text === undefined) return written();
  const wanted = unindented(text);
  return { pass: values.includes(wanted), message: () => `the snapshot is\n${wanted}\nand the value\n${values[0]}` };
}
function failure(call) {
  if (typeof call !== "function") return call;
  try {
    call();
  } catch (error) {
    return error;
  }
  throw new Error("the function was expected to throw");
}

// says returns what a matcher does.
const says = (pass, value, wanted) => ({ pass: Boolean(pass), message: () => `expected ${shown(value)} ${pass ? "not " : ""}${wanted}` });
const equals = (value, wanted) => {
  try {
    return expect(value).toEqual(wanted), true;
  } catch {
    return false;
  }
};

expect.extend({
  toMatchSnapshot: written,
  toMatchFileSnapshot: written,
  toThrowErrorMatchingSnapshot: (call) => (failure(call), written()),
  toMatchInlineSnapshot: (value, ...snapshots) => inline([shown(value)], snapshots),
  toThrowErrorMatchingInlineSnapshot(call, ...snapshots) {
    const error = failure(call);
    return inline([shown(error?.message ?? error), shown(error)], snapshots);
  },
  toSatisfy: (value, holds, why) => says(holds(value), value, why ?? `to satisfy ${holds}`),
  toBeTypeOf: (value, type) => says(typeof value === type, value, `to be of type ${type}`),
  toBeOneOf: (value, list) => says([...list].some((one) => equals(value, one)), value, `to be one of ${shown([...list])}`),
  toHaveBeenCalledExactlyOnceWith: ({ mock: { calls } }, ...args) => says(calls.length === 1 && equals(calls[0], args), calls, `to be one call with ${shown(args)}`),
  toHaveBeenCalledBefore: ({ mock: one }, { mock: other }) => says(one.invocationCallOrder[0] < (other.invocationCallOrder[0] ?? Infinity), one.invocationCallOrder, `to begin before ${shown(other.invocationCallOrder)}`),
  toHaveBeenCalledAfter: ({ mock: one }, { mock: other }) => says(one.invocationCallOrder.at(-1) > (other.invocationCallOrder.at(-1) ?? -1), one.invocationCallOrder, `to end after ${shown(other.invocationCallOrder)}`),
  toHaveBeenCalledOnce: (called) => ({ pass: called.mock.calls.length === 1, message: () => `called ${called.mock.calls.length} times, expected once` }),
});
fixtures.expect = expect;

// each returns matchers whose functions are called by another one.
const each = (matchers, call) => new Proxy(matchers, {
  get(_, name) {
    const found = matchers[name];
    if (typeof found === "function") return (...args) => call(() => found.apply(matchers, args), name);
    return Object(found) === found ? each(found, call) : found;
  },
});
const failed = []; // what expect.soft has found in the test
const keep = (error) => void failed.push(error);
expect.soft = (value) => each(expect(value), (match) => {
  try {
    const made = match();
    return typeof made?.then === "function" ? made.then(undefined, keep) : made;
  } catch (error) {
    keep(error);
  }
});
checks.end = () => {
  const counted = expect.extractExpectedAssertionsErrors().map(({ error }) => {
    error.stack = `Error: ${error.message}\n${error.stack.slice(error.stack.search(/ +at /))}`;
    return error;
  });
  return [...failed.splice(0), ...counted];
};
const poll = (get, options, names) => new Proxy(() => {}, {
  get: (_, name) => poll(get, options, [...names, name]),
  apply: (_, of, args) => jest.waitFor(async () => {
    const value = await get(), last = names.length - 1;
    return names.slice(0, last).reduce((matchers, name) => matchers[name], expect(value))[names[last]](...args);
  }, options),
});
expect.poll = (get, options) => poll(get, options, []);
expect.unreachable = (why = "expected not to be reached") => {
  throw new Error(why);
};
const bun = Object.assign((fn) => jest.fn(fn), { module: jest.mock, restore: jest.restoreAllMocks, clearAllMocks: jest.clearAllMocks });
export const { spyOn, setSystemTime } = jest;
export { bun as mock, expect, jest, jest as vi, mocker };
