// Where a program asked for what fails later. Deno makes the errors of operations of
// node:fs and node:net when these have ended, and then nothing of the program is
// running: such an error has no line of it. It gets those of the call. This is part
// of bootstrap.js.

const sites = new WeakMap(); // of streams and sockets: the frames of the call that made or connected them

let frameless; // the last error without frames whose stack was asked for

// whole returns the error of which Deno has made another one, without its class and fields,
// since it has no frames: those of effect, which sets the limit of them to 0.
function whole(thrown) {
  const same = frameless instanceof NativeError && frameless !== thrown && NativeString(frameless.message) === NativeString(thrown.message);
  return same && getPrototypeOf(thrown) !== getPrototypeOf(frameless) && thrown.name === "Error" ? frameless : thrown;
}

// asThrown returns the error of which import made another one, without its class, since to
// V8 it has no frames: it inherits from Error as before there were classes, as those of rxjs
// and of many older packages do, or its stack was assigned. The module fails with the same
// error again, and a promise before import's has it.
async function asThrown(thrown) {
  if (thrown?.code !== "ERR_MODULE_NOT_FOUND" || thrown.name !== "Error" || orders.load) return thrown;
  const { core } = internals, made = [];
  let sees = true;
  core.setPromiseHooks((promise) => sees && (made[made.length] = promise));
  const again = import(orders.main);
  sees = false;
  await then(again, undefined, () => {});
  for (let i = 0; i < made.length; i++) {
    const [, error] = core.getPromiseDetails(made[i]);
    if (error instanceof NativeError && error.code !== thrown.code && NativeString(error.message) === thrown.message) return error;
  }
  return thrown;
}

// seeDeeper has errors that come from more than ten calls deep in packages show where the
// program called these. Other errors show ten frames, as ever.
function seeDeeper() {
  NativeError.stackTraceLimit = 100;
  if (place.session) return; // traceOf does the rest
  NativeError.prepareStackTrace = (error, sites) => {
    if (sites.length === 0) frameless = error;
    const lines = [];
    for (let i = 0; i < sites.length; i++) lines[i] = replace(sites[i].toString(), /^(.*\(|async )?(\/.*:\d+:\d+\)?)$/, "$1file://$2");
    return headOf(error) + shownFrames(lines);
  };
}

function headOf(error) {
  try {
    return errorText(error);
  } catch {
    return ""; // a property that throws
  }
}

// shownFrames returns the first ten of the frames of an error, and if none of these is
// the program's, those that are.
function shownFrames(lines) {
  let text = "", own = false;
  for (let i = 0; i < lines.length; i++) {
    const mine = includes(lines[i], place.home + "/");
    if (i < 10 || mine && !own) text += "\n    at " + lines[i];
    own ||= i < 10 && mine;
  }
  return text;
}

// site returns the frames of the call of a function that stands for Deno's.
function site(of) {
  const call = { __proto__: null };
  captureStackTrace(call, of);
  return call;
}

// sited gives an error without a frame of the program those of a site.
function sited(error, from) {
  try {
    const all = NativeString(error.stack);
    if (!from || !(error instanceof NativeError) || includes(all, place.home + "/")) return error;
    const end = indexOf(all, "\n    at ");
    const called = from.stack.split("\n").filter((line) => /^    at (?!.*\bext:|new Promise )/.test(line) && !includes(line, self));
    if (called.length > 0) error.stack = [end < 0 ? all : slice(all, 0, end), ...called].join("\n");
  } catch {
    // an error of the program's own
  }
  return error;
}

// siteCalls does so for functions that return a promise, or call the function that is
// their last argument.
function siteCalls(object, names) {
  for (const name of names) {
    const native = object[name];
    const call = function (...args) {
      const from = site(call), done = args.at(-1);
      if (typeof done === "function") args[args.length - 1] = function (error, ...rest) { return done.call(this, sited(error, from), ...rest) };
      const made = native.apply(this, args);
      return made instanceof NativePromise ? then(made, undefined, (error) => { throw sited(error, from) }) : made;
    };
    here.answer(object, name, defineProperties(call, getOwnPropertyDescriptors(native)));
  }
}

// siteStreams does so for what a method, or a function that returns it, begins.
function siteStreams(prototype, object, name) {
  const { _destroy } = prototype, begin = object[name];
  const call = function (...args) {
    const from = site(call), stream = begin.apply(this, args);
    sites.set(stream, from);
    return stream;
  };
  here.answer(object, name, defineProperties(call, getOwnPropertyDescriptors(begin)));
  here.answer(prototype, "_destroy", function (error, done) {
    return _destroy.call(this, error && sited(error, sites.get(this)), done);
  });
}

// later are the functions of node:fs that answer later than they are called.
const later = ["access", "appendFile", "chmod", "copyFile", "cp", "link", "lstat", "mkdir", "mkdtemp", "open", "opendir", "readFile", "readdir", "readlink", "realpath", "rename", "rm", "rmdir", "stat", "symlink", "truncate", "unlink", "utimes", "writeFile"];

// siteFiles does so for node:fs and node:fs/promises.
function siteFiles(fs) {
  siteCalls(fs, later);
  siteCalls(fs.promises, later.filter((name) => typeof fs.promises[name] === "function"));
  siteStreams(fs.ReadStream.prototype, fs, "createReadStream");
  siteStreams(fs.WriteStream.prototype, fs, "createWriteStream");
}

// siteAny has the error of Promise.any, which has no frames, be one with those of the call:
// for an error without frames Deno makes another one, without its errors.
function siteAny() {
  const { any } = NativePromise, NativeAggregateError = AggregateError;
  const call = function (...args) {
    const error = new NativeAggregateError([], "All promises were rejected");
    captureStackTrace(error, call);
    return then(any.apply(this, args), undefined, (thrown) => {
      if (!(thrown instanceof NativeAggregateError)) throw thrown;
      error.errors = thrown.errors;
      throw error;
    });
  };
  defineProperty(NativePromise, "any", { __proto__: null, value: defineProperties(call, getOwnPropertyDescriptors(any)), writable: true, configurable: true });
}

// misplaced returns the message and the stack of an error about a CommonJS file that cannot
// be read, with its place: V8 knows it, but Deno shows it only where there are no frames.
// So V8 reads the files of the program again.
function misplaced(type, message, stack) {
  const { core } = internals, limit = NativeError.stackTraceLimit;
  NativeError.stackTraceLimit = 0;
  try {
    for (const name of new Set([...place.session ? [] : [orders.path], ...scripts(place.home, 1000)])) {
      const url = pathToURL(name), [, bad] = core.compileFunction(readText(name).replace(/^#!.*/, ""), url, [], ["exports", "require", "module", "__filename", "__dirname"]);
      if (bad?.thrown?.message !== message) continue;
      const [{ lineNumber, columnNumber }] = core.destructureError(bad.thrown).frames, frame = `\n    at ${url}:${lineNumber}:${columnNumber}`;
      if (name === orders.path) return [message, `${type}: ${message}${frame}`];
      const named = `${slice(name, place.home.length + 1)}:${lineNumber}: ${message}`;
      return [named, `${type}: ${named}${frame}${slice(stack, type.length + 2 + message.length).replace(`\n    at ${url}:7:9`, "")}`];
    }
  } finally {
    NativeError.stackTraceLimit = limit;
  }
  return [message, stack];
}

// scripts returns the paths of the files of the program that may be CommonJS.
function scripts(dir, room) {
  const found = [];
  for (const { name, isFile, isDirectory } of readDir(dir)) {
    if (isDirectory && name !== "node_modules") found.push(...scripts(`${dir}/${name}`, room - found.length));
    if (isFile && /\.c?js$/.test(name)) found.push(`${dir}/${name}`);
    if (found.length >= room) break;
  }
  return found;
}

// rootURL returns the URL of the working directory, which the program may be deep in, with a
// slash at its end.
function rootURL() {
  return orders.main.split("/").slice(0, -slice(orders.path, place.home.length + 1).split("/").length).join("/") + "/";
}

// pathToURL returns the URL of a file of the program.
function pathToURL(path) {
  return rootURL() + slice(path, place.home.length + 1).split("/").map(encodeURIComponent).join("/");
}
