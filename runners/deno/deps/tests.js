// What test frameworks define: describe, it and their hooks as Jest, Vitest and Mocha
// have them, by node:test. It stands for the globals that a program uses.
import * as node from "node:test";

let depth = 0; // of describe

// fixtures is what Vitest gives to a test that takes an object apart.
export const fixtures = {};

// ended returns a function for node:test, which calls it with a context of its own:
// one that names a parameter is given a function to call at its end, unless it is
// asynchronous, or of Vitest's fixtures.
function ended(fn) {
  const context = { timeout() {}, slow() {}, retries() {} };
  if (fn.length === 0 || /^async\b|^[^(=]*\(\s*\{/.test(fn)) return () => fn.call(context, fixtures);
  return () => new Promise((resolve, reject) => {
    const done = (error) => error ? reject(error) : resolve();
    done.fail = (error) => reject(error instanceof Error ? error : new Error(error));
    const made = fn.call(context, done);
    if (typeof made?.then === "function") made.then(resolve, reject);
  });
}

// failing returns a function for node:test that passes if fn does not.
function failing(fn) {
  return async () => {
    try {
      await ended(fn)();
    } catch {
      return;
    }
    throw new Error("the test passes, and is expected to fail");
  };
}

function grouped(fn) {
  return () => {
    depth++;
    try {
      return fn.call({ timeout() {}, slow() {}, retries() {} });
    } finally {
      depth--;
    }
  };
}

const named = (name) => typeof name === "function" ? name.name : `${name}`;

// rows returns the arguments of each case: of a list, or of a table in a template.
function rows(cases, values) {
  if (!cases.raw) return cases.map((row) => Array.isArray(row) ? row : [row]);
  const heads = cases[0].split("|").map((head) => head.trim());
  return Array.from({ length: values.length / heads.length }, (_, i) => [Object.fromEntries(heads.map((head, n) => [head, values[i * heads.length + n]]))]);
}

function titled(name, row, index) {
  let i = 0;
  const show = (value) => typeof value === "string" ? value : Deno.inspect(value);
  return named(name).replace(/%([#%sdifjoOp])|\$(\w[\w.]*)/g, (found, kind, path) => {
    if (path) return Object(row[0]) === row[0] ? show(path.split(".").reduce((value, key) => value?.[key], row[0])) : found;
    if (kind === "%" || kind === "#") return kind === "%" ? "%" : index;
    return kind === "j" ? JSON.stringify(row[i++]) : show(row[i++]);
  });
}

// like returns a function of node:test with the forms that frameworks give it.
function like(base, wrap) {
  const define = (base, wrapped = wrap) => {
    const test = (name, first, second) => {
      const fn = typeof first === "function" ? first : second;
      return typeof fn === "function" ? base(named(name), wrapped(fn)) : like.todo(named(name));
    };
    test.each = test.for = (cases, ...values) => (name, fn) => rows(cases, values).forEach((row, i) => test(titled(name, row, i), () => fn(...row)));
    return test;
  };
  const test = define(base), skip = define(base.skip), fails = define(base, failing);
  const forms = { only: define(base.only), skip, fails, failing: fails, todo: (name) => like.todo(named(name)), concurrent: test, sequential: test, skipIf: (no) => no ? skip : test, runIf: (yes) => yes ? test : skip };
  return Object.assign(test, forms);
}
like.todo = (name) => node.it.todo(name);

export const it = like(node.it, ended), test = it, specify = it, xit = it.skip, xtest = it.skip, fit = it.only;
export const describe = like(node.describe, grouped), suite = describe, context = describe, xdescribe = describe.skip;
const hook = (name, root) => (fn) => depth === 0 && root ? Deno.test[root](ended(fn)) : node[name](ended(fn));
export const beforeAll = hook("before", "beforeAll"), afterAll = hook("after", "afterAll"), before = beforeAll, after = afterAll;
export const beforeEach = hook("beforeEach"), afterEach = hook("afterEach");
