// Tools of other servers, for what imports "tools" (package deps has that module). A query goes
// to the host as a record of kind "c", and its answer comes by a pipe that is opened for the
// first: eight hexadecimal digits, the length; the query's number, a space, and JSON (package
// toolbox). The pipe is read only while answers are awaited, so that the program can end. This
// is part of bootstrap.js.

const toolsSymbol = Symbol.for("coderunner:tools");
const mostAtOnce = 64, mostQuery = 4 << 20; // as package toolbox has them; more queries wait here
const openFile = Deno.open;
const queries = { __proto__: null }; // that await an answer, by their numbers
const queue = []; // of what waits to be sent
let sent = 0, lastQuery = 0, answers; // the pipe, or undefined
let found, foundFrom = 0, foundTo = 0; // what was read of it

let ToolError, ToolBlob, ToolLink; // set by defineTools

function defineTools() {
  ToolError = class ToolError extends NativeError {
    of(code, text) {
      for (const [name, value] of [["message", `${code}: ${text}`], ["code", code], ["text", text]]) defineProperty(this, name, { __proto__: null, value, writable: true, configurable: true });
      return this;
    }
  };
  here.answer(ToolError.prototype, "name", "ToolError");
  // Bytes that a tool has returned.
  ToolBlob = class ToolBlob {
    constructor({ data, mime, name, uri }) {
      [this.data, this.mime, this.name, this.uri] = [NativeUint8Array.fromBase64(data ?? ""), mime ?? "", name ?? "", uri ?? ""];
    }
    [Symbol.for("Deno.customInspect")]() {
      return `Blob { ${this.mime || "of unknown type"}, ${byteLength(this.data)} bytes }`;
    }
    [displaySymbol]() {
      return rank(this.mime) < rank("+json") && { [this.mime]: this.mime === "image/svg+xml" ? decode(this.data) : this.data };
    }
  };
  // A resource that a result names.
  ToolLink = class ToolLink {
    #server;
    constructor({ uri, mime, name, server }) {
      [this.#server, this.uri, this.mime, this.name] = [server, uri, mime ?? "", name ?? ""];
    }
    read() {
      return askTools({ op: "read", name: this.#server, uri: this.uri });
    }
  };
}

// offerTools makes, or for a session's next program renews, what the module exports.
async function offerTools() {
  if (!ToolError) defineTools();
  failQueries("the program that called has ended");
  answers?.close();
  answers = undefined;
  const tools = globalThis[toolsSymbol] ?? { search: searchTools, describe: (name = "") => askTools({ op: "describe", name: `${name}` }), ToolError };
  for (const name of orders.tools.servers) tools[name] ??= toolsOf(name);
  defineProperty(globalThis, toolsSymbol, { __proto__: null, value: tools, configurable: true });
  if (!orders.tools.required || Object.hasOwn(orders.aliases ?? {}, "tools")) return;
  const modules = await nodeModule(), load = modules._load;
  here.answer(modules, "_load", function (name, parent, ...rest) {
    return name === "tools" && parent?.filename?.startsWith(place.home + "/") ? tools : load.call(this, name, parent, ...rest);
  });
}

async function searchTools(words) {
  const list = await askTools({ op: "search", name: `${words}` }) ?? [];
  return list.map((t) => ({ name: `${t.server}.${t.name}`, description: (t.description ?? "").split("\n")[0].slice(0, 300) }));
}

// toolsOf returns a server: whatever is looked up in it is a tool.
function toolsOf(server) {
  return new Proxy({ __proto__: null }, { __proto__: null, get(known, name) {
    if (typeof name !== "string" || name === "then" || name === "toJSON") return undefined;
    return known[name] ??= { [name]: (args = {}) => callTool(`${server}.${name}`, args) }[name];
  } });
}

function callTool(name, args) {
  const at = {}, error = new ToolError(), script = (orders.session?.script ?? orders.main) + ":";
  captureStackTrace(at, callTool);
  captureStackTrace(error, callTool); // it has no text before it is known
  const i = indexOf(at.stack, script), line = i < 0 ? 0 : parseInt(slice(at.stack, i + script.length)) || 0;
  return askTools({ op: "call", name, args, line }, error);
}

// askTools sends a query, which may end with the error.
function askTools(query, error = new ToolError()) {
  return new NativePromise((ok, bad) => {
    const fail = (code, text) => bad(error.of(code, text));
    if (!orders.tools?.answers) return fail("unavailable", "this program has no tools here");
    const text = stringify(query);
    if (text.length > mostQuery || text.length * 3 > mostQuery && byteLength(encode(text)) > mostQuery) {
      return fail("bad_arguments", `the arguments are too long: a call takes ${mostQuery >> 20} MiB at most`);
    }
    const send = () => {
      queries[++lastQuery] = { ok, bad, fail };
      report("c", NativeString(lastQuery), text);
      if (sent++ === 0) readAnswers();
    };
    if (sent < mostAtOnce) send();
    else queue[queue.length] = { send, fail };
  });
}

async function readAnswers() {
  let from;
  try {
    found ??= new NativeUint8Array(1 << 16);
    from = answers ??= await openFile(orders.tools.answers, { read: true });
    while (sent > 0) {
      const text = decode(await readAnswer(from, parseInt(decode(await readAnswer(from, 8)), 16)));
      const at = indexOf(text, " "), number = slice(text, 0, at), query = queries[number];
      delete queries[number];
      sent--;
      if (queue.length > 0) queue.shift().send();
      settle(query, slice(text, at + 1));
    }
  } catch (error) {
    if (sent > 0 && from === answers) failQueries(`${error?.message ?? error}`); // else another program has its own
  }
}

// readAnswer reads n bytes.
async function readAnswer(from, n) {
  const bytes = new NativeUint8Array(n);
  for (let at = 0; at < n;) {
    if (foundFrom === foundTo) {
      foundFrom = 0;
      foundTo = await from.read(found);
      if (foundTo === null) {
        foundTo = 0;
        throw new NativeError("the answers have ended");
      }
    }
    const k = min(n - at, foundTo - foundFrom);
    set(bytes, subarray(found, foundFrom, foundFrom + k), at);
    at += k;
    foundFrom += k;
  }
  return bytes;
}

function settle({ ok, bad, fail }, text) {
  try {
    const { error, parts, value } = parse(text);
    if (error) fail(error.code, error.message);
    else if (!parts) ok(value);
    else ok(parts.length === 1 ? toolPart(parts[0]) : parts.length === 0 ? null : parts.map(toolPart));
  } catch (error) {
    bad(error);
  }
}

const toolPart = (part) => part.blob ? new ToolBlob(part.blob) : part.link ? new ToolLink(part.link) : part.v;

// failQueries rejects what awaits an answer that will not come.
function failQueries(why) {
  const numbers = keys(queries);
  for (let i = 0; i < queue.length; i++) queue[i].fail("unknown", why);
  sent = foundFrom = foundTo = queue.length = 0;
  for (let i = 0; i < numbers.length; i++) {
    const { fail } = queries[numbers[i]];
    delete queries[numbers[i]];
    fail("unknown", why);
  }
}
