// sharp looks for machine code, which its package for WebAssembly does without. This is part of
// bootstrap.js.

// giveWasm has sharp find its WebAssembly where it looks for machine code. The threads
// that work for a call keep a program of Node alive until it is done, but none of Deno,
// so a timer does.
async function giveWasm() {
  const modules = await nodeModule(), find = modules._resolveFilename;
  const wasm = "@img/sharp-wasm32/sharp.node";
  const kept = (call) => (...args) => {
    const done = args.at(-1);
    if (typeof done !== "function") return call(...args);
    args[args.length - 1] = (...results) => (clearInterval(timer), done(...results));
    const result = call(...args), timer = setInterval(() => {}, 0x7fffffff);
    return result;
  };
  let made;
  here.answer(modules, "_resolveFilename", function (name, ...rest) {
    if (!/^@img\/sharp-.*\/sharp\.node$/.test(name) || name === wasm) return find.call(this, name, ...rest);
    if (!made) {
      made = modules.createRequire(orders.main)(wasm);
      for (const key of keys(made)) if (typeof made[key] === "function") made[key] = kept(made[key]);
    }
    return find.call(this, wasm, ...rest);
  });
}
