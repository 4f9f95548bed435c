// What is changed in the realm and in the modules of Node, and when: the realm when the process
// is started, where it waits for its program, and a module before something imports it. This is
// part of bootstrap.js.

const nodeModule = async () => (await import("node:module")).default;

function patchRealm() {
  answerDialogs();
  if (place.alone) endServers();
  mendFetch();
  if (!place.net) explainDNS();
  codeURLs();
  siteAny();
  formatNumbers();
  here.workers();
  if (place.packages) seeDeeper();
  ownPathsDeno();
  if (place.session) return;
  hearErrors();
  if (!place.run) holdSignals();
}

// patches are for what require of a module of Node returns. Deno's modules export what is there
// when they are first imported.
const patches = {
  __proto__: null,
  child_process: (child) => place.refused && explainRun(child),
  dns: (dns) => place.net || explainNames(dns),
  fs(fs, require) {
    mendFiles(fs);
    codeFiles(fs, require);
    siteFiles(fs);
    ownPathsFiles(fs);
  },
  http(http) {
    mendServers(http, true);
    mendRequests(http);
  },
  https: (https) => mendServers(https, false),
  module: lookPast,
  net({ Socket, Server }) {
    siteStreams(Socket.prototype, Socket.prototype, "connect");
    if (!place.net) explainSockets({ Socket });
    if (place.alone) endNodeServers(Server);
  },
  readline: ({ Interface }) => keepLines(Interface),
  "readline/promises": ({ Interface }) => keepLines(Interface),
  url: (url) => here.answer(url, "URL", URL),
  worker_threads: (module) => here.threads(module),
};

// imports are for modules that Deno loads as such, without Node's part.
const imports = {
  __proto__: null,
  os: async () => here.os((await import("node:os")).default),
  process: () => process,
  test: async () => restoreMocks(await import("node:test")),
};

// needs are the modules that are made of others.
const needs = {
  __proto__: null, "dns/promises": ["dns"], "fs/promises": ["fs"], http: ["net"], http2: ["net"], https: ["http", "net"], tls: ["net"],
};

// patchModules patches modules of Node that the program, its files or its packages import.
async function patchModules(names) {
  for (const name of names) {
    if (patched[name]) continue;
    patched[name] = true;
    await patchModules(needs[name] ?? []);
    await imports[name]?.();
    if (!patches[name]) continue;
    const require = (await nodeModule()).createRequire(ownMeta.url);
    patches[name](require(name), require);
  }
}

// lookPast has require() look past directories that are not shown to the program: Deno 2.9.6 ends
// the search at the first with the error NotFound.
function lookPast(modules) {
  const find = modules._findPath;
  here.answer(modules, "_findPath", function (name, dirs, ...rest) {
    try {
      return find.call(this, name, dirs, ...rest);
    } catch (thrown) {
      if (!(thrown instanceof Deno.errors.NotFound)) throw thrown;
    }
    return find.call(this, name, dirs.filter(exists), ...rest);
  });
}

function exists(name) {
  try {
    Deno.lstatSync(name);
    return true;
  } catch {
    return false;
  }
}

// nameRequired has require() in the program's own files find what its configuration names.
async function nameRequired() {
  const modules = await nodeModule(), find = modules._resolveFilename;
  here.answer(modules, "_resolveFilename", function (name, parent, ...rest) {
    const known = Object.hasOwn(orders.aliases ?? {}, name) && parent?.filename?.startsWith(place.home + "/");
    return find.call(this, known ? orders.aliases[name] : name, parent, ...rest);
  });
}
