// A program's /tmp, which many write to without asking where temporary files go: it is the
// run's own temporary directory. This is part of bootstrap.js.

// Functions with two paths. Of others only the first argument is one.
const twoPaths = ["copyFile", "cp", "link", "rename", "symlink", "copyFileSync", "cpSync", "linkSync", "renameSync", "symlinkSync"];
const denoPaths = ["chmod", "copyFile", "create", "link", "lstat", "mkdir", "open", "readDir", "readFile", "readLink", "readTextFile", "realPath", "remove", "rename", "stat", "symlink", "truncate", "utime", "writeFile", "writeTextFile"];

// ownTemp has the functions of an object find there what is below /tmp, but for what is ours
// or the packages', and their errors name it so. Of Deno's functions it keeps the names alone:
// to copy all that they have takes 1 ms of each start.
function ownTemp(object, names) {
  const { temp, kept } = place;
  const isKept = (path) => slice(path, 0, kept[0].length) === kept[0] || slice(path, 0, kept[1].length) === kept[1];
  const below = (path) => typeof path === "string" && (path === "/tmp" || slice(path, 0, 5) === "/tmp/" && !isKept(path)) ? temp + slice(path, 4) : path;
  const shown = (error) => {
    if (error instanceof NativeError) for (const name of ["message", "stack", "path", "dest"]) {
      if (typeof error[name] === "string" && includes(error[name], temp)) error[name] = error[name].replaceAll(temp, "/tmp");
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

function ownTempFiles(fs) {
  for (const object of [fs, fs.promises]) ownTemp(object, keys(object).filter((name) => /^[a-z]/.test(name) && typeof object[name] === "function"));
}

function ownTempDeno() {
  ownTemp(Deno, denoPaths.flatMap((of) => [of, of + "Sync"]).filter((name) => typeof Deno[name] === "function"));
}
