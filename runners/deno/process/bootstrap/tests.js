// The tests that a program registers, with Deno.test or node:test, which calls
// Deno.test. "deno run" has them do nothing, so that a test that would fail
// looks like success. Here they run when the program has come to its end, and
// are reported as "deno test" reports them. This is part of bootstrap.js.
//
// Sanitizers of resources and operations, and a test's own permissions, are not
// there: a program has the permissions of its run.

const tests = []; // those that are registered, in order
const hooks = { __proto__: null, beforeAll: [], beforeEach: [], afterEach: [], afterAll: [] };
let current; // the test that runs

function push(list, item) {
  defineProperty(list, list.length, { __proto__: null, value: item, writable: true, configurable: true, enumerable: true });
}

function print(line) {
  writeAll(writeStdout, encode(line + "\n"));
}

// defineTests puts our functions into the place of Deno's, which do nothing.
function defineTests() {
  const define = (overrides) => {
    const test = (...args) => register(args, overrides);
    test.each = (cases) => each(cases, test);
    return test;
  };
  const test = define({});
  test.only = define({ only: true });
  test.ignore = define({ ignore: true });
  test.skip = test.ignore;
  test.sanitizer = () => {};
  for (const name in hooks) {
    test[name] = (fn) => {
      if (typeof fn !== "function") throw new TypeError(`Expected a function for ${name} hook`);
      push(hooks[name], fn);
    };
  }
  defineProperty(Deno, "test", { value: test, writable: true, configurable: true, enumerable: true });
}

// describeTest reads the arguments of Deno.test and of step.
function describeTest([first, second, third]) {
  let d;
  if (typeof first === "string") {
    d = typeof second === "function" ? { name: first, fn: second } : { ...second, name: first, fn: third };
  } else if (typeof first === "function") {
    d = { name: first.name, fn: first };
  } else {
    const fn = typeof second === "function" ? second : first?.fn;
    d = { ...first, fn, name: first?.name ?? fn?.name };
  }
  if (typeof d.fn !== "function") throw new TypeError("Missing test function");
  if (!d.name) throw new TypeError("The test name can't be empty");
  return d;
}

function register(args, overrides) {
  if (current) throw new Error("Nested Deno.test() calls are not supported. Use t.step() for nested tests.");
  push(tests, { __proto__: null, ...describeTest(args), ...overrides, at: caller() });
}

// each registers a test for each row, whose values stand for %s in the name.
function each(cases, test) {
  if (!isArray(cases)) throw new TypeError("Deno.test.each: expected an array of test cases");
  return (name, second, third) => {
    const fn = third ?? second, options = third ? second : {};
    for (const row of cases) {
      const args = isArray(row) ? row : [row];
      let i = 0;
      const shown = name.replace(/%([%sdifjoO])|\$([\w.]+)/g, (found, kind, path) => {
        if (kind === "%") return "%";
        if (path) return path.split(".").reduce((v, key) => v?.[key], row) ?? found;
        const arg = args[i++];
        return kind === "j" ? stringify(arg) : typeof arg === "string" || kind !== "o" && kind !== "O" ? String(arg) : inspect(arg);
      });
      test({ ...options, name: shown, fn: (t) => fn(...args, t) });
    }
  };
}

// frames returns a stack's frames in the program's files, without columns, since
// the program's text may have been edited.
function frames(stack) {
  const root = rootURL();
  return String(stack).split("\n").filter((line) => /^\s+at /.test(line) && line.includes(root))
    .map((line) => line.replace(root, "").replace(/(?:\?reset=\d+)?:(\d+):\d+(\)?)$/, ":$1$2"));
}

function caller() {
  return frames(new NativeError().stack)[0]?.replace(/^.*?at (?:.*\()?|\)$/g, "") ?? "";
}

// shownError returns the text that is printed for what a test threw.
function shownError(thrown) {
  try {
    if (!(thrown instanceof NativeError)) return inspect(thrown);
    const stack = stackOf(thrown);
    const head = stack.split(/\n\s+at /, 1)[0];
    let shown = text(head.replaceAll(rootURL(), "./"), errorRoom);
    if (includes(shown, "__coderunner_")) shown = shown.replace(/(\n +>? *\d* \|.*)+\n?/g, ""); // Jest's excerpt of the edited program
    for (const frame of frames(stack).slice(0, 20)) shown += "\n" + frame;
    shown += fieldsOf(thrown);
    return thrown.cause === undefined ? shown : shown + "\nCaused by: " + shownError(thrown.cause);
  } catch {
    return "(the error cannot be shown)";
  }
}

// testFailed takes an error that nobody caught for the running test's.
function testFailed(event, thrown) {
  if (!current) return false;
  event.preventDefault();
  current.stop(thrown);
  return true;
}

// stuck has a test fail that waits for what can never come, so that the next
// one can run.
function stuck(event) {
  if (!current) return;
  event.preventDefault();
  current.stop(new NativeError("Promise resolution is still pending but the event loop has already resolved."));
}

// restoreMocks has what node:test's t.mock makes be restored at the end of the test, as
// in Node, and its timers too: Deno has one object for it and for the module's mock, which
// stays. A test of our own shows the class of t.
async function restoreMocks({ default: test, mock }) {
  const keep = (made) => current && push(current.mocks ??= [], made);
  const enable = (...args) => {
    mock.timers.enable(...args);
    keep({ restore: () => mock.timers.reset() });
  };
  const own = { __proto__: mock, timers: { __proto__: mock.timers, enable } };
  for (const name of ["fn", "method", "getter", "setter", "property"]) {
    own[name] = (...args) => {
      const made = mock[name](...args);
      keep(made.mock);
      return made;
    };
  }
  let context;
  test("t", (t) => context = getPrototypeOf(t));
  await tests.pop().fn({ name: "t" });
  defineProperty(context, "mock", { __proto__: null, get: () => own, configurable: true });
}

// attempt runs a test with its hooks, or a step.
async function attempt(d, context, before, after) {
  let failure;
  const uncaught = new Promise((_, reject) => d.stop = reject);
  uncaught.catch(() => {});
  const outer = current;
  current = d;
  const part = async (f, ...args) => {
    try {
      await Promise.race([f(...args), uncaught]);
    } catch (thrown) {
      failure ??= { thrown };
    }
  };
  const restore = guardExit(d);
  for (const hook of before) if (!failure) await part(hook);
  if (!failure) await part(d.fn, context);
  for (const hook of after) await part(hook);
  restore((thrown) => failure ??= { thrown });
  for (const mock of d.mocks ?? []) mock.restore();
  current = outer;
  return failure;
}

// guardExit has a test fail that exits or sets the exit code.
function guardExit(d) {
  if (d.sanitizeExit === false) return () => {};
  const before = Deno.exit, code = Deno.exitCode;
  Deno.exit = (code) => {
    throw new NativeError(`Test case attempted to exit with exit code: ${code ?? 0}`);
  };
  return (fail) => {
    Deno.exit = before;
    const left = Deno.exitCode;
    if (left === code) return;
    Deno.exitCode = code;
    fail(new NativeError(`Test case finished with exit code set to ${left}`));
  };
}

const elapsed = (since) => `(${Math.round(now.call(performance) - since)}ms)`;

// run runs a test or a step and its steps. It returns whether it passed.
async function runTest(d, count, depth, name, before, after) {
  const indent = "  ".repeat(depth);
  const tell = (how) => print(`${indent}${d.name} ... ${how}`);
  if (d.ignore) {
    tell("ignored (0ms)");
    count.ignored++;
    return true;
  }
  const begun = now.call(performance);
  const steps = { passed: 0, failed: 0, ignored: 0, failures: count.failures };
  let first = true, running = 0;
  const context = {
    name: d.name,
    parent: d.parent,
    origin: orders.main,
    async step(...args) {
      const step = { sanitizeExit: d.sanitizeExit, ...describeTest(args), parent: context, at: d.at };
      if (first) print(`${indent}${d.name} ...`);
      first = false;
      running++;
      try {
        return await runTest(step, steps, depth + 1, `${name} ... ${step.name}`, [], []);
      } finally {
        running--;
      }
    },
  };
  const failure = await attempt(d, context, before, after);
  if (failure || running > 0) {
    const thrown = failure ? failure.thrown : new NativeError("There were still test steps running after the current scope finished execution. Ensure all steps are awaited (ex. `await t.step(...)`).");
    push(count.failures, { name, at: d.at, thrown });
  }
  const ok = !failure && running === 0 && steps.failed === 0;
  count.steps = (count.steps ?? 0) + steps.passed + (steps.steps ?? 0);
  count.failedSteps = (count.failedSteps ?? 0) + steps.failed + (steps.failedSteps ?? 0);
  const due = !failure && steps.failed > 0 ? ` (due to ${steps.failed} failed step${steps.failed > 1 ? "s" : ""})` : "";
  tell(`${ok ? "ok" : "FAILED" + due} ${elapsed(begun)}`);
  ok ? count.passed++ : count.failed++;
  return ok;
}

// runTests runs what was registered, and returns whether all passed.
async function runTests() {
  const begun = now.call(performance);
  const only = tests.some((d) => d.only);
  const chosen = only ? tests.filter((d) => d.only) : tests.slice();
  const count = { passed: 0, failed: 0, ignored: 0, failures: [] };
  listen("beforeunload", stuck);
  print(`running ${chosen.length} test${chosen.length === 1 ? "" : "s"} from ./${orders.shown}`);
  const all = async (name, list) => {
    for (const fn of list) {
      const failure = await attempt({ fn, sanitizeExit: false }, undefined, [], []);
      if (failure) push(count.failures, { name, at: "", thrown: failure.thrown });
      if (failure) return false;
    }
    return true;
  };
  const ready = await all("beforeAll", hooks.beforeAll);
  for (const d of chosen) {
    if (ready) await runTest(d, count, 0, d.name, hooks.beforeEach, hooks.afterEach.toReversed());
    else count.failed++;
  }
  const ended = await all("afterAll", hooks.afterAll.toReversed());
  const ok = ready && ended && count.failed === 0;
  const where = (f) => f.name + (f.at ? ` => ./${f.at}` : "");
  if (count.failures.length > 0) {
    print("\n ERRORS \n");
    for (const f of count.failures) print(`${where(f)}\nerror: ${shownError(f.thrown)}\n`);
    print(" FAILURES \n");
    for (const f of count.failures) print(where(f));
  }
  const steps = (n) => n > 0 ? ` (${n} step${n > 1 ? "s" : ""})` : "";
  print(`\n${ok ? "ok" : "FAILED"} | ${count.passed} passed${steps(count.steps)} | ${count.failed} failed${steps(count.failedSteps)}` +
    (count.ignored > 0 ? ` | ${count.ignored} ignored` : "") +
    (tests.length > chosen.length ? ` | ${tests.length - chosen.length} filtered out, since others are marked "only"` : "") + ` ${elapsed(begun)}`);
  return ok;
}
