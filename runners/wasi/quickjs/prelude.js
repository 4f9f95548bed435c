// What a program of QuickJS finds besides the language: made of one function of the host,
// host(operation, text...), which returns a text or throws one.
(function (_, host) {
  "use strict";
  const call = (...args) => {
    const answer = host(...args.map(String));
    if (answer[0] === "!") throw new Error(answer.slice(1));
    return answer.slice(1);
  };
  const { stringify, parse } = JSON;

  function inspect(value, depth = 0, seen = new Set()) {
    switch (typeof value) {
      case "string": return depth === 0 ? value : stringify(value);
      case "bigint": return `${value}n`;
      case "symbol": return value.toString();
      case "function": return `[${/^class\b/.test(Function.prototype.toString.call(value)) ? "class" : "Function"} ${value.name || "(anonymous)"}]`;
      case "object": break;
      default: return Object.is(value, -0) ? "-0" : String(value);
    }
    if (value === null) return "null";
    if (value instanceof Error) return value.stack ? `${value}\n${value.stack.trimEnd()}` : String(value);
    if (value instanceof Date) return isNaN(value) ? "Invalid Date" : value.toISOString();
    if (value instanceof RegExp) return String(value);
    if (seen.has(value)) return "[Circular]";
    if (depth > 4) return Array.isArray(value) ? "[Array]" : "[Object]";
    seen.add(value);
    const inner = (v) => inspect(v, depth + 1, seen);
    const list = (open, items, close) => {
      const text = items.join(", ");
      if (items.length === 0) return open.trimEnd() + close.trimStart();
      return text.length > 72 || text.includes("\n") ? `${open.trimEnd()}\n  ${items.join(",\n").replaceAll("\n", "\n  ")}\n${close.trimStart()}` : open + text + close;
    };
    try {
      if (Array.isArray(value) || ArrayBuffer.isView(value) && !(value instanceof DataView)) {
        const items = Array.from(value).slice(0, 100).map(inner);
        if (value.length > 100) items.push(`... ${value.length - 100} more items`);
        return list(Array.isArray(value) ? "[ " : `${value.constructor.name}(${value.length}) [ `, items, " ]");
      }
      if (value instanceof Map) return list(`Map(${value.size}) { `, Array.from(value, ([k, v]) => `${inner(k)} => ${inner(v)}`), " }");
      if (value instanceof Set) return list(`Set(${value.size}) { `, Array.from(value, inner), " }");
      if (value instanceof Promise) return "Promise {}";
      const name = value.constructor?.name;
      const keys = Object.keys(value).map((k) => `${/^[A-Za-z_$][\w$]*$/.test(k) ? k : stringify(k)}: ${inner(value[k])}`);
      return list(name && name !== "Object" ? `${name} { ` : "{ ", keys, " }");
    } finally {
      seen.delete(value);
    }
  }

  function format(args) {
    if (typeof args[0] !== "string" || !args[0].includes("%")) return args.map((a) => inspect(a)).join(" ");
    let next = 1;
    const text = args[0].replace(/%[sdifjoO%]/g, (m) => {
      if (m === "%%") return "%";
      if (next >= args.length) return m;
      const a = args[next++];
      switch (m) {
        case "%d": case "%f": return String(Number(a));
        case "%i": return String(parseInt(a));
        case "%j": return stringify(a);
        case "%s": return typeof a === "object" ? inspect(a, 1) : String(a);
      }
      return inspect(a, 1);
    });
    return [text, ...args.slice(next).map((a) => inspect(a))].join(" ");
  }

  const write = (fd, text) => void call("write", fd, text);
  const print = (...args) => write(1, format(args) + "\n");
  const complain = (...args) => write(2, format(args) + "\n");
  const console = {
    log: print, info: print, debug: print, error: complain, warn: complain,
    trace: (...args) => complain(format(args) + "\n" + new Error().stack),
    assert: (ok, ...args) => void (ok || complain("Assertion failed:", ...args)),
    table: (rows) => print(rows),
  };

  let timers = [], ids = 0;
  const schedule = (f, ms, args, every) => {
    const at = Date.now() + Math.max(0, Number(ms) || 0);
    timers.push({ id: ++ids, at, f, args, every: every ? Math.max(1, Number(ms) || 0) : 0 });
    return ids;
  };
  const clear = (id) => void (timers = timers.filter((t) => t.id !== id));

  const process = () => parse(call("process"));
  const std = {
    loadFile: (name) => { try { return call("read", name); } catch { return null; } },
    writeFile: (name, text) => void call("save", name, text),
    exit: (code = 0) => void call("exit", Number(code) | 0),
    getenv: (name) => std.getenviron()[name],
    getenviron: () => Object.fromEntries((process().env ?? []).map((s) => s.split(/=(.*)/s))),
    in: { readAsString: () => call("input"), getline: () => { const line = call("input", "line"); return line === "" ? null : line.replace(/\n$/, ""); } },
    out: { puts: (s) => write(1, s), printf: (...a) => write(1, format(a)), flush() {} },
    err: { puts: (s) => write(2, s), printf: (...a) => write(2, format(a)), flush() {} },
    gc() {},
  };
  const os = {
    readdir: (name) => { try { return [parse(call("list", name)), 0]; } catch { return [[], -1]; } },
    remove: (name) => { try { call("remove", name); return 0; } catch { return -1; } },
    mkdir: (name) => { try { call("mkdir", name); return 0; } catch { return -1; } },
    getcwd: () => [process().dir, 0],
    sleep: (ms) => void call("sleep", ms),
    now: () => Date.now(),
    setTimeout: (f, ms, ...args) => schedule(f, ms, args),
    clearTimeout: clear,
    platform: "wasi",
  };

  let args; // of the command line, which is not known when this begins
  for (const [name, value] of Object.entries({
    print, console, std, os,
    setTimeout: os.setTimeout, clearTimeout: clear, setInterval: (f, ms, ...a) => schedule(f, ms, a, true), clearInterval: clear,
    queueMicrotask: globalThis.queueMicrotask ?? ((f) => void Promise.resolve().then(f)),
  })) Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });

  Object.defineProperty(globalThis, "scriptArgs", { get: () => args ??= process().args, set: (v) => void (args = v), configurable: true });

  const begun = new Set(Object.getOwnPropertyNames(globalThis));

  // The modules that programs know of QuickJS export properties of a global; some are keywords.
  const builtin = { std: "loadFile writeFile exit getenv getenviron in out err gc", os: "readdir remove mkdir getcwd sleep now setTimeout clearTimeout platform" };

  const helpers = {
    // Resolves a module's name relative to that of the one which imports it.
    normalize(names) {
      const [name, base] = names.split("\0");
      if (!/^\.\.?\//.test(name)) return name;
      const path = [];
      for (const part of [...base.split("/").slice(0, -1), ...name.split("/")])
        if (part === ".." && path.length > 0 && path.at(-1) !== ".." && path.at(-1) !== "") path.pop();
        else if (part !== "." && (part !== "" || path.length === 0 && base[0] === "/")) path.push(part);
      return path.join("/");
    },
    load(name) {
      const global = name.replace(/^qjs:/, "");
      if (Object.hasOwn(builtin, global)) return builtin[global].split(" ").map((n) => `const $${n} = globalThis.${global}.${n}; export { $${n} as ${n} };\n`).join("");
      try { return call("read", name); } catch (e) { throw new Error("could not load module " + e.message); }
    },
    // Begins a program: the last one's arguments and timers are gone.
    again() {
      args = undefined;
      timers = [];
      return "";
    },
    random: () => String(Math.random()),
    // Returns what a session goes on with, but for let, const and classes, which nothing lists.
    names: () => stringify(Object.getOwnPropertyNames(globalThis).filter((n) => !begun.has(n)).map((name) => ({ name, type: typeof globalThis[name] }))),
    // Runs what is due, and returns the milliseconds until the next timer, -1 for none.
    tick() {
      const now = Date.now();
      const due = timers.filter((t) => t.at <= now).sort((a, b) => a.at - b.at);
      for (const t of due) {
        if (!timers.includes(t)) continue;
        if (t.every) t.at = now + t.every;
        else clear(t.id);
        t.f(...t.args);
        return "0"; // what it has promised comes before the next
      }
      return String(timers.length === 0 ? -1 : Math.max(0, Math.min(...timers.map((t) => t.at)) - now));
    },
    value(result) {
      const v = result.value;
      if (v === undefined) return "";
      let json;
      try { json = stringify(v); } catch { /* it has no JSON */ }
      return stringify([inspect(v, 1), json ?? ""]);
    },
    failure(e) {
      const is = e instanceof Error;
      const stack = is && typeof e.stack === "string" ? e.stack.split("\n").filter((l) => !l.includes("<coderunner>")).join("\n").trimEnd() : "";
      const head = is ? String(e) : "Uncaught " + inspect(e, 1);
      return stringify([is ? String(e.name) : "Error", is ? String(e.message) : inspect(e, 1), stack ? `${head}\n${stack}` : head]);
    },
  };
  return (name, value) => helpers[name](value);
})
