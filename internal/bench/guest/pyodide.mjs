// Runs Python on Pyodide, under Deno and under Node alike:
//
//	run DIR FILE [SNAPSHOT]    one program, as a process
//	memory DIR                 prints the resident bytes of a process with one interpreter
//	loop DIR                   one interpreter for all the programs on stdin
//	fresh DIR [SNAPSHOT [WHEEL]...]  a new interpreter for each program on stdin
//	snapshot DIR FILE          writes Pyodide's own memory snapshot
//	wheels DIR FILE WHEEL...   one program after the wheels were unpacked
//	unpack DIR FOLDER WHEEL... unpacks the wheels into a folder of the host's
//	mounted DIR FILE FOLDER    one program with such a folder on sys.path
//
// DIR is the npm package pyodide, unpacked. Programs come as one JSON string a
// line, and each is answered by one line of JSON.
import fs from "node:fs";
import process from "node:process";
import { pathToFileURL } from "node:url";

const [mode, dir, ...rest] = globalThis.Deno ? Deno.args : process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${dir}/pyodide.mjs`));

const load = (snapshot) =>
  loadPyodide({ indexURL: `${dir}/`, ...(snapshot && { _loadSnapshot: snapshot }) });
const read = (path) => path && fs.readFileSync(path);

const sitePackages = "/lib/python3.14/site-packages";

function unpack(py, wheels, extractDir = sitePackages) {
  // Pyodide takes no Buffer.
  for (const data of wheels) py.unpackArchive(new Uint8Array(data), "wheel", { extractDir });
}

function mount(py, root) {
  py.FS.mkdirTree("/wheels");
  py.FS.mount(py.FS.filesystems.NODEFS, { root }, "/wheels");
}

// Reading and writing synchronously is the shortest way there is.
function* lines() {
  const chunk = new Uint8Array(65536);
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const end = text.indexOf("\n");
    if (end >= 0) {
      yield text.slice(0, end);
      text = text.slice(end + 1);
      continue;
    }
    const n = fs.readSync(0, chunk, 0, chunk.length, null);
    if (n === 0) return;
    text += decoder.decode(chunk.subarray(0, n), { stream: true });
  }
}

function evaluate(py, code) {
  let stdout = "";
  py.setStdout({ batched: (line) => stdout += line + "\n" });
  try {
    const result = String(py.runPython(code));
    return { stdout, result };
  } catch (e) {
    return { stdout, error: String(e) };
  }
}

function answer(value) {
  fs.writeSync(1, JSON.stringify(value) + "\n");
}

switch (mode) {
  case "run": {
    const py = await load(read(rest[1]));
    py.runPython(fs.readFileSync(rest[0], "utf8"));
    break;
  }
  case "memory": {
    const py = await load();
    py.runPython("print(1+1)");
    answer({ bytes: process.memoryUsage().rss });
    break;
  }
  case "loop": {
    const py = await load();
    for (const line of lines()) answer(evaluate(py, JSON.parse(line)));
    break;
  }
  case "fresh": {
    const snapshot = read(rest[0]);
    const wheels = rest.slice(1).map(read);
    for (const line of lines()) {
      const py = await load(snapshot);
      unpack(py, wheels);
      answer(evaluate(py, JSON.parse(line)));
    }
    break;
  }
  case "snapshot": {
    const py = await loadPyodide({ indexURL: `${dir}/`, _makeSnapshot: true });
    fs.writeFileSync(rest[0], py.makeMemorySnapshot());
    break;
  }
  case "wheels": {
    const py = await load();
    const began = performance.now();
    unpack(py, rest.slice(1).map(read));
    const took = performance.now() - began;
    py.runPython(fs.readFileSync(rest[0], "utf8"));
    fs.writeSync(1, `PREPARED_MS ${took}\n`);
    break;
  }
  case "unpack": {
    const py = await load();
    mount(py, rest[0]);
    unpack(py, rest.slice(1).map(read), "/wheels");
    break;
  }
  case "mounted": {
    const py = await load();
    mount(py, rest[1]);
    // Bytecode stays for the next process.
    py.runPython(`import sys; sys.path.append("/wheels"); sys.dont_write_bytecode = False`);
    py.runPython(fs.readFileSync(rest[0], "utf8"));
    break;
  }
}
