// Directories of a program's own: /tmp, which many write to without asking where temporary
// files go, and /tools with the declarations of its tools. This is part of bootstrap.js.

// Functions with two paths. Of others only the first argument is one.
const twoPaths = ["copyFile", "cp", "link", "rename", "symlink", "copyFileSync", "cpSync", "linkSync", "renameSync", "symlinkSync"];
const denoPaths = ["chmod", "copyFile", "create", "link", "lstat", "mkdir", "open", "readDir", "readFile", "readLink", "readTextFile", "realPath", "remove", "rename", "stat", "symlink", "truncate", "utime", "writeFile", "writeTextFile"];
const openPipe = Deno.openSync;

// ownPaths has the functions of an object find there what is below /tmp, but for what is ours
// or the packages', and what is below /tools, and their errors name it so. Of Deno's functions it
// keeps the names alone: to copy all that they have takes 1 ms of each start.
function ownPaths(object, names) {
  const { temp, kept } = place;
  const isKept = (path) => slice(path, 0, kept[0].length) === kept[0] || slice(path, 0, kept[1].length) === kept[1];
  const below = (path) => {
    if (typeof path !== "string") return path;
    if (temp && (path === "/tmp" || slice(path, 0, 5) === "/tmp/" && !isKept(path))) return temp + slice(path, 4);
    return orders?.tools && (path === "/tools" || slice(path, 0, 7) === "/tools/") ? declarations(path) : path;
  };
  const shown = (error) => {
    if (error instanceof NativeError) for (const [real, name] of [[temp, "/tmp"], [orders?.tools?.files, "/tools"]]) {
      for (const key of real ? ["message", "stack", "path", "dest"] : []) {
        if (typeof error[key] === "string" && includes(error[key], real)) error[key] = error[key].replaceAll(real, name);
      }
    }
    return error;
  };
  for (const name of names) {
    const native = object[name], paths = arrayIncludes(twoPaths, name) ? 2 : 1;
    const { [name]: call } = { [name](...args) {
      for (let i = 0; i < min(paths, args.length); i++) args[i] = below(args[i]);
      const done = args.at(-1);
      if (typeof done === "function") args[args.length - 1] = function (error, ...rest) { return done.call(this, shown(error), ...rest) };
      try {
        const made = native.apply(this, args);
        return made instanceof NativePromise ? then(made, undefined, (error) => { throw shown(error) }) : made;
      } catch (error) {
        throw shown(error);
      }
    } };
    here.answer(object, name, object === Deno ? call : defineProperties(call, getOwnPropertyDescriptors(native)));
  }
}

// declarations returns what stands for a path below /tools. The host writes a file when the
// program names it first, which starts the server, and the program waits for that: it cannot
// do anything else in a function that is synchronous.
function declarations(path) {
  const { files, written, known = orders.tools.known = { __proto__: null } } = orders.tools;
  for (const name of ["", path.slice("/tools/".length).split("/").at(-1)]) {
    if (known[name]) continue;
    known[name] = true;
    report("c", "", name);
    const pipe = openPipe(written, { read: true });
    pipe.readSync(new NativeUint8Array(1));
    pipe.close();
  }
  return files + slice(path, "/tools".length);
}

function ownPathsFiles(fs) {
  for (const object of [fs, fs.promises]) ownPaths(object, keys(object).filter((name) => /^[a-z]/.test(name) && typeof object[name] === "function"));
}

function ownPathsDeno() {
  ownPaths(Deno, denoPaths.flatMap((of) => [of, of + "Sync"]).filter((name) => typeof Deno[name] === "function"));
}
