// The modules that a session's programs have among their files. Deno reads each once. Once
// its text has changed, a later program imports it, and what imports it, by another URL.
// This is part of bootstrap.js.

let watched; // node:module's cache and our hooks, once modules are noted
const versions = { __proto__: null }; // by the URL of a module: its text, its version, who imports it, whether this call has used it

const isOwn = (url) => url.startsWith(place.session.base + "/") && !url.startsWith(place.session.base + "/coderunner-");
const unversioned = (url) => NativeString(url).replace(/\?changed=\d+(?=$|[:)])/, "");

// importOwn is importFrom, for the program itself.
async function importOwn(specifier, options) {
  if (!watched && leadsToOwn(specifier)) await watchModules();
  refresh();
  return importFrom(specifier, options);
}

function leadsToOwn(specifier) {
  try {
    return isOwn(located.resolve(specifier));
  } catch {
    return false;
  }
}

// watchModules has the modules noted that are loaded from now on. While there are hooks,
// Deno resolves no import of a module that is required.
async function watchModules() {
  if (watched) return;
  const modules = (await import("node:module")).default, { require } = modules.prototype;
  const resolve = (specifier, from, next) => {
    const found = next(specifier, from);
    const version = note(found.url, unversioned(from.parentURL));
    return version ? { ...found, url: `${found.url}?changed=${version}` } : found;
  };
  const register = () => modules.registerHooks({ resolve });
  watched = { cache: modules._cache, registered: register() };
  let depth = 0;
  here.answer(modules.prototype, "require", function (id) {
    const own = depth === 0 && /^[./]/.test(id) && this.filename?.startsWith(place.home + "/"); // the outermost
    if (depth++ === 0) watched.registered.deregister();
    if (own) refresh();
    try {
      return require.call(this, id);
    } finally {
      if (--depth === 0) watched.registered = register();
      if (own) noteRequired();
    }
  });
}

// note returns the version of an own module, which another one imports.
function note(url, from) {
  if (!isOwn(url) || url.includes("?")) return 0;
  const m = versions[url] ??= { text: moduleText(url), version: 0, from: new Set() };
  m.from.add(from);
  m.used = true;
  return m.version;
}

// noteRequired notes what the last require() has loaded.
function noteRequired() {
  const own = (name) => name?.startsWith(place.home + "/");
  for (const name of keys(watched.cache).filter(own)) if (!versions[pathToURL(name)]) note(pathToURL(name), "");
  for (const name of keys(watched.cache).filter(own)) {
    for (const { filename } of watched.cache[name].children) if (own(filename)) versions[pathToURL(filename)]?.from.add(pathToURL(name));
  }
}

function moduleText(url) {
  try {
    return readTextFile(new URL(url));
  } catch {
    return undefined; // it is gone
  }
}

// refresh gives modules whose text has changed since an earlier call another version. A
// program that changes what it has imported itself finds what it imported, as elsewhere.
function refresh() {
  const stale = [];
  for (const url in versions) if (!versions[url].used && versions[url].text !== moduleText(url)) push(stale, url);
  for (const url of stale) { // and what is pushed meanwhile
    const m = versions[url];
    if (!m) continue; // the program
    m.version++;
    m.text = moduleText(url);
    for (const from of m.from) if (!stale.includes(from)) push(stale, from);
    delete watched.cache[place.home + decodeURIComponent(url.slice(place.session.base.length))];
  }
}

// beginModules begins a call.
async function beginModules() {
  for (const url in versions) versions[url].used = false;
  if (/\brequire\(\s*["'`][./]/.test(orders.code)) await watchModules();
}
