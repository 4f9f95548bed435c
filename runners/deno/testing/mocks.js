// What replaces modules in tests: vi.mock, jest.mock and their like. Only programs that use
// these import it. jsparse/mocks.go has their static imports happen after them.
import modules from "node:module";
import { mock as nodes } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { jest, mock as bun, mocker } from "@jest/globals";

const mocks = new Map(); // by URL: { id, specifier, factory, made, thrown, … }
const all = []; // by id
const loaded = new Set(); // the URLs of modules that are not replaced
const { stringify } = JSON;
let meta, load, vitest; // of the program
let begun = false; // its first imports
let generation = 0; // of its own modules
let hooks, registered, depth = 0; // how often aside is called
let resolving = false; // Deno waits for the hook
let wanted = ""; // the path of a module that is required as it is

function locate(specifier, from = meta.url) {
  try {
    return from === meta.url ? meta.resolve(specifier) : new URL(specifier, from).href;
  } catch {
    return URL.canParse(specifier, from) && /^[./]/.test(specifier) ? new URL(specifier, from).href : specifier;
  }
}

// own reports whether a URL is of one of the program's files.
const own = (url) => url.startsWith(new URL(".", meta.url).href) && !url.includes("/node_modules/");
const actual = (url) => import(url); // the hook tells it by the module that imports
const automock = (value) => mocker.generateFromMetadata(mocker.getMetadata(value));
const spied = (value) => Object.fromEntries(Object.entries(value).map(([name, v]) => [name, typeof v === "function" ? mocker.fn(v) : v]));

function add(specifier, how) {
  const url = locate(specifier), m = { id: all.length, specifier, url, ...how };
  mocks.set(url, m);
  all.push(m);
  return m;
}

function mock(specifier, factory) {
  if (begun && vitest && loaded.has(locate(specifier))) throw new Error(`vi.mock(${stringify(specifier)}) comes after the module was loaded: move it out of the function, to the top level of the file, or use vi.doMock and import() after vi.resetModules()`);
  return doMock(specifier, factory);
}

function doMock(specifier, factory) {
  add(specifier, { factory: typeof factory === "function" ? factory : undefined, calls: factory?.spy });
  return jest;
}

const unmock = (specifier) => (mocks.delete(locate(specifier)), jest);

// manual returns the URL of the file in __mocks__ that stands for a module.
function manual({ specifier, url }) {
  const name = /^[./]/.test(specifier) || own(url) ? url.replace(/[^/]*$/, "__mocks__/$&") : locate(`./__mocks__/${specifier}`);
  for (const ending of ["", ".ts", ".tsx", ".js", ".mjs", ".cjs"]) {
    try {
      if (Deno.statSync(new URL(name + ending)).isFile) return name + ending;
    } catch {
      // there is none
    }
  }
}

// checked returns what a factory has returned.
function checked(m, made) {
  if (vitest && Object(made) !== made) throw new TypeError(`vi.mock(${stringify(m.specifier)}, factory): the factory returns ${made}, and not an object with what the module exports, { default: … } for its default`);
  return m.made = made;
}

// ready makes what stands for modules before they are imported: while Deno resolves an import,
// nothing can be awaited or required. What uses a name that has no value yet is made then.
async function ready() {
  for (const m of mocks.values()) {
    if ("made" in m || "thrown" in m) continue;
    try {
      const other = !m.factory && !m.spies && manual(m);
      if (m.factory) checked(m, await m.factory(() => actual(m.url)));
      else if (other) m.made = await actual(other);
      else made(m, await actual(m.url));
    } catch (thrown) {
      if (!early(m, thrown)) m.thrown = thrown;
    }
  }
  begun = true;
}

// early explains the error of a factory that uses what is declared after it. It reports
// whether it is one.
function early(m, thrown) {
  const name = thrown instanceof ReferenceError && /^Cannot access '(\w+)' before initialization$/.exec(thrown.message)?.[1];
  if (name) thrown.message += `: the mock of ${stringify(m.specifier)} is made before the imports of the file; ` +
    (vitest ? `write const { ${name} } = vi.hoisted(() => ({ ${name}: … }))` : `make ${name} in the factory, or use it there in a function only`);
  return name;
}

// made makes what has no factory of what the module exports.
const made = (m, value) => m.made = m.spies ? live(m, value) : (m.calls ? spied : automock)(value);

// given returns a function that returns the exports of a mock by their names.
export function given(id) {
  const m = all[id];
  if ("thrown" in m) throw m.thrown;
  const get = (name) => {
    const whole = Object(m.made);
    if (name in whole) return whole[name];
    if (!vitest) return name === "default" && !whole.__esModule ? m.made : undefined;
    const refuse = () => {
      throw new Error(`No ${stringify(name)} export is defined on the mock of ${stringify(m.specifier)}: return it from the factory, or spread there what await importOriginal() returns`);
    };
    return new Proxy(refuse, { get: refuse, set: refuse, apply: refuse, construct: refuse });
  };
  return Object.assign(get, { changes: (name, set) => m.setters.push([name, set]) });
}

// sync makes a mock where nothing can be awaited.
function sync(m) {
  if ("thrown" in m) throw m.thrown;
  if ("made" in m) return m.made;
  try {
    return m.factory ? checked(m, m.factory()) : made(m, required(m));
  } catch (thrown) {
    early(m, thrown);
    throw thrown;
  }
}

// live returns what a module exports as an object whose members may be replaced, for all
// that import the module.
function live(m, original) {
  m.setters = [];
  return new Proxy({ ...original }, {
    set(target, name, value) {
      if (original.default?.[name] === target[name] && Object(original.default) === original.default) original.default[name] = value;
      target[name] = value;
      for (const [of, set] of m.setters) if (of === name) set(value);
      return true;
    },
  });
}

// imported returns the names that a file of the program imports by a specifier.
function imported(specifier, file) {
  const names = new Set();
  let text = "";
  try {
    text = Deno.readTextFileSync(new URL(file.replace(/\?reset=\d+$/, "")));
  } catch {
    return names; // not a file
  }
  const quoted = specifier.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  for (const [, what] of text.matchAll(new RegExp(`\\b(?:import|export)\\s+(?!type\\s)([^;"'()]*?)\\bfrom\\s*["']${quoted}["']`, "g"))) {
    for (const name of /\{([^}]*)\}/.exec(what)?.[1].split(",") ?? []) {
      const [first] = name.trim().split(/\s+as\s+/);
      if (first && !/^type\s/.test(first)) names.add(first);
    }
    if (/^[\w$]/.test(what)) names.add("default");
  }
  return names;
}

// moduleOf returns the URL of a module that exports what stands for another one.
function moduleOf(m, specifier, from) {
  const names = imported(specifier, from).add("default");
  try {
    resolving = true;
    for (const name of Object.keys(Object(sync(m)))) names.add(name);
  } catch (thrown) {
    m.thrown = thrown;
  } finally {
    resolving = false;
  }
  names.delete("__esModule");
  const source = Array.from(names, (name, i) => `let v${i}=m(${stringify(name)});export{v${i} as ${stringify(name)}};` + (m.spies ? `m.changes(${stringify(name)},(v)=>v${i}=v);` : ""));
  return "data:text/javascript," + encodeURIComponent(`import{given}from"coderunner:mocks";const m=given(${m.id});${source.join("")}`);
}

const bare = (path) => path.replace(/^node:/, "");

// required requires a module as it is.
function required({ specifier, url }) {
  const require = modules.createRequire(meta.url), before = wanted;
  const name = url.startsWith("file:") && own(url) ? fileURLToPath(url) : specifier;
  try {
    wanted = bare(aside(() => require.resolve(name)));
    return require(name);
  } finally {
    wanted = before;
  }
}

// found returns the mock of what a CommonJS module requires.
function found(request, parent) {
  let path;
  try {
    path = bare(aside(() => modules._resolveFilename(request, parent)));
  } catch {
    path = fileURLToPath(new URL(/^[./]/.test(request) ? request : "./" + request, parent?.filename ? pathToFileURL(parent.filename) : meta.url));
  }
  if (path === wanted || path === parent?.filename) return; // as it is, or Deno's module for it
  const url = path.startsWith("/") ? pathToFileURL(path).href : "node:" + path;
  const m = mocks.get(url) ?? mocks.get(request) ?? mocks.values().find((m) => m.specifier === request && !/^[./]/.test(request));
  if (!m && path.startsWith("/") && own(url)) unseen(url, request);
  return m;
}

// unseen refuses to require a module that imports what is replaced: while one is required,
// Deno asks no hook.
function unseen(url, request) {
  for (const [, specifier] of Deno.readTextFileSync(new URL(url)).matchAll(/^\s*(?:import|export)\s[^;"'()]*?(?:from\s*)?["']([^"']+)["']/gm)) {
    const at = /^[./]/.test(specifier) ? mocks.keys().find((key) => key.replace(/\.\w+$/, "") === new URL(specifier, url).href.replace(/\.\w+$/, "")) : mocks.has(locate(specifier));
    if (at) throw new Error(`require(${stringify(request)}) of a module that imports ${stringify(specifier)}, which is mocked: write await import(${stringify(request)})`);
  }
}

// hook has what imports and requires a module find its mock.
function hook() {
  const resolve = (specifier, from, next) => {
    let to;
    try {
      to = next(specifier, from);
    } catch (error) {
      to = { url: locate(specifier, from.parentURL), shortCircuit: true };
      if (!mocks.has(to.url)) throw error;
    }
    if (from.parentURL === import.meta.url) return to;
    const m = mocks.get(to.url) ?? mocks.get(specifier);
    if (m) return { url: moduleOf(m, specifier, from.parentURL), format: "module", shortCircuit: true };
    loaded.add(to.url);
    return generation && own(to.url) ? { ...to, url: `${to.url}?reset=${generation}` } : to;
  };
  const { _load, prototype } = modules, { require } = prototype;
  modules._load = function (request, parent, ...rest) {
    const m = mocks.size > 0 && found(request, parent);
    if (!m) return _load.call(this, request, parent, ...rest);
    const value = sync(m);
    return m.factory ? value : value["module.exports"] ?? (own(m.url) ? value : value.default ?? value);
  };
  prototype.require = function (id) {
    return aside(() => require.call(this, id));
  };
  hooks = { resolve };
  registered = modules.registerHooks(hooks);
}

// aside calls a function without our hook: while there is one, Deno resolves no import of a
// module that is required, and what is required by the hook.
function aside(call) {
  if (resolving) throw new Error("require() in the factory of a mock that uses what is declared after it"); // Deno would panic
  if (depth++ === 0) registered.deregister();
  try {
    return call();
  } finally {
    if (--depth === 0) registered = modules.registerHooks(hooks);
  }
}

function resetModules() {
  generation++;
  loaded.clear();
  for (const name of Object.keys(modules._cache)) if (own(pathToFileURL(name).href)) delete modules._cache[name];
  if (!vitest) for (const m of mocks.values()) if (m.factory) delete m.made;
  return jest;
}

async function importModule(specifier, options) {
  if (mocks.size > 0) await ready();
  const m = mocks.get(locate(specifier)); // Deno resolves packages for it, which it does not for hooks
  return m?.spies && "made" in m ? m.made : load(specifier, options);
}

export default {
  begin(...of) {
    [meta, load, vitest] = of;
    hook();
  },
  ready,
  spies: (specifier) => void (mocks.has(locate(specifier)) || add(specifier, { spies: true })),
  import: importModule,
  async names(specifier, options) {
    const module = await importModule(specifier, options), common = Object(module["module.exports"]);
    return new Proxy({}, {
      get(_, name) {
        if (name in module || name === "then") return module[name];
        if (name in common) return common[name];
        if (/^[A-Z]/.test(name) || mocks.has(locate(specifier))) return undefined; // may be a type's
        throw new SyntaxError(`The requested module '${specifier}' does not provide an export named '${name}'`);
      },
    });
  },
};

Object.assign(jest, {
  mock, doMock, unmock, resetModules, doUnmock: unmock, dontMock: unmock, deepUnmock: unmock, unstable_mockModule: doMock,
  setMock: (specifier, value) => doMock(specifier, () => value),
  importActual: (specifier) => actual(locate(specifier)),
  importMock: (specifier) => actual(locate(specifier)).then(automock),
  requireActual: (specifier) => required({ specifier, url: locate(specifier) }),
  requireMock: (specifier) => modules.createRequire(meta.url)(specifier),
  createMockFromModule: (specifier) => automock(required({ specifier, url: locate(specifier) })),
  isolateModules: (run) => (resetModules(), run(), resetModules()),
  isolateModulesAsync: async (run) => (resetModules(), await run(), resetModules()),
});
jest.genMockFromModule = jest.createMockFromModule;
bun.module = mock;
nodes.module = (specifier, { namedExports, defaultExport, ...rest } = {}) => {
  const others = rest.exports ?? (defaultExport === undefined ? {} : { default: defaultExport });
  doMock(specifier, () => ({ ...namedExports, ...others }));
  return { restore: () => unmock(specifier) };
};
