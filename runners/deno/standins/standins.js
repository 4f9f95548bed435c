// What stands for packages, or for what they expect of Node, by their names: the processes that
// have them are started with it. This is part of bootstrap.js.

const standIns = {
  __proto__: null,
  "@img/sharp-wasm32": giveWasm, "@mswjs/interceptors": mockFetch, "adm-zip": seeAbove, "better-sqlite3": giveSqlite, "esbuild-wasm": hostEsbuild, os: nameOS, prettier: findPlugins, sqlite3: giveSqlite,
};

const resolvers = []; // by which an import is resolved before Deno does, if they return something

// resolveBy has imports be resolved so. While there are hooks, Deno resolves no import of a
// module that is required, so there are none meanwhile.
async function resolveBy(resolver) {
  resolvers[resolvers.length] = resolver;
  if (resolvers.length > 1) return;
  const { registerHooks, prototype } = await nodeModule();
  const resolve = (specifier, from, next) => {
    for (const by of resolvers) {
      const found = by(specifier, from, next);
      if (found) return found;
    }
    return next(specifier, from);
  };
  const { require } = prototype;
  let registered = registerHooks({ resolve }), depth = 0;
  here.answer(prototype, "require", function (id) {
    if (depth++ === 0) registered.deregister();
    try {
      return require.call(this, id);
    } finally {
      if (--depth === 0) registered = registerHooks({ resolve });
    }
  });
}

// nameOS has modules of packages that import functions of node:os by their names find the
// replaced ones: the import map is not for them.
async function nameOS() {
  const { default: os } = await import("node:os");
  const url = "data:text/javascript," + encodeURIComponent(`import m from"node:os";export default m;export const{${keys(os)}}=m`);
  await resolveBy((specifier, { parentURL }) => (specifier === "os" || specifier === "node:os") && /\/npm\/.*\.m?js$/.test(parentURL) ? { url, shortCircuit: true } : undefined);
}
