// How what a program has thrown is reported: its class, message, stack and fields, and what
// caused it. This is part of bootstrap.js.

// text returns a value of the program as a string of at most room characters.
function text(value, room) {
  const s = NativeString(value);
  return s.length > room ? slice(s, 0, room) + "\u2026" : s;
}

const errorRoom = 20000;

// topLevel returns a stack in which the top level of a script is no function.
function topLevel(stack) {
  if (orders.kind !== "script") return stack;
  return replace(stack, /(\n    at )Object\.<anonymous> \(([^\n]*)\)/g, (all, at, place) => slice(place, 0, orders.main.length) === orders.main ? at + place : all);
}

// stackOf returns an error's stack, which as in Node begins with the name of its class.
function stackOf(error, head = "") {
  let stack = NativeString(stackAbout(error) || head); // of a Worker's there is none, and svelte empties it
  const own = error.constructor?.name;
  stack = topLevel(stack);
  if (head && NativeString(error.message) !== "") stack = replace(stack, /^Error(?=\n)(\n    at new .*)?/, () => head); // a constructor has taken it of another
  return own && own !== "Error" && error.name === "Error" && slice(stack, 0, 6) === "Error:" ? own + slice(stack, 5) : stack;
}

// stackAbout returns the stack of an error. What it inherits from another error about
// something else is of the time when its class was defined.
function stackAbout(error) {
  let from = error;
  while (from && !getOwnPropertyDescriptor(from, "stack")) from = getPrototypeOf(from);
  return from && from !== error && internals.core.isNativeError(from) && from.message !== error.message ? "" : error.stack;
}

// Fields of errors that are shown otherwise or mean nothing to a reader, and those of Node's
// that are mostly in the message.
const untold = ["name", "message", "stack", "cause", "errors", "errno", "diff", "generatedMessage", "matcherResult", "showDiff", "operator", "requireStack"];
const mostlyTold = ["code", "syscall", "path", "dest", "hostname", "address", "port"];

// fieldsOf shows the fields that a program has given to an error, as Node does, but for
// long ones.
function fieldsOf(error) {
  try {
    if (error.generatedMessage === true) return ""; // an assertion that shows its values
    const fields = {}, told = slice(stackOf(error), 0, 2000);
    for (let i = 0, names = keys(error); i < min(names.length, 20); i++) {
      const value = error[names[i]];
      if (value === undefined || typeof value === "function" || arrayIncludes(untold, names[i])) continue;
      if (typeof value === "string" && (includes(value, "MODULE_NOT_FOUND") || arrayIncludes(mostlyTold, names[i]) && includes(told, value))) continue;
      const room = arrayIncludes(["actual", "expected"], names[i]) ? 800 : 250, { length } = inspect(value);
      if (length <= room && (length > 2 || typeof value !== "object")) defineProperty(fields, names[i], { __proto__: null, value, enumerable: true });
    }
    return keys(fields).length > 0 ? "\n" + inspect(fields) : "";
  } catch {
    return ""; // a property that throws
  }
}

// blame reports what was thrown.
function blame(kind, thrown, load = "", rejected = false) {
  let type = "Error", message = "(the error cannot be shown)", stack = "", code = "";
  try {
    if (thrown instanceof NativeError) {
      thrown = whole(thrown);
      const own = thrown.constructor?.name;
      type = text(thrown.name === "Error" && own ? own : thrown.name, 200);
      message = NativeString(thrown.message);
      stack = stackOf(thrown, `${type}: ${message}`);
      if (type === "Error" && message === "All promises were rejected") {
        // Promise.any's has no frames, so Deno has made another of it.
        type = "AggregateError";
        stack = `${type}: ${message}`;
      }
      // Where the graph could not be loaded, the first frame is our import.
      const frames = trimStart(slice(stack, indexOf(stack, message) + message.length));
      const end = indexOf(frames, "\n");
      const first = end < 0 ? frames : slice(frames, 0, end);
      if (includes(first, self)) load = "1";
      if (load === "") stack += fieldsOf(thrown); // else they are Deno's
      for (let e = thrown.cause, i = 0; e instanceof NativeError && i < 5; e = e.cause, i++) {
        stack += "\nCaused by " + text(stackOf(e), errorRoom) + fieldsOf(e);
      }
      if (isArray(thrown.errors)) for (let i = 0; i < min(thrown.errors.length, 5); i++) {
        const e = thrown.errors[i];
        if (e instanceof NativeError) stack += "\nOne of " + text(stackOf(e), errorRoom) + fieldsOf(e); // else they are a library's own
      }
      code = text(thrown.code ?? "", 200);
      if (thrown instanceof NativeSyntaxError && includes(stack, " wrapSafe (node:module:")) [message, stack] = misplaced(type, message, stack);
    } else {
      type = text(thrown === null ? "null" : typeof thrown === "object" ? thrown.constructor?.name : typeof thrown, 200);
      message = inspect(thrown) + (rejected ? "; a promise was rejected with it, which nothing handled" : "");
      stack = "Uncaught " + message;
    }
  } catch {
    // what we have is what can be shown
  }
  report(kind, type, text(message, errorRoom), text(stack, errorRoom), code, load);
}
