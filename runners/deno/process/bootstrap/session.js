// The programs of a session, one after another in one process: each is a script
// in V8's REPL mode, as in Deno's own (jsparse/session.go made it one), so that
// what it declares lives on, and a later one may declare it again. A call is over
// when Deno has nothing left to do, as an ordinary run. This is part of
// bootstrap.js.

let post; // sends a command to V8's inspector
let realm; // globalThis, for the inspector
let importFrom; // imports from the working directory
let located; // import.meta of the working directory
let writeTextFile, readTextFile, removeFile; // saved functions
let compiled = 0; // programs
let taken; // a value from the inspector
let known; // Deno's global names
let finished; // the call's program has been evaluated
let failing; // something of it was thrown
let exited; // the exit code, if it exited
let timer = 0; // the last one of earlier calls
let exiting; // thrown to leave the program
const maps = { __proto__: null }; // by the name of a script: the source map, where its lines are not the program's
const api = { __proto__: null };

// startSession connects to V8's inspector, which no program may do, and makes a
// module in the working directory: from where a program imports.
async function startSession() {
  startTimer = setTimeout;
  ({ writeTextFileSync: writeTextFile, readTextFileSync: readTextFile, removeSync: removeFile } = Deno);
  NativeError.prepareStackTrace = traceOf;
  exiting = new NativeError("the program has exited");
  known = new Set(keys(globalThis));
  const { Session } = await import("node:inspector");
  const v8 = new Session();
  v8.connect();
  if (place.session.revoke) Deno.permissions.revokeSync({ name: "sys", kind: "inspector" });
  post = (name, params) => new NativePromise((ok, bad) => v8.post(name, params, (error, result) => error ? bad(error) : ok(result)));
  realm = (await post("Runtime.evaluate", { expression: "globalThis" })).result.objectId;

  const requests = Deno.openSync(place.session.orders, { read: true });
  Deno.permissions.revokeSync({ name: "read", path: place.session.orders });
  readOrders = () => orders = readFrame(requests);

  const from = place.home + "/coderunner-session.mjs";
  writeTextFile(from, "export const load=(s,o)=>import(s,o);export const meta=import.meta;");
  ({ load: importFrom, meta: located } = await import(place.session.base + "/coderunner-session.mjs"));
  removeFile(from);

  api.import = importOwn;
  api.names = importNames;
  api.whole = importWhole;
  api.named = (f, value) => defineProperty(f, "name", { __proto__: null, value, configurable: true });
  api.take = (value) => taken = value;
  api.types = describeVariables;
  defineProperty(globalThis, "__coderunner__", { __proto__: null, value: api });
  defineProperty(Deno, "exit", { __proto__: null, value: exitCall, writable: true, configurable: true, enumerable: true });
}

// exitCall is Deno.exit: the process stays.
function exitCall(code) {
  exited = code ?? exitCode() ?? 0;
  dropTimers();
  throw exiting;
}

// dropTimers ends the timers of this call.
function dropTimers() {
  const last = +setTimeout(() => {}, 0);
  for (; timer <= last; timer++) clearTimeout(timer);
}

// importNames imports a module for its names: also those that a CommonJS module
// has only when it was evaluated. A name with a capital may be a type's.
async function importNames(specifier, options) {
  const module = await importOwn(specifier, options);
  const common = Object(module["module.exports"]);
  return new Proxy({}, {
    get(_, name) {
      if (name in module || name === "then") return module[name];
      if (name in common) return common[name];
      const whole = name === "default" && orders.session.defaults?.[specifier];
      if (whole === "") return module;
      if (whole && whole in module) return module[whole];
      if (orders.session.typed && /^[A-Z]/.test(name)) return undefined;
      throw new SyntaxError(`The requested module '${specifier}' does not provide an export named '${name}'`);
    },
  });
}

// importWhole imports a module for all of its names by one: of a CommonJS module for what
// it exports, if that is a function or has names that the module's text does not show.
async function importWhole(specifier, options) {
  const module = await importOwn(specifier, options);
  const common = module["module.exports"];
  if (!common || typeof common !== "function" && (typeof common !== "object" || keys(common).every((name) => name in module))) return module;
  return new Proxy(common, { get: (of, name) => name in of ? of[name] : module[name] });
}

// compile returns the program as JavaScript. Deno compiles it as what a module
// imports that is never evaluated: then Deno reads it outside the main thread, whose
// stack it could not measure, since no program reads /proc.
async function compile(script) {
  const ending = slice(orders.path, orders.path.lastIndexOf("."));
  if (/^\.[mc]?js$/.test(ending)) return orders.code;
  const name = `coderunner-${++compiled}${ending}`, url = `${place.session.base}/${name}`;
  writeTextFile(place.home + "/" + name, orders.code + "\nexport {};"); // Deno would take it for CommonJS
  try {
    await load(url);
  } catch (thrown) {
    if (thrown !== 0) throw misread(thrown, url, script);
  } finally {
    removeFile(place.home + "/" + name);
  }
  const text = readTextFile(`${place.session.gen}/${name}.js`);
  const at = text.lastIndexOf(mapMark);
  maps[script] = text.slice(at + mapMark.length, text.indexOf("\n", at));
  // The functions for tags.
  return text.slice(0, at).replace(/^import \{([^}]*)\} from ("[^"]*");$/gm, (_, names, from) => `const {${names.replace(/ as /g, ":")}} = await __coderunner__.names(${from});`);
}

const mapMark = "//# sourceMappingURL=data:application/json;base64,";

// misread returns an error about a program that cannot be read, with its name.
function misread(thrown, url, script) {
  for (const key of ["message", "stack"]) {
    defineProperty(thrown, key, { __proto__: null, value: NativeString(thrown[key]).replaceAll(url, script), writable: true, configurable: true });
  }
  return thrown;
}

// traceOf is Error.prepareStackTrace: places in the program's own lines, and nothing
// of ours below it.
function traceOf(error, sites) {
  const lines = [];
  for (const site of sites) {
    if (site.getFileName() === "ext:deno_node/inspector.js") break;
    push(lines, unversioned(site));
  }
  return original(headOf(error) + shownFrames(lines));
}

// runCall runs the program of the orders.
async function runCall() {
  [finished, failing, exited] = [false, false, undefined];
  await prepareCall();
  await beginModules();
  if (place.cold) await loadFirst([...place.cold, orders.main]);
  Deno.exitCode = 0;
  [displayRoom.count, displayRoom.chars] = [100, 24 << 20];
  const meta = { __proto__: null, url: orders.main, filename: orders.path, dirname: place.home, main: true, resolve: (s) => located.resolve(s) };
  api.meta = meta;
  const { script } = orders.session;
  try {
    await evaluate(script);
    if (tests.length > 0 && !await runTests()) failing = true;
  } catch (thrown) {
    blameCall(thrown);
  }
  tests.length = 0;
  for (const name in hooks) hooks[name].length = 0;
  await post("Runtime.releaseObjectGroup", { objectGroup: "call" });
  await reportVariables();
  finished = true;
}

async function evaluate(script) {
  let text;
  try {
    text = await compile(script);
  } catch (thrown) {
    failing = true;
    return blame("t", thrown, "1"); // it cannot be read
  }
  const expression = text + "\n//# sourceURL=" + script;
  const { result, exceptionDetails: failed } = await post("Runtime.evaluate", { expression, replMode: true, objectGroup: "call" });
  if (failed) {
    await take(failed.exception ?? result);
    const thrown = taken;
    taken = undefined;
    if (thrown instanceof SyntaxError && !includes(NativeString(thrown.stack), "\n    at ")) { // the program cannot be read
      defineProperty(thrown, "stack", { __proto__: null, value: `${thrown}\n    at ${script}:${failed.lineNumber + 1}:${failed.columnNumber + 1}`, writable: true, configurable: true });
    }
    return blameCall(thrown);
  }
  if (!orders.session.value) return;
  await take(result);
  const value = taken;
  taken = undefined;
  if (value !== undefined && !keys(globalThis).includes("_")) { // as in a REPL, unless it is the program's own
    defineProperty(globalThis, "_", { __proto__: null, value, writable: true, configurable: true });
  }
  if (!orders.session.written || typeof value === "object" && value !== null) give(value);
}

// take sets taken to a value that the inspector has. It may be a promise, so it is
// not returned.
function take(remote) {
  const argument = remote.objectId ? { objectId: remote.objectId }
    : remote.unserializableValue ? { unserializableValue: remote.unserializableValue } : { value: remote.value };
  return post("Runtime.callFunctionOn", { objectId: realm, functionDeclaration: "(v)=>{__coderunner__.take(v)}", arguments: [argument], objectGroup: "call" });
}

function blameCall(thrown) {
  if (thrown === exiting) return;
  failing = true;
  blame("t", thrown);
}

// failedLater takes an error that nobody caught, nor hears of: the process goes on.
function failedLater(event, thrown) {
  if (hears(event)) return;
  event.preventDefault();
  blameCall(thrown);
}

// original returns a stack with the program's lines where Deno has compiled it.
function original(stack) {
  for (const script in maps) {
    if (!includes(stack, script)) continue;
    if (typeof maps[script] === "string") maps[script] = readMap(parse(atob(maps[script]).replace(/"sourcesContent":\[.*?[^\\]"\],/s, "")).mappings);
    stack = stack.split(script).map((rest, i) => {
      if (i === 0) return rest;
      return rest.replace(/^:(\d+):(\d+)/, (all, line, column) => {
        const at = maps[script][line - 1]?.findLast((m) => m[0] < column);
        return at ? `:${at[1] + 1}:${at[2] + 1}` : all;
      });
    }).join(script);
  }
  return stack;
}

// readMap reads the mappings of a source map: for each line of the compiled text,
// its columns with the line and the column of the program.
function readMap(mappings) {
  const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const at = [0, 0, 0, 0, 0];
  return mappings.split(";").map((line) => {
    at[0] = 0;
    return line.split(",").filter((s) => s).map((segment) => {
      let field = 0, value = 0, shift = 0;
      for (const c of segment) {
        const digit = digits.indexOf(c);
        value += (digit & 31) << shift;
        shift += 5;
        if (digit & 32) continue;
        at[field++] += value & 1 ? -(value >> 1) : value >> 1;
        value = shift = 0;
      }
      return [at[0], at[2], at[3]];
    });
  });
}

// mostVariables is how many are reported.
const mostVariables = 200;

// reportVariables reports the names and types of what programs have declared.
async function reportVariables() {
  const { names } = await post("Runtime.globalLexicalScopeNames", {});
  const own = names.concat(keys(globalThis).filter((name) => !known.has(name)))
    .filter((name) => !/^__|\$fn$|^(require|module|exports|nodeBootstrap)$/.test(name) && /^[\p{L}\p{N}_$]+$/u.test(name)).sort();
  const shown = own.slice(0, mostVariables);
  await post("Runtime.evaluate", { expression: `__coderunner__.types({${shown.map((name) => name + ":()=>" + name)}})` });
  if (own.length > shown.length) report("v", "", NativeString(own.length - shown.length));
}

function describeVariables(variables) {
  for (const name of keys(variables)) {
    let type = "undefined";
    try {
      const value = variables[name]();
      type = value === null ? "null" : typeof value;
      if (type === "object") type = getPrototypeOf(value)?.constructor?.name ?? type;
      if (type === "function" && /^class\b/.test(Function.prototype.toString.call(value))) type = "class";
    } catch {
      continue; // it was never set
    }
    report("v", text(name, 100), text(type, 100));
  }
}

// serveSession runs one call after another. Between calls it waits in readFrame.
function serveSession() {
  addEventListener("beforeunload", (event) => {
    if (current) return; // a test waits in vain
    event.preventDefault();
    if (!finished) blameCall(new NativeError("Top-level await promise never resolved"));
    reportServers();
    reportQuestion();
    questions.clear();
    report("x", NativeString(exited ?? (failing ? 1 : exitCode() ?? 0)), orders.session.nonce);
    timer = +setTimeout(() => {}, 0);
    clearTimeout(timer);
    readOrders();
    runCall();
  });
  runCall();
}
