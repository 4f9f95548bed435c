// Runs Python on Pyodide under Deno. The first argument is the module:
//
//	MODULE run FILE  one program
//	MODULE memory    waits with one interpreter for the end of its input
//	MODULE loop      one interpreter for all the programs on stdin
//	MODULE fresh     a new one for each, from Pyodide's own snapshot
//
// Programs come as one JSON string a line; each is answered by one with what
// was printed, or the error.
import fs from "node:fs";

const [specifier, mode, file] = Deno.args;
const { loadPyodide } = await import(specifier);

function evaluate(py, code) {
  let printed = "";
  py.setStdout({ batched: (line) => printed += line + "\n" });
  try {
    const result = py.runPython(code);
    return result === undefined ? printed : printed + result;
  } catch (e) {
    return String(e);
  }
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

const answer = (value) => fs.writeSync(1, JSON.stringify(value) + "\n");

if (mode === "fresh") {
  const snapshot = (await loadPyodide({ _makeSnapshot: true })).makeMemorySnapshot();
  for (const line of lines()) {
    answer(evaluate(await loadPyodide({ _loadSnapshot: snapshot }), JSON.parse(line)));
  }
} else {
  const py = await loadPyodide();
  if (mode === "run") py.runPython(fs.readFileSync(file, "utf8"));
  else for (const line of lines()) answer(evaluate(py, JSON.parse(line)));
}
