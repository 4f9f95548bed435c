// Runs Python on Pyodide, under Deno and under Node alike:
//
//	run DIR FILE [SNAPSHOT]    one program, as a process
//	loop DIR                   one interpreter for all the programs on stdin
//	fresh DIR [SNAPSHOT]       a new interpreter for each program on stdin
//	snapshot DIR FILE          writes Pyodide's own memory snapshot
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
  case "loop": {
    const py = await load();
    for (const line of lines()) answer(evaluate(py, JSON.parse(line)));
    break;
  }
  case "fresh": {
    const snapshot = read(rest[0]);
    for (const line of lines()) answer(evaluate(await load(snapshot), JSON.parse(line)));
    break;
  }
  case "snapshot": {
    const py = await loadPyodide({ indexURL: `${dir}/`, _makeSnapshot: true });
    fs.writeFileSync(rest[0], py.makeMemorySnapshot());
    break;
  }
}
