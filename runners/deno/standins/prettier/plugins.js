// prettier looks for a plugin among files first, and then in node_modules, which there is none
// of. This is part of bootstrap.js.

// findPlugins has it find packages.
async function findPlugins() {
  await resolveBy((specifier, from, next) => {
    const beside = orders.main.slice(0, orders.main.lastIndexOf("/") + 1);
    const named = specifier.startsWith(beside) && /^(@[\w-]+\/)?[\w-]*plugin[\w-]*$/.exec(specifier.slice(beside.length))?.[0];
    return named ? next("npm:" + named, { ...from, parentURL: orders.main }) : undefined;
  });
}
