// What test frameworks define: describe, it and their hooks as Jest, Vitest and Mocha
// have them, by node:test. It stands for the globals that a program uses.
import * as node from "node:test";

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

// checks has what expect finds at the end of a test: the errors that have not ended it.
export const checks = { end: () => [] };

const also = ({ message, stack }) => `\n\nand (${/file:(?!.*\/(?:npm|node_modules)\/).*?([^/\n]+:\d+):\d+\)?$/m.exec(stack)?.[1] ?? "also"}): ${message}`;

// checked returns a function for node:test that fails by such errors, too.
function checked(fn) {
  const run = ended(fn);
  return async () => {
    let late = [];
    try {
      await run();
    } catch (error) {
      late = [error];
    }
    const [first, ...more] = [...checks.end(), ...late];
    if (!first) return;
    if (more.length > 0) first.stack = first.stack.replace(/\n +at |$/, more.map(also).join("") + "$&");
    throw first;
  };
}

// failing returns a function for node:test that passes if fn does not.
function failing(fn) {
  return async () => {
    try {
      await checked(fn)();
    } catch {
      return;
    }
    throw new Error("the test passes, and is expected to fail");
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

// What the program registers, of the groups whose functions are called: { base, form, name,
// run, list }, or { hook }. A group is given to node:test when all of it is known, since a
// test that is marked only has others be skipped.
let list;
let marked = false; // one is, in any group

const marks = (e) => e.form === "only" || e.form !== "skip" && e.list?.some(marks);

function collect(fn) {
  const outer = list, made = list = [];
  try {
    fn.call({ timeout() {}, slow() {}, retries() {} });
  } finally {
    list = outer;
  }
  return made;
}

function add(entry) {
  marked ||= entry.form === "only";
  list ? list.push(entry) : register(entry, false, marks(entry) ? "only" : entry.form);
}

// register gives an entry to node:test; chosen are those of a group that is marked only.
function register(entry, chosen, form = entry.form) {
  if (entry.hook) return entry.hook();
  const { base, name, run, list } = entry;
  if (form !== "skip" && marked && !chosen && !marks(entry)) form = "skip";
  const inner = chosen || entry.form === "only" && !list?.some(marks);
  (form ? base[form] : base)(name, list ? () => list.forEach((e) => register(e, inner, e.form === "only" ? "" : e.form)) : run);
}

// like returns a function of node:test with the forms that frameworks give it.
function like(base, wrap) {
  const define = (form = "", wrapped = wrap) => {
    const test = (name, first, second) => {
      const fn = typeof first === "function" ? first : second, entry = { base, form, name: named(name) };
      if (typeof fn !== "function") add({ base: node.it, form: "todo", name: entry.name });
      else add(wrapped ? { ...entry, run: wrapped(fn) } : { ...entry, list: collect(fn) });
    };
    test.each = test.for = (cases, ...values) => (name, fn) => rows(cases, values).forEach((row, i) => test(titled(name, row, i), () => fn(...row)));
    return test;
  };
  const test = define(), skip = define("skip"), fails = define("", failing);
  const forms = { only: define("only"), skip, fails, failing: fails, todo: define("todo"), concurrent: test, sequential: test, skipIf: (no) => no ? skip : test, runIf: (yes) => yes ? test : skip };
  return Object.assign(test, forms);
}

export const it = like(node.it, checked), test = it, specify = it, xit = it.skip, xtest = it.skip, fit = it.only;
export const describe = like(node.describe), suite = describe, context = describe, xdescribe = describe.skip, fdescribe = describe.only;
const hook = (name, root) => (fn) => list ? list.push({ hook: () => node[name](ended(fn)) }) : root ? Deno.test[root](ended(fn)) : node[name](ended(fn));
export const beforeAll = hook("before", "beforeAll"), afterAll = hook("after", "afterAll"), before = beforeAll, after = afterAll;
export const beforeEach = hook("beforeEach"), afterEach = hook("afterEach");
