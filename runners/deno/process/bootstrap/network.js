// What a program's network says and how long it lasts: refusals name the flag that was
// missing, and servers that only the program itself reaches end with it. This is part of
// bootstrap.js.

const refusals = new Set(); // the destinations that were refused

// explained has the error of a name that Deno refused to look up name the flag that was
// missing: it has only a code. It reports what was refused: the program may hide it.
function explained(error, host = error?.hostname) {
  try {
    const { code, message, stack } = error;
    if (includes(message, "Requires net access")) host ??= /"([^"]+)"/.exec(message)?.[1];
    const refused = includes(message, "run again with") || code === "EPERM" || code === "UNKNOWN" || message.includes("Permission denied");
    if (!refused || !host || message.includes("(--allow-net") || permissions.querySync({ name: "net", host }).state === "granted") return error;
    if (refusals.size < 20 && !refusals.has(host)) {
      refusals.add(host);
      report("n", host);
    }
    error.message = message.replace(/, run again with the .* flag/, "") + `; the permissions of this server do not include it (--allow-net=${host})`;
    error.stack = `${stack}`.replace(message, () => error.message);
  } catch {
    // an error of the program's own
  }
  return error;
}

// Where only the program itself reaches its servers, they keep it no longer than something
// else does: nothing more happens then.
const servers = []; // functions that report whether one is open
let called = false; // a client has come to one

function addServer(open) {
  if (servers.length === 0) report("s", "");
  servers[servers.length] = open;
}

// reportServers reports that servers are open and nobody has called them.
function reportServers() {
  if (called) return;
  for (let i = 0; i < servers.length; i++) if (servers[i]()) return report("s", "1");
}

// endServers does this for Deno's, and endNodeServers for those of node:net.
function endServers() {
  const seen = (handler) => typeof handler !== "function" ? handler : defineProperties(function (...args) {
    called = true;
    return handler.apply(this, args);
  }, getOwnPropertyDescriptors(handler)); // Deno looks at its length
  const set = (serve) => here.answer(Deno, "serve", serve);
  const { get } = getOwnPropertyDescriptor(Deno, "serve"); // its first use takes Deno 20 ms
  defineProperty(Deno, "serve", { __proto__: null, configurable: true, enumerable: true, set, get() {
    const serve = get.call(Deno);
    set(defineProperties((...args) => {
      for (let i = 0; i < args.length; i++) args[i] = args[i]?.handler ? { ...args[i], handler: seen(args[i].handler) } : seen(args[i]);
      if (typeof args[0] === "function") args = [{ onError: tellBroken }, args[0]];
      else if (args[0] && !args[0].onError) args[0] = { ...args[0], onError: tellBroken };
      const server = serve(...args);
      let open = true;
      then(server.finished, () => open = false, () => open = false);
      addServer(() => open);
      server.unref();
      return server;
    }, getOwnPropertyDescriptors(serve)));
    return Deno.serve;
  } });
  for (const name of ["listen", "listenTls"]) {
    const listen = Deno[name];
    here.answer(Deno, name, defineProperties((...args) => {
      const listener = listen(...args), { accept, close } = listener;
      let open = true;
      here.answer(listener, "close", () => (open = false, close.call(listener)));
      here.answer(listener, "accept", async () => {
        const connection = await accept.call(listener);
        called = true;
        return connection;
      });
      addServer(() => open);
      listener.unref();
      return listener;
    }, getOwnPropertyDescriptors(listen)));
  }
}

// tellBroken answers a request whose handler has thrown, as Deno does, and prints the frames
// of the program only.
function tellBroken(error) {
  const ours = (line) => /^    at .*\bext:/.test(line) || /^    at /.test(line) && includes(line, self);
  const shown = inspect(error).split("\n").filter((line) => !ours(line)).join("\n");
  console.error("%s", shown.replaceAll(rootURL(), ""));
  return new Response("Internal Server Error", { status: 500 });
}

function endNodeServers({ prototype }) {
  const { listen } = prototype;
  here.answer(prototype, "listen", function (...args) {
    this.on("listening", () => {
      addServer(() => this.listening);
      this.unref();
    });
    for (const name of ["connection", "secureConnection"]) this.on(name, (socket) => {
      called = true;
      if (this.closeIdleConnections) socket.unref(); // it is kept for another request
    });
    return listen.apply(this, args);
  });
}

// explainSockets has errors of node:net, and what is made of it, say what was refused.
function explainSockets({ Socket: { prototype } }) {
  const { _destroy } = prototype;
  here.answer(prototype, "_destroy", function (error, done) {
    return _destroy.call(this, error && explained(error), done);
  });
}

// explainNames does so for node:dns, and explainDNS for Deno.
function explainNames(dns) {
  for (const object of [dns, dns.promises, dns.Resolver.prototype, dns.promises.Resolver.prototype]) {
    for (const name of keys(getOwnPropertyDescriptors(object))) {
      if (/^(lookup$|resolve)/.test(name)) explainQuery(object, name);
    }
  }
}

function explainDNS() {
  const { resolveDns } = Deno;
  here.answer(Deno, "resolveDns", async (name, ...args) => {
    try {
      return await resolveDns(name, ...args);
    } catch (error) {
      throw explained(error, name);
    }
  });
}

// explainQuery does so for a function of node:dns, which takes a callback or returns a
// promise.
function explainQuery(object, name) {
  const query = object[name];
  const call = function (...args) {
    const from = site(call), done = args.at(-1);
    if (typeof done === "function") args[args.length - 1] = (error, ...found) => done(error && sited(explained(error), from), ...found);
    const found = query.apply(this, args);
    return found instanceof NativePromise ? found.catch((error) => { throw sited(explained(error), from) }) : found;
  };
  here.answer(object, name, defineProperties(call, getOwnPropertyDescriptors(query)));
  if (query[promised]) explainQuery(object[name], promised);
}
